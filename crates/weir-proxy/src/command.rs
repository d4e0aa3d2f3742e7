//! Step 4: a request of the client, decoded as far as Weir must, and sent on its way.

use crate::analyse::{Asked, Meaning};
use crate::codes::SPECIFIC_ACCESS_DENIED;
use crate::long::AT_ONCE;
use crate::packets::statement_close;
use crate::prepared::Handled;
use crate::ruled::Ruling;
use crate::session::{Exit, Phase, Session};
use crate::sharing::Known;
use std::task::Context;
use std::time::Instant;
use weir_cache::Refusal;
use weir_model::{CloseReason, ServerFamily};
use weir_net::send_before_close;
use weir_session::Schema;
use weir_sql::{CharsetClass, StatementKind};
use weir_wire::attributes::statement_offset;
use weir_wire::command::{self as com, Shape, shape};
use weir_wire::frame::put_packet;
use weir_wire::packet::ErrPacket;
use weir_wire::request::{Request, Span};

/// ER_NOT_SUPPORTED_YET.
const NOT_SUPPORTED_YET: u16 = 1235;

/// How many commands pass before it is looked whether a session's sockets should move to the worker's ring. That costs
/// some system calls, which those who connect for a few commands and leave do not pay. A build with assertions looks
/// at once, so that all tests meet the ring.
const RING_EVERY: u64 = if cfg!(debug_assertions) { 1 } else { 8 };

impl Session {
    /// Handles the request at the front of `bytes`; returns how many bytes it took, 0 where more must be read first.
    pub(crate) fn command(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<usize, Exit> {
        let taken = match Request::peek(bytes) {
            Request::Incomplete => return Ok(0),
            Request::Whole { payload, len, .. } => {
                (self.has_command, self.command_bytes) = (true, len);
                self.whole(cx, payload, &bytes[..len])?;
                len
            }
            Request::Begun { header, so_far } => {
                let is_statement = must_be_whole(so_far[0]);
                let limit = if is_statement { self.limits.statement_bytes.min(AT_ONCE) } else { AT_ONCE };
                let is_execution = matches!(so_far[0], com::STMT_EXECUTE | com::STMT_BULK_EXECUTE);
                // Of a session that shares connections each command is decided by what it begins with: ids of statements, types of
                // their parameters, names.
                let is_wanted = is_statement
                    || self.sharing.is_some()
                    || (is_execution && self.worker.shared.rules_act());
                if is_wanted && (bytes.len() < limit || self.holds_long(header, so_far)) {
                    return Ok(0);
                }
                (self.has_command, self.command_bytes) = (true, bytes.len());
                self.begun(cx, so_far, bytes)?
            }
        };
        if !matches!(self.exit, Some(Exit::Attach | Exit::Kill(_))) && !self.is_queued() {
            self.has_command = false;
            return Ok(taken);
        }
        // It waits, and is taken again.
        let since = self.tally.waits();
        self.live_waits(since);
        Ok(0)
    }

    /// A request that is all there.
    fn whole(&mut self, cx: &mut Context<'_>, payload: &[u8], packet: &[u8]) -> Result<(), Exit> {
        self.tally.takes();
        self.statements.meets(payload);
        let Some(&command) = payload.first() else {
            // An empty packet is no command; the server says so in its own words.
            return self.nothing(cx, payload, packet);
        };
        match self.ruled(cx, command, payload, packet.len())? {
            Ruling::Next => self.one(cx, command, payload, packet),
            Ruling::Instead(other) => self.one(cx, command, &other[weir_wire::HEADER..], &other),
            Ruling::Answered | Ruling::Waits => Ok(()),
        }
    }

    /// A packet without a command.
    fn nothing(&mut self, cx: &mut Context<'_>, payload: &[u8], packet: &[u8]) -> Result<(), Exit> {
        if let Some(sharing) = &mut self.sharing {
            sharing.executing = None;
            // What was found out while it waited.
            if let Some(err) = sharing.refusal.take() {
                return self.refuse_command(cx, com::SLEEP, packet.len(), &err);
            }
        }
        let fit = self.checkout(com::SLEEP, payload);
        if fit { self.forward(cx, com::SLEEP, packet) } else { Ok(()) }
    }

    /// A command that no rule has stopped.
    fn one(&mut self, cx: &mut Context<'_>, command: u8, payload: &[u8], packet: &[u8]) -> Result<(), Exit> {
        let body = &payload[1..];
        match command {
            com::QUERY => return self.query(cx, payload, packet),
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                self.tally_execution(statement_id(body), Some(payload));
            }
            com::STMT_SEND_LONG_DATA => self.tally_long_data(statement_id(body)),
            com::QUIT => {
                if self.is_reusable() {
                    self.worker.stats().command_unanswered(com::QUIT, packet.len() as u64, 0);
                } else if self.sharing.is_none() {
                    self.quit(cx, packet)?;
                }
                self.exit = Some(Exit::Close(CloseReason::Quit));
                return Ok(());
            }
            com::CHANGE_USER if self.sharing.is_none() => {
                self.exit = Some(Exit::ChangeUser(body.to_vec()));
                return Ok(());
            }
            com::PROCESS_KILL if self.process_kill(cx, payload, packet.len())? => return Ok(()),
            com::RESET_CONNECTION if self.sharing.is_none() => {
                self.statements.clear();
                self.ruled.all_closed();
                self.followed.reset();
                // MySQL goes back to the global character sets, MariaDB to those of the login.
                self.charset = match self.server.family {
                    ServerFamily::MySql => {
                        CharsetClass::from_collation_id(u16::from(self.server.greeting.charset))
                    }
                    ServerFamily::MariaDb => self.login_charset,
                };
            }
            _ if com::is_replication(command) && !self.identity.replication => {
                let text = "Access denied; this user may not replicate through Weir (replication = true under its [[user]])";
                let err = ErrPacket::new(SPECIFIC_ACCESS_DENIED, b"42000", text);
                return self.refuse_command(cx, command, packet.len(), &err);
            }
            com::CLONE | com::SUBSCRIBE_GROUP_REPLICATION_STREAM
                if self.server.family == ServerFamily::MySql =>
            {
                let text = "This version of Weir doesn't yet support COM_CLONE and group replication streams; connect to the server itself";
                let err = ErrPacket::new(NOT_SUPPORTED_YET, b"42000", text);
                return self.refuse_command(cx, command, packet.len(), &err);
            }
            _ => {}
        }
        let replaced;
        let packet = match self.share(cx, command, payload, packet.len())? {
            Handled::Pass => packet,
            Handled::Packet(other) => {
                replaced = other;
                &replaced
            }
            Handled::Done | Handled::Wait => return Ok(()),
        };
        if command == com::CHANGE_USER {
            self.exit = Some(Exit::ChangeUser(body.to_vec()));
            return Ok(());
        }
        self.forward(cx, command, packet)?;
        self.note(command, body);
        Ok(())
    }

