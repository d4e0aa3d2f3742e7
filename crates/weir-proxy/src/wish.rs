//! What the rules, its text and its session say about caching a statement.

use crate::judged::{CacheHints, Found, Judged, Reads, ScopeOf};
use crate::passing::is_seldom;
use crate::rules::Rules;
use crate::session::Session;
use crate::sharing::Sharing;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;
use weir_cache::{KeyBuilder, Parameter, Protocol, Reader, Refusal, Scope, Selector, Table, Tables, Terms};
use weir_model::ServerFamily;
use weir_model::rule::{CacheMode, CacheRule, CacheShare, RuleCommand, RuleKind};
use weir_policy::{RuleIndex, rule_kind};
use weir_session::{PinReason, PinSet, Schema, Variable};
use weir_sql::{LexMode, ReadFacts, StatementKind, Uncacheable, trimmed_span};
use weir_wire::attributes::statement_offset;
use weir_wire::caps;
use weir_wire::command as com;
use weir_wire::execute::{Execute, cursor_flags, has_type};
use weir_wire::packet::status;

/// MYSQL_TYPE_TIME.
pub(crate) const TYPE_TIME: u8 = 11;

/// A statement that may be answered from memory.
#[derive(Debug)]
pub(crate) struct Wish {
    pub judged: Arc<Judged>,
    pub scope: Arc<Scope>,
    /// The rule that decides, in its list.
    pub rule: (Arc<Rules>, RuleIndex),
    pub cache: Arc<CacheRule>,
    pub terms: Terms,
    pub key: Vec<u8>,
    /// Of the address of the server.
    pub place: u64,
    pub schema: Schema,
    /// [`crate::Shared::names_changed`] before the statement was sent.
    pub epoch: u64,
    /// Its user may read what others have asked for.
    pub granted: bool,
    /// What its names stand for, if the server has said so.
    pub reads: Option<Reads>,
    /// When the session's last write was acknowledged, if that counts.
    pub floor: Option<Instant>,
}

thread_local! {
    /// Room for the key of the next statement on this thread: that of one that was served.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static FRONT: RefCell<LastFront> = const { RefCell::new(LastFront { front: None, user: None, bytes: Vec::new() }) };
}

/// What a key begins with: all that does not come from the statement. It stays the same from one statement to the next, also
/// in other sessions of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Front {
    protocol: Protocol,
    dialect: u64,
    results: u64,
    place: u64,
    /// What a rule that trusts views keeps is not for others.
    views: bool,
}

/// The last of these, and its bytes.
#[derive(Debug, Default)]
struct LastFront {
    front: Option<Front>,
    /// `None` where answers are for all who may read them.
    user: Option<Arc<[u8]>>,
    bytes: Vec<u8>,
}

impl LastFront {
    fn begin<'k>(&mut self, front: Front, user: Option<&Arc<[u8]>>, key: &'k mut Vec<u8>) -> KeyBuilder<'k> {
        if self.front != Some(front) || self.user.as_ref() != user {
            let reader = match user {
                None => Reader::Group(b"grants"),
                Some(user) => Reader::Account { user, host: b"", roles: b"" },
            };
            KeyBuilder::new(&mut self.bytes)
                .protocol(front.protocol)
                .dialect(front.dialect)
                .session(&front.results.to_le_bytes())
                .session(&[front.views.into()])
                .server(&front.place.to_le_bytes())
                .reader(reader);
            (self.front, self.user) = (Some(front), user.cloned());
        }
        KeyBuilder::with_front(key, &self.bytes)
    }
}

impl Wish {
    /// It was served: nothing of it is needed any more.
    pub fn granted(self) {
        SPARE.set(self.key);
    }
}

/// A statement at hand.
struct Asked<'a> {
    sql: &'a [u8],
    /// For an execution: what it binds.
    bound: Option<Bound<'a>>,
    mode: LexMode,
    kind: StatementKind,
    command: RuleCommand,
}

struct Bound<'a> {
    types: Option<Arc<[u8]>>,
    values: (&'a [u8], &'a [u8]),
    /// Columns that the client was told of: a server marks an answer that has others.
    columns: u64,
    refusal: Option<Refusal>,
}

