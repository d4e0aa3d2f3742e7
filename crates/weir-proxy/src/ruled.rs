//! Step 4, before a statement is analysed: what the operator's rules have done with it, whoever sends it and however its session
//! keeps connections. They are asked once for each command; what they say is kept until it is on its way.

use crate::admit::Admitted;
use crate::at_hand::{AtHand, Running};
use crate::codes::MALFORMED_PACKET;
use crate::command::statement_id;
use crate::overtime::Ending;
use crate::packets::unknown;
use crate::prepared::then;
use crate::rules::RuleDeed;
use crate::session::{Exit, Phase, Session};
use crate::shared::Shared;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use tokio::time::Sleep;
use weir_model::CloseReason;
use weir_model::rule::{RuleCommand, RuleKind};
use weir_policy::{Connection, ConnectionRules, RuleSet, Turn, rule_kind};
use weir_session::Schema;
use weir_sql::{LexMode, Statement};
use weir_wire::attributes::statement_offset;
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

/// What becomes of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It goes on as it stands.
    Next,
    /// It goes on as this packet.
    Instead(Vec<u8>),
    /// It was answered.
    Answered,
    /// It waits for the limit of a rule.
    Waits,
}

/// What a session keeps for the rules.
#[derive(Debug)]
pub(crate) struct Ruled {
    /// What they say about the command at hand, until it is on its way.
    pub at_hand: Option<Box<AtHand>>,
    /// What holds for the statement that runs.
    pub running: Option<Box<Running>>,
    /// The timer of `overtime.rs`.
    pub timer: Option<Pin<Box<Sleep>>>,
    /// A KILL of a statement that has ended may still be on its way.
    pub stray: Option<Ending>,
    /// The rules that may match on this connection, and the schema for which that was found out.
    connection: Option<(ConnectionRules, Schema)>,
    /// The current schema of a session whose state is not followed, and what the command under way makes of it.
    pub schema: Schema,
    next_schema: Option<Schema>,
    /// Weir has refused to prepare the client's last statement, so there is no "last one" (MariaDB's id -1).
    pub no_last: bool,
    /// Texts that the client has prepared while rules looked at them, by its ids.
    texts: Option<Box<Texts>>,
}

#[derive(Debug, Default)]
struct Texts {
    prepared: HashMap<u32, Prepared, foldhash::fast::RandomState>,
    /// What is being prepared, and the id of the last that was.
    preparing: Option<Prepared>,
    last: u32,
}

/// A statement as the client has prepared it.
#[derive(Debug, Clone)]
struct Prepared {
    text: Arc<[u8]>,
    mode: LexMode,
    /// The server has another text.
    rewritten: bool,
}

/// The statement of a command.
enum Asked<'a> {
    Text(&'a [u8], LexMode),
    Prepared(Prepared),
    /// No rule has looked at its text; its kind, if that is known.
    Unknown(Option<RuleKind>),
    /// There is none.
    Nothing,
}

impl Ruled {
    pub fn new(database: Option<Vec<u8>>) -> Self {
        Self {
            at_hand: None,
            running: None,
            timer: None,
            stray: None,
            connection: None,
            schema: named(database.as_deref().unwrap_or_default()),
            next_schema: None,
            no_last: false,
            texts: None,
        }
    }

    /// The session is another user's, and has begun anew.
    pub fn changed_user(&mut self, database: &[u8]) {
        let stray = self.stray;
        *self = Self { stray, ..Self::new(Some(database.to_vec())) };
    }

    /// The command under way enters a schema, if it succeeds.
    pub fn enters(&mut self, schema: Option<Schema>) {
        self.next_schema = schema;
    }

    /// COM_INIT_DB.
    pub fn enters_named(&mut self, name: &[u8]) {
        self.next_schema = Some(named(name));
    }

    /// A command is on its way, or answered.
    pub fn begins(&mut self, command: u8) {
        self.over();
        self.running = self.at_hand.take().and_then(|at_hand| at_hand.running());
        self.next_schema = None;
        if command == com::STMT_PREPARE {
            self.no_last = false;
        } else {
            self.forget_preparing();
        }
    }

    /// Its answer has come.
    pub fn ended(&mut self, succeeded: bool) {
        if let (Some(schema), true) = (self.next_schema.take(), succeeded) {
            self.schema = schema;
        }
        if !succeeded {
            self.forget_preparing();
        }
    }

