//! COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE, as far as the types of their parameters go (the MySQL source
//! documentation, "COM_STMT_EXECUTE"; the MariaDB knowledge base, "COM_STMT_BULK_EXECUTE").

use crate::Malformed;
use crate::caps::{self, Caps};
use crate::command;
use crate::lenenc::Reader;

/// PARAMETER_COUNT_AVAILABLE: the number of parameters stands in the packet.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// SEND_TYPES_TO_SERVER of COM_STMT_BULK_EXECUTE.
const SEND_TYPES: u16 = 128;
/// Where the bitmap of NULLs begins without query attributes: behind the command, the statement's id, the flags and the number of iterations.
const BITMAP_AT: usize = 1 + 4 + 1 + 4;

/// Where the types of the parameters stand in an execution, or would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    pub id: u32,
    /// The types as they stand there, two bytes for each parameter (with names, where query attributes are agreed);
    /// `None` where the execution relies on those of the one before it.
    pub types: Option<&'a [u8]>,
    /// Where the flag stands that says whether there are types; `None` without parameters.
    flag: Option<Flag>,
}

/// What an execution binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binds<'a> {
    /// Empty where they are those of the execution before it.
    pub types: &'a [u8],
    /// As in [`Execute::values`].
    pub nulls: &'a [u8],
    pub values: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flag {
    /// The byte of the payload.
    at: usize,
    /// Its value with types.
    set: u8,
    /// Where types begin.
    types_at: usize,
}

impl<'a> Execute<'a> {
    /// Reads a payload, its command byte included, or the beginning of one. `params` is the number of the statement's
    /// parameters, `flags` what the client agreed on.
    ///
    /// # Errors
    /// [`Malformed`] when it ends before its types do.
    #[inline]
    pub fn parse(payload: &'a [u8], params: u16, flags: Caps) -> Result<Self, Malformed> {
        let is_execute = payload.first() == Some(&command::STMT_EXECUTE);
        match is_execute && flags & caps::QUERY_ATTRIBUTES == 0 {
            true => Self::unnamed(payload, usize::from(params)).ok_or(Malformed("COM_STMT_EXECUTE")),
            false => Self::read(payload, params, flags),
        }
    }

    /// A COM_STMT_EXECUTE without query attributes: all but the values has a known length.
    #[inline]
    fn unnamed(payload: &'a [u8], params: usize) -> Option<Self> {
        let (head, _) = payload.split_first_chunk::<BITMAP_AT>()?;
        let [_, a, b, c, d, ..] = *head;
        let id = u32::from_le_bytes([a, b, c, d]);
        if params == 0 {
            return Some(Self { id, types: None, flag: None });
        }
        let at = BITMAP_AT + params.div_ceil(8);
        let bound = *payload.get(at)? != 0;
        let types_at = at + 1;
        let types = if bound { Some(payload.get(types_at..types_at + 2 * params)?) } else { None };
        Some(Self { id, types, flag: Some(Flag { at, set: 1, types_at }) })
    }

