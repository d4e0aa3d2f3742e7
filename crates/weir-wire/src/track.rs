//! Session state information of an OK packet (CLIENT_SESSION_TRACK; the MySQL source documentation, "OK_Packet";
//! the MariaDB knowledge base, "OK_Packet").

use crate::Malformed;
use crate::lenenc::{Reader, put_lenenc_bytes};
use crate::packet::status;

/// The kind of SESSION_TRACK_STATE_CHANGE.
pub const STATE_CHANGE: u8 = 2;

/// One change that a server reports. It reports what it was asked to track, and not all of that: silence proves
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// SESSION_TRACK_SYSTEM_VARIABLES: a variable and its value after the statement, as SHOW VARIABLES shows it.
    SystemVariable { name: &'a [u8], value: &'a [u8] },
    /// SESSION_TRACK_SCHEMA: the default schema, in the server's system character set (utf8); empty for none.
    Schema(&'a [u8]),
    /// SESSION_TRACK_STATE_CHANGE: whether something of the session has changed. The only kind without a length of its
    /// own inside.
    StateChange(bool),
    /// SESSION_TRACK_GTIDS (MySQL), without the encoding byte in front.
    Gtids(&'a [u8]),
    /// SESSION_TRACK_TRANSACTION_CHARACTERISTICS: the statements that would begin such a transaction.
    TransactionCharacteristics(&'a [u8]),
    /// SESSION_TRACK_TRANSACTION_STATE: eight letters, `_` where nothing is to be said.
    TransactionState(&'a [u8]),
    /// A kind that this version does not know.
    Other(u8),
}

/// The changes in an OK packet, one after the other; it ends behind the first malformed one.
#[derive(Debug, Clone)]
pub struct Changes<'a> {
    rest: Reader<'a>,
    /// What is left of an entry that holds several variables.
    variables: Reader<'a>,
}

/// Reads the changes of a whole OK packet (its first byte 0x00, or 0xFE at the end of rows) of a connection that
/// agreed on CLIENT_SESSION_TRACK. An OK packet without SERVER_SESSION_STATE_CHANGED has none.
///
/// # Errors
/// [`Malformed`] when the packet ends before the state information does.
pub fn changes(payload: &[u8]) -> Result<Changes<'_>, Malformed> {
    let mut r = Reader::new(payload, "OK packet");
    r.u8()?;
    r.lenenc()?;
    r.lenenc()?;
    let flags = r.u16()?;
    r.u16()?;
    let mut block: &[u8] = &[];
    // Both servers write the length of the text even where nothing follows it; where no text follows, nothing does.
    if flags & status::SESSION_STATE_CHANGED != 0 && !r.is_empty() {
        r.lenenc_bytes()?;
        if !r.is_empty() {
            block = r.lenenc_bytes()?;
        }
    }
    let none = Reader::new(&[], "session state");
    Ok(Changes { rest: Reader::new(block, "session state"), variables: none })
}

/// An OK or EOF packet for a client that is not told of all changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Where the status flags stand.
    pub flags_at: usize,
    /// So much of the payload stays as it is, but for SERVER_SESSION_STATE_CHANGED, which goes where no change is left.
    pub head: usize,
    /// What stands in place of all that follows; never longer than that was.
    pub tail: Vec<u8>,
    /// Whether changes are left.
    pub changed: bool,
}

impl Withheld {
    /// The packet itself, of the payload that this was made from.
    pub fn payload(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = payload.get(..self.head).unwrap_or_default().to_vec();
        if let (false, Some(high)) = (self.changed, out.get_mut(self.flags_at + 1)) {
            *high &= !(status::SESSION_STATE_CHANGED >> 8) as u8;
        }
        out.extend_from_slice(&self.tail);
        out
    }
}

/// Takes the changes out of an OK packet (or the flag out of an EOF packet, which has it alone) whose kinds `keep` does not name;
/// without `keep`, for a client without CLIENT_SESSION_TRACK, all and the flag. `None`: it stays as it is.
///
/// # Errors
/// [`Malformed`] as [`changes`] has it.
pub fn withhold(payload: &[u8], keep: Option<&dyn Fn(u8) -> bool>) -> Result<Option<Withheld>, Malformed> {
    if payload.len() == 5 && payload.first() == Some(&0xFE) {
        return Ok(Some(Withheld { flags_at: 3, head: 5, tail: Vec::new(), changed: false }));
    }
    let mut r = Reader::new(payload, "OK packet");
    r.u8()?;
    r.lenenc()?;
    r.lenenc()?;
    let flags_at = payload.len() - r.remaining();
    if r.u16()? & status::SESSION_STATE_CHANGED == 0 {
        return Ok(None);
    }
    r.u16()?;
    let head = payload.len() - r.remaining();
    let text = if r.is_empty() { &[][..] } else { r.lenenc_bytes()? };
    let block = if r.is_empty() { &[][..] } else { r.lenenc_bytes()? };
    let mut left = Vec::new();
    let mut entries = Reader::new(block, "session state");
    while !entries.is_empty() {
        let entry = block.len() - entries.remaining();
        let kind = entries.u8()?;
        entries.lenenc_bytes()?;
        if keep.is_some_and(|keep| keep(kind)) {
            left.extend_from_slice(&block[entry..block.len() - entries.remaining()]);
        }
    }
    if keep.is_some() && left.len() == block.len() {
        return Ok(None);
    }
    let changed = !left.is_empty();
    let mut tail = Vec::new();
    if changed || !text.is_empty() {
        put_lenenc_bytes(&mut tail, text);
    }
    if changed {
        put_lenenc_bytes(&mut tail, &left);
    }
    Ok(Some(Withheld { flags_at, head, tail, changed }))
}

impl<'a> Changes<'a> {
    fn entry(&mut self) -> Result<Change<'a>, Malformed> {
        if self.variables.is_empty() {
            let kind = self.rest.u8()?;
            let data = self.rest.lenenc_bytes()?;
            let mut r = Reader::new(data, "session state");
            match kind {
                0 => self.variables = r,
                1 => return Ok(Change::Schema(r.lenenc_bytes()?)),
                STATE_CHANGE => return Ok(Change::StateChange(data == b"1")),
                3 => {
                    r.u8()?;
                    return Ok(Change::Gtids(r.lenenc_bytes()?));
                }
                4 => return Ok(Change::TransactionCharacteristics(r.lenenc_bytes()?)),
                5 => return Ok(Change::TransactionState(r.lenenc_bytes()?)),
                other => return Ok(Change::Other(other)),
            }
        }
        let name = self.variables.lenenc_bytes()?;
        Ok(Change::SystemVariable { name, value: self.variables.lenenc_bytes()? })
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() && self.variables.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.rest.rest();
            self.variables.rest();
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
