use crate::{LexMode, Lexer, TokenKind};
use std::ops::Range;

/// A hint to Weir in a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint<'a> {
    /// Its text without `weir:` and without blanks around it, as it was written.
    pub text: &'a [u8],
    /// The whole comment in the statement, in bytes.
    pub span: Range<usize>,
}

/// The hints to Weir in the plain block comments before a statement's first word: `/*weir: ... */` with any
/// text, and the two that go without the prefix, `/*nocache*/` and `/*wipe*/`. Letter case does not matter.
/// Version comments, optimizer hints and line comments are never hints to Weir.
pub fn hints(sql: &[u8], mode: LexMode) -> Hints<'_> {
    Hints { sql, lexer: Lexer::new(sql, mode) }
}

/// See [`hints`].
#[derive(Debug, Clone)]
pub struct Hints<'a> {
    sql: &'a [u8],
    lexer: Lexer<'a>,
}

impl<'a> Iterator for Hints<'a> {
    type Item = Hint<'a>;

    fn next(&mut self) -> Option<Hint<'a>> {
        loop {
            // The iterator ends for good at the first word: nothing behind it is lexed again.
            let mut ahead = self.lexer.clone();
            let token = ahead.next().filter(|t| t.kind.is_trivia())?;
            self.lexer = ahead;
            if token.kind != TokenKind::BlockComment {
                continue;
            }
            let inside = token
                .text(self.sql)
                .get(2..)
                .and_then(|text| text.get(..text.len().saturating_sub(2)))
                .unwrap_or_default();
            if let Some(text) = hint_text(inside.trim_ascii()) {
                return Some(Hint { text, span: token.span() });
            }
        }
    }
}

fn hint_text(comment: &[u8]) -> Option<&[u8]> {
    const PREFIX: &[u8] = b"weir:";
    let bare: [&[u8]; 2] = [b"nocache", b"wipe"];
    if bare.iter().any(|word| comment.eq_ignore_ascii_case(word)) {
        return Some(comment);
    }
    let (prefix, text) = comment.split_at_checked(PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then(|| text.trim_ascii())
}

#[cfg(test)]
mod tests;
