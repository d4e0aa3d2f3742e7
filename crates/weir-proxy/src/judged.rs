//! What the cache has to know of a statement's text: read once, and kept by each worker.

use crate::sets::Sets;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_cache::{Experience, Refusal, Scope};
use weir_model::rule::{RuleCommand, RuleKind};
use weir_policy::{Holds, RuleIndex, RuleSet, Selection, Statement, rule_kind};
use weir_session::Schema;
use weir_sql::{
    Digest, LexMode, Lexer, ReadFacts, Remainder, Statement as Classified, StatementKind, TokenKind, digest,
    hints, numbers_as, read_facts, strip_comments, without_numbers,
};

/// Texts that one worker keeps.
const PLACES: usize = 4096;
/// Texts longer than this are read each time, in bytes.
const KEPT_MAX: usize = 4096;
/// Texts of more statements than this are read each time.
const KEPT_PARTS: usize = 8;
/// Statements of one text that are looked at. Each takes half a kilobyte while the text is at hand, and there may be half a million in 1 MiB.
const PARTS_MAX: usize = 64;
/// Scopes, and answers of the server about names, that are kept beside one text.
const KEPT_BESIDE: usize = 16;
/// How long it is believed what a name stands for. What changes it through Weir ends that at once.
pub(crate) const BELIEVED: Duration = Duration::from_secs(60);

/// What hints before a statement ask of the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheHints {
    /// `/*nocache*/`
    pub bypass: bool,
    /// `/*wipe*/`
    pub wipe: bool,
    /// `/*weir: ttl=5s*/`
    pub ttl: Option<Duration>,
    /// `/*weir: tag=a tag=b*/`
    pub tags: Vec<String>,
}

/// A text, as far as the cache and the rules look at it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub digest: Digest,
    pub facts: ReadFacts,
    pub kind: RuleKind,
    pub command: RuleCommand,
    pub hints: CacheHints,
    /// Where several statements stand in the text: each of them, and where. No such text stands for another.
    pub parts: Vec<(Range<usize>, Judged)>,
    /// There are more of them than are looked at, or one changes how the server reads those behind it.
    pub many: bool,
    /// What has come of asking the cache.
    pub experience: Experience,
    /// The rules that may match every statement with this key.
    selection: Mutex<Option<Selection>>,
    beside: Mutex<Beside>,
}

#[derive(Debug, Default)]
struct Beside {
    scopes: Vec<(ScopeOf, Arc<Scope>)>,
    names: Vec<Names>,
    granted: Vec<Granted>,
}

/// What a scope of a text depends on, apart from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeOf {
    pub generation: u64,
    pub rule: RuleIndex,
    pub user: Arc<[u8]>,
    pub schema: Schema,
    /// `None`: not known yet.
    pub reads: Option<Reads>,
}

/// The server has answered this user.
#[derive(Debug)]
struct Granted {
    user: Arc<[u8]>,
    schema: Schema,
    epoch: u64,
    at: Instant,
}

/// What the names of a text stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Tables, and these are all.
    Tables,
    /// Views among them: the tables behind those are not told here.
    Views,
}

/// What the server has said about the names of a text.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub schema: Schema,
    /// Asked for a rule that trusts each view, whatever is behind it.
    pub views: bool,
    /// It is not told to this user; others may be told more. `None`: it holds for all.
    pub hidden_from: Option<Arc<[u8]>>,
    /// [`crate::Shared::names_changed`] before it was asked.
    pub epoch: u64,
    pub at: Instant,
    pub verdict: Result<Reads, Refusal>,
}

impl CacheHints {
    /// Whether there are any.
    pub fn any(&self) -> bool {
        let Self { bypass, wipe, ttl, tags } = self;
        *bypass || *wipe || ttl.is_some() || !tags.is_empty()
    }

    /// Those before a statement.
    pub fn of(sql: &[u8], mode: LexMode) -> Self {
        read_hints(sql, mode)
    }
}

impl Judged {
    fn new(sql: &[u8], mode: LexMode, kind: StatementKind, command: RuleCommand) -> Self {
        let mut text = Vec::new();
        let id = digest(sql, mode, &mut text);
        Self {
            digest: Digest { id, text },
            facts: read_facts(sql, mode),
            kind: rule_kind(kind),
            command,
            hints: read_hints(sql, mode),
            parts: Vec::new(),
            many: false,
            experience: Experience::default(),
            selection: Mutex::default(),
            beside: Mutex::default(),
        }
    }

    /// Whether all that rules look at was found in the text, and if not, of what kind it is, as far as that is known.
    pub fn unread(&self) -> Option<Option<RuleKind>> {
        let cut = |judged: &Self| judged.facts.cut;
        match () {
            () if self.many => Some(None),
            () if self.parts.iter().any(|(_, part)| cut(part)) => Some(None),
            () if cut(self) => Some(Some(self.kind).filter(|_| self.parts.is_empty())),
            () => None,
        }
    }

