//! What is kept of prepared statements for their executions: where these are counted, and what tells one from another.

use crate::analytics::{Spot, bound_key, hash};
use crate::session::Noted;
use crate::wish::TYPE_TIME;
use weir_wire::caps::{self, Caps};
use weir_wire::command as com;
use weir_wire::execute::{Binds, Execute, cursor_flags, has_type};

/// Bytes of types that are kept of one statement, to know them again: two for each parameter, as a rule.
const KEPT_MAX: usize = 256;

/// What is kept of a prepared statement.
#[derive(Debug)]
pub(crate) struct Kept {
    pub noted: Noted,
    /// Its digest, and the hash of its text.
    pub spot: Option<(Spot, u64)>,
    pub params: u16,
    pub types: Types,
    /// COM_STMT_SEND_LONG_DATA has come for it: its executions do not hold all their values.
    pub is_long: bool,
    /// The server holds data for its next execution.
    pub has_ahead: bool,
}

#[cfg(test)]
impl Kept {
    pub fn for_tests() -> Self {
        let noted = Noted::plain(weir_sql::StatementKind::Read);
        Self { noted, spot: None, params: 0, types: Types::default(), is_long: false, has_ahead: false }
    }
}

/// The types of a prepared statement's parameters, as they were bound last.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Empty where there is too much of them: names of query attributes stand among them.
    bound: Box<[u8]>,
    /// A hash of them.
    key: u64,
    /// One is TIME.
    time: bool,
}

impl Types {
    /// A hash of the statement, whose text has the hash `text`, and of all that this execution binds; `None`: its answer would not be kept.
    #[inline]
    pub fn key(&mut self, text: u64, payload: &[u8], params: u16, flags: Caps) -> Option<u64> {
        let bound = bound(payload, params, flags, self)?;
        Some(bound_key(text ^ self.key, bound))
    }

    /// They come anew. Many clients send them with each execution.
    #[inline]
    fn bind(&mut self, types: &[u8], flags: Caps) {
        if types != &*self.bound {
            self.rebind(types, flags);
        }
    }

    #[cold]
    fn rebind(&mut self, types: &[u8], flags: Caps) {
        let named = flags & caps::QUERY_ATTRIBUTES != 0;
        let time = has_type(types, named, TYPE_TIME);
        let kept = if types.len() <= KEPT_MAX { types } else { &[] };
        *self = Self { bound: kept.into(), key: hash(0, types), time };
    }
}

/// NULLs and values of a COM_STMT_EXECUTE whose answer might be kept.
#[inline]
fn bound<'p>(payload: &'p [u8], params: u16, flags: Caps, types: &mut Types) -> Option<(&'p [u8], &'p [u8])> {
    if payload.first() != Some(&com::STMT_EXECUTE) {
        return None;
    }
    let binds = match flags & caps::QUERY_ATTRIBUTES {
        0 => Execute::binds(payload, usize::from(params))?,
        _ => attributed(payload, params, flags)?,
    };
    if !binds.types.is_empty() {
        types.bind(binds.types, flags);
    }
    (!types.time && cursor_flags(payload) == 0).then_some((binds.nulls, binds.values))
}

/// What an execution binds where query attributes were agreed.
fn attributed(payload: &[u8], params: u16, flags: Caps) -> Option<Binds<'_>> {
    let execute = Execute::parse(payload, params, flags).ok()?;
    let (nulls, values) = execute.values(payload);
    Some(Binds { types: execute.types.unwrap_or_default(), nulls, values })
}
