//! The state of a session, as absolute values.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::quality::FixedState;
use weir_model::ServerFamily;
use weir_wire::Malformed;

use crate::base::{Base, read_row, read_text};
use crate::memory::NAMES;
use crate::user::{NotTracked, UserValue, UserVariables};
use crate::value::Value;
use crate::variable::{VarSet, Variable};

/// The default schema of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Schema {
    /// Its name, in utf8.
    Known(Arc<[u8]>),
    /// The session has none.
    None,
    /// Not known until it is read back.
    Unknown,
}

/// The collation that the columns of results are said to have. It follows how character_set_results was set and is no
/// variable of its own (measured on both servers).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ResultsCollation {
    /// This one: that of the login, or of SET NAMES ... COLLATE.
    Named(Value),
    /// The default of the character set: SET character_set_results, SET CHARACTER SET.
    Default,
    /// That of the connection, which is not known until it is read back.
    OfConnection,
    /// Not to be found out.
    Unknown,
}

impl ResultsCollation {
    fn is_known(&self) -> bool {
        matches!(self, Self::Named(_) | Self::Default)
    }
}

/// The state of a session: schema, movable variables, literal user variables.
///
/// A client has one (what it wants), and so has each server connection (what is actual there); after a statement of that
/// client on that connection both have learned the same. Clones share all they have until one of them changes.
#[derive(Debug, Clone)]
pub struct State {
    parts: Arc<Parts>,
}

/// What a state is. One that is like its base owns nothing else.
#[derive(Debug, Clone)]
struct Parts {
    base: Arc<Base>,
    schema: Schema,
    results: ResultsCollation,
    /// The collation of character_set_client, which text parameters of prepared statements get. It follows how that was set, as
    /// that of results does: never is each named, and another (measured on MariaDB).
    client: ResultsCollation,
    /// What differs from the base, sorted.
    changes: Option<Arc<Vec<(Variable, Value)>>>,
    users: Option<Arc<UserVariables>>,
    unknown: VarSet,
    /// The wrapping sum of the hashes of all known parts.
    fingerprint: u64,
}

impl State {
    /// The state of a connection whose values have just been read.
    pub fn new(base: Arc<Base>, schema: Schema) -> Self {
        let values = base.present().iter().map(|v| hash(&(v, base.value(v))));
        let results = ResultsCollation::Named(base.value(Variable::COLLATION_CONNECTION).clone());
        let client = results.clone();
        let start = hash(&schema).wrapping_add(hash(&results)).wrapping_add(hash_client(&client));
        let fingerprint = values.fold(start, u64::wrapping_add);
        let (changes, users, unknown) = (None, None, VarSet::EMPTY);
        Self {
            parts: Arc::new(Parts { base, schema, results, client, changes, users, unknown, fingerprint }),
        }
    }

    /// To be changed: what was shared is no longer.
    fn change(&mut self) -> &mut Parts {
        Arc::make_mut(&mut self.parts)
    }

    pub fn base(&self) -> &Arc<Base> {
        &self.parts.base
    }

    pub fn schema(&self) -> &Schema {
        &self.parts.schema
    }

    pub fn set_schema(&mut self, schema: Schema) {
        if self.parts.schema != schema {
            let parts = self.change();
            let change = hash(&schema).wrapping_sub(hash(&parts.schema));
            parts.fingerprint = parts.fingerprint.wrapping_add(change);
            parts.schema = schema;
        }
    }

    /// The collation that columns are said to have.
    pub fn results_collation(&self) -> &ResultsCollation {
        &self.parts.results
    }

    pub(crate) fn set_results_collation(&mut self, results: ResultsCollation) {
        if self.parts.results != results {
            let parts = self.change();
            let change = hash(&results).wrapping_sub(hash(&parts.results));
            parts.fingerprint = parts.fingerprint.wrapping_add(change);
            parts.results = results;
        }
    }

    /// The collation of character_set_client, which text parameters get.
    pub fn client_collation(&self) -> &ResultsCollation {
        &self.parts.client
    }

    pub(crate) fn set_client_collation(&mut self, client: ResultsCollation) {
        if self.parts.client != client {
            let parts = self.change();
            let change = hash_client(&client).wrapping_sub(hash_client(&parts.client));
            parts.fingerprint = parts.fingerprint.wrapping_add(change);
            parts.client = client;
        }
    }

    /// The collation of the connection was named, or a default taken, by a statement that sets those of results and of
    /// the client too.
    pub(crate) fn names_follow_connection(&mut self) {
        let followed = self.followed();
        self.set_client_collation(followed.clone());
        self.set_results_collation(followed);
    }

    fn followed(&self) -> ResultsCollation {
        match self.value(Variable::COLLATION_CONNECTION) {
            Some(collation) => ResultsCollation::Named(collation.clone()),
            None => ResultsCollation::OfConnection,
        }
    }

