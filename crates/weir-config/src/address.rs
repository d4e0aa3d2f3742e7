use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A path of this many bytes fits `sockaddr_un` of Linux, whose 108 bytes include a closing NUL (unix(7)).
pub(crate) const UNIX_PATH_BYTES: usize = 107;

/// Where to listen or to connect: `host:port`, `[ipv6]:port` or `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `host` is a name or an address, IPv6 without its brackets; `port` is never 0.
    Tcp { host: String, port: u16 },
    /// At most 107 bytes.
    Unix(PathBuf),
}

/// Why a text is not an address. Neither part repeats the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    pub message: String,
    pub hint: String,
}

impl Address {
    /// The same address with a relative socket path taken from `folder`.
    pub(crate) fn under(self, folder: &Path) -> Result<Self, AddressError> {
        let Self::Unix(path) = self else { return Ok(self) };
        let path = folder.join(path);
        let length = path.as_os_str().len();
        if length > UNIX_PATH_BYTES {
            return Err(error(
                format!("the path of the socket is {length} bytes long"),
                format!(
                    "the system takes {UNIX_PATH_BYTES} bytes at most: use a shorter folder, such as /run/weir"
                ),
            ));
        }
        Ok(Self::Unix(path))
    }

    /// Whether only this machine can reach it: a unix socket, a loopback address, `localhost`.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => match host.parse::<IpAddr>() {
                Ok(ip) => ip.to_canonical().is_loopback(),
                Err(_) => host.eq_ignore_ascii_case("localhost"),
            },
        }
    }

    /// Whether two listeners on these addresses would get in each other's way: the same address, or one of them
    /// is all addresses of the other's family.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let (Self::Tcp { host: a, port: p }, Self::Tcp { host: b, port: q }) = (self, other) else {
            return false;
        };
        let (Ok(a), Ok(b)) = (a.parse::<IpAddr>(), b.parse::<IpAddr>()) else { return false };
        p == q && a.is_ipv4() == b.is_ipv4() && (a.is_unspecified() || b.is_unspecified())
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() || path.contains('\0') {
                return Err(error(
                    "the socket has no usable path",
                    "for example \"unix:/run/weir/mysql.sock\"",
                ));
            }
            return Self::Unix(PathBuf::from(path)).under(Path::new(""));
        }
        if text.starts_with(['/', '.']) {
            return Err(error("a unix socket needs its prefix", "put \"unix:\" before the path"));
        }
        if text.contains("://") || text.contains('@') {
            return Err(error(
                "this is not an address",
                "write HOST:PORT without a scheme, user or password",
            ));
        }
        let (host, port) = split(text)?;
        Ok(Self::Tcp { host: checked_host(host)?, port: checked_port(port)? })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl std::error::Error for AddressError {}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

fn error(message: impl Into<String>, hint: impl Into<String>) -> AddressError {
    AddressError { message: message.into(), hint: hint.into() }
}

/// Host (brackets kept) and port.
fn split(text: &str) -> Result<(&str, &str), AddressError> {
    let missing = || error("the address has no port", "write HOST:PORT, for example \"127.0.0.1:3306\"");
    let (host, port) = text.rsplit_once(':').ok_or_else(missing)?;
    if host.contains(':') && !host.starts_with('[') {
        return Err(error("an IPv6 address needs brackets", "for example \"[::1]:3306\""));
    }
    if port.ends_with(']') {
        return Err(missing());
    }
    Ok((host, port))
}

fn checked_host(host: &str) -> Result<String, AddressError> {
    if let Some(inner) = host.strip_prefix('[') {
        return inner
            .strip_suffix(']')
            .and_then(|inner| inner.parse::<Ipv6Addr>().ok())
            .map(|ip| ip.to_string())
            .ok_or_else(|| error("this is not an IPv6 address", "for example \"[::1]:3306\""));
    }
    if host.is_empty() || host == "*" {
        return Err(error("the address has no host", "write \"0.0.0.0\" or \"[::]\" for all addresses"));
    }
    let name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    // 253 characters is the longest name that the DNS can carry (RFC 1035, 2.3.4).
    if host.len() > 253 || !host.bytes().all(name) {
        return Err(error(
            "this is not a host name",
            "a name has letters, digits, dots, hyphens and underscores",
        ));
    }
    let numeric = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if numeric && host.parse::<Ipv4Addr>().is_err() {
        return Err(error(
            "this is not an IPv4 address",
            "write four numbers from 0 to 255, as in \"127.0.0.1\"",
        ));
    }
    Ok(host.to_owned())
}

fn checked_port(port: &str) -> Result<u16, AddressError> {
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(error("this is not a port", "a port is a number from 1 to 65535")),
    }
}

#[cfg(test)]
mod tests;
