//! Prepared statements of a session that shares connections. The client's ids are Weir's; each connection has its own,
//! and a statement is prepared there when it is first executed there.

use crate::cached::Cached;
use crate::codes::PACKET_TOO_LARGE;
use crate::command::statement_id;
use crate::doing::Doing;
use crate::packets::{UNKNOWN_STATEMENT, begun, framed, framed_for, unknown, untyped};
use crate::ruled::Ruling;
use crate::session::{Exit, Session};
use crate::sharing::Sharing;
use std::sync::Arc;
use std::task::Context;
use weir_model::ServerFamily;
use weir_policy::Turn;
use weir_session::{ClientStatement, Needs, PinReason, PreparedKey, Refusal, ServerStatements, Variable};
use weir_sql::{CharsetClass, Facts, LexMode};
use weir_wire::command::{self as com, Shape};
use weir_wire::execute::Execute;
use weir_wire::frame::put_packet;
use weir_wire::packet::{ErrPacket, ok_payload, status};

/// ER_MAX_PREPARED_STMT_COUNT_REACHED.
const TOO_MANY_STATEMENTS: u16 = 1461;
/// ER_WRONG_ARGUMENTS.
const WRONG_ARGUMENTS: u16 = 1210;

/// A number that no server gives: they count from 1, for each connection or for all.
const NO_STATEMENT: u32 = u32::MAX - 1;

/// What becomes of a command about a prepared statement.
#[derive(Debug)]
pub(crate) enum Handled {
    /// It is sent as it stands.
    Pass,
    /// It is sent as this packet.
    Packet(Vec<u8>),
    /// Weir has answered it, or it needs no answer.
    Done,
    /// A connection must be made fit for it first.
    Wait,
}

impl Session {
    /// Decides about a command of a session that shares connections, whatever it is about. `payload` may be the
    /// beginning of a long one.
    pub(crate) fn share(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        payload: &[u8],
        len: usize,
    ) -> Result<Handled, Exit> {
        let Some(sharing) = &mut self.sharing else { return self.take_place(cx, command, len) };
        if let Some(err) = sharing.refusal.take() {
            sharing.kill = None;
            if self.serve_stale(cx, command, len, err.code)? {
                return Ok(Handled::Done);
            }
            return self.refuse_now(cx, command, len, &err);
        }
        (sharing.executing, sharing.announced, sharing.attached_at) = (None, None, None);
        if !sharing.fit {
            sharing.candidate = None;
        }
        let id = payload.get(1..).and_then(statement_id);
        if id == Some(u32::MAX) && self.has_no_last(cx, command, len)? {
            return Ok(Handled::Done);
        }
        if let Some(id) = id
            && let Some(handled) = self.share_statement(cx, command, id, payload, len)?
        {
            return Ok(handled);
        }
        if command == com::STMT_PREPARE && self.has_too_many(cx, len)? {
            return Ok(Handled::Done);
        }
        if matches!(command, com::QUERY | com::INIT_DB) && self.replay(cx, command, payload, len)? {
            return Ok(Handled::Done);
        }
        if !self.is_placing() {
            match self.cached(cx, command, payload, len)? {
                Cached::Ask => {}
                Cached::Answered => return Ok(Handled::Done),
                Cached::Waits => return Ok(Handled::Wait),
            }
        }
        match self.take_place(cx, command, len)? {
            Handled::Pass => {}
            other => return Ok(other),
        }
        if !self.checkout(command, payload) {
            return Ok(Handled::Wait);
        }
        Ok(self.with_server_id(command, payload).map_or(Handled::Pass, Handled::Packet))
    }

