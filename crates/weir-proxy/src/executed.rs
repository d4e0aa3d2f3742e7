//! What is kept of prepared statements for their executions: where these are counted, and what tells one from another.

use crate::analytics::{Spot, bound_key, hash};
use crate::session::Noted;
use crate::wish::TYPE_TIME;
use weir_wire::caps::{self, Caps};
use weir_wire::command as com;
use weir_wire::execute::{Binds, Execute, cursor_flags, has_type};

/// Bytes of types that are kept of one statement, to know them again: two for each parameter, as a rule.
const KEPT_MAX: usize = 256;

/// No type: more than two bytes hold.
const NO_SINGLE: u32 = u32::MAX;

/// What is kept of a prepared statement.
#[derive(Debug)]
pub(crate) struct Kept {
    pub noted: Noted,
    pub spot: Option<Spot>,
    pub types: Types,
    /// The server holds data for its next execution.
    pub has_ahead: bool,
}

#[cfg(test)]
impl Kept {
    pub fn for_tests() -> Self {
        let noted = Noted::plain(weir_sql::StatementKind::Read);
        Self { noted, spot: None, types: Types::new(None, 0), has_ahead: false }
    }
}

/// The parameters of a prepared statement, and their types as they were bound last.
#[derive(Debug)]
pub(crate) struct Types {
    /// A hash of the text; `None` where nothing is kept of its answers.
    text: Option<u64>,
    params: u16,
    /// Empty where there is too much of them: names of query attributes stand among them.
    bound: Box<[u8]>,
    /// A hash of the text and of them.
    key: u64,
    /// One is TIME.
    time: bool,
    /// Nothing speaks against executions with these types, and their NULLs are in one byte.
    is_usual: bool,
    /// The type of the only parameter, or [`NO_SINGLE`].
    single: u32,
}

impl Types {
    /// Of a statement whose text has this hash, or `None` where its answers are not kept.
    pub fn new(text: Option<u64>, params: u16) -> Self {
        let mut types = Self {
            text,
            params,
            bound: Box::default(),
            key: text.unwrap_or_default(),
            time: false,
            is_usual: false,
            single: NO_SINGLE,
        };
        types.judge();
        types
    }

    fn judge(&mut self) {
        self.is_usual = self.text.is_some() && !self.time && (1..=8).contains(&self.params);
        self.single = match *self.bound {
            [a, b] if self.is_usual && self.params == 1 => u32::from(u16::from_le_bytes([a, b])),
            _ => NO_SINGLE,
        };
    }

    /// COM_STMT_SEND_LONG_DATA has come: executions do not hold all their values.
    pub fn long(&mut self) {
        self.text = None;
        self.judge();
    }

    /// A hash of the statement and of all that this execution binds; `None`: its answer would not be kept.
    #[inline(always)]
    pub fn key(&mut self, payload: &[u8], flags: Caps) -> Option<u64> {
        // Without a cursor, and with the types that are known.
        if let [com::STMT_EXECUTE, _, _, _, _, 0, _, _, _, _, nulls, bound, rest @ ..] = payload
            && self.is_usual
        {
            let values = match bound {
                0 => Some(rest),
                1 => self.behind_types(rest, flags),
                _ => None,
            };
            if let Some(values) = values {
                return Some(bound_key(self.key, (std::slice::from_ref(nulls), values)));
            }
        }
        self.key_of_any(payload, flags)
    }

    /// What stands behind the types, if they are those that are known.
    #[inline(always)]
    fn behind_types<'p>(&self, rest: &'p [u8], flags: Caps) -> Option<&'p [u8]> {
        // Those of query attributes might stand among others.
        if flags & caps::QUERY_ATTRIBUTES != 0 {
            return None;
        }
        if let Some((types, values)) = rest.split_first_chunk()
            && u32::from(u16::from_le_bytes(*types)) == self.single
        {
            return Some(values);
        }
        if self.bound.is_empty() { None } else { rest.strip_prefix(&*self.bound) }
    }

    #[inline(never)]
    fn key_of_any(&mut self, payload: &[u8], flags: Caps) -> Option<u64> {
        self.text?;
        let bound = bound(payload, self.params, flags, self)?;
        Some(bound_key(self.key, bound))
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
        (self.bound, self.time) = (kept.into(), time);
        self.key = self.text.unwrap_or_default() ^ hash(0, types);
        self.judge();
    }
}

