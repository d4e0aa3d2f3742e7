//! The packets that end an answer or a part of it.

use super::{State, Walker};
use crate::Malformed;
use crate::frame::Header;
use crate::lenenc::Reader;
use crate::packet::{self, OkHead, status};

impl Walker {
    pub(super) fn take_end(&mut self, ok: OkHead, ended_rows: bool) {
        self.warned |= ok.warnings > 0;
        (self.status, self.ok, self.ended_rows) = (ok.status, ok, ended_rows);
    }

    /// Remembers where the flags of an end of columns or rows stand, if the client must learn that the columns have changed.
    pub(super) fn mark_changed(&mut self, head: &[u8], is_eof: bool) {
        // A CALL is prepared without columns, and that says nothing.
        if self.expected.is_some_and(|expected| expected > 0 && self.columns != Some(expected)) {
            self.mark = packet::status_at(head, is_eof);
        }
    }

    /// Whether a packet that begins so has SERVER_SESSION_STATE_CHANGED.
    pub(super) fn tells_changes(&self, header: Header, head: &[u8]) -> bool {
        let first = head.first().copied().unwrap_or(0xFF);
        let ok = match self.state {
            State::First => first == 0x00,
            State::Single => matches!(first, 0x00 | 0xFE) && header.len != 5,
            State::Rows | State::Fields => self.is_end(header, first) && !self.ends_with_eof(head),
            _ => false,
        };
        let flags = if ok {
            packet::parse_ok_head(head)
        } else if first == 0xFE && header.len == 5 {
            eof_head(head)
        } else {
            return false;
        };
        flags.is_ok_and(|ok| ok.status & status::SESSION_STATE_CHANGED != 0)
    }

    pub(super) fn end_head(&self, head: &[u8]) -> Result<OkHead, Malformed> {
        // Five bytes are an EOF packet even where OK is due, as some servers send at the end of COM_FIELD_LIST.
        if self.ends_with_eof(head) { eof_head(head) } else { packet::parse_ok_head(head) }
    }

    pub(super) fn ends_with_eof(&self, head: &[u8]) -> bool {
        !self.deprecate_eof() || head.len() == 5
    }
}

pub(super) fn eof_head(head: &[u8]) -> Result<OkHead, Malformed> {
    let mut r = Reader::new(head, "EOF packet");
    if r.u8()? != 0xFE {
        return Err(Malformed("EOF packet"));
    }
    let warnings = r.u16()?;
    Ok(OkHead { warnings, status: r.u16()?, ..OkHead::default() })
}

/// What a one-packet answer says: OK, EOF, or OK that starts like EOF.
pub(super) fn single_head(header: Header, head: &[u8]) -> Option<OkHead> {
    match head.first()? {
        0xFE if header.len == 5 => eof_head(head).ok(),
        0x00 | 0xFE => packet::parse_ok_head(head).ok(),
        _ => None,
    }
}
