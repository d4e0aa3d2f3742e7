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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_version() {
        assert_eq!(ServerFamily::from_version(b"9.7.4"), ServerFamily::MySql);
        assert_eq!(ServerFamily::from_version(b"5.5.5-10.11.19-MariaDB-0+deb12u1"), ServerFamily::MariaDb);
        assert_eq!(ServerFamily::from_version(b""), ServerFamily::MySql);
    }
}