impl Session {
    /// What the rules and the session say about the command at hand. `None`: the cache has no part in it.
    pub(crate) fn wish(&mut self, command: u8, payload: &[u8]) -> Option<Wish> {
        let text;
        let asked = match command {
            com::QUERY => {
                let offset = statement_offset(payload, self.server.caps).ok()?;
                let sharing = self.sharing.as_ref()?;
                let kind = sharing.kind?;
                let (sql, mode) = (&payload[offset..], self.lex_mode());
                Asked { sql, bound: None, mode, kind, command: RuleCommand::Query }
            }
            _ => {
                let (key, asked) = self.asked_prepared(payload)?;
                text = key;
                Asked { sql: &text, ..asked }
            }
        };
        let (found, rules, rule) = self.judge(&asked)?;
        let cache = rules.terms(rule)?;
        let counted = rules.cached(rule)?;
        match self.wish_of(&asked, &found, cache, (&rules, rule)) {
            Ok(wish) => Some(wish),
            Err(reason) => {
                counted.refuse(reason);
                self.tally.refused(reason);
                None
            }
        }
    }

    /// The text of the statement that is executed, and what is bound to it.
    fn asked_prepared<'p>(&self, payload: &'p [u8]) -> Option<(Arc<[u8]>, Asked<'p>)> {
        let sharing = self.sharing.as_ref()?;
        let id = sharing.executing?;
        let statement = sharing.statements.get(id).ok()?;
        let kind = self.statements.get(id)?.noted.kind;
        let named = self.client_caps & caps::QUERY_ATTRIBUTES != 0;
        let execute = Execute::parse(payload, statement.params(), self.client_caps).ok()?;
        let types = statement.types().cloned();
        // MariaDB knows no types of "the last one" but those that come with it.
        let untyped = execute.id == u32::MAX && statement.params() > 0 && execute.types.is_none();
        let key = statement.key();
        let refusal = if self.client_caps & caps::MARIADB_CACHE_METADATA != 0 {
            // A client from before the first such rule, whose answers may lack their columns.
            Some(Refusal::SessionUnknown)
        } else if cursor_flags(payload) != 0 || statement.has_cursor() {
            Some(Refusal::Cursor)
        } else if statement.has_long_data() || key.is_bound() || !key.is_read_alike(&sharing.wanted) {
            Some(Refusal::SessionUnknown)
        } else if untyped || statement.is_rebound() && self.server.family == ServerFamily::MySql {
            // It reads values as the types that were bound first.
            Some(Refusal::SessionUnknown)
        } else if types.as_ref().is_some_and(|types| has_type(types, named, TYPE_TIME)) {
            Some(Refusal::TimeValue)
        } else {
            None
        };
        let columns = statement.columns();
        let bound = Some(Bound { types, values: execute.values(payload), columns, refusal });
        let asked = Asked { sql: &[], bound, mode: self.lex_mode(), kind, command: RuleCommand::Execute };
        Some((Arc::clone(key.text()), asked))
    }

    /// What is known of the text, and the rule that decides about the cache.
    fn judge(&mut self, asked: &Asked<'_>) -> Option<(Found, Arc<Rules>, RuleIndex)> {
        let worker = Arc::clone(&self.worker);
        if let Some(ruled) = &self.ruled.at_hand {
            let rule = ruled.cache?;
            let found = match &ruled.found {
                Some(found) => found.clone(),
                None => {
                    let kind = (|| asked.kind, asked.command);
                    worker.learned.lock().judgements.of(asked.sql, None, asked.mode, kind)
                }
            };
            return Some((found, Arc::clone(&ruled.rules), rule));
        }
        let mut learned = worker.learned.lock();
        let learned = &mut *learned;
        let server = (self.server.family, self.server.version);
        learned.follow(&worker.shared.rules.load(), server);
        // The text of a query was looked for a moment ago.
        let without = learned.texts.last().filter(|_| asked.command == RuleCommand::Query);
        debug_assert!(without.is_none_or(|without| {
            let mut own = Vec::new();
            weir_sql::without_numbers(asked.sql, &mut own) && own == without
        }));
        let found = learned.judgements.of(asked.sql, without, asked.mode, (|| asked.kind, asked.command));
        let set = &learned.rules.set;
        let selection = found.judged.selection(set, asked.sql, asked.mode, found.exact);
        if selection.is_empty() {
            return None;
        }
        let connection = self.connection_rules(set);
        let decision = set.decide_known(&selection, connection);
        let rules = Arc::clone(&learned.rules.rules);
        match is_seldom(worker.shared.cache(), &found.judged, &selection) {
            true => learned.texts.pass(asked.mode, &found, &rules, (&decision, connection), server),
            false if self.is_taken_for_seldom() => learned.texts.pass_no_more(),
            false => {}
        }
        self.matches(&rules, decision.matched());
        Some((found, rules, decision.cache?))
    }

    /// Everything that speaks against it, or the wish.
    fn wish_of(
        &mut self,
        asked: &Asked<'_>,
        found: &Found,
        cache: Arc<CacheRule>,
        (rules, rule): (&Arc<Rules>, RuleIndex),
    ) -> Result<Wish, Refusal> {
        let judged = &found.judged;
        let hints = (judged.hints.any() && self.follows_hints()).then_some(&judged.hints);
        let place = self.place();
        if hints.is_some_and(|hints| hints.wipe) && self.may_read(&cache, judged) {
            // Also where the session or the statement is not served itself, as with /*nocache*/.
            if let Some(results) = self.results_id() {
                let key = self.key(asked, results, place, &cache);
                self.worker.shared.cache().wipe(&Selector::all().key(&key));
            }
        }
        if let Some(reason) = text_refusal(&cache, hints, &judged.facts, rule_kind(asked.kind)) {
            return Err(reason);
        }
        if let Some(reason) = asked.bound.as_ref().and_then(|bound| bound.refusal) {
            return Err(reason);
        }
        if let Some(reason) = self.state_refusal() {
            return Err(reason);
        }
        let schema = self.sharing.as_ref().ok_or(Refusal::SessionUnknown)?.wanted.schema().clone();
        match &schema {
            Schema::Known(name) if judged.facts.reads_system_schema(name) => {
                return Err(Refusal::SystemSchema);
            }
            Schema::Unknown => return Err(Refusal::SessionUnknown),
            Schema::Known(_) | Schema::None => {}
        }
        let results = self.results_id().ok_or(Refusal::SessionUnknown)?;
        let key = self.key(asked, results, place, &cache);
        let sharing = self.sharing.as_ref().ok_or(Refusal::SessionUnknown)?;
        let epoch = self.worker.shared.names_changed();
        let now = Instant::now();
        let reads = judged.names(&sharing.key.user, (&schema, cache.views), epoch, now).transpose()?;
        // Who has not been answered by the server itself is.
        let granted = self.may_read(&cache, judged);
        let scope = self.scope(judged, (rules, rule), &schema, reads).ok_or(Refusal::SessionUnknown)?;
        let mut terms =
            Terms { ttl: cache.ttl, soft_ttl: cache.soft_ttl, stale_if_error: cache.stale_if_error };
        if let Some(hints) = hints {
            terms.ttl = hints.ttl.map_or(terms.ttl, |ttl| ttl.min(terms.ttl));
        }
        let floor = if cache.own_writes { sharing.cache.wrote } else { None };
        let judged = Arc::clone(judged);
        let rule = (Arc::clone(rules), rule);
        Ok(Wish { judged, scope, rule, cache, terms, key, place, schema, epoch, granted, reads, floor })
    }

    /// Whether what the rule keeps is the user's own, or the server has lately let this user read it: then the user shares what others
    /// have asked for.
    pub(crate) fn may_read(&self, cache: &CacheRule, judged: &Judged) -> bool {
        let granted = |sharing: &Sharing| {
            let epoch = self.worker.shared.names_changed();
            judged.is_granted(&sharing.key.user, sharing.wanted.schema(), epoch, Instant::now())
        };
        cache.share == CacheShare::User || self.sharing.as_deref().is_some_and(granted)
    }

    /// Which server answers, or would.
    pub(crate) fn place(&self) -> u64 {
        match self.sharing.as_ref().is_some_and(|sharing| sharing.is_attached()) {
            true => self.server.place.generation(),
            false => self.worker.shared.upstream.generation(),
        }
    }

    fn follows_hints(&self) -> bool {
        self.worker.shared.settings.load().cache.follows_hints(&self.identity.user)
    }

    /// What in the session speaks against it.
    pub(crate) fn state_refusal(&self) -> Option<Refusal> {
        let sharing = self.sharing.as_ref()?;
        if let Some(reason) = pins_refusal(sharing.pins.why()) {
            return Some(reason);
        }
        let flags = self.walker.status();
        if self.walker.in_transaction() || flags & status::AUTOCOMMIT == 0 {
            return Some(Refusal::InTransaction);
        }
        let on = |v: Variable| sharing.wanted.get(v).flatten() == Some(b"ON");
        if !on(Variable::AUTOCOMMIT) {
            return Some(Refusal::InTransaction);
        }
        // Then the pin may stand for more than user variables.
        let untold = sharing.cache.untold && sharing.pins.why().contains(PinReason::UserVariable);
        let unsure =
            untold || sharing.rebase.is_some() || sharing.actual.is_some() || on(Variable::SQL_AUTO_IS_NULL);
        unsure.then_some(Refusal::SessionUnknown)
    }

    /// A number for all that answers depend on of the session's state.
    pub(crate) fn results_id(&mut self) -> Option<u64> {
        let sharing = self.sharing.as_mut()?;
        if let Some((state, id)) = &mut sharing.cache.results
            && state.unites_with(&mut sharing.wanted)
        {
            return Some(*id);
        }
        let mut bytes = Vec::new();
        let variables = sharing.wanted.put_results_key(&mut bytes)?;
        let id = self.worker.shared.results.number(bytes.split_at(variables))?;
        sharing.cache.results = Some((sharing.wanted.clone(), id));
        Some(id)
    }

    fn key(&self, asked: &Asked<'_>, results: u64, place: u64, rule: &CacheRule) -> Vec<u8> {
        let mut key = SPARE.take();
        let Some(sharing) = &self.sharing else { return key };
        let protocol = if asked.bound.is_some() { Protocol::Binary } else { Protocol::Text };
        let user = (rule.share == CacheShare::User).then_some(&sharing.key.user);
        let front = Front { protocol, dialect: sharing.key.dialect, results, place, views: rule.views };
        let mut builder = FRONT.with_borrow_mut(|last| last.begin(front, user, &mut key));
        builder.statement(&asked.sql[trimmed_span(asked.sql, asked.mode)]);
        if let Some(Bound { types, values: (nulls, values), columns, .. }) = &asked.bound {
            let part = |kind, value| Parameter { kind: [kind, 0], value: Some(value) };
            builder.parameter(part(0, types.as_deref().unwrap_or_default()));
            builder.parameter(part(1, nulls)).parameter(part(2, values));
            builder.parameter(part(3, &columns.to_le_bytes()));
        }
        key
    }

    /// What an answer is about, by what its names are known to stand for.
    pub(crate) fn scope(
        &self,
        judged: &Judged,
        (rules, rule): (&Arc<Rules>, RuleIndex),
        schema: &Schema,
        reads: Option<Reads>,
    ) -> Option<Arc<Scope>> {
        let sharing = self.sharing.as_ref()?;
        let counted = Arc::clone(rules.cached(rule)?);
        let user = Arc::clone(&sharing.key.user);
        let tags = judged.hints.tags.as_slice();
        let tags = if !tags.is_empty() && self.follows_hints() { tags } else { &[] };
        let make = || {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let default = match schema {
                Schema::Known(name) => text(name),
                Schema::None | Schema::Unknown => String::new(),
            };
            let table = |table: &weir_sql::TableName| {
                let of = table.schema.as_deref().map_or_else(|| default.clone(), text);
                Table::new(&of, &text(&table.name))
            };
            // Which tables are behind views is not told, so a wipe of any covers them.
            let tables = match reads {
                Some(Reads::Tables) => Tables::Known(judged.facts.tables.iter().map(table).collect()),
                Some(Reads::Views) | None => Tables::Unknown,
            };
            let scope = Scope::new(counted, judged.digest.id.0, &text(&user))
                .with_schema(&default)
                .with_tables(tables);
            tags.iter().fold(scope, |scope, tag| scope.with_tag(tag))
        };
        let of = ScopeOf {
            generation: rules.generation,
            rule,
            user: Arc::clone(&user),
            schema: schema.clone(),
            reads,
        };
        Some(judged.scope(of, make))
    }
}

