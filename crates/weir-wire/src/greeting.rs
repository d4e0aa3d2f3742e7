//! The first packet of a connection: HandshakeV10, from the server.

use crate::caps::{self, Caps};
use crate::lenenc::{Reader, put_nul_bytes};
use crate::packet::{self, ErrPacket};
use crate::{Malformed, frame};
use weir_model::ServerFamily;

/// The nonce of a greeting: 20 bytes, none of them NUL or `$`.
pub type Nonce = [u8; 20];

/// A HandshakeV10 packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub version: Vec<u8>,
    pub connection_id: u32,
    pub nonce: Nonce,
    pub caps: Caps,
    pub charset: u8,
    pub status: u16,
    pub plugin: Vec<u8>,
}

/// What a server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstPacket {
    Greeting(Box<Greeting>),
    /// The server refuses the connection at once (1040 too many connections, 1129 host blocked, ...).
    Refused(ErrPacket),
}

impl Greeting {
    pub fn family(&self) -> ServerFamily {
        ServerFamily::from_version(&self.version)
    }

    /// Reads the payload of a server's first packet.
    pub fn parse_first(payload: &[u8]) -> Result<FirstPacket, Malformed> {
        if payload.first() == Some(&0xFF) {
            return Ok(FirstPacket::Refused(packet::parse_err_early(payload)?));
        }
        Self::parse(payload).map(|greeting| FirstPacket::Greeting(Box::new(greeting)))
    }

    fn parse(payload: &[u8]) -> Result<Greeting, Malformed> {
        let mut r = Reader::new(payload, "server greeting");
        if r.u8()? != 10 {
            return Err(Malformed("server greeting: protocol version is not 10"));
        }
        let version = r.nul_bytes()?.to_vec();
        let connection_id = r.u32()?;
        let mut nonce = [0; 20];
        nonce[..8].copy_from_slice(r.take(8)?);
        r.take(1)?;
        let mut flags = Caps::from(r.u16()?);
        let charset = r.u8()?;
        let status = r.u16()?;
        flags |= Caps::from(r.u16()?) << 16;
        let auth_len = usize::from(r.u8()?);
        r.take(6)?;
        let extended = Caps::from(r.u32()?);
        if flags & caps::CLIENT_MYSQL == 0 {
            flags |= extended << 32;
        }
        if flags & caps::PROTOCOL_41 == 0 || flags & caps::SECURE_CONNECTION == 0 {
            return Err(Malformed("server greeting: older than MySQL 4.1"));
        }
        let tail = r.take(auth_len.saturating_sub(8).max(13))?;
        nonce[8..].copy_from_slice(tail.get(..12).ok_or(Malformed("server greeting"))?);
        let plugin = if flags & caps::PLUGIN_AUTH != 0 { r.nul_or_rest() } else { b"mysql_native_password" };
        let plugin = plugin.to_vec();
        Ok(Greeting { version, connection_id, nonce, caps: flags, charset, status, plugin })
    }

    /// Appends the greeting as a whole packet with sequence id 0.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut p = Vec::with_capacity(self.version.len() + self.plugin.len() + 64);
        p.push(10);
        put_nul_bytes(&mut p, &self.version);
        p.extend_from_slice(&self.connection_id.to_le_bytes());
        p.extend_from_slice(&self.nonce[..8]);
        p.push(0);
        p.extend_from_slice(&(self.caps as u16).to_le_bytes());
        p.push(self.charset);
        p.extend_from_slice(&self.status.to_le_bytes());
        p.extend_from_slice(&((self.caps >> 16) as u16).to_le_bytes());
        p.push(21);
        p.extend_from_slice(&[0; 6]);
        let extended = if self.caps & caps::CLIENT_MYSQL == 0 { (self.caps >> 32) as u32 } else { 0 };
        p.extend_from_slice(&extended.to_le_bytes());
        p.extend_from_slice(&self.nonce[8..]);
        p.push(0);
        put_nul_bytes(&mut p, &self.plugin);
        frame::put_packet(out, 0, &p);
    }
}

/// Makes a nonce out of 20 random bytes: NUL would end it, and `$` separates fields of stored hashes.
pub fn nonce_from_random(random: [u8; 20]) -> Nonce {
    random.map(|b| match b & 0x7F {
        0 | b'$' => b'w',
        b => b,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(flags: Caps) -> Greeting {
        Greeting {
            version: b"5.5.5-10.11.19-MariaDB".to_vec(),
            connection_id: 0x8000_0001,
            nonce: nonce_from_random([0xAB; 20]),
            caps: flags,
            charset: 45,
            status: 2,
            plugin: b"mysql_native_password".to_vec(),
        }
    }

    #[test]
    fn p6_extended_flags_travel_only_without_the_mysql_flag() {
        let base = caps::PROTOCOL_41 | caps::SECURE_CONNECTION | caps::PLUGIN_AUTH;
        for (flags, kept) in [
            (base | caps::MARIADB_CACHE_METADATA, base | caps::MARIADB_CACHE_METADATA),
            (base | caps::CLIENT_MYSQL | caps::MARIADB_CACHE_METADATA, base | caps::CLIENT_MYSQL),
        ] {
            let mut out = Vec::new();
            sample(flags).put(&mut out);
            let (_, payload, _) = frame::split_packet(&out).unwrap();
            let expected = Greeting { caps: kept, ..sample(flags) };
            assert_eq!(Greeting::parse_first(payload), Ok(FirstPacket::Greeting(Box::new(expected))));
        }
    }

    #[test]
    fn a_refusal_instead_of_a_greeting_is_read() {
        let Ok(FirstPacket::Refused(err)) = Greeting::parse_first(b"\xff\x69\x04Host is blocked") else {
            panic!("not read as an error");
        };
        assert_eq!((err.code, err.message.as_slice()), (1129, b"Host is blocked".as_slice()));
    }

    proptest! {
        #[test]
        fn arbitrary_greetings_never_panic(bytes: Vec<u8>) {
            let _ = Greeting::parse_first(&bytes);
        }

        #[test]
        fn nonces_hold_no_nul_and_no_dollar(random: [u8; 20]) {
            prop_assert!(nonce_from_random(random).iter().all(|b| *b != 0 && *b != b'$' && *b < 128));
        }
    }
}