    /// Takes the character sets and collations of another state: what MariaDB's COM_RESET_CONNECTION restores are those of the
    /// login (MySQL's are the global ones).
    pub fn take_names(&mut self, login: &Self) {
        for v in NAMES {
            match login.value(v) {
                Some(value) => self.set(v, value.clone()),
                None => self.forget(v),
            }
        }
        self.set_results_collation(login.parts.results.clone());
        self.set_client_collation(login.parts.client.clone());
    }

    /// The value of a variable. The outer None: not known, or this server does not have it; the inner: NULL.
    pub fn get(&self, v: Variable) -> Option<Option<&[u8]>> {
        self.value(v).map(Option::as_deref)
    }

    /// Sets what a variable is known to be.
    pub fn set(&mut self, v: Variable, value: Value) {
        if !self.parts.base.present().contains(v) || self.value(v) == Some(&value) {
            return;
        }
        let old = self.value(v).map_or(0, |old| hash(&(v, old)));
        let parts = self.change();
        parts.fingerprint = parts.fingerprint.wrapping_sub(old).wrapping_add(hash(&(v, &value)));
        parts.unknown.remove(v);
        let like_base = parts.base.value(v) == &value;
        if like_base && parts.changes.is_none() {
            return;
        }
        let changes = Arc::make_mut(parts.changes.get_or_insert_default());
        match (changes.binary_search_by_key(&v, |(v, _)| *v), like_base) {
            (Ok(at), true) => drop(changes.remove(at)),
            (Ok(at), false) => changes[at].1 = value,
            (Err(_), true) => {}
            (Err(at), false) => changes.insert(at, (v, value)),
        }
        if changes.is_empty() {
            parts.changes = None;
        }
    }

    /// The value of a variable is no longer known.
    pub fn forget(&mut self, v: Variable) {
        if let Some(old) = self.value(v).map(|old| hash(&(v, old))) {
            let parts = self.change();
            parts.fingerprint = parts.fingerprint.wrapping_sub(old);
            parts.unknown.insert(v);
        }
    }

    /// No variable's value and no schema is known any longer.
    pub fn forget_all(&mut self) {
        self.parts.base.present().iter().for_each(|v| self.forget(v));
        self.set_schema(Schema::Unknown);
        self.set_results_collation(ResultsCollation::Unknown);
        self.set_client_collation(ResultsCollation::Unknown);
    }

    /// The variables whose values are not known.
    pub fn unknown(&self) -> VarSet {
        self.parts.unknown
    }

    /// Whether the schema and all variables are known: only then can another connection stand in for this one.
    pub fn is_known(&self) -> bool {
        self.parts.is_known()
    }

    /// The statement that reads back what is not known, and the schema.
    pub fn read_back_text(&self) -> String {
        read_text(self.parts.base.server(), self.parts.unknown)
    }

    /// Takes the row that answers [`Self::read_back_text`].
    ///
    /// # Errors
    /// [`Malformed`] when the row is not of that statement; the state is as before.
    pub fn read_back(&mut self, row: &[Option<&[u8]>]) -> Result<(), Malformed> {
        let (schema, values) = read_row(self.parts.unknown, row)?;
        self.set_schema(schema);
        values.into_iter().for_each(|(v, value)| self.set(v, value));
        let followed = self.followed();
        let resolved = |collation: &ResultsCollation| match collation {
            ResultsCollation::OfConnection => followed.clone(),
            // As good as any: what the client may have done is behind it, and it set none since.
            ResultsCollation::Unknown => ResultsCollation::Default,
            known => known.clone(),
        };
        let (results, client) = (resolved(&self.parts.results), resolved(&self.parts.client));
        self.set_results_collation(results);
        self.set_client_collation(client);
        Ok(())
    }

    pub fn user_variables(&self) -> &UserVariables {
        self.parts.user_variables()
    }

    /// Sets what a user variable is known to be.
    ///
    /// # Errors
    /// As [`UserVariables::set`]: the caller must pin.
    pub fn set_user_variable(&mut self, name: &[u8], value: UserValue) -> Result<(), NotTracked> {
        let under = match self.value(Variable::COLLATION_CONNECTION) {
            under if self.remembers_collation(&value) => under.ok_or(NotTracked::Collation)?.clone(),
            _ => None,
        };
        self.set_user_variable_under(name, value, under)
    }

    /// Whether the server remembers under which collation a user variable got this value.
    pub(crate) fn remembers_collation(&self, value: &UserValue) -> bool {
        self.base().server().family == ServerFamily::MySql && value.is_numeric()
    }

