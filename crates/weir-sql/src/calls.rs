//! Whether a `(` calls a function, and what is known of that function.

use crate::classify::Cursor;
use crate::{Token, TokenKind, functions};

/// What a `(` in a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// A group, a list, a subquery.
    None,
    /// A built-in function that changes neither data nor the session.
    Harmless,
    /// `LAST_INSERT_ID(expr)`, which sets what the next `LAST_INSERT_ID()` returns.
    SetsLastInsertId,
    /// A stored or loadable function, or a built-in one that does more than compute.
    Unknown,
}

/// Judges the `(` that follows `name`, before which stands `before`. The cursor stands behind the `(`.
pub(crate) fn call(cursor: &mut Cursor<'_>, before: Option<Token>, name: Token, open: Token) -> Call {
    if !matches!(name.kind, TokenKind::Word | TokenKind::Name | TokenKind::QuotedIdent) {
        return Call::None;
    }
    if before.is_some_and(|b| b.kind == TokenKind::Word && names_columns(cursor.text(b))) {
        return Call::None;
    }
    // `schema.f(...)` and `` `f`(...) `` are taken for stored or loadable functions.
    if name.kind != TokenKind::Word {
        return Call::Unknown;
    }
    let word = cursor.text(name);
    if functions::stands_before_paren(name.word()) {
        return Call::None;
    }
    // `MATCH (a) AGAINST (b)` is no call, though AGAINST is a name elsewhere.
    if word.eq_ignore_ascii_case(b"against") && before.is_some_and(|b| b.is(b')')) {
        return Call::None;
    }
    if name.end != open.start && functions::is_built_in_without_blank_only(name.word()) {
        return Call::Unknown;
    }
    if word.eq_ignore_ascii_case(b"last_insert_id") {
        let is_read = cursor.peek().is_some_and(|next| next.is(b')'));
        return if is_read { Call::Harmless } else { Call::SetsLastInsertId };
    }
    if functions::is_harmless(name.word(), cursor.mode()) { Call::Harmless } else { Call::Unknown }
}

/// Whether the word before a name makes the `(` behind it a list of columns or the size of a type: `AS d (a, b)`,
/// `WITH c (a) AS ...`, `INSERT INTO t (a)`, `CAST(a AS DECIMAL (10))`.
fn names_columns(before: &[u8]) -> bool {
    const WORDS: [&[u8]; 4] = [b"as", b"into", b"with", b"recursive"];
    WORDS.iter().any(|word| before.eq_ignore_ascii_case(word))
}