    /// What a COM_STMT_EXECUTE without query attributes binds, its command byte known; `None` if it ends too early.
    #[inline]
    pub fn binds(payload: &'a [u8], params: usize) -> Option<Binds<'a>> {
        let behind = payload.get(BITMAP_AT..)?;
        if params == 0 {
            return Some(Binds { types: &[], nulls: behind, values: &[] });
        }
        let (nulls, behind) = behind.split_at_checked(params.div_ceil(8))?;
        let (bound, behind) = behind.split_first()?;
        let types = if *bound == 0 { 0 } else { 2 * params };
        let (types, values) = behind.split_at_checked(types)?;
        Some(Binds { types, nulls, values })
    }

    fn read(payload: &'a [u8], params: u16, flags: Caps) -> Result<Self, Malformed> {
        let short = Malformed("COM_STMT_EXECUTE");
        let Some(([command, id @ ..], rest)) = payload.split_first_chunk::<5>() else { return Err(short) };
        let (id, mut r) = (u32::from_le_bytes(*id), Reader::new(rest, "COM_STMT_EXECUTE"));
        if *command == command::STMT_BULK_EXECUTE {
            return Self::bulk(payload, r, id, params);
        }
        // Flags, and a number of iterations that is always 1.
        let &[options, ..] = r.take(5)? else { return Err(short) };
        let named = flags & caps::QUERY_ATTRIBUTES != 0;
        let counted = named && options & PARAMETER_COUNT_AVAILABLE != 0;
        let count = if counted { r.lenenc()? } else { u64::from(params) };
        if count == 0 {
            return Ok(Self { id, types: None, flag: None });
        }
        let bitmap = usize::try_from(count.div_ceil(8)).map_err(|_| Malformed("COM_STMT_EXECUTE"))?;
        r.take(bitmap)?;
        let at = payload.len() - r.remaining();
        let bound = r.u8()? != 0;
        let flag = Some(Flag { at, set: 1, types_at: at + 1 });
        if !bound {
            return Ok(Self { id, types: None, flag });
        }
        if named {
            for _ in 0..count {
                r.take(2)?;
                r.lenenc_bytes()?;
            }
        } else {
            r.take(2 * usize::from(params))?;
        }
        let types = &payload[at + 1..payload.len() - r.remaining()];
        Ok(Self { id, types: Some(types), flag })
    }

    fn bulk(payload: &'a [u8], mut r: Reader<'a>, id: u32, params: u16) -> Result<Self, Malformed> {
        let options = r.u16()?;
        let [low, _] = options.to_le_bytes();
        let [set, _] = SEND_TYPES.to_le_bytes();
        let types_at = payload.len() - r.remaining();
        let flag = (params > 0).then_some(Flag { at: types_at - 2, set: low | set, types_at });
        let types = if options & SEND_TYPES != 0 { Some(r.take(usize::from(params) * 2)?) } else { None };
        Ok(Self { id, types, flag })
    }

    /// What tells this execution from others of its statement, beside the types: everything before them (the bitmap of NULLs)
    /// and behind them (the values). Equal bytes mean equal parameters, if the types are equal too.
    pub fn values<'p>(&self, payload: &'p [u8]) -> (&'p [u8], &'p [u8]) {
        let Some(flag) = self.flag else { return (payload.get(BITMAP_AT..).unwrap_or_default(), &[]) };
        let from = flag.types_at + self.types.map_or(0, <[u8]>::len);
        (payload.get(BITMAP_AT..flag.at).unwrap_or_default(), payload.get(from..).unwrap_or_default())
    }

    /// The payload for a statement of another id, with `types` put in if given (they must not stand there already).
    pub fn rewritten(&self, payload: &[u8], id: u32, types: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() + types.map_or(0, <[u8]>::len));
        out.extend_from_slice(payload);
        if let Some(place) = out.get_mut(1..5) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        if let (Some(flag), Some(types)) = (self.flag, types) {
            out.splice(flag.types_at..flag.types_at, types.iter().copied());
            if let Some(byte) = out.get_mut(flag.at) {
                *byte = flag.set;
            }
        }
        out
    }
}

/// The flags of a COM_STMT_EXECUTE that ask for a cursor; 0 is none.
pub fn cursor_flags(payload: &[u8]) -> u8 {
    const PARAMETERS: u8 = PARAMETER_COUNT_AVAILABLE;
    payload.get(5).map_or(0, |flags| flags & !PARAMETERS)
}

/// Whether one of these types, as they stand in COM_STMT_EXECUTE, is `kind` (a `MYSQL_TYPE_` number). `named`: names stand
/// between them, as where query attributes were agreed. True for what cannot be read.
pub fn has_type(types: &[u8], named: bool, kind: u8) -> bool {
    let mut r = Reader::new(types, "COM_STMT_EXECUTE");
    while !r.is_empty() {
        let is = |r: &mut Reader<'_>| {
            let [low, _] = r.u16()?.to_le_bytes();
            if named {
                r.lenenc_bytes()?;
            }
            Ok::<_, Malformed>(low == kind)
        };
        if is(&mut r).unwrap_or(true) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