    /// The first part of a request too long to hold, or of one that need not be held.
    fn begun(&mut self, cx: &mut Context<'_>, so_far: &[u8], bytes: &[u8]) -> Result<usize, Exit> {
        let command = so_far[0];
        if command == com::CHANGE_USER || com::is_replication(command) {
            self.begin(command, Shape::Single);
            self.phase = Phase::Answer;
            let err = ErrPacket::new(1043, b"08S01", "Bad handshake (the packet is too long)");
            return Err(Exit::Tell(CloseReason::ClientProtocol, err));
        }
        self.tally.takes();
        self.statements.meets(so_far);
        if self.ruled_part(cx, command, so_far)? == Ruling::Waits {
            return Ok(0);
        }
        self.tally_part(command, &so_far[1..]);
        let changed = match self.share_part(cx, command, so_far, bytes)? {
            Handled::Pass => None,
            Handled::Packet(changed) => Some(changed),
            Handled::Done => return Ok(self.drop_begun(bytes)),
            Handled::Wait => return Ok(0),
        };
        self.close_forgotten(cx, command)?;
        self.begin(command, shape(command));
        self.sharing_begins();
        if command == com::QUERY {
            self.analyse_part(so_far);
            // Behind it there may be a USE.
            self.ruled.enters(self.multi.may_be_on().then_some(Schema::Unknown));
        }
        self.note(command, &so_far[1..]);
        let mut span = Span::before_packet();
        let (n, done) = span.take(bytes);
        self.phase = if done { self.after_request() } else { Phase::Request(span) };
        self.send_up(cx, changed.as_deref().unwrap_or(&bytes[..n]))?;
        if self.current.shape == Shape::None {
            self.sharing_unanswered(command);
        }
        Ok(n)
    }