    /// Weir has refused to prepare a statement.
    pub fn prepared_none(&mut self) {
        self.no_last = true;
        self.forget_preparing();
    }

    fn forget_preparing(&mut self) {
        if let Some(texts) = &mut self.texts {
            texts.preparing = None;
        }
    }

    /// Nothing of it runs any more.
    pub fn over(&mut self) {
        if let Some(running) = self.running.take()
            && matches!(running.ending, Ending::Sent | Ending::Unknown)
        {
            self.stray = Some(running.ending);
        }
    }

    /// An operator wants the end of the statement under way; its client is told what the server says.
    pub fn ordered(&mut self, shared: &Shared) {
        let running = || Box::new(Running::without_rules(&shared.rules.load()));
        let running = self.running.get_or_insert_with(running);
        // It is tried as often as at first, and its troubles are told of anew.
        (running.ordered, running.tries, running.failures) = (true, 0, 0);
    }

    /// Whether a KILL of a statement may still come to the connection.
    pub fn may_be_killed(&self) -> bool {
        let is_sent = |running: &Running| matches!(running.ending, Ending::Sent | Ending::Unknown);
        self.stray.is_some() || self.running.as_deref().is_some_and(is_sent)
    }

    /// The client has got this id for what it has prepared.
    pub fn prepared(&mut self, id: u32) {
        let Some(texts) = &mut self.texts else { return };
        texts.last = id;
        if let Some(prepared) = texts.preparing.take() {
            texts.prepared.insert(id, prepared);
        }
    }

    /// The statement that was just prepared is not kept.
    pub fn prepared_another(&mut self) {
        if let Some(texts) = &mut self.texts {
            (texts.preparing, texts.last) = (None, u32::MAX);
        }
    }

    pub fn closed(&mut self, id: u32) {
        if let Some(texts) = &mut self.texts {
            texts.prepared.remove(&id);
        }
    }

    /// The server has forgotten all statements.
    pub fn all_closed(&mut self) {
        self.texts = None;
    }

    fn text_of(&self, id: u32) -> Option<&Prepared> {
        let texts = self.texts.as_ref()?;
        texts.prepared.get(if id == u32::MAX { &texts.last } else { &id })
    }
}

impl Session {
    /// Asks the rules about a command with a statement.
    pub(crate) fn ruled(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        payload: &[u8],
        len: usize,
    ) -> Result<Ruling, Exit> {
        let Some(as_command) = rule_command(command) else { return Ok(Ruling::Next) };
        if self.ruled.no_last
            && as_command == RuleCommand::Execute
            && statement_id(&payload[1..]) == Some(u32::MAX)
        {
            // The server would run the one before.
            let err = unknown(u32::MAX, command, self.server.family);
            self.refuse_command(cx, command, len, &err)?;
            return Ok(Ruling::Answered);
        }
        if !self.is_ruled() {
            self.ruled.at_hand = None;
            if !self.worker.shared.rules_act() {
                return Ok(Ruling::Next);
            }
            let at_hand = match self.asked(command, payload) {
                Ok(Asked::Nothing) => return Ok(Ruling::Next),
                Ok(Asked::Text(sql, mode)) => self.look(sql, mode, as_command),
                Ok(Asked::Prepared(Prepared { text, mode, rewritten })) => {
                    let at_hand = self.look(&text, mode, as_command);
                    at_hand.with_other_text(rewritten)
                }
                Ok(Asked::Unknown(kind)) => self.look_blindly(kind, as_command),
                Err(err) => {
                    self.refuse_command(cx, command, len, &err)?;
                    return Ok(Ruling::Answered);
                }
            };
            let at_hand = match self.rewrite(at_hand, as_command, payload) {
                Ok(at_hand) => at_hand,
                Err(err) => {
                    self.refuse_command(cx, command, len, &err)?;
                    return Ok(Ruling::Answered);
                }
            };
            if command == com::STMT_PREPARE {
                let (text, mode, rewritten) =
                    (payload[1..].into(), self.lex_mode(), at_hand.rewritten.is_some());
                self.ruled.texts.get_or_insert_default().preparing = Some(Prepared { text, mode, rewritten });
            }
            self.ruled.at_hand = Some(at_hand);
        }
        let Some(at_hand) = &self.ruled.at_hand else { return Ok(Ruling::Next) };
        if let Some(rule) = at_hand.denied {
            let err = at_hand.denial(rule);
            at_hand.rules.did(rule, RuleDeed::Denied, self.worker.index());
            self.tally_denied(command, payload);
            self.refuse_command(cx, command, len, &err)?;
            return Ok(Ruling::Answered);
        }
        match self.admit(cx, Turn::Rate) {
            Admitted::Yes => {
                let rewritten = self.ruled.at_hand.as_ref().and_then(|at_hand| at_hand.rewritten.clone());
                Ok(rewritten.map_or(Ruling::Next, Ruling::Instead))
            }
            Admitted::Waits => Ok(Ruling::Waits),
            Admitted::No(err) => {
                self.refuse_command(cx, command, len, &err)?;
                Ok(Ruling::Answered)
            }
        }
    }

