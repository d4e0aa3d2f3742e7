//! Session state information of an OK packet (CLIENT_SESSION_TRACK; the MySQL source documentation, "OK_Packet";
//! the MariaDB knowledge base, "OK_Packet").

use crate::Malformed;
use crate::lenenc::Reader;
use crate::packet::status;

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

impl<'a> Changes<'a> {
    fn entry(&mut self) -> Result<Change<'a>, Malformed> {
        if self.variables.is_empty() {
            let kind = self.rest.u8()?;
            let data = self.rest.lenenc_bytes()?;
            let mut r = Reader::new(data, "session state");
            match kind {
                0 => self.variables = r,
                1 => return Ok(Change::Schema(r.lenenc_bytes()?)),
                2 => return Ok(Change::StateChange(data == b"1")),
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
