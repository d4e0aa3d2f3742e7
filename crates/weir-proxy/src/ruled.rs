//! Step 4, before a statement is analysed: what the operator's rules have done with it, whoever sends it and however its session
//! keeps connections. They are asked once for each command; what they say is kept until it is on its way.

use crate::admit::{Admission, Admitted, Held};
use crate::analyse::MULTI;
use crate::command::statement_id;
use crate::judged::Found;
use crate::overtime::Ending;
use crate::rules::{RuleDeed, Rules};
use crate::session::{Exit, Phase, Session};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use tokio::time::Sleep;
use weir_model::CloseReason;
use weir_model::rule::{Rule, RuleCommand, RuleKind};
use weir_policy::{Connection, ConnectionRules, Decision, RuleIndex, RuleSet, Turn, rule_kind};
use weir_session::Schema;
use weir_sql::{Digest, Facts, LexMode, Statement};
use weir_wire::attributes::statement_offset;
use weir_wire::caps;
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

/// ER_SPECIFIC_ACCESS_DENIED_ERROR: clients take 42000 for a statement that they may not run, and keep the connection. The
/// 1045 of MySQL's own firewall (28000) reads as a failed login.
const DENIED: u16 = 1227;
/// ER_MALFORMED_PACKET.
const MALFORMED: u16 = 1835;

/// What becomes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It goes on as it stands.
    Next,
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
    schema: Schema,
    next_schema: Option<Schema>,
    /// Texts that the client has prepared while rules looked at them, by its ids.
    texts: Option<Box<Texts>>,
}

/// What the rules say about a command.
#[derive(Debug)]
pub(crate) struct AtHand {
    /// The number of the command.
    number: u64,
    command: RuleCommand,
    pub rules: Arc<Rules>,
    /// What is known of the client's text, if that is known.
    pub found: Option<Found>,
    pub cache: Option<RuleIndex>,
    denied: Option<RuleIndex>,
    timeout: Option<(RuleIndex, Duration)>,
    pub admission: Option<Admission>,
    /// Its text was not looked at.
    unread: bool,
}

/// What holds for a statement while it runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub rules: Arc<Rules>,
    pub timeout: Option<(RuleIndex, Duration)>,
    pub ending: Ending,
    /// Its places in the limits of rules.
    _places: Vec<Held>,
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
}

