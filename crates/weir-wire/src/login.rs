//! What a client answers to the greeting, and COM_CHANGE_USER.

use crate::caps::{self, Caps};
use crate::lenenc::{Reader, put_lenenc_bytes, put_nul_bytes};
use crate::{HEADER, Malformed};

/// Length of an SSLRequest's payload: the fixed part of a handshake response, cut off.
pub const SSL_REQUEST_LEN: usize = 32;

/// HandshakeResponse41.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandshakeResponse {
    pub caps: Caps,
    /// The client's idea of the longest packet; servers ignore it.
    pub max_packet: u32,
    /// The low byte of the client's collation id.
    pub charset: u8,
    pub user: Vec<u8>,
    pub auth_response: Vec<u8>,
    pub database: Option<Vec<u8>>,
    pub plugin: Option<Vec<u8>>,
    /// Connection attributes as the client encoded them, without the length in front.
    pub attributes: Option<Vec<u8>>,
    pub zstd_level: Option<u8>,
}

/// What the first packet of a client can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstAnswer {
    /// The client wants TLS now; the handshake response follows inside it.
    SslRequest(Caps),
    Login(Box<HandshakeResponse>),
}

impl HandshakeResponse {
    /// Reads the payload of a client's first packet.
    pub fn parse_first(payload: &[u8]) -> Result<FirstAnswer, Malformed> {
        let mut r = Reader::new(payload, "handshake response");
        let flags = Caps::from(r.u16()?) | (Caps::from(r.u16()?) << 16);
        if flags & caps::PROTOCOL_41 == 0 {
            return Err(Malformed("handshake response: the client is older than MySQL 4.1"));
        }
        if payload.len() == SSL_REQUEST_LEN && flags & caps::SSL != 0 {
            return Ok(FirstAnswer::SslRequest(flags));
        }
        Self::parse(payload).map(|login| FirstAnswer::Login(Box::new(login)))
    }

    /// Reads a handshake response that is not an SSLRequest.
    pub fn parse(payload: &[u8]) -> Result<HandshakeResponse, Malformed> {
        let mut r = Reader::new(payload, "handshake response");
        let mut flags = Caps::from(r.u32()?);
        let max_packet = r.u32()?;
        let charset = r.u8()?;
        r.take(19)?;
        let extended = Caps::from(r.u32()?);
        if flags & caps::CLIENT_MYSQL == 0 {
            flags |= extended << 32;
        }
        let user = r.nul_bytes()?.to_vec();
        let auth_response = if flags & caps::PLUGIN_AUTH_LENENC != 0 {
            r.lenenc_bytes()?
        } else if flags & caps::SECURE_CONNECTION != 0 {
            let n = r.u8()?;
            r.take(usize::from(n))?
        } else {
            r.nul_or_rest()
        };
        let auth_response = auth_response.to_vec();
        let with_db = flags & caps::CONNECT_WITH_DB != 0 && !r.is_empty();
        let database = with_db.then(|| r.nul_or_rest().to_vec()).filter(|db| !db.is_empty());
        let with_plugin = flags & caps::PLUGIN_AUTH != 0 && !r.is_empty();
        let plugin = with_plugin.then(|| r.nul_or_rest().to_vec());
        let with_attributes = flags & caps::CONNECT_ATTRS != 0 && !r.is_empty();
        let attributes = if with_attributes { Some(r.lenenc_bytes()?.to_vec()) } else { None };
        let zstd_level = if flags & caps::ZSTD_COMPRESSION != 0 { r.u8().ok() } else { None };
        let caps = flags;
        Ok(Self { caps, max_packet, charset, user, auth_response, database, plugin, attributes, zstd_level })
    }

