//! Names of tables and functions, without their quotes.

use crate::{CharsetClass, Token, TokenKind};

/// A table or view as a statement names it, in the bytes of the client's character set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// `None`: of the session's default schema.
    pub schema: Option<Vec<u8>>,
    pub name: Vec<u8>,
}

/// A function as a statement calls it, in the bytes of the client's character set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionName {
    /// `None`: a loadable function, or a stored one of the session's default schema.
    pub schema: Option<Vec<u8>>,
    pub name: Vec<u8>,
}

/// Whether a schema is the server's own. Case of letters does not matter, and of a name with other than ASCII characters,
/// neither do those, nor the letters that a foreign one may fold to (K, the Kelvin sign; the Turkish I; the long S).
pub fn is_system_schema(name: &[u8]) -> bool {
    const SYSTEM: [&[u8]; 4] = [b"information_schema", b"performance_schema", b"mysql", b"sys"];
    if name.is_ascii() {
        return SYSTEM.iter().any(|known| name.eq_ignore_ascii_case(known));
    }
    let left = |name: &[u8]| -> Vec<u8> {
        let folded = name.iter().map(u8::to_ascii_lowercase);
        folded.filter(|byte| byte.is_ascii() && !matches!(byte, b'i' | b'k' | b's')).collect()
    };
    SYSTEM.iter().any(|known| left(known) == left(name))
}

/// The name that an identifier is.
pub(super) fn unquoted(token: Token, sql: &[u8], charset: CharsetClass) -> Vec<u8> {
    let text = token.text(sql);
    if token.kind != TokenKind::QuotedIdent {
        return text.to_vec();
    }
    let quote = text.first().copied().unwrap_or_default();
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut name = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(rest) = inside.get(at..).filter(|rest| !rest.is_empty()) {
        let len = if charset.is_multibyte() { charset.char_len(rest) } else { 1 };
        let character = rest.get(..len).unwrap_or(rest);
        name.extend_from_slice(character);
        // A quote inside is written twice.
        at += if character == [quote] { 2 } else { character.len() };
    }
    name
}
