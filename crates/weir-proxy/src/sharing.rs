//! A session that shares server connections: what its client wants the connection to be like, what keeps it there, and
//! when it may go.

use crate::backend::Backend;
use crate::cached::Remembered;
use crate::doing::{Doing, outcome};
use crate::foreign::Foreign;
use crate::kept::Kept;
use crate::link::{Key, Lease, Link, UsedBy};
use crate::replay::Candidate;
use crate::session::Noted;
use crate::tracker::{Reports, Tracker, is_of_the_session};
use crate::untold::Untold;
use crate::writes::Alters;
use std::collections::HashMap;
use std::time::Instant;
use weir_model::ServerFamily;
use weir_pool::{Grant, Need, Waiting};
use weir_session::{
    ClientStatements, InsertId, Leftovers, Next, Outcome, PinReason, PinSet, Pins, Place, Plan, Reads,
    Server, ServerStatements, State, Statement, Unread, Variable, plan_sync,
};
use weir_sql::{CharsetClass, Facts, LexMode, StatementKind, Transaction};
use weir_wire::command as com;
use weir_wire::packet::ErrPacket;
use weir_wire::response::Walker;

/// What a session has to know that shares connections.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub key: Key,
    /// What the client wants; while a connection is attached, what the connection is like.
    pub wanted: State,
    pub pins: Pins,
    /// The user variables that a statement has computed.
    pub unread: Unread,
    pub leftovers: Leftovers,
    pub doing: Doing,
    /// Present while a connection is attached.
    pub lease: Option<Lease>,
    /// What was taken out of the pool with the attached connection, and goes back with it.
    pub link: Option<Box<Link>>,
    /// The command at hand waits in the pool's queue.
    pub waiting: Option<Wait>,
    /// What the text of the command at hand says, or what it is doing, until it is asked; and what is left of that while the
    /// command waits.
    pub facts: Option<Facts>,
    pub read: Option<Doing>,
    pub known: Option<Known>,
    /// The kind of the command at hand, if it is a statement whose text was looked at.
    pub kind: Option<StatementKind>,
    /// What it may change, of a text too.
    pub alters: Alters,
    /// What the cache has to do with it.
    pub cache: Remembered,
    /// What the attached connection has of another statement than the session's last.
    pub foreign_parts: Foreign,
    /// The attached connection has in its diagnostics area what is not the session's to be asked for, or not any more, and nobody
    /// else's either.
    pub unclean: bool,
    /// The command at hand is a KILL that was sent ahead of the queue: whether the server has carried it out.
    pub kill: Option<bool>,
    /// The answer to the command at hand can be given again.
    pub candidate: Option<Box<Candidate>>,
    /// Granted by the pool, and not fit for the command yet.
    pub granted: Option<(Lease, Grant<Box<Link>>)>,
    /// What the attached connection is like, until it was made what the client wants.
    pub actual: Option<State>,
    /// What LAST_INSERT_ID() is there.
    pub insert_id_there: Option<u64>,
    /// LAST_INSERT_ID() there and of the session before a statement that may have changed it, where they differed.
    pub foreign: Option<(u64, u64)>,
    /// Who has used the attached connection.
    pub used_by: UsedBy,
    /// The command at hand asks for another connection than the one before it ran on.
    pub fresh: bool,
    /// The server's id of that one.
    pub last_connection: u32,
    /// The connection has been made ready for the command at hand.
    pub fit: bool,
    /// Of the command at hand only the beginning is there.
    pub partial: bool,
    /// The command at hand is answered with this.
    pub refusal: Option<ErrPacket>,
    /// The state must be read anew, whole.
    pub rebase: Option<Rebase>,
    /// What the session was like when it logged in. `None`: the server has refused it a COM_CHANGE_USER, and the character set
    /// that this has named is what MariaDB goes back to; the connection is the session's own from then on.
    pub login: Option<State>,
    /// The attached connection has been through what no reset takes back: COM_SET_OPTION, a refused COM_CHANGE_USER.
    pub switched: bool,
    /// Where in the bytes at hand status flags stand that must tell of changed columns.
    pub marks: Vec<usize>,
    /// What the server reports.
    pub tracker: Tracker,
    /// The reasons that are counted already.
    pub counted: PinSet,
    /// How long they have kept it.
    pub kept: Kept,
    /// The connection has been offered to others.
    pub offered: bool,
    /// The last command was answered without an error.
    pub succeeded: bool,
    /// The client's prepared statements, and those of the attached connection.
    pub statements: ClientStatements,
    pub prepared: Box<ServerStatements>,
    /// The id of the statement that was just prepared, and whether it must still be put into the answer.
    pub announced: Option<u32>,
    pub patch: bool,
    /// The server's id of the statement that this session was the last to prepare on the attached connection.
    pub last_prepared: u32,
    /// The client's id of the prepared statement that the command at hand is about.
    pub executing: Option<u32>,
    /// When the connection was attached for the command at hand, which begins then.
    pub attached_at: Option<Instant>,
    /// What their next executions are refused with.
    pub untold: Untold,
    /// What executions of the client's statements are, by its ids, and how the text was read, where that may be otherwise next time.
    pub plain: HashMap<u32, (Option<LexMode>, Doing), foldhash::fast::RandomState>,
}

