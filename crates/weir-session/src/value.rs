//! Values of variables, and how they are written in a SET that Weir sends.

use std::sync::Arc;

use crate::variable::{Kind, Variable};

/// A value as SHOW VARIABLES and session tracking write it; None is SQL's NULL (character_set_results may be).
pub type Value = Option<Arc<[u8]>>;

/// A value as the server gave it to `SELECT @@x`, in the form in which tracking reports it: switches are read as 1 and 0
/// and reported as ON and OFF.
pub fn canonical(variable: Variable, read: Option<&[u8]>) -> Value {
    let text: &[u8] = match (variable.kind(), read?) {
        (Kind::Switch, b"1") => b"ON",
        (Kind::Switch, b"0") => b"OFF",
        (_, other) => other,
    };
    Some(Arc::from(text))
}

/// As [`canonical`] for a value out of session tracking, where NULL and the empty string look the same: only
/// character_set_results and default_tmp_storage_engine can be NULL, and neither can be empty.
pub fn tracked(variable: Variable, value: &[u8]) -> Value {
    let empty_is_null = value.is_empty() && variable.kind() == Kind::Word;
    if empty_is_null { None } else { canonical(variable, Some(value)) }
}

/// Appends a value so that it means the same under every `sql_mode` and `character_set_client`.
///
/// Words and numbers stand bare. Text stands in single quotes where it is made of harmless ASCII, and as a hexadecimal
/// string in utf8mb4 where it is not, so no quote, backslash or multi-byte character is ever up to the lexer.
pub fn put_value(out: &mut Vec<u8>, variable: Variable, value: Option<&[u8]>) {
    let Some(value) = value else { return out.extend_from_slice(b"NULL") };
    match variable.kind() {
        Kind::Numeric if is_number(value) => out.extend_from_slice(value),
        Kind::Switch | Kind::Word if is_word(value) => out.extend_from_slice(value),
        _ => put_text(out, value),
    }
}

/// Appends text of the server's own character set (utf8) as a string.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'\'' | b'\\' | b'"')) {
        out.push(b'\'');
        out.extend_from_slice(text);
        out.push(b'\'');
    } else {
        out.extend_from_slice(b"_utf8mb4 ");
        put_hex(out, text);
    }
}

/// Appends `X'...'`.
pub fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"X'");
    for b in bytes {
        out.extend([b >> 4, b & 15].map(|n| DIGITS[usize::from(n)]));
    }
    out.push(b'\'');
}

/// Whether it is a number that SET takes bare: digits, a sign in front, a fraction.
pub fn is_number(value: &[u8]) -> bool {
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let unsigned = value.strip_prefix(b"-").unwrap_or(value);
    match unsigned.iter().position(|b| *b == b'.') {
        Some(dot) => digits(&unsigned[..dot]) && digits(&unsigned[dot + 1..]),
        None => digits(unsigned),
    }
}

/// Whether it can stand bare: a letter, then letters, digits and `_`. No value of a Word or Switch variable is a
/// reserved word but ON, BINARY and DEFAULT; the latter two get quotes.
fn is_word(value: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    value.first().is_some_and(u8::is_ascii_alphabetic)
        && value.iter().all(plain)
        && !value.eq_ignore_ascii_case(b"binary")
        && !value.eq_ignore_ascii_case(b"default")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, value: Option<&[u8]>) -> String {
        let mut out = Vec::new();
        put_value(&mut out, Variable::find(name.as_bytes()).unwrap(), value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_written_by_kind() {
        for (name, value, expected) in [
            ("sql_select_limit", "18446744073709551615", "18446744073709551615"),
            ("long_query_time", "10.000000", "10.000000"),
            ("long_query_time", "-1.5", "-1.5"),
            ("autocommit", "ON", "ON"),
            ("character_set_client", "utf8mb4", "utf8mb4"),
            ("character_set_results", "binary", "'binary'"),
            ("updatable_views_with_limit", "NO", "NO"),
            ("transaction_isolation", "READ-COMMITTED", "'READ-COMMITTED'"),
            ("sql_mode", "", "''"),
            ("time_zone", "+01:00", "'+01:00'"),
            ("time_zone", "o'clock", "_utf8mb4 X'6F27636C6F636B'"),
            ("time_zone", "a\\", "_utf8mb4 X'615C'"),
            ("time_zone", "é", "_utf8mb4 X'C3A9'"),
            // Nothing that the kind does not allow ever stands bare.
            ("sql_select_limit", "1, x=2", "'1, x=2'"),
            ("sql_select_limit", "1.", "'1.'"),
            ("autocommit", "ON, y=1", "'ON, y=1'"),
        ] {
            assert_eq!(written(name, Some(value.as_bytes())), expected, "{name}");
        }
        assert_eq!(written("character_set_results", None), "NULL");
    }

    #[test]
    fn switches_are_read_as_they_are_reported() {
        assert_eq!(canonical(Variable::AUTOCOMMIT, Some(b"1")).as_deref(), Some(&b"ON"[..]));
        assert_eq!(canonical(Variable::AUTOCOMMIT, Some(b"OFF")).as_deref(), Some(&b"OFF"[..]));
        assert_eq!(canonical(Variable::WAIT_TIMEOUT, Some(b"1")).as_deref(), Some(&b"1"[..]));
        assert_eq!(canonical(Variable::CHARACTER_SET_RESULTS, None), None);
        assert_eq!(tracked(Variable::CHARACTER_SET_RESULTS, b""), None);
        assert_eq!(tracked(Variable::SQL_MODE, b"").as_deref(), Some(&b""[..]));
    }
}
