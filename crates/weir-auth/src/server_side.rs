//! Weir plays the client towards a server: login and COM_CHANGE_USER.
//!
//! The password leaves in clear only over a link that the caller says is secure (TLS or a Unix socket). Over any other
//! it leaves as a scramble, a signature, or encrypted under the server's RSA key. That key comes over the same link
//! unauthenticated, so it protects from listening only, not from a server that pretends; a `tls` mode that verifies
//! the certificate protects from both.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroizing;

use crate::plugin::{
    FAST_AUTH_SUCCESS, FULL_AUTHENTICATION, MORE_DATA, NEXT_FACTOR, Plugin, REQUEST_PUBLIC_KEY,
    REQUEST_PUBLIC_KEY_SHA256, SWITCH, exact_nonce, parse_switch,
};
use crate::rsa::{self, RsaError};
use crate::secret::Secret;
use crate::{NONCE_LEN, scramble};

/// Packets of one server that are looked at, at most. A whole exchange with a switch and a public key has four;
/// the rest is room for a second switch. A server that goes on asking is broken.
const MAX_PACKETS: u8 = 12;

/// A payload for the server. It may hold the password, so its memory is overwritten when it is dropped, and `Debug`
/// shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Zeroizing<Vec<u8>>);

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

/// What goes into the handshake response or COM_CHANGE_USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitialResponse {
    /// The client plugin's name, without NUL.
    pub plugin: &'static str,
    /// The auth response, at most 32 bytes, without a length before it.
    pub data: Payload,
}

/// What the caller does next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum ServerStep {
    /// Send this payload, then read the server's next.
    Send(Payload),
    /// Nothing to send: read the server's next payload.
    Wait,
    /// The payload just handed in is the OK packet: logged in.
    LoggedIn,
    /// The payload just handed in is the ERR packet: the server's own word, for the client to see.
    Refused,
    /// The login cannot go on: close the connection.
    Failed(ServerAuthError),
}

/// Why a login at a server cannot go on, for the operator's log. Names the server's plugin, never a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerAuthError {
    #[error(
        "the server asks for authentication plugin \"{0}\", which Weir cannot speak; \
         give the account one of caching_sha2_password, mysql_native_password, ed25519"
    )]
    UnsupportedPlugin(Plugin),
    #[error(
        "the server asks for the password in clear (plugin {0}), and its link is not encrypted; set `tls`"
    )]
    InsecureLink(Plugin),
    #[error(
        "the server asks for a password hash of before MySQL 4.1, which anyone can reverse; change the account"
    )]
    OldPassword,
    #[error("the account needs a second authentication factor, which Weir does not have")]
    SecondFactor,
    #[error("cannot send the password under the server's RSA key: {0}")]
    Rsa(#[from] RsaError),
    #[error("the server broke the authentication protocol: {0}")]
    Protocol(&'static str),
}

/// One login or COM_CHANGE_USER at one server. Use a new one for each.
#[derive(Debug)]
pub struct ServerExchange {
    secret: Secret,
    secure: bool,
    unix_socket: bool,
    nonce: [u8; NONCE_LEN],
    state: State,
    packets: u8,
}

/// What the server may send besides OK, ERR and a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing.
    AwaitVerdict,
    /// AuthMoreData 3 or 4, for a `caching_sha2_password` scramble was sent.
    AwaitSha2Result,
    /// AuthMoreData with the public key.
    AwaitPublicKey,
}

impl ServerExchange {
    /// `secure`: the link is TLS or a Unix socket, so the password may cross it in clear. For a Unix socket
    /// call [`ServerExchange::over_unix_socket`] too.
    pub fn new(secret: Secret, secure: bool) -> Self {
        let nonce = [0; NONCE_LEN];
        Self { secret, secure, unix_socket: false, nonce, state: State::AwaitVerdict, packets: 0 }
    }

    /// The link is a Unix socket. That is as secure as TLS to every plugin but `sha256_password`, whose server side
    /// wants the password under its RSA key there.
    pub fn over_unix_socket(self) -> Self {
        Self { secure: true, unix_socket: true, ..self }
    }

    /// Answers a greeting: its plugin's name and its nonce, with or without the NUL at the end. For a COM_CHANGE_USER
    /// these are the plugin of the greeting and [`ServerExchange::nonce`] of the exchange before.
    ///
    /// A plugin that Weir cannot answer at once is answered with `caching_sha2_password`; the server then switches to
    /// what the account has. Never puts the password itself into the first packet.
    ///
    /// # Errors
    /// [`ServerAuthError::Protocol`] if the nonce has another length than 20 bytes.
    pub fn initial_response(
        &mut self,
        plugin: &[u8],
        nonce: &[u8],
    ) -> Result<InitialResponse, ServerAuthError> {
        self.nonce = exact_nonce(nonce)
            .ok_or(ServerAuthError::Protocol("the nonce of its greeting is not of 20 bytes"))?;
        Ok(match Plugin::from_name(plugin) {
            Plugin::Native => {
                self.state = State::AwaitVerdict;
                let data = scramble::native(&self.secret, &self.nonce).into();
                InitialResponse { plugin: "mysql_native_password", data }
            }
            _ => {
                self.state = State::AwaitSha2Result;
                let data = scramble::caching_sha2(&self.secret, &self.nonce).into();
                InitialResponse { plugin: "caching_sha2_password", data }
            }
        })
    }