    /// One of several statements.
    fn part(sql: &[u8], mode: LexMode, command: RuleCommand) -> Self {
        Self::new(sql, mode, Classified::classify(sql, mode, true).kind, command)
    }

    /// The rules that may match this very statement.
    pub fn selection(&self, set: &RuleSet, sql: &[u8], mode: LexMode, exact: bool) -> Selection {
        let mut kept = self.selection.lock();
        if let Some(selection) = kept.as_ref().filter(|kept| kept.generation() == set.generation()) {
            return selection.clone();
        }
        let mut stripped = Vec::new();
        if set.needs().text {
            strip_comments(sql, mode, &mut stripped);
        }
        let selection = set.select(&Statement {
            digest: self.digest.id,
            digest_text: &self.digest.text,
            text: &stripped,
            reads: &self.facts.tables,
            writes: &self.facts.writes.tables,
            kind: self.kind,
            command: self.command,
        });
        // What is not exact stands for texts with other numbers.
        if exact || selection.holds() <= Holds::ButNumbers {
            *kept = Some(selection.clone());
        }
        selection
    }

    /// The scope that was made for this before, or a new one.
    pub fn scope(&self, of: ScopeOf, make: impl FnOnce() -> Scope) -> Arc<Scope> {
        let mut beside = self.beside.lock();
        if let Some((_, scope)) = beside.scopes.iter().find(|(known, _)| *known == of) {
            return Arc::clone(scope);
        }
        if beside.scopes.len() >= KEPT_BESIDE {
            beside.scopes.clear();
        }
        let scope = Arc::new(make());
        beside.scopes.push((of, Arc::clone(&scope)));
        scope
    }

    /// What is known of the names, as far as this user is told; `None`: the server must be asked.
    pub fn names(
        &self,
        user: &[u8],
        (schema, views): (&Schema, bool),
        epoch: u64,
        now: Instant,
    ) -> Option<Result<Reads, Refusal>> {
        if self.facts.tables.is_empty() {
            return Some(Ok(Reads::Tables));
        }
        let beside = self.beside.lock();
        let holds = |known: &&Names| {
            let (same, hidden) = (known.schema == *schema && known.views == views, &known.hidden_from);
            let believed = known.epoch == epoch && now.saturating_duration_since(known.at) < BELIEVED;
            same && believed && hidden.as_deref().is_none_or(|from| from == user)
        };
        // What another was told is about the same names.
        let known = beside.names.iter().filter(holds).min_by_key(|known| known.hidden_from.is_some())?;
        Some(known.verdict)
    }

    /// Whether the server has lately given this user an answer to such a statement: then it may read all that is named there.
    pub fn is_granted(&self, user: &[u8], schema: &Schema, epoch: u64, now: Instant) -> bool {
        let beside = self.beside.lock();
        let known = beside.granted.iter().find(|known| *known.user == *user && known.schema == *schema);
        known.is_some_and(|known| known.epoch == epoch && now.saturating_duration_since(known.at) < BELIEVED)
    }

    /// The server has given this user an answer, to a question that was asked at this moment.
    pub fn grant(&self, user: &Arc<[u8]>, schema: &Schema, epoch: u64, at: Instant) {
        let mut beside = self.beside.lock();
        beside.granted.retain(|known| known.user != *user || known.schema != *schema);
        if beside.granted.len() >= KEPT_BESIDE {
            beside.granted.clear();
        }
        beside.granted.push(Granted { user: Arc::clone(user), schema: schema.clone(), epoch, at });
    }

    pub fn keep_names(&self, names: Names) {
        let mut beside = self.beside.lock();
        let other = |known: &Names| known.schema != names.schema || known.views != names.views;
        beside.names.retain(|known| other(known) || known.hidden_from != names.hidden_from);
        if beside.names.len() >= KEPT_BESIDE {
            match beside.names.iter().position(|known| known.hidden_from.is_some()) {
                Some(hidden) => drop(beside.names.remove(hidden)),
                None => beside.names.clear(),
            }
        }
        beside.names.push(names);
    }
}

/// A text that was found, and whether it stands for this very text only.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub judged: Arc<Judged>,
    pub exact: bool,
}

/// The texts of one worker.
#[derive(Debug)]
pub(crate) struct Judgements {
    sets: Sets<Kept>,
    hasher: foldhash::fast::FixedState,
    without: Vec<u8>,
}

#[derive(Debug)]
struct Kept {
    key: Box<[u8]>,
    mode: LexMode,
    command: RuleCommand,
    found: Found,
}

impl Judgements {
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(seed: u64) -> Self {
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        Self { sets: Sets::new(PLACES), hasher, without: Vec::new() }
    }

