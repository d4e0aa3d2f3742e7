//! User variables whose values only the connection knows, and how they are read back from it.

use std::sync::Arc;

use weir_model::ServerFamily;

use crate::base::unhex;
use crate::learn::WIDE;
use crate::state::State;
use crate::statement::{Effect, Statement};
use crate::user::{MAX_VARIABLES, UserValue, charset_of, is_plain_name};

/// The user variables that statements have computed since the session's were last known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// In small letters.
    names: Vec<Arc<[u8]>>,
    /// Others were computed too, or one of these cannot be moved.
    lost: bool,
}

/// What a column definition says of the values in it ("Column Definition Protocol").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// `enum_field_types`.
    pub kind: u8,
    pub flags: u16,
}

impl Column {
    const DOUBLE: u8 = 5;
    const LONGLONG: u8 = 8;
    const NEWDECIMAL: u8 = 246;
    /// TINY_BLOB to STRING: all forms of text and bytes. GEOMETRY is behind them.
    const TEXT: std::ops::RangeInclusive<u8> = 249..=254;
    const UNSIGNED: u16 = 32;
}

impl Unread {
    /// A statement ended that gave a user variable a value which is not known, be it that it failed.
    pub fn after(&mut self, statement: &Statement<'_>) {
        // One SET of nothing but literals names them all.
        if !statement.names_variables && (!statement.pins.is_empty() || statement.may_begin) {
            return self.lose();
        }
        for effect in statement.effects {
            let Effect::UserVariable { name, .. } = effect else { continue };
            let name = name.to_ascii_lowercase();
            if self.names.iter().any(|known| **known == *name) {
                continue;
            }
            if !is_plain_name(&name) || self.names.len() == MAX_VARIABLES {
                return self.lose();
            }
            self.names.push(name.into());
        }
    }

    /// A user variable has changed, and nobody knows which.
    pub fn lose(&mut self) {
        self.names = Vec::new();
        self.lost = true;
    }

    /// The session has no user variables any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether all that is not known can be read.
    pub fn can_be_read(&self) -> bool {
        !self.lost && !self.names.is_empty()
    }

    /// The statement that reads them: for each its value, its bytes and its collation, whatever character_set_results is. MySQL tells of
    /// numbers the collation under which they were set.
    pub fn read_text(&self, family: ServerFamily) -> String {
        let mut text = String::from("SELECT ");
        let (before, behind) = match family {
            ServerFamily::MySql => ("CONCAT(", ")"),
            ServerFamily::MariaDb => ("", ""),
        };
        for (i, name) in self.names.iter().enumerate() {
            // Names are plain ASCII.
            let name = String::from_utf8_lossy(name);
            let comma = if i == 0 { "" } else { "," };
            text.push_str(&format!("{comma}@`{name}`,HEX(@`{name}`),COLLATION({before}@`{name}`{behind})"));
        }
        // As where variables of the server are read.
        text.push_str(" LIMIT 1");
        text
    }

    /// Takes the row that answers [`Self::read_text`]. True: the session's user variables are all known now. False: one has a
    /// value that cannot be given to another connection in the same form, and the session must stay on this one.
    pub fn read(&mut self, columns: &[Column], row: &[Option<&[u8]>], state: &mut State) -> bool {
        let names = std::mem::take(&mut self.names);
        let (values, rest) = row.as_chunks::<3>();
        let (kinds, _) = columns.as_chunks::<3>();
        let fits = rest.is_empty() && values.len() == names.len() && kinds.len() == names.len();
        let known = fits
            && names.iter().zip(kinds).zip(values).all(|((name, [kind, ..]), value)| {
                let [.., collation] = *value;
                value_of(*kind, *value).is_some_and(|value| {
                    let under = collation.filter(|_| state.remembers_collation(&value));
                    // In wide characters it is not plain.
                    under.is_none_or(is_plain_name)
                        && state.set_user_variable_under(name, value, under.map(Arc::from)).is_ok()
                })
            });
        self.lost = !known;
        known
    }
}

/// The value of a variable. NULL is none: it has a type that a NULL elsewhere has not.
fn value_of(column: Column, [text, hex, collation]: [Option<&[u8]>; 3]) -> Option<UserValue> {
    let text = text?;
    match column.kind {
        Column::LONGLONG if column.flags & Column::UNSIGNED != 0 => Some(UserValue::Unsigned(text.into())),
        // Its digits alone are a decimal to MySQL.
        Column::LONGLONG if text == i64::MIN.to_string().as_bytes() => None,
        Column::LONGLONG => Some(UserValue::Number(text.into())),
        Column::NEWDECIMAL if text.contains(&b'.') => Some(UserValue::Number(text.into())),
        Column::NEWDECIMAL => Some(UserValue::Whole(text.into())),
        // The shortest digits that are this number and no other; only an exponent makes them one of this type.
        Column::DOUBLE if text.contains(&b'e') => Some(UserValue::Number(text.into())),
        Column::DOUBLE => Some(UserValue::Number([text, b"e0"].concat().into())),
        kind if Column::TEXT.contains(&kind) => {
            let (bytes, collation) = (unhex(hex?)?, collation?);
            takes(charset_of(collation), &bytes)
                .then(|| UserValue::Text { bytes: bytes.into(), collation: collation.into() })
        }
        _ => None,
    }
}

/// Whether every server takes these bytes as a string with this introducer: it refuses what is not well formed, and nobody has looked
/// whether a parameter is. (Invalid UTF-8 is seen where the value is set.)
fn takes(charset: &[u8], bytes: &[u8]) -> bool {
    const OF_SEVERAL_BYTES: [&[u8]; 11] = [
        b"ascii", b"big5", b"cp932", b"eucjpms", b"euckr", b"gb18030", b"gb2312", b"gbk", b"sjis", b"swe7",
        b"ujis",
    ];
    !WIDE.contains(&charset) && (bytes.is_ascii() || !OF_SEVERAL_BYTES.contains(&charset))
}

#[cfg(test)]
mod tests;
