/// Which of the two dialects of the protocol and of SQL a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerFamily {
    MySql,
    MariaDb,
}

impl ServerFamily {
    /// Tells the family from the version string of a handshake packet (`9.7.4`, `5.5.5-10.11.19-MariaDB-...`,
    /// `11.8.2-MariaDB`). MariaDB always carries its name; everything else is treated as MySQL.
    pub fn from_version(version: &[u8]) -> Self {
        let found = version.windows(7).any(|w| w.eq_ignore_ascii_case(b"mariadb"));
        if found { Self::MariaDb } else { Self::MySql }
    }

    /// The name used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }
}

/// The version as the server itself says it elsewhere: without what MariaDB before 11 puts in front of it in a handshake packet, so that
/// old replicas do not refuse version 10.
pub fn shown_version(version: &[u8]) -> &[u8] {
    match version.strip_prefix(PREFIX) {
        Some(own) if ServerFamily::from_version(version) == ServerFamily::MariaDb => own,
        _ => version,
    }
}

const PREFIX: &[u8] = b"5.5.5-";

/// The version as the servers compare it in comments (`/*!80000 */`): 90704 for `9.7.4`, 101119 for
/// `5.5.5-10.11.19-MariaDB`. A part that cannot be read counts as 0.
pub fn version_number(version: &[u8]) -> u32 {
    let version = version.strip_prefix(PREFIX).unwrap_or(version);
    let mut parts = version
        .split(|b| !b.is_ascii_digit())
        .map(|part| part.iter().take(3).fold(0, |number, digit| number * 10 + u32::from(digit - b'0')));
    let mut part = || parts.next().unwrap_or(0);
    part() * 10_000 + part() * 100 + part()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_the_numbers_of_version_comments() {
        assert_eq!(version_number(b"9.7.4"), 90_704);
        assert_eq!(version_number(b"5.5.5-10.11.19-MariaDB-0+deb12u1"), 101_119);
        assert_eq!(version_number(b"11.8.2-MariaDB"), 110_802);
        assert_eq!(version_number(b"junk"), 0);
    }

    #[test]
    fn versions_are_shown_as_the_server_says_them() {
        for (sent, shown) in [
            ("9.7.4", "9.7.4"),
            ("5.5.5-10.11.19-MariaDB-0+deb12u1", "10.11.19-MariaDB-0+deb12u1"),
            ("11.8.2-MariaDB", "11.8.2-MariaDB"),
            ("5.5.5-m3", "5.5.5-m3"),
        ] {
            assert_eq!(shown_version(sent.as_bytes()), shown.as_bytes());
        }
    }

    #[test]
    fn families_are_told_by_version() {
        assert_eq!(ServerFamily::from_version(b"9.7.4"), ServerFamily::MySql);
        assert_eq!(ServerFamily::from_version(b"5.5.5-10.11.19-MariaDB-0+deb12u1"), ServerFamily::MariaDb);
        assert_eq!(ServerFamily::from_version(b""), ServerFamily::MySql);
    }
}