    /// The part that is about one of the client's prepared statements. `None`: it goes on.
    fn share_statement(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        id: u32,
        payload: &[u8],
        len: usize,
    ) -> Result<Option<Handled>, Exit> {
        if matches!(command, com::STMT_RESET | com::STMT_CLOSE) {
            self.statements.took_ahead(id);
        }
        if command == com::STMT_RESET
            && let Some(sharing) = &mut self.sharing
        {
            sharing.untold.forget(sharing.statements.resolve(id));
        }
        match command {
            com::STMT_CLOSE => {
                self.close_statement(id);
                self.begin(command, Shape::None);
                self.after_request();
                return Ok(Some(Handled::Done));
            }
            com::STMT_RESET if self.resets_itself(id) => {
                let mut out = Vec::new();
                put_packet(&mut out, 1, &ok_payload(self.walker.status() & status::OF_THE_SESSION));
                self.begin(command, Shape::Single);
                self.answer(cx, command, len, &out)?;
                return Ok(Some(Handled::Done));
            }
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE if !self.has_statement(id) => {
                return self.unknown_statement(payload).map(Some);
            }
            com::STMT_SEND_LONG_DATA if self.drops_data(id, payload) => return Ok(Some(Handled::Done)),
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                let untold = self.sharing.as_mut().and_then(|sharing| sharing.take_untold(id));
                if let Err(err) = untold.map_or(Ok(()), Err).and_then(|()| self.bind(id, payload)) {
                    self.refuse_command(cx, command, len, &err)?;
                    return Ok(Some(Handled::Done));
                }
            }
            com::STMT_FETCH | com::STMT_RESET | com::STMT_SEND_LONG_DATA => {
                if !self.has_statement(id) {
                    return self.unknown_statement(payload).map(Some);
                }
                if let Some(sharing) = &mut self.sharing {
                    sharing.executing = Some(sharing.statements.resolve(id));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Refuses to prepare more than the client may.
    fn has_too_many(&mut self, cx: &mut Context<'_>, len: usize) -> Result<bool, Exit> {
        let limit = self.limits.max_statements;
        if self.sharing.as_ref().is_none_or(|sharing| sharing.statements.len() < limit as usize) {
            return Ok(false);
        }
        let text = format!(
            "Can't create more than max_prepared_stmt_count statements (current value: {limit}; weir: limits.max_statements)"
        );
        let err = ErrPacket::new(TOO_MANY_STATEMENTS, b"42000", text);
        self.refuse_command(cx, com::STMT_PREPARE, len, &err)?;
        Ok(true)
    }

    /// What was found out while the command waited.
    fn refuse_now(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        len: usize,
        err: &ErrPacket,
    ) -> Result<Handled, Exit> {
        if self.leaves_untold(command, err) {
            return Ok(Handled::Done);
        }
        if matches!(com::shape(command), Shape::None) {
            // There is no answer to put it in, and what follows would run without this.
            return Err(Exit::Close(weir_model::CloseReason::ServerGone));
        }
        self.refuse_command(cx, command, len, err)?;
        Ok(Handled::Done)
    }

    /// Answers a command about "the last one" where the client has none: the connection's own is another client's.
    fn has_no_last(&mut self, cx: &mut Context<'_>, command: u8, len: usize) -> Result<bool, Exit> {
        let of_statements =
            matches!(command, com::STMT_EXECUTE | com::STMT_BULK_EXECUTE | com::STMT_FETCH | com::STMT_RESET);
        if !of_statements || self.server.family != ServerFamily::MariaDb || self.has_statement(u32::MAX) {
            return Ok(false);
        }
        let err = unknown(u32::MAX, command, self.server.family);
        self.refuse_command(cx, command, len, &err)?;
        Ok(true)
    }

    pub(crate) fn has_statement(&self, id: u32) -> bool {
        // MySQL does not know "the last one".
        let named = id != u32::MAX || self.server.family == ServerFamily::MariaDb;
        named && self.sharing.as_ref().is_some_and(|sharing| sharing.statements.get(id).is_ok())
    }

    /// A command about a statement that the client does not have: the server says so in its own words, unless it knows that
    /// number as another client's. Then it is asked about one that nobody has.
    fn unknown_statement(&mut self, payload: &[u8]) -> Result<Handled, Exit> {
        if !self.checkout(com::SLEEP, payload) {
            return Ok(Handled::Wait);
        }
        let id = payload.get(1..).and_then(statement_id).unwrap_or_default();
        let last = id == u32::MAX && self.server.family == ServerFamily::MariaDb;
        let taken = |sharing: &Sharing| last || sharing.prepared.has_id(id);
        if !self.sharing.as_ref().is_some_and(|sharing| taken(sharing)) {
            return Ok(Handled::Pass);
        }
        let mut out = payload.to_vec();
        if let Some(place) = out.get_mut(1..5) {
            place.copy_from_slice(&NO_STATEMENT.to_le_bytes());
        }
        Ok(Handled::Packet(framed(&out)))
    }

    /// Whether more must be read of an execution to know the types of its parameters.
    pub(crate) fn lacks_types(&self, so_far: &[u8]) -> bool {
        let Some(sharing) = &self.sharing else { return false };
        let statement = so_far.get(1..).and_then(statement_id).map(|id| sharing.statements.get(id));
        let Some(Ok(statement)) = statement else { return false };
        Execute::parse(so_far, statement.params(), self.client_caps).is_err()
    }

    /// Takes the types of an execution.
    fn bind(&mut self, id: u32, payload: &[u8]) -> Result<(), ErrPacket> {
        let family = self.server.family;
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        let params = sharing.statements.get(id).map_err(|_| unknown(id, com::STMT_EXECUTE, family))?.params();
        sharing.executing = Some(sharing.statements.resolve(id));
        let Ok(execute) = Execute::parse(payload, params, self.client_caps) else {
            if sharing.partial {
                // What it binds would be remembered wrongly.
                let text = "weir: no room for an execution until the types of its parameters are there (limits.statement_bytes, \
                            limits.statement_memory)";
                return Err(ErrPacket::new(PACKET_TOO_LARGE, b"08S01", text));
            }
            // One that ends too early is the server's to refuse.
            return Ok(());
        };
        match sharing.statements.bind(id, execute.types) {
            Ok(_) => Ok(()),
            // Its statement is this client's alone there, so the server's answer is the right one.
            Err(Refusal::Unbound) if family == ServerFamily::MySql => Ok(()),
            // The server has other words for it where a client says "the last one".
            Err(Refusal::Unbound) if id == u32::MAX => Ok(()),
            Err(Refusal::Unbound) => {
                Err(ErrPacket::new(WRONG_ARGUMENTS, b"HY000", "Incorrect arguments to mysqld_stmt_execute"))
            }
            Err(Refusal::Unknown | Refusal::TooMany) => Err(unknown(id, com::STMT_EXECUTE, family)),
        }
    }

    /// Whether a reset of a statement has nothing to do on a server.
    fn resets_itself(&mut self, id: u32) -> bool {
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return false };
        let idle = |s: &ClientStatement| !s.has_long_data() && !s.has_cursor();
        let itself = !sharing.is_attached() && sharing.statements.get(id).is_ok_and(idle);
        if itself {
            sharing.leftovers.after_command(com::STMT_RESET, true, server);
        }
        itself
    }

    /// COM_STMT_CLOSE: the connection keeps the statement for the next client that prepares the same, unless something of
    /// this one is left in it, or it is nobody else's.
    fn close_statement(&mut self, id: u32) {
        if !self.has_statement(id) {
            return;
        }
        let Some(sharing) = &mut self.sharing else { return };
        // MariaDB closes the one prepared last, where -1 is said.
        let id = sharing.statements.resolve(id);
        self.statements.closed(id);
        self.ruled.closed(id);
        sharing.plain.remove(&id);
        sharing.untold.forget(id);
        let used = sharing.statements.get(id).is_ok_and(|s| s.has_long_data() || s.has_cursor());
        if let Some(closed) = sharing.statements.close(id)
            && (used || closed.key().is_bound() || closed.key().is_owned())
        {
            sharing.prepared.close(closed.key());
        }
        sharing.level_statements();
    }

    /// The packet of a command with the connection's own id of the statement.
    pub(crate) fn with_server_id(&mut self, command: u8, payload: &[u8]) -> Option<Vec<u8>> {
        let sharing = self.sharing.as_mut()?;
        let statement = sharing.statements.get(sharing.executing?).ok()?;
        if !matches!(command, com::STMT_EXECUTE | com::STMT_BULK_EXECUTE) {
            let id = sharing.prepared.id(statement.key())?;
            return framed_for(payload, id);
        }
        let Needs::Nothing { server_id, types } = sharing.prepared.need(statement) else { return None };
        sharing.prepared.make_room_for_others();
        // Where the client says "the last one", the server is told the same if it was the last there, too.
        let direct = payload.get(1..).and_then(statement_id) == Some(u32::MAX);
        let server_id = match direct && sharing.last_prepared == server_id {
            true => u32::MAX,
            false => server_id,
        };
        if direct && command == com::STMT_EXECUTE && !sharing.partial {
            let bound = Execute::parse(payload, statement.params(), self.client_caps);
            if statement.params() > 0 && !bound.is_ok_and(|execute| execute.types.is_some()) {
                return Some(untyped(server_id, statement.params()));
            }
        }
        let missing = statement.types().filter(|_| types);
        let execute =
            missing.and_then(|_| Execute::parse(payload, statement.params(), self.client_caps).ok());
        match execute.filter(|execute| execute.types.is_none()) {
            Some(execute) => {
                Some(framed(&execute.rewritten(payload, server_id, missing.map(|types| &**types))))
            }
            None => framed_for(payload, server_id),
        }
    }

    /// Decides about the beginning of a long command; `bytes` begin with the packet's header.
    pub(crate) fn share_part(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        so_far: &[u8],
        bytes: &[u8],
    ) -> Result<Handled, Exit> {
        // What is refused here has its error behind it, and the rest of it would be taken for commands.
        if self.admit_part(cx, command, Turn::Place)? == Ruling::Waits {
            return Ok(Handled::Wait);
        }
        if self.sharing.is_none() {
            return Ok(Handled::Pass);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.partial = true;
            // Those of one before it that was never sent. Of this one none are noted, even if the rest of it comes while it waits.
            sharing.cache.wipes.clear();
        }
        let handled = self.share(cx, command, so_far, bytes.len());
        if let Some(sharing) = &mut self.sharing {
            sharing.partial = false;
        }
        match handled? {
            Handled::Packet(packet) => {
                let err = || {
                    let text = "weir: a packet of 16 MiB without the types of its parameters; send them with each execution";
                    Exit::Tell(
                        weir_model::CloseReason::ClientProtocol,
                        ErrPacket::new(WRONG_ARGUMENTS, b"HY000", text),
                    )
                };
                begun(&packet, bytes).map(Handled::Packet).ok_or_else(err)
            }
            Handled::Done if matches!(com::shape(command), Shape::None) => Ok(Handled::Done),
            // The rest of what was refused would be taken for commands.
            Handled::Done => Err(Exit::Told(weir_model::CloseReason::Denied)),
            other => Ok(other),
        }
    }

    /// Looks whether the server has announced a statement, and gives it an id for the client.
    pub(crate) fn announce(&mut self) {
        let (Some(announced), Some(sharing)) = (self.walker.prepared(), &mut self.sharing) else { return };
        let Doing::Prepare { text, whole } = &sharing.doing else { return };
        if sharing.announced.is_some() {
            return;
        }
        let key = PreparedKey::new(Arc::clone(text), &sharing.wanted, self.worker.shared.statement_seed)
            .filter(|_| *whole);
        let key = match key {
            Some(key) if self.server.family == ServerFamily::MySql => key.owned_by(self.entry.handle.id()),
            Some(key) => key,
            None => {
                // It cannot be prepared elsewhere: the connection is kept.
                sharing.pins.add(PinReason::SqlPrepare.into());
                PreparedKey::bound(Arc::clone(text), announced.id)
            }
        };
        let limit = self.limits.max_statements as usize;
        // The limit was looked at before the command was sent.
        let Ok(id) = sharing.statements.add(Arc::new(key), announced.params, limit) else { return };
        let key = sharing.statements.get(id).map(|statement| Arc::clone(statement.key()));
        if let Ok(key) = key {
            sharing.has_prepared(key, announced.id);
        }
        // It was added just now.
        let _ = sharing.statements.set_columns(id, u64::from(announced.columns));
        sharing.announced = Some(id);
        sharing.patch = true;
    }

    /// The id to put into the answer at hand, once.
    pub(crate) fn take_announced(&mut self) -> Option<u32> {
        let sharing = self.sharing.as_mut()?;
        sharing.announced.filter(|_| std::mem::take(&mut sharing.patch))
    }

    /// The id by which the client knows the statement that was just prepared.
    pub(crate) fn client_statement_id(&self, server_id: u32) -> u32 {
        self.sharing.as_ref().and_then(|sharing| sharing.announced).unwrap_or(server_id)
    }
}

/// How the server read a text when it was prepared, if that is known.
pub(crate) fn then(key: &PreparedKey, now: LexMode) -> Option<LexMode> {
    let modes = key.value(Variable::SQL_MODE)??;
    let has = |name: &[u8]| modes.split(|b| *b == b',').any(|mode| mode.eq_ignore_ascii_case(name));
    let charset = CharsetClass::from_name(key.value(Variable::CHARACTER_SET_CLIENT)??);
    let ansi_quotes = has(b"ANSI_QUOTES");
    Some(LexMode { ansi_quotes, no_backslash_escapes: has(b"NO_BACKSLASH_ESCAPES"), charset, ..now })
}

impl Sharing {
    /// The attached connection has prepared a statement.
    pub(crate) fn has_prepared(&mut self, key: Arc<PreparedKey>, id: u32) {
        self.prepared.prepared(key, id);
        self.last_prepared = id;
    }

    /// COM_STMT_PREPARE is about to be sent on the attached connection.
    pub(crate) fn makes_room(&mut self) {
        self.prepared.make_room();
    }

    /// Whether a connection with these statements lacks the one that the command at hand is about.
    pub fn lacks_statement(&self, prepared: &ServerStatements) -> bool {
        let statement = self.executing.and_then(|id| self.statements.get(id).ok());
        statement.is_some_and(|statement| prepared.id(statement.key()).is_none())
    }

    /// What an execution of the statement at hand is to the session's state.
    pub fn doing_prepared(&mut self, mode: LexMode) -> Doing {
        let id = self.executing.unwrap_or(0);
        if let Some((read_as, doing)) = self.plain.get(&id)
            && read_as.is_none_or(|read_as| read_as == mode)
            && let Some(doing) = doing.plain()
        {
            return doing;
        }
        let Ok(statement) = self.statements.get(id) else { return Doing::Command(com::SLEEP) };
        let (sql, then) = (statement.key().text(), then(statement.key(), mode));
        let doing = Doing::of_text(sql, Facts::of(sql, then.unwrap_or(mode), false));
        if let Some(plain) = doing.plain() {
            self.plain.insert(id, (then.is_none().then_some(mode), plain));
        }
        doing
    }

    /// Sets or ends the pins of cursors and long data.
    pub fn level_statements(&mut self) {
        self.pins.level(PinReason::Cursor, self.statements.any_cursor());
        self.pins.level(PinReason::LongData, self.statements.any_long_data());
    }

    /// What a statement command makes of its statement.
    pub fn statement_ended(&mut self, command: u8, error: Option<u16>, flags: u16, columns: Option<u64>) {
        if command == com::STMT_PREPARE && error.is_some() {
            self.statements.void_last();
            self.prepared.prepared_none();
        }
        let Some(id) = self.executing.take() else { return };
        let key = self.statements.get(id).map(|s| Arc::clone(s.key())).ok();
        // Statements that are gone meanwhile have nothing to be marked.
        let opened = match command {
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                if let Some(columns) = columns {
                    let _ = self.statements.set_columns(id, columns);
                }
                if let (Some(code), Some(key)) = (error, &key) {
                    self.prepared.forget_types(key);
                    if code == UNKNOWN_STATEMENT {
                        self.prepared.close(key);
                    }
                }
                self.statements.executed(id, error.is_none() && flags & status::CURSOR_EXISTS != 0)
            }
            com::STMT_FETCH if error.is_some() || flags & status::LAST_ROW_SENT != 0 => {
                self.statements.fetched_all(id)
            }
            com::STMT_RESET if error.is_none() => self.statements.reset(id),
            com::STMT_SEND_LONG_DATA => self.statements.long_data(id),
            _ => Ok(None),
        };
        if let (Ok(Some(open)), Some(key)) = (opened, &key) {
            self.prepared.hold(key, open);
        }
        self.level_statements();
    }
}
