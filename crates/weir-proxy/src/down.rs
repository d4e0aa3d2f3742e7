//! From the server to the client: answers, found by the walker, and what a server says unasked.

use crate::codes::MALFORMED_PACKET;
use crate::session::{Exit, Phase, Session};
use crate::tracker::PACKET_MAX;
use crate::turn::Turn;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;
use weir_cache::Refusal;
use weir_model::CloseReason;
use weir_net::with_scratch;
use weir_session::{PinSet, Reads, Variable};
use weir_wire::HEADER;
use weir_wire::command;
use weir_wire::frame::Header;
use weir_wire::packet::{ErrPacket, status};
use weir_wire::request::Span;
use weir_wire::response::Event;

/// ER_NET_READ_ERROR. Not CR_SERVER_LOST (2013), which clients give themselves: MariaDB's library takes an ERR packet
/// with a client's number for a malformed one.
pub(crate) const SERVER_LOST: u16 = 1158;
/// Where the id of a prepared statement stands in the answer: behind the header and the first byte.
const ANNOUNCED_AT: usize = HEADER + 1;
/// ER_NOT_ALLOWED_COMMAND.
const NOT_ALLOWED: u16 = 1148;

/// What became of bytes that the server sent.
enum Walked {
    /// They are passed on; `n` of them, the rest is held.
    PassOn(usize),
    Exit(Exit),
}

impl Session {
    /// Moves what can be moved towards the client.
    pub(crate) fn poll_down(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        if !self.to_client.is_empty() {
            match self.to_client.poll(&mut self.client, cx) {
                Poll::Ready(Ok(())) => return Ok(Turn::Moved),
                Poll::Ready(Err(e)) => return Err(self.client_write_failed(&e)),
                // Back-pressure: nothing more is read from the server before the client has taken this.
                Poll::Pending => return Ok(Turn::Blocked),
            }
        }
        self.poll_server(cx, self.is_behind())
    }

    /// As [`Self::poll_down`] with nobody to pass anything on to.
    pub(crate) fn poll_down_discarding(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        self.poll_server(cx, true)
    }

    fn poll_server(&mut self, cx: &mut Context<'_>, discard: bool) -> Result<Turn, Exit> {
        if self.sharing.as_ref().is_some_and(|sharing| !sharing.is_attached()) {
            return Ok(Turn::Blocked);
        }
        with_scratch(|scratch| {
            let held = self.server.held.len();
            scratch[..held].copy_from_slice(&self.server.held);
            let n = match self.server.stream.poll_read(cx, &mut scratch[held..]) {
                Poll::Pending => return Ok(Turn::Blocked),
                Poll::Ready(Ok(0)) => return self.lost(cx, CloseReason::ServerGone),
                Poll::Ready(Ok(n)) => self.share.moved(n),
                Poll::Ready(Err(e)) => {
                    tracing::debug!(event = "server_read_failed", client = self.entry.handle.id(), error = %e);
                    return self.lost(cx, CloseReason::ServerIo);
                }
            };
            self.server.held.clear();
            let bytes = &mut scratch[..held + n];
            let answered = !self.phase.asks_nothing();
            if let Some(turn) = self.last_word(cx, bytes) {
                return turn;
            }
            let passed = if answered {
                match self.walk(bytes) {
                    Walked::PassOn(n) => n,
                    Walked::Exit(exit) => return Err(exit),
                }
            } else {
                // Said unasked (4031, 1927, a shutdown): the client hears it as it would from the server.
                bytes.len()
            };
            if passed < bytes.len() {
                self.server.held.extend_from_slice(&bytes[passed..]);
            }
            let now = self.done_at(answered);
            self.current.bytes_out += passed as u64;
            let in_one = now.is_some() && self.current.bytes_out == passed as u64;
            let bytes = &mut scratch[..passed];
            if let Some(sharing) = &mut self.sharing {
                if let (false, Some(filling)) = (sharing.marks.is_empty(), &mut sharing.cache.filling) {
                    filling.spoil(Refusal::SessionChanged);
                }
                sharing.marks.drain(..).for_each(|at| mark_changed(bytes, at));
            }
            if let Some(id) = self.take_announced()
                && let Some(place) = bytes.get_mut(ANNOUNCED_AT..ANNOUNCED_AT + 4)
            {
                place.copy_from_slice(&id.to_le_bytes());
            }
            let passed = self.takes_out(bytes);
            let bytes = &mut bytes[..passed];
            if let (true, Some(renumber)) = (answered, &mut self.server.renumber) {
                renumber.apply(bytes, self.current.bytes_in);
            }
            if answered {
                self.gather(bytes, in_one);
            }
            if !discard && in_one && self.stands_in(cx)? {
                return Ok(Turn::Moved);
            }
            if !discard && let Err(e) = self.pass_on(cx, bytes, now.is_some()) {
                return Err(self.client_write_failed(&e));
            }
            match now {
                Some(answered_at) => self.complete(answered_at, in_one.then_some(&*bytes)),
                None => self.live_answers(),
            }
            Ok(Turn::Moved)
        })
    }

