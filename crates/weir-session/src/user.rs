//! User variables whose values are known because the client wrote them as literals, or they were read back.

use std::sync::Arc;

use crate::value::{Value, is_number, put_hex};

/// More user variables than this in one session are not tracked: the next pins it.
pub const MAX_VARIABLES: usize = 32;

/// Names and values of one session's user variables together take at most this many bytes, else the next pins it.
pub const MAX_BYTES: usize = 4096;

/// The value of a user variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UserValue {
    /// An integer, decimal or floating point literal, as the client wrote it: its form decides its type.
    Number(Arc<[u8]>),
    /// An integer without a sign, as BIGINT UNSIGNED.
    Unsigned(Arc<[u8]>),
    /// A decimal without a fraction.
    Whole(Arc<[u8]>),
    /// A hexadecimal or bit literal: the bytes, of character set `binary`.
    Binary(Arc<[u8]>),
    /// A string: its bytes in the character set of the collation that it was given.
    Text { bytes: Arc<[u8]>, collation: Arc<[u8]> },
    /// NULL, given to a variable that was not set before. (One that was set keeps its old type, which is not known
    /// here: that is no literal.)
    Null,
}

impl UserValue {
    /// Whether assigning it again cannot fail: anything but text with multi-byte characters, which the server checks.
    pub fn cannot_fail(&self) -> bool {
        !matches!(self, Self::Text { bytes, .. } if !bytes.is_ascii())
    }

    /// Whether it is of a type of numbers. MySQL remembers of such a variable the collation that the connection had when it was set:
    /// that of its digits where they are taken for text.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Unsigned(_) | Self::Whole(_))
    }

    fn can_be_repeated(&self) -> bool {
        match self {
            Self::Number(text) => is_numeric_literal(text),
            Self::Unsigned(text) => !text.is_empty() && text.iter().all(u8::is_ascii_digit),
            Self::Whole(text) => is_number(text) && !text.contains(&b'.'),
            Self::Text { bytes, collation } => {
                let utf8 = collation.starts_with(b"utf8");
                let name = collation.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
                // What utf8mb3 has no character for.
                let four = !collation.starts_with(b"utf8mb4") && bytes.iter().any(|b| *b >= 0xF0);
                name && !collation.is_empty() && (!utf8 || (!four && std::str::from_utf8(bytes).is_ok()))
            }
            Self::Binary(_) | Self::Null => true,
        }
    }
}

/// The tracked user variables of a session, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct UserVariables {
    list: Vec<UserVariable>,
}

/// A user variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserVariable {
    /// In small letters.
    pub name: Arc<[u8]>,
    pub value: UserValue,
    /// The collation that the connection had when it was set, where the server remembers that.
    pub under: Value,
}

/// Why a user variable is not tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTracked {
    #[error("the name of a user variable has characters besides ASCII letters, digits, `_`, `.` and `$`")]
    Name,
    #[error("more than {MAX_VARIABLES} user variables or {MAX_BYTES} bytes")]
    Limit,
    #[error("NULL was given to a user variable that had a value, and it keeps that value's type")]
    TypeOfNull,
    #[error("a literal in a form that cannot be repeated")]
    Form,
    #[error("a number under a collation that is not known")]
    Collation,
}

impl UserVariables {
    pub(crate) const NONE: Self = Self { list: Vec::new() };

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn get(&self, name: &[u8]) -> Option<&UserValue> {
        let at = self.find(&name.to_ascii_lowercase()).ok()?;
        Some(&self.list[at].value)
    }

    /// Whether just this one is among them.
    pub fn has(&self, variable: &UserVariable) -> bool {
        self.find(&variable.name).is_ok_and(|at| self.list[at] == *variable)
    }

    /// Every variable, by name.
    pub fn iter(&self) -> impl Iterator<Item = &UserVariable> {
        self.list.iter()
    }

