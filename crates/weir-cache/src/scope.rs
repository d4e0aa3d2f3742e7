//! What an entry is about, and how a wipe names entries.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::charge::{Budget, arc_size, resident};
use crate::holder::{Holder, Holders};
use crate::rule::Rule;

/// What a statement's answer is about. One for all statements that agree in it: entries share it, and it is
/// counted once.
#[derive(Debug)]
pub struct Scope {
    rule: Arc<Rule>,
    digest: u64,
    schema: Option<Box<str>>,
    tables: Tables,
    user: Box<str>,
    tags: Vec<Box<str>>,
    /// Entries that hold it.
    holders: AtomicUsize,
    /// Whom its entries are counted for, from the first on.
    holder: OnceLock<Arc<Holder>>,
    /// Its names are among those that were seen.
    noted: AtomicBool,
}

/// One name by which entries can be selected, in the form in which names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Name<'n> {
    Digest(u64),
    Schema(&'n str),
    Table(&'n str, &'n str),
    Tag(&'n str),
    User(&'n str),
}

/// The tables an answer was made of. Names are compared without regard to case: on a server that tells case apart, a
/// wipe may so take more than it names, never less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tables {
    Known(Vec<Table>),
    /// Any; a wipe of any table or schema covers it.
    Unknown,
}

/// A table's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Table {
    schema: Box<str>,
    name: Box<str>,
}

impl Table {
    pub fn new(schema: &str, name: &str) -> Self {
        Self { schema: fold(schema), name: fold(name) }
    }
}

impl Scope {
    /// `digest` is the id of the statement's digest, `schema` the session's default schema, `user` the name of the
    /// account.
    pub fn new(rule: Arc<Rule>, digest: u64, user: &str) -> Self {
        Self {
            rule,
            digest,
            schema: None,
            tables: Tables::Unknown,
            user: user.into(),
            tags: Vec::new(),
            holders: AtomicUsize::new(0),
            holder: OnceLock::new(),
            noted: AtomicBool::new(false),
        }
    }

    /// With the session's default schema.
    #[must_use]
    pub fn with_schema(mut self, schema: &str) -> Self {
        self.schema = Some(fold(schema));
        self
    }

    /// With the tables it reads, those behind views included. Without this call they are unknown.
    #[must_use]
    pub fn with_tables(mut self, tables: Tables) -> Self {
        self.tables = tables;
        self
    }

    /// With one more tag.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.tags.push(tag.into());
        self
    }

    pub fn rule(&self) -> &Arc<Rule> {
        &self.rule
    }

    pub fn digest(&self) -> u64 {
        self.digest
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|t| &**t)
    }

    /// An entry of so many bytes is stored.
    pub(crate) fn stored(&self, bytes: usize, holders: &Holders) -> &Arc<Holder> {
        let holder = self.holder.get_or_init(|| holders.of(&self.user));
        holder.add(bytes);
        self.rule.hold(1, bytes);
        holder
    }

    /// It is stored no more.
    pub(crate) fn gone(&self, bytes: usize) {
        if let Some(holder) = self.holder.get() {
            holder.sub(bytes);
        }
        self.rule.hold(-1, bytes);
    }

    pub(crate) fn is_of(&self, holder: &Arc<Holder>) -> bool {
        self.holder.get().is_some_and(|own| Arc::ptr_eq(own, holder))
    }

    /// Whether a wipe by any tag of the other takes what is about this, too.
    pub(crate) fn covers_tags(&self, other: &Self) -> bool {
        other.tags.iter().all(|tag| self.tags.contains(tag))
    }

    /// Whether this was asked before.
    pub(crate) fn is_noted(&self) -> bool {
        self.noted.load(Ordering::Relaxed) || self.noted.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn knows_tables(&self) -> bool {
        matches!(self.tables, Tables::Known(_))
    }

    /// Every name by which it can be selected, but for its rule's. Of unknown tables there is none.
    pub(crate) fn names(&self, mut with: impl FnMut(Name<'_>)) {
        with(Name::Digest(self.digest));
        with(Name::User(&self.user));
        self.schema.iter().for_each(|schema| with(Name::Schema(schema)));
        self.tags.iter().for_each(|tag| with(Name::Tag(tag)));
        let Tables::Known(tables) = &self.tables else { return };
        for Table { schema, name } in tables {
            with(Name::Schema(schema));
            with(Name::Table(schema, name));
        }
    }

    /// The first entry that holds it pays for it.
    pub(crate) fn hold(&self, budget: &Budget) {
        if self.holders.fetch_add(1, Ordering::Relaxed) == 0 {
            budget.add(self.size());
        }
    }

    /// The opposite of [`Scope::hold`].
    pub(crate) fn release(&self, budget: &Budget) {
        if self.holders.fetch_sub(1, Ordering::Relaxed) == 1 {
            budget.sub(self.size());
        }
    }

    fn size(&self) -> usize {
        let text = |s: &str| resident(s.len());
        let tables = match &self.tables {
            Tables::Known(tables) => {
                let names = tables.iter().map(|t| text(&t.schema) + text(&t.name));
                resident(tables.capacity() * size_of::<Table>()) + names.sum::<usize>()
            }
            Tables::Unknown => 0,
        };
        let tags = resident(self.tags.capacity() * size_of::<Box<str>>())
            + self.tags.iter().map(|t| text(t)).sum::<usize>();
        let names = self.schema.as_deref().map_or(0, text) + text(&self.user);
        resident(arc_size::<Self>()) + names + tables + tags
    }
}

/// Which entries a wipe takes: those for which everything that is given is so. Nothing given means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    pub(crate) key: Option<Box<[u8]>>,
    rule: Option<Box<str>>,
    digest: Option<u64>,
    schema: Option<Box<str>>,
    table: Option<Table>,
    tag: Option<Box<str>>,
    user: Option<Box<str>>,
}