    /// What is known of a text. `without` is the text without numbers, where somebody has it already.
    pub fn of(
        &mut self,
        sql: &[u8],
        without: Option<&[u8]>,
        mode: LexMode,
        (kind, command): (impl FnOnce() -> StatementKind, RuleCommand),
    ) -> Found {
        let mut made = std::mem::take(&mut self.without);
        made.clear();
        let without = match without {
            Some(without) => Some(without),
            None => without_numbers(sql, &mut made).then_some(&*made),
        };
        let known = without.and_then(|without| self.find(without, mode, command, false));
        let known = known.or_else(|| self.find(sql, mode, command, true));
        let found = known.unwrap_or_else(|| {
            let mut judged = Judged::new(sql, mode, kind(), command);
            let parts = parts(sql, mode);
            let rest = Remainder::of(sql);
            let otherwise = |part: &Range<usize>| rest.is_read_otherwise(part.end, &sql[part.clone()], mode);
            judged.many = parts.len() > PARTS_MAX || parts.iter().any(otherwise);
            judged.parts = parts
                .into_iter()
                .take(PARTS_MAX)
                .map(|at| (at.clone(), Judged::part(&sql[at], mode, command)))
                .collect();
            let judged = Arc::new(judged);
            // A number may stand for a column, or be a part of a name, and is then told in the digest: also another than the one that
            // stands for all of them.
            let same = |without: &&[u8]| {
                let mut other = Vec::new();
                numbers_as(b'1', without, &mut other);
                let is_same = |text: &[u8]| Digest::of(text, mode) == judged.digest;
                *without != sql && judged.parts.is_empty() && is_same(without) && is_same(&other)
            };
            let key = without.filter(same);
            let found = Found { judged: Arc::clone(&judged), exact: key.is_none() };
            let key = key.unwrap_or(sql);
            if key.len() <= KEPT_MAX && judged.parts.len() <= KEPT_PARTS {
                self.keep(key, mode, command, found.clone());
            }
            found
        });
        self.without = made;
        found
    }

    fn find(&mut self, key: &[u8], mode: LexMode, command: RuleCommand, exact: bool) -> Option<Found> {
        let at = self.sets.find(self.hash(key, exact), |kept| {
            *kept.key == *key && (kept.mode, kept.command, kept.found.exact) == (mode, command, exact)
        })?;
        self.sets.get_mut(at).map(|kept| kept.found.clone())
    }

    fn keep(&mut self, key: &[u8], mode: LexMode, command: RuleCommand, found: Found) {
        let hash = self.hash(key, found.exact);
        self.sets.keep(hash, Kept { key: key.into(), mode, command, found });
    }

    fn hash(&self, key: &[u8], exact: bool) -> u64 {
        self.hasher.hash_one((key, exact))
    }
}

/// Where the statements of a text stand, if it holds several. What a server reads as one, a procedure's body, may be cut here:
/// then there are more to be looked at.
fn parts(sql: &[u8], mode: LexMode) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if !sql.contains(&b';') {
        return parts;
    }
    let (mut lexer, mut begin, mut is_empty) = (Lexer::new(sql, mode), 0, true);
    while let Some(token) = lexer.next().filter(|_| parts.len() <= PARTS_MAX) {
        if token.kind == TokenKind::Semicolon {
            if !is_empty {
                parts.push(begin..token.start as usize);
            }
            lexer.begin_statement();
            (begin, is_empty) = (token.end as usize, true);
        } else {
            is_empty &= token.kind.is_trivia();
        }
    }
    if !is_empty {
        parts.push(begin..sql.len());
    }
    // One, with a `;` behind it.
    if parts.len() < 2 {
        parts.clear();
    }
    parts
}

/// Reads what stands in the comments before a statement. Words that are not understood are left alone: they may be for somebody else.
fn read_hints(sql: &[u8], mode: LexMode) -> CacheHints {
    let mut found = CacheHints::default();
    for hint in hints(sql, mode) {
        let words = hint.text.split(|b| matches!(b, b' ' | b',' | b'\t' | b'\n' | b'\r'));
        for word in words {
            if word.eq_ignore_ascii_case(b"nocache") {
                found.bypass = true;
            } else if word.eq_ignore_ascii_case(b"wipe") {
                found.wipe = true;
            } else if let Some(text) = value(word, b"ttl=") {
                let ttl = std::str::from_utf8(text).ok().and_then(weir_config::duration);
                found.ttl = ttl.or(found.ttl);
            } else if let Some(tag) = value(word, b"tag=").filter(|tag| !tag.is_empty()) {
                found.tags.push(String::from_utf8_lossy(tag).into_owned());
            }
        }
    }
    found
}

fn value<'w>(word: &'w [u8], name: &[u8]) -> Option<&'w [u8]> {
    let (start, value) = word.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then_some(value)
}

#[cfg(test)]
mod tests;
