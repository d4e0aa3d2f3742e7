//! The response walker: finds where an answer ends by looking at packet headers and first bytes only.
//!
//! ```text
//!            +--------- MORE_RESULTS ---------+
//!            v                                |
//!  begin -> First --OK/ERR----------------> (end) -> Done
//!            |  \--0xFB--> LocalInfile          ^
//!            v                                  |
//!         Columns -> ColumnsEof -> Rows --------+
//! ```
//!
//! The walker never holds bytes: what it cannot judge yet (at most [`HOLD_MAX`] bytes, and a packet of changes for who
//! watches these) it leaves to the caller, so nothing is forwarded before it is understood.

use crate::caps::{self, Caps};
use crate::command::Shape;
use crate::frame::Header;
use crate::lenenc::Reader;
use crate::packet::{self, OkHead, status};
use crate::{HEADER, MAX_PAYLOAD, Malformed};

/// Bytes of a packet that decide what it is: the fixed part of an OK packet is the longest.
const HEAD_MAX: usize = packet::OK_HEAD_MAX + 1;

/// The most that [`Walker::walk`] leaves unconsumed with [`Event::More`].
pub const HOLD_MAX: usize = HEADER + HEAD_MAX;

/// Error number in the header of MariaDB's progress reports, which are no errors.
const PROGRESS: u16 = 0xFFFF;

mod ends;

use ends::{eof_head, single_head};

/// What the walker came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The answer goes on behind these bytes.
    More,
    /// The answer is complete; the next byte belongs to the next one.
    Done,
    /// The server asks for a local file. The packet is not consumed: call [`Walker::allow_local_infile`] and
    /// walk on, or refuse.
    LocalInfileAsked,
    /// The request for a local file is consumed; now the client sends, and then the server goes on.
    LocalInfileSent,
    /// An OK or EOF packet tells that something of the session has changed. The packet is not consumed: read it when it is
    /// there as a whole, call [`Walker::changes_read`], and walk on. Only after [`Walker::watch_changes`].
    Changes,
}

/// A statement that the server prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    pub id: u32,
    pub columns: u16,
    pub params: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Columns { left: u64 },
    ColumnsEof,
    Rows,
    Single,
    Text,
    Prepare,
    PrepareParams { left: u16, columns: u16 },
    PrepareParamsEof { columns: u16 },
    PrepareColumns { left: u16 },
    PrepareColumnsEof,
    Fields,
    Binlog,
}

/// Walks over the answers of one server connection.
#[derive(Debug, Clone)]
pub struct Walker {
    flags: Caps,
    state: State,
    /// Bytes of the current packet still to come.
    skip: u32,
    /// Whether the current payload goes on in another packet.
    continues: bool,
    ending: Option<Event>,
    local_infile_allowed: bool,
    /// Whether a packet of the current answer was consumed.
    begun: bool,
    seq: u8,
    status: u16,
    error: Option<u16>,
    rows: u64,
    /// What the last OK or EOF packet of the answer said.
    ok: OkHead,
    /// That packet ended rows.
    ended_rows: bool,
    warned: bool,
    /// Another result of the answer has followed, or will.
    several: bool,
    /// Columns of the first rows of the answer.
    columns: Option<u64>,
    /// How many of them the client knows of.
    expected: Option<u64>,
    /// Where status flags stand that must tell that the columns have changed.
    marks: Vec<usize>,
    /// The same within the packet at hand.
    mark: Option<usize>,
    prepared: Option<Prepared>,
    /// The rows under way are the OUT parameters of a CALL.
    out_params: bool,
    /// Whether the caller wants to see packets that tell of changes, and has seen the one at hand.
    watches: bool,
    changes_read: bool,
}

impl Walker {
    /// A walker for a connection that agreed on `flags` and whose login ended with `status`.
    pub fn new(flags: Caps, status: u16) -> Self {
        Self {
            flags,
            state: State::Single,
            skip: 0,
            continues: false,
            ending: None,
            local_infile_allowed: false,
            begun: false,
            seq: 0,
            status,
            error: None,
            rows: 0,
            ok: OkHead::default(),
            ended_rows: false,
            warned: false,
            several: false,
            columns: None,
            expected: None,
            marks: Vec::new(),
            mark: None,
            prepared: None,
            out_params: false,
            watches: false,
            changes_read: false,
        }
    }