    /// Takes out what only Weir has asked the server to tell, and returns how many bytes are left for the client.
    #[inline]
    fn takes_out(&mut self, bytes: &mut [u8]) -> usize {
        let Some(sharing) = &mut self.sharing else { return bytes.len() };
        let left = sharing.tracker.apply(bytes);
        self.current.bytes_out -= (bytes.len() - left) as u64;
        left
    }

    /// A part of an answer passes; `in_one`: it is all of it.
    fn gather(&mut self, bytes: &[u8], in_one: bool) {
        if !in_one {
            self.watch_pieces();
        }
        if let Some(watch) = self.tally.watch() {
            watch.take(bytes);
        }
        if !in_one && let Some(filling) = self.sharing.as_mut().and_then(|s| s.cache.filling.as_mut()) {
            filling.take(self.worker.shared.cache(), bytes);
        }
    }

    /// All of an answer has been passed on; `bytes` is all of it, where one read has brought it.
    fn complete(&mut self, answered_at: Instant, bytes: Option<&[u8]>) {
        if self.behind_answered(answered_at, bytes) {
            return;
        }
        if let Some(bytes) = bytes {
            self.learn_form(bytes);
            self.keep_answer(bytes);
        }
        self.written(answered_at);
        self.filled(answered_at, bytes);
        self.observe_done(answered_at, bytes);
    }

    /// The time, if the answer has just become complete.
    fn done_at(&self, answered: bool) -> Option<Instant> {
        (answered && self.phase == Phase::Idle).then(Instant::now)
    }

    /// Walks over an answer, and moves the phase where it ends.
    fn walk(&mut self, bytes: &[u8]) -> Walked {
        let mut at = 0;
        loop {
            let (n, event) = match self.walker.walk(&bytes[at..]) {
                Ok(walked) => walked,
                Err(e) => {
                    tracing::error!(event = "server_protocol", client = self.entry.handle.id(),
                        command = command::name(self.current.command), what = %e, "the server's answer is not understood");
                    let err = ErrPacket::new(MALFORMED_PACKET, b"HY000", format!("Weir: {e}"));
                    return Walked::Exit(Exit::Tell(CloseReason::ServerProtocol, err));
                }
            };
            if let Some(sharing) = &mut self.sharing {
                sharing.marks.extend(self.walker.take_marks().iter().map(|mark| mark + at));
            }
            at += n;
            match event {
                Event::More => {
                    self.announce();
                    return Walked::PassOn(at);
                }
                Event::Done => {
                    self.announce();
                    self.answered();
                    if at < bytes.len() {
                        if let Some(filling) = self.sharing.as_mut().and_then(|s| s.cache.filling.as_mut()) {
                            filling.spoil(Refusal::Cut);
                        }
                        return Walked::PassOn(at + self.surplus(&bytes[at..]));
                    }
                    return Walked::PassOn(at);
                }
                Event::Changes => match self.take_changes(&bytes[at..], at) {
                    Ok(true) => self.walker.changes_read(),
                    Ok(false) => return Walked::PassOn(at),
                    Err(exit) => return Walked::Exit(exit),
                },
                Event::LocalInfileAsked if self.current.local_infile => self.walker.allow_local_infile(),
                Event::LocalInfileAsked => return Walked::Exit(refuse_local_infile()),
                Event::LocalInfileSent => {
                    self.server.stream.follow_sequence();
                    if let Some(seq) = &mut self.up_seq {
                        *seq = self.walker.next_seq();
                    }
                    self.phase = Phase::LocalInfile(Span::local_infile());
                    return Walked::PassOn(at);
                }
            }
        }
    }

    /// Looks at a packet that tells of changes; false: it is not all there.
    fn take_changes(&mut self, bytes: &[u8], at: usize) -> Result<bool, Exit> {
        let (Some(header), Some(sharing)) = (Header::peek(bytes), &mut self.sharing) else { return Ok(true) };
        let malformed = |text: String| {
            Exit::Tell(CloseReason::ServerProtocol, ErrPacket::new(MALFORMED_PACKET, b"HY000", text))
        };
        if header.len > PACKET_MAX {
            return Err(malformed(format!("Weir: the server reports {} bytes of session state", header.len)));
        }
        let Some(payload) = bytes.get(HEADER..HEADER + header.len) else { return Ok(false) };
        let info = sharing.wanted.get(Variable::SESSION_TRACK_TRANSACTION_INFO).flatten();
        let transactions = info.is_some_and(|info| info != b"OFF");
        sharing.tracker.take(payload, at, transactions).map_err(|e| malformed(format!("Weir: {e}")))?;
        Ok(true)
    }