    /// The same for the beginning of a text that is too long to be looked at.
    pub(crate) fn ruled_part(
        &mut self,
        cx: &Context<'_>,
        command: u8,
        so_far: &[u8],
    ) -> Result<Ruling, Exit> {
        let text = match command {
            com::QUERY => statement_offset(so_far, self.server.caps).map_or(&[][..], |at| &so_far[at..]),
            com::STMT_PREPARE => &so_far[1..],
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => &[],
            _ => return Ok(Ruling::Next),
        };
        let Some(as_command) = rule_command(command) else { return Ok(Ruling::Next) };
        if !self.is_ruled() && !self.worker.shared.rules_act() {
            return Ok(Ruling::Next);
        }
        if self.is_ruled() {
            return self.admit_part(cx, command, Turn::Rate);
        }
        if let (com::STMT_PREPARE, Some(texts)) = (command, &mut self.ruled.texts) {
            // What runs under its id is nothing that was seen.
            texts.preparing = None;
        }
        // Where there may be another behind it, nobody knows what that is.
        let one = command == com::STMT_PREPARE || !self.multi.may_be_on();
        let at_hand = match (as_command, self.asked(command, so_far)) {
            // Only its values are long.
            (RuleCommand::Execute, Ok(Asked::Prepared(Prepared { text, mode, rewritten }))) => {
                self.look(&text, mode, as_command).with_other_text(rewritten)
            }
            (RuleCommand::Execute, Ok(Asked::Unknown(kind))) => self.look_blindly(kind, as_command),
            (RuleCommand::Execute, _) => return Ok(Ruling::Next),
            _ => {
                let kind = one.then(|| rule_kind(Statement::classify(text, self.lex_mode(), false).kind));
                self.look_blindly(kind, as_command)
            }
        };
        let Some(rule) = at_hand.denied else {
            self.ruled.at_hand = Some(at_hand);
            return self.admit_part(cx, command, Turn::Rate);
        };
        at_hand.rules.did(rule, RuleDeed::Denied, self.worker.index());
        let err = at_hand.denial(rule);
        Err(self.end_with(command, err))
    }

    /// As [`Self::admit`], for a command of which only the beginning is there.
    pub(crate) fn admit_part(&mut self, cx: &Context<'_>, command: u8, turn: Turn) -> Result<Ruling, Exit> {
        match self.admit(cx, turn) {
            Admitted::Yes => Ok(Ruling::Next),
            Admitted::Waits => Ok(Ruling::Waits),
            Admitted::No(err) => Err(self.end_with(command, err)),
        }
    }

    /// Refuses a command of which only the beginning is there: what follows of it would be taken for commands.
    fn end_with(&mut self, command: u8, err: ErrPacket) -> Exit {
        self.begin(command, Shape::Single);
        self.phase = Phase::Answer;
        Exit::Tell(CloseReason::Denied, err)
    }