    /// Stops at every packet with SERVER_SESSION_STATE_CHANGED: [`Event::Changes`].
    pub fn watch_changes(&mut self) {
        self.watches = true;
    }

    /// Lets the packet at hand pass.
    pub fn changes_read(&mut self) {
        self.changes_read = true;
    }

    /// Expects the answer to a command of this shape. [`Shape::None`] and [`Shape::Auth`] have none to walk.
    pub fn begin(&mut self, shape: Shape) {
        self.state = match shape {
            Shape::Query => State::First,
            Shape::Prepare => State::Prepare,
            Shape::Rows => State::Rows,
            Shape::Fields => State::Fields,
            Shape::Text => State::Text,
            Shape::Binlog => State::Binlog,
            Shape::None | Shape::Single | Shape::Auth => State::Single,
        };
        self.ending = None;
        self.local_infile_allowed = false;
        self.begun = false;
        (self.error, self.rows) = (None, 0);
        (self.ok, self.ended_rows, self.warned, self.several) = (OkHead::default(), false, false, false);
        (self.columns, self.expected) = (None, None);
        self.marks.clear();
        self.prepared = None;
        self.out_params = false;
    }

    /// Status flags of the last OK or EOF packet.
    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn set_status(&mut self, status: u16) {
        self.status = status;
    }

    pub fn in_transaction(&self) -> bool {
        self.status & status::IN_TRANS != 0
    }

    /// The error that ended the answer.
    pub fn error(&self) -> Option<u16> {
        self.error
    }

    /// Rows of the current answer so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What the last OK or EOF packet of the current answer said; zeros before there was one.
    pub fn ok(&self) -> OkHead {
        self.ok
    }

    /// Whether any result of the current answer came with warnings.
    pub fn warned(&self) -> bool {
        self.warned
    }

    /// Whether the current answer has more than one result. The flags of its last packet no longer say so.
    pub fn several(&self) -> bool {
        self.several
    }

    /// The client knows of so many columns of the answer that has just begun. If there are others, [`Self::take_marks`] says
    /// where it must be told.
    pub fn expect_columns(&mut self, columns: u64) {
        self.expected = Some(columns);
    }

    /// Columns of the first rows of the current answer.
    pub fn columns(&self) -> Option<u64> {
        self.columns
    }