/// What keeps the session on its connection and may show in an answer.
fn pins_refusal(pins: PinSet) -> Option<Refusal> {
    use PinReason as P;
    /// These are about something else than answers to reads.
    const HARMLESS: PinSet = PinSet::of(&[
        P::FoundRows,
        P::RowCount,
        P::SessionMode,
        P::ConnectionId,
        P::SqlPrepare,
        P::UserLock,
        P::Cursor,
        P::LongData,
        P::Sequence,
        P::Handler,
        // A text that names one is refused, and so is what a name stands for: views and computed columns are looked at.
        P::UserVariable,
    ]);
    const TRANSACTION: PinSet =
        PinSet::of(&[P::Transaction, P::AutocommitOff, P::TransactionUnknown, P::NextTransaction, P::Xa]);
    const LOCKS: PinSet = PinSet::of(&[P::LockTables, P::InstanceLock, P::BackupLock, P::BackupStage]);
    let has = |set: PinSet| pins.without(set) != pins;
    match () {
        () if pins.without(HARMLESS).is_empty() => None,
        () if has(TRANSACTION) => Some(Refusal::InTransaction),
        () if has(LOCKS) => Some(Refusal::LockedTables),
        () if pins.contains(P::TemporaryTable) => Some(Refusal::TemporaryTable),
        () => Some(Refusal::SessionUnknown),
    }
}