    fn query(&mut self, cx: &mut Context<'_>, payload: &[u8], packet: &[u8]) -> Result<(), Exit> {
        self.live_text(payload);
        self.log_text(payload);
        let Asked { meaning, local_infile, noted, enters } = self.analyse(payload);
        // Its target may be gone by now.
        let meaning = if self.has_killed() { Meaning::Killed } else { meaning };
        if !matches!(meaning, Meaning::ShowSession | Meaning::Killed) {
            match self.share(cx, com::QUERY, payload, packet.len())? {
                Handled::Pass | Handled::Packet(_) => {}
                Handled::Wait if matches!(meaning, Meaning::ForServer) => {
                    self.keep_known(Known { local_infile, noted });
                    return Ok(());
                }
                Handled::Wait => {
                    if let Meaning::Rewritten(kill) = &meaning {
                        let payload = &kill[weir_wire::HEADER..];
                        let offset = statement_offset(payload, self.server.caps).unwrap_or(payload.len());
                        self.kill_instead_of_waiting(&payload[offset..]);
                    }
                    return Ok(());
                }
                Handled::Done => return Ok(()),
            }
        }
        match meaning {
            Meaning::ForServer => {
                self.forward(cx, com::QUERY, packet)?;
                self.current.local_infile = local_infile;
                self.current.noted = noted;
                self.ruled.enters(enters);
                Ok(())
            }
            Meaning::Rewritten(packet) => {
                self.forward(cx, com::QUERY, &packet)?;
                self.current.noted = noted;
                Ok(())
            }
            Meaning::Killed => self.killed(cx, com::QUERY, packet.len()),
            Meaning::ShowSession => {
                self.begin(com::QUERY, Shape::Query);
                let mut out = Vec::new();
                self.show_session(&mut out);
                self.answer(cx, com::QUERY, packet.len(), &out)
            }
        }
    }

    /// Sends a whole request to the server and expects its answer.
    pub(crate) fn forward(&mut self, cx: &mut Context<'_>, command: u8, packet: &[u8]) -> Result<(), Exit> {
        self.close_forgotten(cx, command)?;
        self.begin(command, self.shape_of(command, packet));
        self.sharing_begins();
        self.send_up(cx, packet)?;
        self.phase = self.after_request();
        if self.current.shape == Shape::None {
            self.sharing_unanswered(command);
        }
        Ok(())
    }

    /// Closes statements that the connection need not keep any more. Such a command has no answer.
    fn close_forgotten(&mut self, cx: &mut Context<'_>, command: u8) -> Result<(), Exit> {
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        if command == com::STMT_PREPARE {
            sharing.makes_room();
        }
        for id in sharing.prepared.take_to_close() {
            self.server.stream.restart_sequence();
            if let Err(e) = self.to_server.send(&mut self.server.stream, cx, &statement_close(id)) {
                self.server_write_failed(&e)?;
            }
        }
        Ok(())
    }

    /// Passes on the client's COM_QUIT. The session ends right behind it.
    fn quit(&mut self, cx: &mut Context<'_>, packet: &[u8]) -> Result<(), Exit> {
        self.begin(com::QUIT, shape(com::QUIT));
        if self.to_server.is_empty() && send_before_close(&self.server.stream, packet) {
            self.current.bytes_in += packet.len() as u64;
        } else {
            self.send_up(cx, packet)?;
        }
        self.phase = self.after_request();
        Ok(())
    }

    /// The shape of the answer. MySQL answers a COM_STMT_CLOSE or COM_STMT_SEND_LONG_DATA that is too short to name a
    /// statement, although neither has an answer (error 1835); MariaDB keeps silent.
    fn shape_of(&self, command: u8, packet: &[u8]) -> Shape {
        let least = match command {
            com::STMT_CLOSE => 4,
            com::STMT_SEND_LONG_DATA => 6,
            _ => 0,
        };
        let too_short = packet.len() < weir_wire::HEADER + 1 + least;
        if too_short && self.server.family == ServerFamily::MySql { Shape::Single } else { shape(command) }
    }

    /// The phase that follows when the server has got all of a request.
    pub(crate) fn after_request(&mut self) -> Phase {
        let command = self.current.command;
        match self.current.shape {
            Shape::None => {
                self.worker.stats().command_unanswered(command, self.current.bytes_in, 0);
                self.live_ended(0, self.current.bytes_in, 0);
                Phase::Idle
            }
            Shape::Binlog => Phase::Binlog,
            _ => Phase::Answer,
        }
    }

    /// Begins a command whose answer has this shape.
    pub(crate) fn begin(&mut self, command: u8, shape: Shape) {
        self.commands += 1;
        self.ruled.begins(command);
        self.forgettable &= is_forgettable(command);
        if self.commands.is_multiple_of(RING_EVERY) && self.worker.is_busy() {
            // Nothing waits to be sent on either side when a command begins.
            self.client.upgrade();
            self.server.stream.upgrade();
        }
        let current = &mut self.current;
        current.command = command;
        current.shape = shape;
        current.noted = None;
        current.local_infile = false;
        current.in_transaction = self.walker.in_transaction();
        let attached_at = self.sharing.as_mut().and_then(|sharing| sharing.attached_at.take());
        current.started = attached_at.unwrap_or_else(Instant::now);
        current.ended = current.started;
        self.tally.begins(current.started);
        (current.bytes_in, current.bytes_out) = (0, 0);
        self.live_begins();
        self.walker.begin(shape);
        if let Some(renumber) = &mut self.server.renumber {
            renumber.restart();
        }
        if let Some(seq) = &mut self.up_seq {
            // The first packet has passed as it is, with 0.
            *seq = 1;
        }
        self.client.follow_sequence();
        self.server.stream.restart_sequence();
    }