    /// Sets a variable; names do not depend on the case of letters (MySQL manual, "User-Defined Variables").
    ///
    /// # Errors
    /// [`NotTracked`]: nothing has changed here, and the caller must pin.
    pub fn set(&mut self, name: &[u8], value: UserValue, under: Value) -> Result<(), NotTracked> {
        if !is_plain_name(name) {
            return Err(NotTracked::Name);
        }
        if !value.can_be_repeated() {
            return Err(NotTracked::Form);
        }
        let name = name.to_ascii_lowercase();
        let found = self.find(&name);
        let known = found.is_ok();
        if known && value == UserValue::Null {
            return Err(NotTracked::TypeOfNull);
        }
        let old = found.map_or(0, |at| size(&name, &self.list[at].value));
        let bytes = self.bytes() - old + size(&name, &value);
        if bytes > MAX_BYTES || (!known && self.list.len() == MAX_VARIABLES) {
            return Err(NotTracked::Limit);
        }
        match found {
            Ok(at) => (self.list[at].value, self.list[at].under) = (value, under),
            Err(at) => self.list.insert(at, UserVariable { name: name.into(), value, under }),
        }
        Ok(())
    }

    /// Whether every variable of `self` is set in `other` to a value that an assignment can replace by `other`'s.
    ///
    /// A variable that is set can never be made unset again, nor NULL as if fresh, but by a reset: after SET @a = NULL
    /// it keeps a type of its own (measured on both servers).
    pub fn can_become(&self, other: &Self) -> bool {
        self.list.iter().all(|UserVariable { name, value, .. }| match other.get(name) {
            None => false,
            Some(UserValue::Null) => *value == UserValue::Null,
            Some(_) => true,
        })
    }

    fn find(&self, name: &[u8]) -> Result<usize, usize> {
        self.list.binary_search_by(|known| (*known.name).cmp(name))
    }

    fn bytes(&self) -> usize {
        self.list.iter().map(|known| size(&known.name, &known.value)).sum()
    }
}

/// Appends the value so that it has the same type, character set and collation on another connection.
pub fn put_user_value(out: &mut Vec<u8>, value: &UserValue) {
    match value {
        UserValue::Number(text) => out.extend_from_slice(text),
        UserValue::Unsigned(text) => put_cast(out, text, b"UNSIGNED"),
        UserValue::Whole(text) => put_cast(out, text, b"DECIMAL(65,0)"),
        UserValue::Binary(bytes) => put_hex(out, bytes),
        UserValue::Null => out.extend_from_slice(b"NULL"),
        UserValue::Text { bytes, collation } => {
            out.push(b'_');
            out.extend_from_slice(charset_of(collation));
            out.push(b' ');
            put_hex(out, bytes);
            // A reserved word, and the only collation of its character set.
            if **collation != *b"binary" {
                out.extend_from_slice(b" COLLATE ");
                out.extend_from_slice(collation);
            }
        }
    }
}

fn put_cast(out: &mut Vec<u8>, text: &[u8], to: &[u8]) {
    for part in [b"CAST(", text, b" AS ", to, b")"] {
        out.extend_from_slice(part);
    }
}

/// The character set of a collation: what stands before its first `_` (`binary` has none).
pub fn charset_of(collation: &[u8]) -> &[u8] {
    collation.split(|b| *b == b'_').next().unwrap_or(collation)
}

/// Whether the name is the same to both servers as to whoever compares its letters.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$');
    !name.is_empty() && name.iter().all(plain)
}

/// An integer, decimal or floating point literal, with a minus sign in front or not.
fn is_numeric_literal(text: &[u8]) -> bool {
    let exponent = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = exponent.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let whole = |text: &[u8]| {
        let text = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
        !text.is_empty() && text.iter().all(u8::is_ascii_digit)
    };
    is_number(mantissa) && exponent.is_none_or(whole)
}

