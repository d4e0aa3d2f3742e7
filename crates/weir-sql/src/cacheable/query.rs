//! What a statement begins with.

use super::words::Folded;
use crate::TokenKind;
use crate::classify::Cursor;

/// Whether the statement begins as a query does.
pub(super) fn is_query(mut cursor: Cursor<'_>) -> bool {
    while let Some(token) = cursor.next() {
        match (token.kind, cursor.text(token)) {
            (TokenKind::Operator, b"(") => {}
            (TokenKind::Word, word) => return begins_query(Folded::of(word).text()),
            _ => return false,
        }
    }
    false
}

pub(super) fn begins_query(word: &[u8]) -> bool {
    matches!(word, b"select" | b"with" | b"table" | b"values")
}

/// Whether it is `SELECT FOUND_ROWS()` and nothing else, the call in one piece.
pub(super) fn asks_found_rows(mut cursor: Cursor<'_>) -> bool {
    let expected: [&[u8]; 4] = [b"select", b"found_rows", b"(", b")"];
    let mut end = None;
    for (at, text) in expected.iter().enumerate() {
        let Some(token) = cursor.next().filter(|token| {
            matches!(token.kind, TokenKind::Word | TokenKind::Operator)
                && cursor.text(*token).eq_ignore_ascii_case(text)
        }) else {
            return false;
        };
        if at >= 2 && end != Some(token.start) {
            return false;
        }
        end = Some(token.end);
    }
    let is_end = match cursor.next() {
        None => true,
        Some(token) => token.kind == TokenKind::Semicolon && cursor.is_rest_blank(),
    };
    is_end && !cursor.is_doubtful()
}