    pub(crate) fn set_user_variable_under(
        &mut self,
        name: &[u8],
        value: UserValue,
        under: Value,
    ) -> Result<(), NotTracked> {
        let mut next = self.user_variables().clone();
        next.set(name, value, under)?;
        let parts = self.change();
        let change = hash(&next).wrapping_sub(parts.users.as_deref().map_or(0, hash));
        parts.fingerprint = parts.fingerprint.wrapping_add(change);
        parts.users = Some(Arc::new(next));
        Ok(())
    }

    /// A number that is equal for equal states: to look for a connection by. Equal numbers prove nothing;
    /// [`Self::same_as`] does.
    pub fn fingerprint(&self) -> u64 {
        self.parts.fingerprint
    }

    /// Whether both are known and equal in everything. Cheap where they share what they are.
    #[inline]
    pub fn same_as(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.parts, &other.parts) {
            self.is_known()
        } else {
            self.parts.same_as(&other.parts)
        }
    }

    /// The same; and what is equal is shared from then on, so that it is seen at once the next time. Of two the one is kept that all who
    /// are alike come to share, in whatever order they meet.
    #[inline]
    pub fn unites_with(&mut self, other: &mut Self) -> bool {
        if Arc::ptr_eq(&self.parts, &other.parts) {
            return self.is_known();
        }
        let same = self.parts.same_as(&other.parts);
        if same && Arc::as_ptr(&self.parts) < Arc::as_ptr(&other.parts) {
            other.parts = Arc::clone(&self.parts);
        } else if same {
            self.parts = Arc::clone(&other.parts);
        }
        same
    }

    /// Appends what answers depend on, apart from the statement and the data: the schema, the collations of columns and of text
    /// parameters, and every variable but the few that no read depends on ([`Variable::affects_results`]), in a form that is equal only for
    /// equal values. User variables are not in it: a statement must name those it depends on. Returns where the variables begin, which most
    /// sessions have alike; `None`, with `out` as it was: something is unknown.
    pub fn put_results_key(&self, out: &mut Vec<u8>) -> Option<usize> {
        if !self.is_known() {
            return None;
        }
        let Parts { base, schema, results, client, .. } = &*self.parts;
        let schema = match schema {
            Schema::Known(name) => Some(&**name),
            _ => None,
        };
        put_part(out, schema);
        for collation in [results, client] {
            match collation {
                ResultsCollation::Named(collation) => {
                    out.push(1);
                    put_part(out, collation.as_deref());
                }
                _ => out.push(0),
            }
        }
        let variables = out.len();
        for v in base.present().iter().filter(|v| v.affects_results()) {
            out.push(v.index() as u8);
            put_part(out, self.get(v).flatten());
        }
        Some(variables)
    }

    pub(crate) fn value(&self, v: Variable) -> Option<&Value> {
        self.parts.value(v)
    }
}

impl Parts {
    fn is_known(&self) -> bool {
        self.unknown.is_empty()
            && self.schema != Schema::Unknown
            && self.results.is_known()
            && self.client.is_known()
    }

    fn value(&self, v: Variable) -> Option<&Value> {
        if self.unknown.contains(v) || !self.base.present().contains(v) {
            return None;
        }
        let changed = self.changes.as_ref().and_then(|changes| {
            let at = changes.binary_search_by_key(&v, |(v, _)| *v).ok()?;
            changes.get(at).map(|(_, value)| value)
        });
        Some(changed.unwrap_or_else(|| self.base.value(v)))
    }

    fn user_variables(&self) -> &UserVariables {
        static NONE: UserVariables = UserVariables::NONE;
        self.users.as_deref().unwrap_or(&NONE)
    }

    fn same_as(&self, other: &Self) -> bool {
        if self.fingerprint != other.fingerprint || !self.is_known() || !other.is_known() {
            return false;
        }
        let variables = if Arc::ptr_eq(&self.base, &other.base) {
            self.changes == other.changes
        } else {
            let (mine, theirs) = (self.base.present(), other.base.present());
            mine == theirs && mine.iter().all(|v| self.value(v) == other.value(v))
        };
        variables
            && self.schema == other.schema
            && self.results == other.results
            && self.client == other.client
            && self.user_variables() == other.user_variables()
    }
}

fn put_part(out: &mut Vec<u8>, part: Option<&[u8]>) {
    // No value is as long as that, so NULL is told from every text.
    let length = part.map_or(u32::MAX, |p| p.len() as u32);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(part.unwrap_or_default());
}

/// Another number than that of the same collation of results.
fn hash_client(client: &ResultsCollation) -> u64 {
    hash(&("client", client))
}

/// The seed is fixed: what is decided by these numbers alone must be the same on every worker.
fn hash(part: &impl Hash) -> u64 {
    FixedState::with_seed(0x5745_4952).hash_one(part)
}

#[cfg(test)]
mod tests;
