//! Why a server connection could not be made, in words for the client and for the log.

use std::io;
use weir_auth::ServerAuthError;
use weir_net::PacketError;
use weir_wire::packet::ErrPacket;

/// ER_CONNECT_TO_FOREIGN_DATA_SOURCE. Not CR_CONN_HOST_ERROR (2003), which clients give themselves: MariaDB's library
/// takes an ERR packet with a client's number for a malformed one.
const CONNECT_FAILED: u16 = 1429;
/// ER_CON_COUNT_ERROR.
const TOO_MANY_CONNECTIONS: u16 = 1040;
/// ER_ACCESS_DENIED_NO_PASSWORD_ERROR and the like do not fit; this is ER_NOT_SUPPORTED_AUTH_MODE.
const UNSUPPORTED_AUTH: u16 = 1251;

/// ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED.
const CROWDED: [u16; 3] = [TOO_MANY_CONNECTIONS, 1203, 1226];

/// A server connection that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot connect to server {server} at {address}: {source}")]
    Unreachable { server: String, address: String, source: io::Error },
    #[error("server {server} at {address} did not answer within {seconds} s")]
    Timeout { server: String, address: String, seconds: f64 },
    /// The server refused the connection or the login in its own words.
    #[error("server {server} refused the login: {} {}", .refusal.err.code, String::from_utf8_lossy(&.refusal.err.message))]
    Refused { server: String, refusal: RefusedLogin },
    #[error("server {server} broke the protocol: {what}")]
    Protocol { server: String, what: String },
    #[error("TLS with server {server} failed: {what}")]
    Tls { server: String, what: String },
    #[error("login at server {server} failed: {source}")]
    Auth { server: String, source: ServerAuthError },
    #[error("server {server} has all {limit} of its connections in use (max_connections of its [[server]])")]
    Full { server: String, limit: u32 },
    #[error("server {server} lost abilities it had when this client was greeted; connect again")]
    Changed { server: String },
}

/// The server's own refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLogin {
    pub err: ErrPacket,
    /// The ERR packet's payload as it came.
    pub payload: Vec<u8>,
}

impl ConnectError {
    /// What the client is told. The server's refusals pass as they are; addresses of the server stay in the log.
    pub fn to_client(&self) -> ErrPacket {
        match self {
            Self::Refused { refusal, .. } => refusal.err.clone(),
            Self::Full { .. } => {
                ErrPacket::new(TOO_MANY_CONNECTIONS, b"08004", "Too many connections (weir: max_connections)")
            }
            Self::Auth { source: ServerAuthError::UnsupportedPlugin(_), .. } => ErrPacket::new(
                UNSUPPORTED_AUTH,
                b"08004",
                "Weir does not support the authentication plugin of this account; \
                 use caching_sha2_password, mysql_native_password or ed25519",
            ),
            Self::Unreachable { server, source, .. } => {
                let text =
                    format!("Can't connect to MySQL server '{server}' behind Weir ({})", source.kind());
                ErrPacket::new(CONNECT_FAILED, b"HY000", text)
            }
            Self::Timeout { server, seconds, .. } => {
                let text = format!(
                    "Can't connect to MySQL server '{server}' behind Weir (no answer in {seconds} s)"
                );
                ErrPacket::new(CONNECT_FAILED, b"HY000", text)
            }
            Self::Tls { server, .. } => {
                let text =
                    format!("Can't connect to MySQL server '{server}' behind Weir (TLS; see Weir's log)");
                ErrPacket::new(CONNECT_FAILED, b"HY000", text)
            }
            Self::Auth { server, .. } | Self::Protocol { server, .. } => {
                let text =
                    format!("Can't connect to MySQL server '{server}' behind Weir (login; see Weir's log)");
                ErrPacket::new(CONNECT_FAILED, b"HY000", text)
            }
            Self::Changed { server } => {
                let text = format!("MySQL server '{server}' behind Weir has changed; connect again");
                ErrPacket::new(CONNECT_FAILED, b"HY000", text)
            }
        }
    }

    /// Whether this says that nobody can connect now, as opposed to this one login.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Tls { .. } | Self::Protocol { .. }
        )
    }

    /// Whether one connection less, Weir's or this user's, would have let this login in.
    pub fn is_crowded(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Refused { refusal, .. } => CROWDED.contains(&refusal.err.code),
            _ => false,
        }
    }

    pub(crate) fn packet(server: &str, address: &str, error: PacketError) -> Self {
        let (server, address) = (server.to_owned(), address.to_owned());
        match error {
            PacketError::Io(source) => Self::Unreachable { server, address, source },
            PacketError::Closed => {
                Self::Unreachable { server, address, source: io::ErrorKind::ConnectionReset.into() }
            }
            other => Self::Protocol { server, what: other.to_string() },
        }
    }
}