    /// The answer is complete.
    fn answered(&mut self) {
        match self.phase {
            // The server answered before it had the whole request (1153); the rest of it is still passed on, and the
            // server closes when it will.
            Phase::Request(_) => return self.walker.begin(command::Shape::Single),
            // The server will not read the rest of the file, and must never take it for commands (trap P51).
            Phase::LocalInfile(_) => self.closing = Some(CloseReason::ServerProtocol),
            _ => {}
        }
        self.phase = Phase::Idle;
        self.sharing_ended();
        self.changed();
        self.ruled.ended(self.walker.error().is_none());
        self.multi.answered(self.walker.error().is_none());
        if self.current.command == command::STMT_PREPARE && self.walker.error().is_some() {
            self.statements.prepared_none();
        }
        let Some(noted) = self.current.noted else { return };
        if let Some(prepared) = self.walker.prepared() {
            if self.statements.len() < self.limits.max_statements as usize {
                // By the id that the client knows.
                let id = self.client_statement_id(prepared.id);
                let kept = self.tally.prepared(noted, prepared.params);
                self.statements.insert(id, kept, self.server.family);
                self.ruled.prepared(id);
            } else {
                self.statements.prepared_another();
                self.ruled.prepared_another();
            }
        } else if let (None, Some(charset)) = (self.walker.error(), noted.charset) {
            let known = self.sharing.as_ref().and_then(|sharing| sharing.client_charset());
            self.charset = known.unwrap_or(charset);
        }
    }

    /// Bytes behind a complete answer that nobody asked for; returns how many of them are passed on. An ERR with
    /// sequence id 0 is a server's last word (1927, 1053, 4031) and the client's to hear. Anything else means that the
    /// answer was misunderstood: the session ends, after the answer.
    fn surplus(&mut self, bytes: &[u8]) -> usize {
        if matches!(bytes, [_, _, _, 0, 0xFF, ..]) {
            // A client that goes on without the connection must not hear it: it would take it for the answer to what comes next.
            return if self.can_do_without() { 0 } else { bytes.len() };
        }
        tracing::error!(
            event = "server_protocol",
            client = self.entry.handle.id(),
            bytes = bytes.len(),
            command = command::name(self.current.command),
            "the server sent more than one answer"
        );
        self.closing = Some(CloseReason::ServerProtocol);
        0
    }

    /// The server's connection has ended. What is still at hand of an older answer may stand in for the one that will not come.
    fn lost(&mut self, cx: &mut Context<'_>, reason: CloseReason) -> Result<Turn, Exit> {
        let replaceable = self.sharing.as_ref().is_some_and(|sharing| sharing.is_replaceable());
        if self.is_behind() {
            if !replaceable {
                return Err(Exit::Close(reason));
            }
            self.drop_link();
            self.phase = Phase::Idle;
            self.give_up_behind(Refusal::Cut);
            return Ok(Turn::Moved);
        }
        let nothing_sent = self.phase == Phase::Answer && self.current.bytes_out == 0;
        if nothing_sent
            && replaceable
            && self.server.held.is_empty()
            && let Some(entry) = self.stale(SERVER_LOST)
        {
            self.drop_link();
            self.phase = Phase::Idle;
            self.serve_instead(cx, &entry)?;
            return Ok(Turn::Moved);
        }
        if self.goes_on_without() {
            return Ok(Turn::Moved);
        }
        // What has come of an answer is no answer.
        if let Some(filling) = self.sharing.as_mut().and_then(|sharing| sharing.cache.filling.take()) {
            filling.give_up(Refusal::Cut);
        }
        Err(self.server_gone(reason))
    }

    /// The server has said why it closes the connection. A client whose command waits hears it in answer to that.
    /// `None`: it is none, or is passed on as what it is.
    #[inline]
    fn last_word(&mut self, cx: &mut Context<'_>, bytes: &mut [u8]) -> Option<Result<Turn, Exit>> {
        if !is_last_word(bytes) {
            let begins = self.phase == Phase::Idle && !self.has_behind() && self.can_do_without();
            // The rest of it comes, or the end.
            return begins.then(|| {
                self.server.held.extend_from_slice(bytes);
                Ok(Turn::Moved)
            });
        }
        if self.goes_on_without() {
            return Some(Ok(Turn::Moved));
        }
        let owes_an_answer = self.owes_an_answer();
        if owes_an_answer || self.awaits_answer() {
            // The statement was not run: this is its answer, and has the number of one.
            bytes[HEADER - 1] = 1;
        }
        owes_an_answer.then(|| match self.pass_on(cx, bytes, false) {
            Ok(()) => Err(Exit::Told(self.end_reason(CloseReason::ServerGone))),
            Err(e) => Err(self.client_write_failed(&e)),
        })
    }