/// NULLs and values of a COM_STMT_EXECUTE whose answer might be kept.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A COM_STMT_EXECUTE with these types, or those of the one before it.
    fn execution(cursor: u8, nulls: &[u8], types: Option<&[u8]>, values: &[u8]) -> Vec<u8> {
        let mut payload = vec![com::STMT_EXECUTE, 1, 0, 0, 0, cursor, 1, 0, 0, 0];
        payload.extend_from_slice(nulls);
        if !nulls.is_empty() {
            payload.push(u8::from(types.is_some()));
            payload.extend_from_slice(types.unwrap_or_default());
        }
        payload.extend_from_slice(values);
        payload
    }

    #[test]
    fn the_short_way_to_a_key_comes_to_the_same() {
        const LONG: &[u8] = &[3, 0];
        const TIME: &[u8] = &[TYPE_TIME, 0];
        type Step<'s> = (u8, &'s [u8], Option<&'s [u8]>, &'s [u8]);
        let steps: [Step<'_>; 11] = [
            (0, &[0], Some(LONG), &[1, 0, 0, 0]),
            (0, &[0], None, &[1, 0, 0, 0]),
            (0, &[0], Some(LONG), &[1, 0, 0, 0]),
            (0, &[0], Some(LONG), &[2, 0, 0, 0]),
            (0, &[1], Some(LONG), &[]),
            (0, &[0], Some(&[8, 0]), &[1, 0, 0, 0]),
            (0, &[0], None, &[1, 0, 0, 0]),
            (1, &[0], None, &[1, 0, 0, 0]),
            (0, &[0], Some(TIME), &[0]),
            (0, &[0], None, &[0]),
            (0, &[0], Some(LONG), &[1, 0, 0, 0]),
        ];
        let (mut short, mut long) = (Types::new(Some(7), 1), Types::new(Some(7), 1));
        let keys = steps.map(|(cursor, nulls, types, values)| {
            let payload = execution(cursor, nulls, types, values);
            let key = short.key(&payload, 0);
            assert_eq!(key, long.key_of_any(&payload, 0), "{payload:?}");
            key
        });
        assert!(keys[0].is_some() && keys[0] == keys[1] && keys[0] == keys[2] && keys[0] == keys[10]);
        assert!(keys[3] != keys[0] && keys[4] != keys[0] && keys[5] != keys[0] && keys[5] == keys[6]);
        assert_eq!(keys[7..10], [None; 3]);
        // Query attributes stand among the types that come with them.
        let named = execution(0, &[0], Some(&[3, 0, 0]), &[1, 0, 0, 0]);
        assert_eq!(
            short.key(&named, caps::QUERY_ATTRIBUTES),
            long.key_of_any(&named, caps::QUERY_ATTRIBUTES)
        );
        short.long();
        for types in [None, Some(LONG)] {
            assert_eq!(short.key(&execution(0, &[0], types, &[1, 0, 0, 0]), 0), None);
        }
        // No type was known before, of whatever bytes this one is.
        let zeros = execution(0, &[0], Some(&[0, 0]), &[0; 4]);
        let (mut short, mut long) = (Types::new(Some(7), 1), Types::new(Some(7), 1));
        assert_eq!(short.key(&zeros, 0), long.key_of_any(&zeros, 0));
        assert_eq!(Types::new(None, 1).key(&execution(0, &[0], Some(LONG), &[1, 0, 0, 0]), 0), None);
        // NULLs in two bytes, and no parameters at all.
        let nine = execution(0, &[0, 1], Some(&LONG.repeat(9)), &[1; 32]);
        let mut types = Types::new(Some(7), 9);
        assert!(types.key(&nine, 0).is_some() && types.key(&nine, 0) == types.key_of_any(&nine, 0));
        let none = execution(0, &[], None, &[]);
        let mut types = Types::new(Some(7), 0);
        assert!(types.key(&none, 0).is_some() && types.key(&none, 0) == types.key_of_any(&none, 0));
    }
}