/// A place in the pool's queue.
#[derive(Debug)]
pub(crate) struct Wait {
    pub waiting: Waiting<Key, Box<Link>>,
    pub need: Need,
    pub begun: Instant,
}

/// What was found out about a statement that waits for a connection.
#[derive(Debug)]
pub(crate) struct Known {
    pub local_infile: bool,
    pub noted: Option<Noted>,
}

/// What has made a session new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rebase {
    /// COM_RESET_CONNECTION.
    Reset,
    /// COM_CHANGE_USER.
    ChangeUser,
}

impl Sharing {
    /// A session on a connection that was made or changed for it, or without one.
    pub fn new(
        key: Key,
        lease: Option<Lease>,
        (state, prepared): (State, Box<ServerStatements>),
        (status, tracker): (u16, Tracker),
    ) -> Self {
        let mut pins = Pins::default();
        pins.status(status);
        let mut new = Self {
            key,
            login: Some(state.clone()),
            wanted: state,
            pins,
            unread: Unread::default(),
            leftovers: Leftovers::FRESH,
            doing: Doing::Command(com::SLEEP),
            lease,
            link: None,
            waiting: None,
            facts: None,
            read: None,
            known: None,
            kind: None,
            alters: Alters::No,
            cache: Remembered::default(),
            foreign_parts: Foreign::default(),
            unclean: false,
            kill: None,
            candidate: None,
            granted: None,
            actual: None,
            insert_id_there: Some(0),
            foreign: None,
            used_by: UsedBy::Nobody,
            fresh: false,
            last_connection: 0,
            fit: false,
            partial: false,
            refusal: None,
            rebase: None,
            switched: false,
            marks: Vec::new(),
            tracker,
            counted: PinSet::EMPTY,
            kept: Kept::default(),
            offered: false,
            succeeded: true,
            statements: ClientStatements::default(),
            prepared,
            announced: None,
            patch: false,
            last_prepared: 0,
            executing: None,
            attached_at: None,
            untold: Untold::default(),
            plain: HashMap::default(),
        };
        new.keep_for_null_ids();
        new
    }

    pub fn is_attached(&self) -> bool {
        self.lease.is_some()
    }

    /// Whether the command at hand must not run on this connection (`/*weir: fresh*/`).
    pub fn shuns(&self, link: &Link) -> bool {
        self.fresh && self.last_connection == link.server.id
    }

    /// What a connection is asked of the pool for.
    pub fn need(&self) -> Need {
        let autocommit = self.wanted.get(Variable::AUTOCOMMIT).flatten();
        let keeps = self.doing.with(|statement| !statement.pins.is_empty()) || autocommit != Some(b"ON");
        let begins = match &self.doing {
            Doing::Plain { statement, .. } => statement.may_begin,
            Doing::Text(text) => text.0.transaction != Transaction::None,
            Doing::InitDb(_) | Doing::Prepare { .. } | Doing::Command(_) => false,
        };
        if keeps || begins { Need::Pin } else { Need::Statement }
    }