impl Selector {
    /// Every entry.
    pub fn all() -> Self {
        Self::default()
    }

    /// The entry with these bytes as its key.
    #[must_use]
    pub fn key(mut self, key: &[u8]) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Entries that the rule of this name had stored.
    #[must_use]
    pub fn rule(mut self, name: &str) -> Self {
        self.rule = Some(name.into());
        self
    }

    /// Entries of statements with this digest.
    #[must_use]
    pub fn digest(mut self, digest: u64) -> Self {
        self.digest = Some(digest);
        self
    }

    /// Entries of sessions with this default schema, and those that read a table of it.
    #[must_use]
    pub fn schema(mut self, schema: &str) -> Self {
        self.schema = Some(fold(schema));
        self
    }

    /// Entries that read the table.
    #[must_use]
    pub fn table(mut self, schema: &str, name: &str) -> Self {
        self.table = Some(Table::new(schema, name));
        self
    }

    /// Entries with the tag.
    #[must_use]
    pub fn tag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Entries that were stored for this user.
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The names in it, but for the rule's.
    pub(crate) fn names(&self) -> impl Iterator<Item = Name<'_>> {
        let table = self.table.as_ref().map(|table| Name::Table(&table.schema, &table.name));
        let names = [
            self.digest.map(Name::Digest),
            self.schema.as_deref().map(Name::Schema),
            table,
            self.tag.as_deref().map(Name::Tag),
            self.user.as_deref().map(Name::User),
        ];
        names.into_iter().flatten()
    }

    /// Whether entries of the scope are taken, keys aside.
    pub(crate) fn covers(&self, scope: &Scope) -> bool {
        let same = |wanted: &Option<Box<str>>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        same(&self.rule, scope.rule.name())
            && self.digest.is_none_or(|d| d == scope.digest)
            && same(&self.user, &scope.user)
            && self.tag.as_ref().is_none_or(|t| scope.tags.contains(t))
            && self.schema.as_ref().is_none_or(|s| scope.touches(s))
            && self.table.as_ref().is_none_or(|t| scope.reads(t))
    }

    /// Bytes it takes in memory.
    pub(crate) fn size(&self) -> usize {
        let names = [&self.rule, &self.schema, &self.tag, &self.user];
        let text = |s: &Option<Box<str>>| s.as_ref().map_or(0, |s| resident(s.len()));
        let table = self.table.as_ref().map_or(0, |t| resident(t.schema.len()) + resident(t.name.len()));
        size_of::<Self>() + names.into_iter().map(text).sum::<usize>() + table
    }
}

impl Scope {
    fn reads(&self, table: &Table) -> bool {
        match &self.tables {
            Tables::Known(tables) => tables.contains(table),
            Tables::Unknown => true,
        }
    }

    fn touches(&self, schema: &str) -> bool {
        let reads = match &self.tables {
            Tables::Known(tables) => tables.iter().any(|t| &*t.schema == schema),
            Tables::Unknown => true,
        };
        reads || self.schema.as_deref() == Some(schema)
    }
}

fn fold(name: &str) -> Box<str> {
    name.to_lowercase().into()
}

#[cfg(test)]
mod tests;