fn size(name: &[u8], value: &UserValue) -> usize {
    name.len()
        + match value {
            UserValue::Number(b) | UserValue::Unsigned(b) | UserValue::Whole(b) | UserValue::Binary(b) => {
                b.len()
            }
            UserValue::Text { bytes, collation } => bytes.len() + collation.len(),
            UserValue::Null => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> UserValue {
        UserValue::Number(text.as_bytes().into())
    }

    #[test]
    fn names_ignore_case_and_limits_hold() {
        let mut vars = UserVariables::default();
        assert_eq!(vars.set(b"A", number("1"), None), Ok(()));
        assert_eq!(vars.set(b"a", number("2"), None), Ok(()));
        assert_eq!(vars.get(b"A"), Some(&number("2")));
        assert_eq!(vars.set("é".as_bytes(), number("1"), None), Err(NotTracked::Name));
        assert_eq!(vars.set(b"a`", number("1"), None), Err(NotTracked::Name));
        assert_eq!(vars.set(b"a", UserValue::Null, None), Err(NotTracked::TypeOfNull));
        assert_eq!(vars.set(b"n", number("1 OR 1"), None), Err(NotTracked::Form));
        let long = UserValue::Binary(vec![0; MAX_BYTES].into());
        assert_eq!(vars.set(b"long", long, None), Err(NotTracked::Limit));
        for i in 1..MAX_VARIABLES {
            assert_eq!(vars.set(format!("v{i}").as_bytes(), number("1"), None), Ok(()));
        }
        assert_eq!(vars.set(b"one_more", number("1"), None), Err(NotTracked::Limit));
        assert_eq!(vars.set(b"v1", number("2"), None), Ok(()), "a known one may still change");
    }

    #[test]
    fn numbers_are_repeated_as_they_were_written() {
        for ok in ["0", "-5", "1.50", "1e3", "1.5E-3", "18446744073709551615"] {
            assert!(is_numeric_literal(ok.as_bytes()), "{ok}");
        }
        for bad in ["", "-", "1.", "e3", "1e", "0x41", "1e3e", "NULL", "1 "] {
            assert!(!is_numeric_literal(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn what_no_literal_says_is_cast() {
        let mut vars = UserVariables::default();
        let (unsigned, whole) = (
            |n: &str| UserValue::Unsigned(n.as_bytes().into()),
            |n: &str| UserValue::Whole(n.as_bytes().into()),
        );
        for (value, text) in
            [(unsigned("5"), "CAST(5 AS UNSIGNED)"), (whole("-12"), "CAST(-12 AS DECIMAL(65,0))")]
        {
            let mut out = Vec::new();
            put_user_value(&mut out, &value);
            assert_eq!(String::from_utf8_lossy(&out), text);
            assert_eq!(vars.set(b"a", value, None), Ok(()));
        }
        for bad in [unsigned(""), unsigned("-1"), unsigned("1)"), whole("1.5"), whole("1)")] {
            assert_eq!(vars.set(b"a", bad, None), Err(NotTracked::Form));
        }
    }

    #[test]
    fn text_carries_its_collation() {
        let mut out = Vec::new();
        let value =
            UserValue::Text { bytes: b"a'\xE4"[..].into(), collation: b"latin1_german1_ci"[..].into() };
        put_user_value(&mut out, &value);
        assert_eq!(out, b"_latin1 X'6127E4' COLLATE latin1_german1_ci");
        assert_eq!(charset_of(b"binary"), b"binary");
        let (mut out, binary) = (Vec::new(), b"binary"[..].into());
        put_user_value(&mut out, &UserValue::Text { bytes: b"a"[..].into(), collation: binary });
        assert_eq!(out, b"_binary X'61'");
    }

    #[test]
    fn what_is_set_cannot_be_unset() {
        let mut one = UserVariables::default();
        let none = one.clone();
        one.set(b"a", number("1"), None).unwrap();
        let mut null = none.clone();
        null.set(b"a", UserValue::Null, None).unwrap();
        assert!(
            none.can_become(&one) && one.can_become(&one) && null.can_become(&one) && null.can_become(&null)
        );
        assert!(!one.can_become(&none) && !null.can_become(&none) && !one.can_become(&null));
    }
}