/// What speaks against the cache as far as a rule, the hints that are followed, and the text tell.
pub fn text_refusal(
    rule: &CacheRule,
    hints: Option<&CacheHints>,
    facts: &ReadFacts,
    kind: RuleKind,
) -> Option<Refusal> {
    if rule.mode == CacheMode::Off || rule.ttl.is_zero() {
        return Some(Refusal::RuleOff);
    }
    if hints.is_some_and(|hints| hints.bypass) {
        return Some(Refusal::Bypass);
    }
    if let Err(reason) = facts.verdict {
        return Some(refusal(reason));
    }
    if facts.needs_resolving() {
        return Some(Refusal::StoredFunction);
    }
    (kind != RuleKind::Read).then_some(Refusal::NotARead)
}

/// The cache's word for what speaks against a text.
pub(crate) fn refusal(reason: Uncacheable) -> Refusal {
    match reason {
        Uncacheable::NotARead => Refusal::NotARead,
        Uncacheable::MultiStatement => Refusal::MultiStatement,
        Uncacheable::LockingRead => Refusal::LockingRead,
        Uncacheable::Into => Refusal::Into,
        Uncacheable::NondeterministicFunction => Refusal::NondeterministicFunction,
        Uncacheable::SessionFunction => Refusal::SessionFunction,
        Uncacheable::UserVariable => Refusal::UserVariable,
        Uncacheable::SystemVariable => Refusal::SystemVariable,
        Uncacheable::SystemSchema => Refusal::SystemSchema,
        Uncacheable::SqlNoCache => Refusal::Bypass,
        Uncacheable::TimeValue => Refusal::TimeValue,
        Uncacheable::TooLarge => Refusal::TooLarge,
        Uncacheable::ProcedureAnalyse | Uncacheable::Unparsable | Uncacheable::Unknown => Refusal::Unknown,
    }
}