    fn send_up(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<(), Exit> {
        self.current.bytes_in += bytes.len() as u64;
        if let Err(e) = self.to_server.send(&mut self.server.stream, cx, bytes) {
            self.server_write_failed(&e)?;
        }
        Ok(())
    }

    /// Sends an answer of Weir's own, to a request that goes no further.
    pub(crate) fn answer(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        taken: usize,
        bytes: &[u8],
    ) -> Result<(), Exit> {
        if self.to_client.send(&mut self.client, cx, bytes).is_err() {
            return Err(Exit::Close(CloseReason::ClientIo));
        }
        self.ruled.over();
        let elapsed = self.current.started.elapsed().as_nanos() as u64;
        self.worker.stats().command_done(command, elapsed, 0, taken as u64, bytes.len() as u64);
        self.tally_own(elapsed, taken as u64, bytes.len() as u64);
        self.live_ended(elapsed, taken as u64, bytes.len() as u64);
        Ok(())
    }

    pub(crate) fn refuse_command(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        taken: usize,
        err: &ErrPacket,
    ) -> Result<(), Exit> {
        if let Some(filling) = self.sharing.as_mut().and_then(|sharing| sharing.cache.filling.take()) {
            // Others wait for its answer.
            filling.give_up(Refusal::Error);
        }
        if self.statements.uses_ahead() {
            // The server holds what was sent ahead for it, and would put what comes next behind that.
            return Err(Exit::Tell(CloseReason::Denied, err.clone()));
        }
        self.begin(command, Shape::Single);
        if command == com::STMT_PREPARE {
            self.ruled.prepared_none();
        }
        self.worker.stats().own_error(err.code);
        self.tally.errs(err.code);
        let mut out = Vec::new();
        put_packet(&mut out, 1, &err.to_payload());
        self.answer(cx, command, taken, &out)
    }

    /// Keeps what must be known of prepared statements.
    fn note(&mut self, command: u8, body: &[u8]) {
        match command {
            com::STMT_PREPARE => {
                let noted = self.noted(body).0;
                self.tally_preparation(body);
                self.forgettable &= matches!(noted.kind, StatementKind::Read | StatementKind::Write);
                self.current.noted = Some(noted);
            }
            com::STMT_EXECUTE | com::STMT_FETCH | com::STMT_BULK_EXECUTE => {
                let id = statement_id(body).map(|id| self.statements.meant(id));
                if let (Some(id), true) = (id, command != com::STMT_FETCH) {
                    self.statements.took_ahead(id);
                }
                self.current.noted = id.and_then(|id| {
                    let noted = || self.statements.get(id).map(|kept| kept.noted);
                    self.tally.executes(id).or_else(noted)
                });
                if let Some(noted) = self.current.noted {
                    self.follow_execution(noted.kind);
                }
                let uses = self.current.noted.is_some_and(|noted| noted.kind == StatementKind::Use);
                self.ruled.enters(uses.then_some(Schema::Unknown));
            }
            com::INIT_DB => self.ruled.enters_named(body),
            com::SET_OPTION => self.multi.asked(body),
            com::STMT_SEND_LONG_DATA | com::STMT_RESET | com::STMT_CLOSE => {
                let Some(id) = statement_id(body) else { return };
                match command {
                    com::STMT_SEND_LONG_DATA => self.statements.sent_ahead(id),
                    com::STMT_RESET => self.statements.took_ahead(id),
                    _ => {
                        self.ruled.closed(self.statements.meant(id));
                        self.statements.closed(id);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Commands whose traces a server wipes out with the session. COM_SET_OPTION outlives it, and so does MariaDB's count of refused
/// COM_CHANGE_USERs, of which it takes no more after three.
fn is_forgettable(command: u8) -> bool {
    matches!(
        command,
        com::QUERY
            | com::QUIT
            | com::INIT_DB
            | com::PING
            | com::STATISTICS
            | com::FIELD_LIST
            | com::STMT_PREPARE
            | com::STMT_EXECUTE
            | com::STMT_BULK_EXECUTE
            | com::STMT_FETCH
            | com::STMT_SEND_LONG_DATA
            | com::STMT_RESET
            | com::STMT_CLOSE
            | com::RESET_CONNECTION
    )
}

/// Commands that Weir must see whole, up to `limits.statement_bytes`.
fn must_be_whole(command: u8) -> bool {
    matches!(command, com::QUERY | com::STMT_PREPARE | com::CHANGE_USER | com::PROCESS_KILL)
        || com::is_replication(command)
}

pub(crate) fn statement_id(body: &[u8]) -> Option<u32> {
    body.first_chunk().map(|id| u32::from_le_bytes(*id))
}