    /// The payload; the optional parts follow `self.caps`.
    pub fn to_payload(&self) -> Vec<u8> {
        let mut out = self.fixed_part();
        put_nul_bytes(&mut out, &self.user);
        if self.caps & caps::PLUGIN_AUTH_LENENC != 0 {
            put_lenenc_bytes(&mut out, &self.auth_response);
        } else {
            let n = self.auth_response.len().min(255);
            out.push(n as u8);
            out.extend_from_slice(&self.auth_response[..n]);
        }
        if self.caps & caps::CONNECT_WITH_DB != 0 {
            put_nul_bytes(&mut out, self.database.as_deref().unwrap_or_default());
        }
        if self.caps & caps::PLUGIN_AUTH != 0 {
            put_nul_bytes(&mut out, self.plugin.as_deref().unwrap_or_default());
        }
        if self.caps & caps::CONNECT_ATTRS != 0 {
            put_lenenc_bytes(&mut out, self.attributes.as_deref().unwrap_or_default());
        }
        if self.caps & caps::ZSTD_COMPRESSION != 0 {
            out.push(self.zstd_level.unwrap_or(3));
        }
        out
    }

    /// The payload of the SSLRequest that goes before this response.
    pub fn to_ssl_request(&self) -> Vec<u8> {
        self.fixed_part()
    }

    fn fixed_part(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + 128);
        out.extend_from_slice(&(self.caps as u32).to_le_bytes());
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(self.charset);
        out.extend_from_slice(&[0; 19]);
        let extended = if self.caps & caps::CLIENT_MYSQL == 0 { (self.caps >> 32) as u32 } else { 0 };
        out.extend_from_slice(&extended.to_le_bytes());
        out
    }
}

/// COM_CHANGE_USER without its command byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeUser {
    pub user: Vec<u8>,
    pub auth_response: Vec<u8>,
    pub database: Vec<u8>,
    /// The whole collation id; absent in the packets of very old clients, with all that follows.
    pub charset: Option<u16>,
    pub plugin: Option<Vec<u8>>,
    pub attributes: Option<Vec<u8>>,
}

impl ChangeUser {
    /// Reads what follows the command byte; `flags` are those of the session.
    pub fn parse(body: &[u8], flags: Caps) -> Result<ChangeUser, Malformed> {
        let mut r = Reader::new(body, "COM_CHANGE_USER");
        let user = r.nul_bytes()?.to_vec();
        let auth_response = if flags & caps::SECURE_CONNECTION != 0 {
            let n = r.u8()?;
            r.take(usize::from(n))?
        } else {
            r.nul_bytes()?
        };
        let auth_response = auth_response.to_vec();
        let database = r.nul_bytes()?.to_vec();
        let charset = if r.remaining() >= 2 { Some(r.u16()?) } else { None };
        // A stray byte where the collation should be is the end of an old client's packet, not a plugin.
        let goes_on = charset.is_some() && !r.is_empty();
        let with_plugin = flags & caps::PLUGIN_AUTH != 0 && goes_on;
        let plugin = with_plugin.then(|| r.nul_or_rest().to_vec());
        let with_attributes = flags & caps::CONNECT_ATTRS != 0 && charset.is_some() && !r.is_empty();
        let attributes = if with_attributes { Some(r.lenenc_bytes()?.to_vec()) } else { None };
        Ok(Self { user, auth_response, database, charset, plugin, attributes })
    }

    /// The payload with its command byte, for a session that agreed on `flags`.
    pub fn to_payload(&self, flags: Caps) -> Vec<u8> {
        let mut out = vec![crate::command::CHANGE_USER];
        put_nul_bytes(&mut out, &self.user);
        let n = self.auth_response.len().min(255);
        out.push(n as u8);
        out.extend_from_slice(&self.auth_response[..n]);
        put_nul_bytes(&mut out, &self.database);
        let Some(charset) = self.charset else { return out };
        out.extend_from_slice(&charset.to_le_bytes());
        if flags & caps::PLUGIN_AUTH != 0 {
            put_nul_bytes(&mut out, self.plugin.as_deref().unwrap_or_default());
        }
        if flags & caps::CONNECT_ATTRS != 0 {
            put_lenenc_bytes(&mut out, self.attributes.as_deref().unwrap_or_default());
        }
        out
    }
}

#[cfg(test)]
mod tests;