    fn can_do_without(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.can_do_without())
    }

    /// Gives up a connection that ends between two commands, where nothing is lost with it but warnings and counts that the next
    /// statement would most likely not have asked for. A command at hand is taken again, on another one.
    fn goes_on_without(&mut self) -> bool {
        let idle = self.phase == Phase::Idle && !self.has_behind();
        let Some(sharing) = self.sharing.as_mut().filter(|sharing| idle && sharing.can_do_without()) else {
            return false;
        };
        // What was to be closed there is gone with it.
        self.to_server.take();
        sharing.pins.hold(PinSet::EMPTY);
        sharing.unclean = false;
        if sharing.leftovers.owes().contains(Reads::FOUND_ROWS) {
            sharing.leftovers.lose_found_rows();
        }
        self.drop_link();
        true
    }

    /// Whether a command waits in Weir, and its client for what becomes of it.
    fn owes_an_answer(&self) -> bool {
        self.phase == Phase::Idle && self.has_command && !self.has_behind()
    }

    /// Whether a session that outlives its connection waits for an answer of which nothing has come.
    fn awaits_answer(&self) -> bool {
        self.sharing.is_some() && self.phase == Phase::Answer && self.current.bytes_out == 0
    }

    /// Passes on what came; `last`: with it the answer is complete.
    fn pass_on(&mut self, cx: &mut Context<'_>, bytes: &[u8], last: bool) -> io::Result<()> {
        match last.then(|| self.overtime_told(bytes)).flatten() {
            Some(told) => self.to_client.send(&mut self.client, cx, &told),
            None => self.to_client.send(&mut self.client, cx, bytes),
        }
    }

    /// The server has answered with an error that says that it cannot answer now: true where an older answer was sent in its place.
    fn stands_in(&mut self, cx: &mut Context<'_>) -> Result<bool, Exit> {
        let Some(entry) = self.walker.error().and_then(|code| self.stale(code)) else { return Ok(false) };
        if let Some(sharing) = &mut self.sharing {
            sharing.unclean = true;
        }
        self.serve_instead(cx, &entry)?;
        Ok(true)
    }

    /// The server's connection has ended. Between commands the client's ends as quietly; a client that waits for an
    /// answer is told, and nothing is ever made up to look like an end of rows (trap P47).
    fn server_gone(&mut self, reason: CloseReason) -> Exit {
        match self.phase {
            Phase::Idle if self.owes_an_answer() => {
                let text = "Lost connection to MySQL server before the statement was sent (weir: the server has closed it); it did not run";
                Exit::Tell(self.end_reason(reason), ErrPacket::new(SERVER_LOST, b"08S01", text))
            }
            // The client is in the middle of sending and counts its packets itself: no error can be put in.
            Phase::Idle | Phase::Dropped(_) | Phase::LocalInfile(_) => Exit::Close(reason),
            Phase::Request(_) if self.to_server.is_empty() && self.walker.error().is_some() => {
                Exit::Close(reason)
            }
            _ if !self.walker.at_boundary() || !self.server.held.is_empty() => Exit::Close(reason),
            _ => {
                if self.ends_carried_out > 0 {
                    return Exit::Tell(CloseReason::Killed, self.killed_told());
                }
                let text = "Lost connection to MySQL server during query (weir: whether the statement took effect is not known)";
                Exit::Tell(reason, ErrPacket::new(SERVER_LOST, b"08S01", text))
            }
        }
    }

    fn client_write_failed(&mut self, error: &io::Error) -> Exit {
        tracing::debug!(event = "client_write_failed", client = self.entry.handle.id(), error = %error);
        if self.phase == Phase::Idle { Exit::Close(CloseReason::ClientGone) } else { Exit::Vanished }
    }
}

/// Tells in the status flags at this place that the columns have changed.
fn mark_changed(bytes: &mut [u8], at: usize) {
    if let Some(flags) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *flags = (u16::from_le_bytes(*flags) | status::METADATA_CHANGED).to_le_bytes();
    }
}

/// A server asks for a file of a client that has not sent LOAD DATA LOCAL (trap P51).
fn refuse_local_infile() -> Exit {
    let text = "The used command is not allowed (weir: the server asked for a local file, and the statement is no LOAD DATA LOCAL)";
    Exit::Tell(CloseReason::ServerProtocol, ErrPacket::new(NOT_ALLOWED, b"42000", text))
}

/// Whether this is a whole ERR packet that answers nothing.
fn is_last_word(bytes: &[u8]) -> bool {
    let [a, b, c, 0, 0xFF, ..] = *bytes else { return false };
    bytes.len() >= HEADER + u32::from_le_bytes([a, b, c, 0]) as usize
}