    /// What must be done so that the command at hand finds what the one before it left. `there`: LAST_INSERT_ID() of a
    /// connection that was just attached; `None` for the one that the statement before it ran on.
    pub fn next(&self, there: Option<Option<u64>>, server: Server) -> Next {
        let insert_id = self.insert_id_of_command(there.is_some());
        let wants = self.wants_insert_id(insert_id, there.is_some());
        let foreign = wants && self.insert_id_there != self.leftovers.insert_id();
        let place = match there {
            Some(insert_id) => Place::Other { insert_id },
            // A statement that does not touch it has left the one that was there before.
            None if foreign => Place::Other { insert_id: self.insert_id_there },
            None if self.is_foreign() => Place::Touched,
            None => Place::Untouched,
        };
        self.doing
            .with(|statement| self.leftovers.next(&Statement { insert_id, ..*statement }, place, server))
    }

    /// Whether the command at hand asks for what the attached connection has of another statement than the session's last.
    fn is_foreign(&self) -> bool {
        self.doing.with(|statement| self.foreign_parts.concerns(self.leftovers.reads(statement)))
    }

    /// How the command at hand may change LAST_INSERT_ID(). Whoever keeps the connection may ask for it there later. (Only a
    /// statement is worth a SET on a connection that is attached already: another command may leave diagnostics there.)
    fn insert_id_of_command(&self, new: bool) -> InsertId {
        if self.need() == Need::Pin && (new || self.doing.is_statement()) {
            return InsertId::Unknown;
        }
        self.doing.with(|statement| statement.insert_id)
    }

    /// Whether the connection must have the session's own LAST_INSERT_ID() before the command at hand runs there.
    fn wants_insert_id(&self, insert_id: InsertId, new: bool) -> bool {
        self.doing.with(|statement| {
            let reads = statement.reads;
            // What a connection alone holds is worth more than an id that may not be asked for.
            let only_here = reads.minus(Reads::LAST_INSERT_ID) != Reads::NONE
                && !reads.contains(Reads::LAST_INSERT_ID)
                && statement.insert_id != InsertId::Unknown
                && !new;
            !only_here && (reads.contains(Reads::LAST_INSERT_ID) || insert_id != InsertId::Kept)
        })
    }

    /// The steps of [`Self::next`] were carried out.
    pub fn found(&mut self) {
        let new = self.actual.is_some();
        if self.wants_insert_id(self.insert_id_of_command(new), new) {
            self.insert_id_there = self.leftovers.insert_id();
        }
        let Self { doing, leftovers, foreign_parts, .. } = self;
        doing.with(|statement| foreign_parts.made_anew(leftovers.reads(statement)));
        self.actual = None;
    }