    /// Where, in the bytes of the last walk, status flags stand (two bytes) that must have
    /// [`status::METADATA_CHANGED`].
    pub fn take_marks(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.marks)
    }

    /// Whether that packet ended rows.
    pub fn ended_rows(&self) -> bool {
        self.ended_rows
    }

    /// The statement that the current answer announced.
    pub fn prepared(&self) -> Option<Prepared> {
        self.prepared
    }

    /// Whether the bytes consumed so far end with a whole payload, so that an ERR packet could follow.
    pub fn at_boundary(&self) -> bool {
        self.skip == 0 && !self.continues
    }

    /// The sequence id that the next packet of this answer carries.
    pub fn next_seq(&self) -> u8 {
        if self.begun { self.seq.wrapping_add(1) } else { 1 }
    }

    /// Lets the request for a local file pass.
    pub fn allow_local_infile(&mut self) {
        self.local_infile_allowed = true;
    }

    /// Expects the server's answer behind the file that the client has sent.
    pub fn local_infile_done(&mut self) {
        self.local_infile_allowed = false;
        self.state = State::First;
    }

    /// Consumes what belongs to the answer from the front of `bytes`: how many bytes, and what they came to.
    #[inline]
    pub fn walk(&mut self, bytes: &[u8]) -> Result<(usize, Event), Malformed> {
        let mut at = 0;
        loop {
            let n = (bytes.len() - at).min(self.skip as usize);
            self.skip -= n as u32;
            at += n;
            if self.skip > 0 {
                return Ok((at, Event::More));
            }
            if !self.continues
                && let Some(event) = self.ending.take()
            {
                return Ok((at, event));
            }
            let Some(header) = Header::peek(&bytes[at..]) else { return Ok((at, Event::More)) };
            if !self.continues {
                let body = &bytes[at + HEADER..];
                let is_row = self.state == State::Rows && body.first().is_some_and(|b| *b < 0xFE);
                if is_row && header.len > 0 {
                    self.rows += 1;
                } else {
                    let need = header.len.min(HEAD_MAX);
                    if body.len() < need {
                        return Ok((at, Event::More));
                    }
                    if self.asks_for_file(&body[..need]) {
                        return Ok((at, Event::LocalInfileAsked));
                    }
                    if self.watches && !self.changes_read && self.tells_changes(header, &body[..need]) {
                        return Ok((at, Event::Changes));
                    }
                    self.changes_read = false;
                    self.packet(header, &body[..need])?;
                    if let Some(mark) = self.mark.take() {
                        self.marks.push(at + HEADER + mark);
                    }
                }
            }
            at += HEADER;
            self.begun = true;
            self.seq = header.seq;
            self.skip = header.len as u32;
            self.continues = header.continues();
        }
    }

    fn asks_for_file(&self, head: &[u8]) -> bool {
        // No answer of one packet begins so either, and a client might still take it for what it looks like.
        let asked = matches!(self.state, State::First | State::Single | State::Prepare);
        asked && head.first() == Some(&0xFB) && !self.local_infile_allowed
    }

    /// Judges the first packet of a payload by its first bytes.
    fn packet(&mut self, header: Header, head: &[u8]) -> Result<(), Malformed> {
        if self.state == State::Binlog {
            return self.binlog(header, head);
        }
        let Some(&first) = head.first() else { return self.empty_packet() };
        if first == 0xFF {
            return self.err(head);
        }
        match self.state {
            State::First => self.first(header, head)?,
            State::Columns { left: 0..=1 } => self.state = self.after_columns(),
            State::Columns { left } => self.state = State::Columns { left: left - 1 },
            State::ColumnsEof => {
                self.take_end(eof_head(head)?, true);
                self.mark_changed(head, true);
                if self.status & status::CURSOR_EXISTS != 0 {
                    self.end_result();
                } else {
                    self.out_params = self.status & status::PS_OUT_PARAMS != 0;
                    self.state = State::Rows;
                }
            }
            State::Rows if self.is_end(header, first) => {
                self.take_end(self.end_head(head)?, true);
                self.mark_changed(head, self.ends_with_eof(head));
                if self.out_params {
                    // MySQL ends them as if nothing followed, and sends the OK of the CALL all the same (trap P33).
                    self.status |= status::MORE_RESULTS_EXISTS;
                }
                self.out_params = false;
                self.end_result();
            }
            // A row whose first value is 16 MiB or longer starts with 0xFE as well.
            State::Rows => self.rows += 1,
            State::Single => {
                if let Some(ok) = single_head(header, head) {
                    self.take_end(ok, false);
                }
                self.ending = Some(Event::Done);
            }
            State::Text => self.ending = Some(Event::Done),
            State::Prepare => self.prepare(head)?,
            State::PrepareParams { left: 0..=1, columns } => {
                self.state = if self.deprecate_eof() {
                    self.prepare_columns(columns)
                } else {
                    State::PrepareParamsEof { columns }
                };
            }
            State::PrepareParams { left, columns } => {
                self.state = State::PrepareParams { left: left - 1, columns };
            }
            State::PrepareParamsEof { columns } => self.state = self.prepare_columns(columns),
            State::PrepareColumns { left: 0..=1 } => {
                if self.deprecate_eof() {
                    self.ending = Some(Event::Done);
                } else {
                    self.state = State::PrepareColumnsEof;
                }
            }
            State::PrepareColumns { left } => self.state = State::PrepareColumns { left: left - 1 },
            State::PrepareColumnsEof => self.ending = Some(Event::Done),
            State::Fields if self.is_end(header, first) => {
                self.take_end(self.end_head(head)?, true);
                self.ending = Some(Event::Done);
            }
            State::Fields | State::Binlog => {}
        }
        Ok(())
    }

    fn empty_packet(&mut self) -> Result<(), Malformed> {
        // Only COM_STATISTICS could answer with nothing at all.
        if self.state == State::Text {
            self.ending = Some(Event::Done);
            return Ok(());
        }
        Err(Malformed("server answer: empty packet"))
    }

    fn err(&mut self, head: &[u8]) -> Result<(), Malformed> {
        let code = Reader::new(head.get(1..).unwrap_or_default(), "ERR packet").u16()?;
        if code == PROGRESS && self.flags & caps::MARIADB_PROGRESS != 0 {
            return Ok(());
        }
        self.error = Some(code);
        // Nothing follows an error, and it carries no flags that would say so.
        self.status &= !status::MORE_RESULTS_EXISTS;
        self.ending = Some(Event::Done);
        Ok(())
    }

    fn first(&mut self, header: Header, head: &[u8]) -> Result<(), Malformed> {
        match head[0] {
            0x00 => {
                self.take_end(packet::parse_ok_head(head)?, false);
                self.end_result();
            }
            0xFB => self.ending = Some(Event::LocalInfileSent),
            0xFE if header.len < 9 => {
                self.take_end(eof_head(head)?, false);
                self.end_result();
            }
            _ => {
                let mut r = Reader::new(head, "column count");
                let columns = r.lenenc()?;
                self.columns.get_or_insert(columns);
                let flagged = caps::OPTIONAL_RESULTSET_METADATA | caps::MARIADB_CACHE_METADATA;
                let follow = self.flags & flagged == 0 || r.is_empty() || r.u8()? != 0;
                self.state = match columns {
                    0 => return Err(Malformed("column count")),
                    _ if !follow => self.after_columns(),
                    left => State::Columns { left },
                };
            }
        }
        Ok(())
    }

    fn prepare(&mut self, head: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(head, "COM_STMT_PREPARE answer");
        r.u8()?;
        let (id, columns, params) = (r.u32()?, r.u16()?, r.u16()?);
        self.prepared = Some(Prepared { id, columns, params });
        r.take(1)?;
        // Absent in the answers of very old servers.
        self.ok.warnings = r.u16().unwrap_or(0);
        let flagged = self.flags & caps::OPTIONAL_RESULTSET_METADATA != 0;
        let follow = !flagged || r.u8().is_ok_and(|flag| flag != 0);
        self.state = match (follow, params) {
            (true, 1..) => State::PrepareParams { left: params, columns },
            (true, 0) => self.prepare_columns(columns),
            (false, _) => self.prepare_columns(0),
        };
        Ok(())
    }

    /// The state behind the parameters of a prepared statement; ends the answer where it has no columns.
    fn prepare_columns(&mut self, columns: u16) -> State {
        if columns == 0 {
            self.ending = Some(Event::Done);
        }
        State::PrepareColumns { left: columns }
    }

    fn after_columns(&self) -> State {
        if self.deprecate_eof() { State::Rows } else { State::ColumnsEof }
    }

    fn end_result(&mut self) {
        if self.status & status::MORE_RESULTS_EXISTS != 0 {
            self.several = true;
            self.state = State::First;
        } else {
            self.ending = Some(Event::Done);
        }
    }

    fn deprecate_eof(&self) -> bool {
        self.flags & caps::DEPRECATE_EOF != 0
    }

    /// Trap P4: 0xFE ends rows only in a packet shorter than any row that starts with an 8-byte length.
    fn is_end(&self, header: Header, first: u8) -> bool {
        first == 0xFE && header.len < if self.deprecate_eof() { MAX_PAYLOAD } else { 9 }
    }

    fn binlog(&mut self, header: Header, head: &[u8]) -> Result<(), Malformed> {
        match head.first() {
            Some(0xFF) => self.err(head),
            Some(0xFE) if header.len < 9 => {
                self.ending = Some(Event::Done);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