    /// Takes a command's other text, if a rule has one for it.
    fn rewrite(
        &self,
        mut at_hand: Box<AtHand>,
        command: RuleCommand,
        payload: &[u8],
    ) -> Result<Box<AtHand>, ErrPacket> {
        let offset = match command {
            RuleCommand::Query => statement_offset(payload, self.server.caps).unwrap_or(payload.len()),
            RuleCommand::Prepare => 1,
            // What runs was rewritten when it was prepared.
            RuleCommand::Execute => return Ok(at_hand),
        };
        let Some(rule) = at_hand.rewrite.filter(|_| at_hand.denied.is_none()) else { return Ok(at_hand) };
        let rewritten = self.rewritten(&at_hand, (rule, command), (payload, offset), self.lex_mode())?;
        if rewritten.is_some() {
            at_hand.rules.did(rule, RuleDeed::Rewritten, self.worker.index());
            at_hand = at_hand.with_other_text(true);
            at_hand.rewritten = rewritten;
        }
        Ok(at_hand)
    }

    /// Whether the rules have been asked about the command at hand, which is taken again.
    pub(crate) fn is_ruled(&self) -> bool {
        self.ruled.at_hand.as_ref().is_some_and(|ruled| ruled.number == self.commands)
    }

    /// The statement of a command.
    fn asked<'p>(&self, command: u8, payload: &'p [u8]) -> Result<Asked<'p>, ErrPacket> {
        match command {
            com::QUERY => match statement_offset(payload, self.server.caps) {
                Ok(offset) => Ok(Asked::Text(&payload[offset..], self.lex_mode())),
                // What Weir does not find, the server might.
                Err(_) => Err(ErrPacket::new(MALFORMED_PACKET, b"HY000", "Malformed communication packet")),
            },
            com::STMT_PREPARE => Ok(Asked::Text(&payload[1..], self.lex_mode())),
            _ => {
                let Some(id) = statement_id(&payload[1..]) else { return Ok(Asked::Nothing) };
                if let Some(prepared) = self.ruled.text_of(id) {
                    return Ok(Asked::Prepared(prepared.clone()));
                }
                if let Some(Ok(statement)) = self.sharing.as_ref().map(|sharing| sharing.statements.get(id)) {
                    let (text, now) = (Arc::clone(statement.key().text()), self.lex_mode());
                    let mode = then(statement.key(), now).unwrap_or(now);
                    return Ok(Asked::Prepared(Prepared { text, mode, rewritten: false }));
                }
                // Who shares connections has no others than those. Otherwise the server may know more of them than Weir.
                if self.sharing.is_some() {
                    return Ok(Asked::Nothing);
                }
                Ok(Asked::Unknown(self.statements.get(id).map(|kept| rule_kind(kept.noted.kind))))
            }
        }
    }

    /// The rules that may match on this connection.
    pub(crate) fn connection_rules(&mut self, set: &RuleSet) -> &ConnectionRules {
        let fits = |(known, at): &(ConnectionRules, Schema)| {
            known.generation() == set.generation() && at == self.schema()
        };
        let known = match self.ruled.connection.as_ref().is_some_and(fits) {
            true => self.ruled.connection.take(),
            false => None,
        };
        let known = known.unwrap_or_else(|| (set.connection(&self.as_connection()), self.schema().clone()));
        &self.ruled.connection.insert(known).0
    }

    /// The same, if they were found out before.
    pub(crate) fn known_connection_rules(&self) -> Option<&ConnectionRules> {
        self.ruled.connection.as_ref().filter(|(_, at)| at == self.schema()).map(|(known, _)| known)
    }

    pub(crate) fn as_connection(&self) -> Connection<'_> {
        let schema = self.schema();
        Connection {
            user: &self.identity.user,
            schema: match schema {
                Schema::Known(name) => Some(name),
                Schema::None | Schema::Unknown => None,
            },
            schema_unknown: *schema == Schema::Unknown,
            client_ip: self.peer.map(|peer| peer.ip()),
        }
    }

    /// The current schema.
    fn schema(&self) -> &Schema {
        self.sharing.as_ref().map_or(&self.ruled.schema, |sharing| sharing.wanted.schema())
    }
}

/// The command by the rules' word; `None` where they have nothing to say.
fn rule_command(command: u8) -> Option<RuleCommand> {
    match command {
        com::QUERY => Some(RuleCommand::Query),
        com::STMT_PREPARE => Some(RuleCommand::Prepare),
        com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => Some(RuleCommand::Execute),
        _ => None,
    }
}

/// A schema by its name in the client's character set.
fn named(name: &[u8]) -> Schema {
    match name {
        b"" => Schema::None,
        name if name.is_ascii() => Schema::Known(name.into()),
        _ => Schema::Unknown,
    }
}