    /// The server's next payload.
    pub fn handle(&mut self, payload: &[u8]) -> ServerStep {
        self.packets = self.packets.saturating_add(1);
        if self.packets > MAX_PACKETS {
            return ServerStep::Failed(ServerAuthError::Protocol("it asks and asks and never decides"));
        }
        let result = match payload.split_first() {
            Some((0x00, _)) => Ok(ServerStep::LoggedIn),
            Some((0xff, _)) => Ok(ServerStep::Refused),
            Some((&SWITCH, [])) => Err(ServerAuthError::OldPassword),
            Some((&SWITCH, body)) => self.switch(body),
            Some((&MORE_DATA, data)) => self.more_data(data),
            Some((&NEXT_FACTOR, _)) => Err(ServerAuthError::SecondFactor),
            Some(_) => Err(ServerAuthError::Protocol("a packet that belongs to no authentication")),
            None => Err(ServerAuthError::Protocol("an empty packet")),
        };
        result.unwrap_or_else(ServerStep::Failed)
    }

    /// The nonce in force, for a COM_CHANGE_USER later on this connection. A `client_ed25519` nonce does not take its
    /// place, for the servers keep that one apart.
    pub fn nonce(&self) -> [u8; NONCE_LEN] {
        self.nonce
    }

    fn switch(&mut self, body: &[u8]) -> Result<ServerStep, ServerAuthError> {
        let (name, data) = parse_switch(body)
            .ok_or(ServerAuthError::Protocol("an AuthSwitchRequest without a plugin name"))?;
        self.state = State::AwaitVerdict;
        let response = match Plugin::from_name(name) {
            Plugin::Native => {
                self.nonce = nonce_of(data)?;
                scramble::native(&self.secret, &self.nonce).into()
            }
            Plugin::CachingSha2 => {
                self.nonce = nonce_of(data)?;
                self.state = State::AwaitSha2Result;
                // Over a switch the servers' own clients say "empty password" by one zero byte.
                match scramble::caching_sha2(&self.secret, &self.nonce) {
                    empty if empty.is_empty() => vec![0].into(),
                    token => token.into(),
                }
            }
            Plugin::Sha256 => {
                self.nonce = nonce_of(data)?;
                self.start_sha256()
            }
            Plugin::Ed25519 => scramble::ed25519(&self.secret, &nonce_of(data)?).to_vec().into(),
            Plugin::Clear if self.secure => Payload(scramble::clear(&self.secret)),
            plugin @ Plugin::Clear => return Err(ServerAuthError::InsecureLink(plugin)),
            plugin @ Plugin::Other(_) => return Err(ServerAuthError::UnsupportedPlugin(plugin)),
        };
        Ok(ServerStep::Send(response))
    }

    /// `sha256_password` has no scramble: the password goes over TLS as it is, else under the server's key.
    /// Accounts of it are old, but MySQL also picks it by the name of a user that does not exist, to hide that
    /// there is none; without it that user would see another error than 1045.
    fn start_sha256(&mut self) -> Payload {
        if self.secure && !self.unix_socket || self.secret.is_empty() {
            return Payload(scramble::clear(&self.secret));
        }
        self.state = State::AwaitPublicKey;
        vec![REQUEST_PUBLIC_KEY_SHA256].into()
    }

    fn more_data(&mut self, data: &[u8]) -> Result<ServerStep, ServerAuthError> {
        match (self.state, data) {
            (State::AwaitSha2Result, [FAST_AUTH_SUCCESS]) => {
                self.state = State::AwaitVerdict;
                Ok(ServerStep::Wait)
            }
            (State::AwaitSha2Result, [FULL_AUTHENTICATION]) if self.secure => {
                self.state = State::AwaitVerdict;
                Ok(ServerStep::Send(Payload(scramble::clear(&self.secret))))
            }
            (State::AwaitSha2Result, [FULL_AUTHENTICATION]) => {
                self.state = State::AwaitPublicKey;
                Ok(ServerStep::Send(vec![REQUEST_PUBLIC_KEY].into()))
            }
            (State::AwaitPublicKey, pem) => {
                self.state = State::AwaitVerdict;
                Ok(ServerStep::Send(rsa::encrypt_password(pem, &self.secret, &self.nonce)?.into()))
            }
            _ => Err(ServerAuthError::Protocol("AuthMoreData that answers nothing")),
        }
    }
}

fn nonce_of<const N: usize>(data: &[u8]) -> Result<[u8; N], ServerAuthError> {
    exact_nonce(data)
        .ok_or(ServerAuthError::Protocol("an AuthSwitchRequest with a nonce of the wrong length"))
}

#[cfg(test)]
mod tests;
