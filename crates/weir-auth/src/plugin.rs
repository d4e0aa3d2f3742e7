//! Names of authentication plugins, and the payloads that both exchanges share.

use std::fmt;

use crate::NONCE_LEN;

/// First byte of AuthMoreData.
pub(crate) const MORE_DATA: u8 = 0x01;
/// First byte of AuthNextFactor (MySQL's multi-factor authentication).
pub(crate) const NEXT_FACTOR: u8 = 0x02;
/// First byte of AuthSwitchRequest; alone, it is the request of servers before 4.1 for the old password hash.
pub(crate) const SWITCH: u8 = 0xfe;
/// AuthMoreData of `caching_sha2_password`: the scramble was right, OK follows.
pub(crate) const FAST_AUTH_SUCCESS: u8 = 0x03;
/// AuthMoreData of `caching_sha2_password`: send the password itself.
pub(crate) const FULL_AUTHENTICATION: u8 = 0x04;
/// What a `caching_sha2_password` client sends to be given the public key.
pub(crate) const REQUEST_PUBLIC_KEY: u8 = 0x02;
/// What a `sha256_password` client sends for the same.
pub(crate) const REQUEST_PUBLIC_KEY_SHA256: u8 = 0x01;

/// An authentication plugin by its client-side name, as the greeting, the handshake response, COM_CHANGE_USER and
/// AuthSwitchRequest carry it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plugin {
    /// `mysql_native_password`
    Native,
    /// `caching_sha2_password`
    CachingSha2,
    /// `sha256_password` (MySQL), spoken towards servers only
    Sha256,
    /// `mysql_clear_password`
    Clear,
    /// `client_ed25519` (MariaDB)
    Ed25519,
    /// Any other, with the printable part of its name, cut to [`Plugin::MAX_NAME`] characters.
    Other(String),
}

impl Plugin {
    /// Longest plugin name kept of a peer's, in characters: the servers' own limit for names (`NAME_CHAR_LEN`).
    pub const MAX_NAME: usize = 64;

    /// Reads a name as it came from a peer, without its NUL.
    pub fn from_name(name: &[u8]) -> Self {
        match name {
            b"mysql_native_password" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"sha256_password" => Self::Sha256,
            b"mysql_clear_password" => Self::Clear,
            b"client_ed25519" => Self::Ed25519,
            other => Self::Other(
                // A name ends up in logs and error texts, so a peer must not be able to write there freely.
                String::from_utf8_lossy(other)
                    .chars()
                    .take(Self::MAX_NAME)
                    .map(|c| if c.is_ascii_graphic() { c } else { '?' })
                    .collect(),
            ),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Clear => "mysql_clear_password",
            Self::Ed25519 => "client_ed25519",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// AuthSwitchRequest: 0xFE, the plugin's name, NUL, and for a plugin with a nonce the nonce and NUL.
pub(crate) fn auth_switch_request(plugin: &Plugin, nonce: Option<&[u8; NONCE_LEN]>) -> Vec<u8> {
    let mut payload = Vec::with_capacity(2 + plugin.name().len() + NONCE_LEN + 1);
    payload.push(SWITCH);
    payload.extend_from_slice(plugin.name().as_bytes());
    payload.push(0);
    if let Some(nonce) = nonce {
        payload.extend_from_slice(nonce);
        payload.push(0);
    }
    payload
}

/// AuthMoreData: 0x01 and the plugin's data.
pub(crate) fn auth_more_data(data: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(1 + data.len());
    payload.push(MORE_DATA);
    payload.extend_from_slice(data);
    payload
}

/// Splits the body of an AuthSwitchRequest (after 0xFE) into the plugin's name and its data. The NUL after the
/// name is required.
pub(crate) fn parse_switch(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let (name, rest) = body.split_at(end);
    Some((name, rest.get(1..)?))
}

/// A nonce of N bytes, with or without the NUL that the servers put after some. A nonce of `client_ed25519` may
/// itself end with a zero byte, so the length decides what is a terminator.
pub(crate) fn exact_nonce<const N: usize>(data: &[u8]) -> Option<[u8; N]> {
    let nonce = if data.len() == N + 1 { data.strip_suffix(&[0])? } else { data };
    nonce.try_into().ok()
}

#[cfg(test)]
mod tests;