    /// Takes in how the command under way ended.
    pub fn ended(&mut self, walker: &Walker, command: u8, server: Server, memory: &mut weir_session::Memory) {
        let outcome = outcome(walker);
        let before = (self.insert_id_there, self.leftovers.insert_id());
        self.succeeded = outcome.is_ok();
        self.statement_ended(command, walker.error(), walker.status(), walker.columns());
        let reports = self.tracker.finish(outcome.is_ok());
        self.unclean &=
            !self.doing.is_statement() || self.doing.with(|statement| statement.keeps_diagnostics);
        self.learn(outcome, &reports, memory);
        let Self { wanted, leftovers, doing, insert_id_there, foreign, foreign_parts, .. } = self;
        doing.with(|statement| {
            if doing.is_statement() {
                leftovers.after(statement, outcome);
                foreign_parts.after(statement, outcome);
                if !outcome.is_ok() && foreign_parts.has_rows() {
                    leftovers.lose_found_rows();
                }
                // MariaDB keeps them through a later statement that reads no table and tells of none.
                if doing.several()
                    && outcome.is_ok()
                    && walker.warned()
                    && server.family == ServerFamily::MariaDb
                {
                    leftovers.warned();
                }
            } else {
                leftovers.after_command(command, outcome.is_ok(), server);
                if command == com::STMT_PREPARE && walker.ok().warnings > 0 {
                    leftovers.warned();
                }
                foreign_parts.after_command(leftovers.holds(server));
            }
            if command == com::RESET_CONNECTION {
                (*insert_id_there, *foreign) = (leftovers.insert_id(), None);
            } else if leftovers.insert_id().is_none() {
                *insert_id_there = None;
                if let (Some(there), Some(own)) = before {
                    *foreign = (there != own).then_some((there, own));
                }
            }
            if outcome.is_ok() && wanted.is_known() {
                memory.remember(statement, wanted);
            }
        });
        if !outcome.is_ok() && doing.several() {
            self.pins.add(PinReason::MultiStatement.into());
        }
        self.switched |= command == com::SET_OPTION;
        if command == com::RESET_CONNECTION && outcome.is_ok() {
            self.was_reset();
        }
        if outcome.is_ok() && self.doing.releases(&self.wanted) {
            // The end is on its way, and is the client's to see.
            self.pins.add(PinReason::UnknownStatement.into());
        }
        self.level_state();
        self.pins.hold(self.leftovers.holds(server));
        self.fit = false;
    }

    /// What the command under way has made of the session's state.
    fn learn(&mut self, outcome: Outcome, reports: &Reports, memory: &weir_session::Memory) {
        let changes = reports.changes();
        let Self { wanted, pins, unread, doing, cache, .. } = self;
        doing.with(|statement| {
            pins.end(statement, outcome);
            let kept = wanted.learn(statement, outcome, &changes, memory);
            if kept.union(statement.pins).contains(PinReason::UserVariable) {
                unread.after(statement);
            }
            pins.add(kept);
            if statement.silent && (reports.unsure || changes.iter().any(is_of_the_session)) {
                // By a trigger, or a function behind a view: most likely a user variable, and nobody says which.
                pins.add(PinReason::UserVariable.into());
                unread.lose();
                cache.untold = true;
            }
        });
    }

    /// How the server reads the client's statements, as far as it is known.
    pub fn client_charset(&self) -> Option<CharsetClass> {
        self.wanted.get(Variable::CHARACTER_SET_CLIENT).flatten().map(CharsetClass::from_name)
    }

    /// COM_RESET_CONNECTION was carried out.
    fn was_reset(&mut self) {
        self.pins.reset();
        self.unread.clear();
        self.forget_statements();
        (self.rebase, self.cache.untold) = (Some(Rebase::Reset), false);
        self.tracker.reset();
        self.keep_switched();
    }

    /// What no reset takes back keeps the connection.
    pub fn keep_switched(&mut self) {
        if self.switched {
            self.pins.add(PinReason::UntrackedVariable.into());
        }
    }

    /// The server has closed all prepared statements.
    pub fn forget_statements(&mut self) {
        if !self.statements.is_empty() {
            self.statements.clear();
            self.prepared.client_gone();
        }
        self.prepared.clear();
        self.plain.clear();
        self.untold.clear();
        self.executing = None;
    }

    /// LAST_INSERT_ID() was read from the connection. Where it still is another session's, the own one has not changed either.
    pub fn leftovers_read(&mut self) {
        if let Some((there, own)) = self.foreign.take()
            && self.insert_id_there == Some(there)
        {
            self.leftovers.keep_insert_id(own);
        }
    }
}

/// As [`plan_sync`], for a connection that has just been attached.
pub(crate) fn plan(sharing: &Sharing, memory: &weir_session::Memory) -> Plan {
    match &sharing.actual {
        Some(actual) => plan_sync(&sharing.wanted, actual, memory),
        None => Plan::Nothing,
    }
}

/// What a connection without a client is like, for [`Backend`]s that are opened.
pub(crate) fn kind_of(server: &Backend) -> Server {
    Server { family: server.family, version: server.version }
}
