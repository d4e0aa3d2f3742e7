//! OK, ERR and EOF packets.

use crate::Malformed;
use crate::caps::{self, Caps};
use crate::lenenc::{Reader, put_lenenc};

/// Server status flags (the MySQL manual's SERVER_STATUS_flags_enum).
pub mod status {
    pub const IN_TRANS: u16 = 0x0001;
    pub const AUTOCOMMIT: u16 = 0x0002;
    pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
    pub const NO_GOOD_INDEX_USED: u16 = 0x0010;
    pub const NO_INDEX_USED: u16 = 0x0020;
    pub const CURSOR_EXISTS: u16 = 0x0040;
    pub const LAST_ROW_SENT: u16 = 0x0080;
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
    /// The statement has another number of columns than when it was prepared.
    pub const METADATA_CHANGED: u16 = 0x0400;
    pub const QUERY_WAS_SLOW: u16 = 0x0800;
    /// The rows that follow are the OUT parameters of a CALL.
    pub const PS_OUT_PARAMS: u16 = 0x1000;
    pub const IN_TRANS_READONLY: u16 = 0x2000;
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
    /// MariaDB: ANSI_QUOTES is in force.
    pub const ANSI_QUOTES: u16 = 0x8000;

    /// The flags that tell of the session; the others tell of the statement before.
    pub const OF_THE_SESSION: u16 =
        IN_TRANS | AUTOCOMMIT | NO_BACKSLASH_ESCAPES | IN_TRANS_READONLY | ANSI_QUOTES;
}

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket {
    pub code: u16,
    /// Five characters; `HY000` where the packet has none.
    pub state: [u8; 5],
    pub message: Vec<u8>,
}

impl ErrPacket {
    pub fn new(code: u16, state: &[u8; 5], message: impl Into<Vec<u8>>) -> Self {
        Self { code, state: *state, message: message.into() }
    }

    /// The payload as a client reads it after the login began.
    pub fn to_payload(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.message.len() + 9);
        out.push(0xFF);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&self.state);
        out.extend_from_slice(&self.message);
        out
    }

    /// The payload as a client reads it instead of a greeting: without SQLSTATE, for the protocol is not agreed.
    pub fn to_early_payload(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.message.len() + 3);
        out.push(0xFF);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(&self.message);
        out
    }
}

/// Reads an ERR packet that follows the login's beginning.
pub fn parse_err(payload: &[u8]) -> Result<ErrPacket, Malformed> {
    parse_err_early(payload)
}

/// Reads an ERR packet with or without a SQLSTATE (a server that refuses at once sends none).
pub fn parse_err_early(payload: &[u8]) -> Result<ErrPacket, Malformed> {
    let mut r = Reader::new(payload, "ERR packet");
    if r.u8()? != 0xFF {
        return Err(Malformed("ERR packet"));
    }
    let code = r.u16()?;
    let rest = r.rest();
    let (state, message) = match rest.split_first_chunk::<6>() {
        Some((&[b'#', s @ ..], message)) => (s, message),
        _ => (*b"HY000", rest),
    };
    Ok(ErrPacket { code, state, message: message.to_vec() })
}

/// The fixed part of an OK packet (also of one that starts with 0xFE, in place of EOF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkHead {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: u16,
    pub warnings: u16,
}

/// The longest fixed part of an OK packet: marker, two integers of nine bytes, status, warnings.
pub const OK_HEAD_MAX: usize = 1 + 9 + 9 + 2 + 2;

/// Reads the fixed part of an OK packet; the payload may be cut behind [`OK_HEAD_MAX`] bytes.
pub fn parse_ok_head(payload: &[u8]) -> Result<OkHead, Malformed> {
    let mut r = Reader::new(payload, "OK packet");
    r.u8()?;
    Ok(OkHead {
        affected_rows: r.lenenc()?,
        last_insert_id: r.lenenc()?,
        status: r.u16()?,
        warnings: r.u16()?,
    })
}

/// Where the status flags stand in an OK or EOF packet that begins like `head`.
pub(crate) fn status_at(head: &[u8], is_eof: bool) -> Option<usize> {
    if is_eof {
        return Some(3);
    }
    let mut r = Reader::new(head, "OK packet");
    r.u8().ok()?;
    r.lenenc().ok()?;
    r.lenenc().ok()?;
    Some(head.len() - r.remaining())
}

/// The payload of a plain OK packet.
pub fn ok_payload(status: u16) -> Vec<u8> {
    let mut out = vec![0x00];
    put_lenenc(&mut out, 0);
    put_lenenc(&mut out, 0);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// The payload that ends a list of column definitions or rows: EOF, or OK where CLIENT_DEPRECATE_EOF is agreed.
pub fn end_payload(flags: Caps, status: u16) -> Vec<u8> {
    if flags & caps::DEPRECATE_EOF != 0 {
        let mut out = ok_payload(status);
        out[0] = 0xFE;
        return out;
    }
    let mut out = vec![0xFE, 0, 0];
    out.extend_from_slice(&status.to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_survive_the_round_trip() {
        let err = ErrPacket::new(1045, b"28000", "Access denied");
        assert_eq!(parse_err(&err.to_payload()), Ok(err.clone()));
        let early = parse_err_early(&err.to_early_payload());
        assert_eq!(early, Ok(ErrPacket { state: *b"HY000", ..err }));
    }

    proptest! {
        #[test]
        fn arbitrary_packets_never_panic(bytes: Vec<u8>) {
            let _ = parse_err(&bytes);
            let _ = parse_ok_head(&bytes);
        }
    }
}