/// The statement of a command.
enum Asked<'a> {
    Text(&'a [u8], LexMode),
    Prepared(Prepared),
    /// It was prepared before any rule looked.
    Unknown(RuleKind),
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
            texts: None,
        }
    }

    /// The session is another user's, and has begun anew.
    pub fn changed_user(&mut self, database: &[u8]) {
        *self = Self::new(Some(database.to_vec()));
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
        self.running = self.at_hand.take().and_then(|at_hand| at_hand.running());
        self.next_schema = None;
        if command != com::STMT_PREPARE
            && let Some(texts) = &mut self.texts
        {
            texts.preparing = None;
        }
    }

    /// Its answer has come.
    pub fn ended(&mut self, succeeded: bool) {
        if let (Some(schema), true) = (self.next_schema.take(), succeeded) {
            self.schema = schema;
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

    /// The client has got this id for what it has prepared.
    pub fn prepared(&mut self, id: u32) {
        let Some(texts) = &mut self.texts else { return };
        texts.last = id;
        if let Some(prepared) = texts.preparing.take() {
            texts.prepared.insert(id, prepared);
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
        if !self.is_ruled() {
            self.ruled.at_hand = None;
            if !self.worker.shared.rules_act() {
                return Ok(Ruling::Next);
            }
            let at_hand = match self.asked(command, payload) {
                Ok(Asked::Nothing) => return Ok(Ruling::Next),
                Ok(Asked::Text(sql, mode)) => self.look(sql, mode, as_command),
                Ok(Asked::Prepared(Prepared { text, mode })) => self.look(&text, mode, as_command),
                Ok(Asked::Unknown(kind)) => self.look_blindly(Some(kind), as_command),
                Err(err) => {
                    self.refuse_command(cx, command, len, &err)?;
                    return Ok(Ruling::Answered);
                }
            };
            if command == com::STMT_PREPARE {
                let prepared = Prepared { text: payload[1..].into(), mode: self.lex_mode() };
                self.ruled.texts.get_or_insert_default().preparing = Some(prepared);
            }
            self.ruled.at_hand = Some(at_hand);
        }
        let Some(at_hand) = &self.ruled.at_hand else { return Ok(Ruling::Next) };
        if let Some(rule) = at_hand.denied {
            let err = at_hand.denial(rule);
            at_hand.rules.did(rule, RuleDeed::Denied, self.worker.index());
            self.refuse_command(cx, command, len, &err)?;
            return Ok(Ruling::Answered);
        }
        match self.admit(cx, Turn::Rate) {
            Admitted::Yes => Ok(Ruling::Next),
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
            _ => return Ok(Ruling::Next),
        };
        let Some(as_command) = rule_command(command) else { return Ok(Ruling::Next) };
        if !self.is_ruled() && !self.worker.shared.rules_act() {
            return Ok(Ruling::Next);
        }
        if self.is_ruled() {
            return self.admit_part(cx, command, Turn::Rate);
        }
        // Where there may be another behind it, nobody knows what that is.
        let one = command == com::STMT_PREPARE || self.client_caps & caps::MULTI_STATEMENTS == 0;
        let kind = one.then(|| rule_kind(Statement::classify(text, self.lex_mode(), false).kind));
        let at_hand = self.look_blindly(kind, as_command);
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

    /// Whether the rules have been asked about the command at hand, which is taken again.
    fn is_ruled(&self) -> bool {
        self.ruled.at_hand.as_ref().is_some_and(|ruled| ruled.number == self.commands)
    }

    /// The statement of a command.
    fn asked<'p>(&self, command: u8, payload: &'p [u8]) -> Result<Asked<'p>, ErrPacket> {
        match command {
            com::QUERY => match statement_offset(payload, self.server.caps) {
                Ok(offset) => Ok(Asked::Text(&payload[offset..], self.lex_mode())),
                // What Weir does not find, the server might.
                Err(_) => Err(ErrPacket::new(MALFORMED, b"HY000", "Malformed communication packet")),
            },
            com::STMT_PREPARE => Ok(Asked::Text(&payload[1..], self.lex_mode())),
            _ => {
                let Some(id) = statement_id(&payload[1..]) else { return Ok(Asked::Nothing) };
                if let Some(prepared) = self.ruled.text_of(id) {
                    return Ok(Asked::Prepared(prepared.clone()));
                }
                if let Some(Ok(statement)) = self.sharing.as_ref().map(|sharing| sharing.statements.get(id)) {
                    let text = Arc::clone(statement.key().text());
                    return Ok(Asked::Prepared(Prepared { text, mode: self.lex_mode() }));
                }
                let noted = self.statements.get(&id);
                Ok(noted.map_or(Asked::Nothing, |noted| Asked::Unknown(rule_kind(noted.kind))))
            }
        }
    }

    /// What the rules say about a text.
    fn look(&mut self, sql: &[u8], mode: LexMode, command: RuleCommand) -> Box<AtHand> {
        let worker = Arc::clone(&self.worker);
        let mut learned = worker.learned.lock();
        let learned = &mut *learned;
        learned.rules.follow(&worker.shared.rules.load(), (self.server.family, self.server.version));
        let kind = || Facts::of(sql, mode, MULTI).kind();
        let found = learned.judgements.of(sql, None, mode, (kind, command));
        let (set, rules) = (&learned.rules.set, &learned.rules.rules);
        let mut at_hand = AtHand::new(self.commands, command, rules);
        let connection = self.connection_rules(set);
        let selection = found.judged.selection(set, sql, mode, found.exact);
        let mut matched = Vec::new();
        let decision = set.decide_known(&selection, connection);
        at_hand.cache = decision.cache;
        at_hand.take(&decision, &mut matched);
        for (at, part) in &found.judged.parts {
            let selection = part.selection(set, &sql[at.clone()], mode, true);
            at_hand.take(&set.decide_known(&selection, connection), &mut matched);
        }
        matched.iter().for_each(|rule| rules.hit(*rule, worker.index()));
        at_hand.found = Some(found);
        Box::new(at_hand)
    }

    /// What they say about a statement of which no more is known than this.
    fn look_blindly(&mut self, kind: Option<RuleKind>, command: RuleCommand) -> Box<AtHand> {
        let worker = Arc::clone(&self.worker);
        let mut learned = worker.learned.lock();
        let learned = &mut *learned;
        learned.rules.follow(&worker.shared.rules.load(), (self.server.family, self.server.version));
        let (set, rules) = (&learned.rules.set, &learned.rules.rules);
        let mut at_hand = AtHand::new(self.commands, command, rules);
        let nothing = Digest::of(b"", self.lex_mode());
        let selection = set.select(&weir_policy::Statement {
            digest: nothing.id,
            digest_text: &nothing.text,
            text: b"",
            reads: &[],
            writes: &[],
            kind: kind.unwrap_or(RuleKind::Other),
            command,
        });
        let mut matched = Vec::new();
        at_hand.take(&set.decide_known(&selection, self.connection_rules(set)), &mut matched);
        at_hand.denied = set.may_deny(kind, command, &self.as_connection());
        at_hand.unread = true;
        if let Some(rule) = at_hand.denied.filter(|rule| !matched.contains(rule)) {
            matched.push(rule);
        }
        matched.iter().for_each(|rule| rules.hit(*rule, worker.index()));
        Box::new(at_hand)
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

    fn as_connection(&self) -> Connection<'_> {
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

impl AtHand {
    fn new(number: u64, command: RuleCommand, rules: &Arc<Rules>) -> Self {
        let rules = Arc::clone(rules);
        Self {
            number,
            command,
            rules,
            found: None,
            cache: None,
            denied: None,
            timeout: None,
            admission: None,
            unread: false,
        }
    }

    /// Adds what is decided about one of its statements.
    fn take(&mut self, decision: &Decision, matched: &mut Vec<RuleIndex>) {
        for rule in decision.matched() {
            if !matched.contains(&rule) {
                matched.push(rule);
            }
        }
        self.denied = self.denied.or(decision.deny);
        let timeout = |rule| Some((rule, self.rule_for(rule)?.timeout?));
        let timeouts = [self.timeout, decision.timeout.and_then(timeout)];
        self.timeout = timeouts.into_iter().flatten().min_by_key(|(_, limit)| *limit);
        let limits = decision.limit.filter(|rule| self.rule_for(*rule).is_some());
        if let Some((rule, limit)) = limits.and_then(|rule| Some((rule, self.rules.limit(rule)?))) {
            self.admission.get_or_insert_with(Admission::new).add(rule, limit);
        }
    }

    /// A rule, unless it is about what runs and nothing does: what prepares a statement is limited by rules for that only.
    fn rule_for(&self, rule: RuleIndex) -> Option<&Rule> {
        let prepares = self.command == RuleCommand::Prepare;
        self.rules.rule(rule).filter(|rule| !prepares || rule.matches.command.is_some())
    }

    fn running(self) -> Option<Box<Running>> {
        let places = self.admission.map(Admission::into_places).unwrap_or_default();
        if self.timeout.is_none() && places.is_empty() {
            return None;
        }
        let (rules, timeout) = (self.rules, self.timeout);
        Some(Box::new(Running { rules, timeout, ending: Ending::Not, _places: places }))
    }

    fn denial(&self, rule: RuleIndex) -> ErrPacket {
        let Some(rule) = self.rules.rule(rule) else {
            return ErrPacket::new(DENIED, b"42000", "Access denied");
        };
        let unread = match self.unread {
            true => {
                "; a statement that Weir cannot look at, for its length (limits.statement_bytes) or because it was prepared \
                     before the rule, is denied where the rule may match"
            }
            false => "",
        };
        let text = rule.deny.as_deref().unwrap_or_default();
        ErrPacket::new(
            DENIED,
            b"42000",
            format!("Access denied: {text} (weir: rule `{}`{unread})", rule.name),
        )
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
