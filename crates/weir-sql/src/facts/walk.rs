//! The tokens of one statement, each shown to the scan as it is taken.

use super::effect::{Literal, LiteralKind, Name, Span};
use super::scan::Scan;
use crate::classify::Cursor;
use crate::{Keyword, Token, TokenKind};

/// Takes tokens up to the `;`, never the `;` itself.
pub(super) struct Walk<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) scan: Scan,
}

impl<'a> Walk<'a> {
    pub(super) fn new(cursor: Cursor<'a>) -> Self {
        Self { cursor, scan: Scan::default() }
    }

    pub(super) fn peek(&mut self) -> Option<Token> {
        self.cursor.peek_inside()
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.peek()?;
        self.cursor.next();
        self.scan.see(&mut self.cursor, token);
        Some(token)
    }

    /// Takes a token that is no part of an expression: the target of an assignment.
    pub(super) fn next_target(&mut self) -> Option<Token> {
        let token = self.peek()?;
        self.cursor.next();
        self.scan.skip(token);
        Some(token)
    }

    /// Takes the rest of the statement.
    pub(super) fn rest(&mut self) {
        while self.next().is_some() {}
    }

    /// Takes the rest of the statement and its `;`, if there is one.
    pub(super) fn end(&mut self) -> bool {
        while let Some(token) = self.cursor.next() {
            if token.kind == TokenKind::Semicolon {
                return true;
            }
            self.scan.see(&mut self.cursor, token);
        }
        false
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    pub(super) fn sql(&self) -> &'a [u8] {
        self.cursor.sql()
    }

    pub(super) fn text(&self, token: Token) -> &'a [u8] {
        self.cursor.text(token)
    }

    pub(super) fn keyword(&mut self) -> Option<Keyword> {
        let token = self.peek()?;
        self.cursor.keyword(token)
    }

    pub(super) fn take(&mut self, keyword: Keyword) -> bool {
        let found = self.keyword() == Some(keyword);
        if found {
            self.next();
        }
        found
    }

    /// Whether the next token is this word without quotes, given in small letters.
    pub(super) fn is_word(&mut self, word: &[u8]) -> bool {
        self.peek().is_some_and(|t| t.kind == TokenKind::Word && self.text(t).eq_ignore_ascii_case(word))
    }

    pub(super) fn take_word(&mut self, word: &[u8]) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn is_operator(&mut self, text: &[u8]) -> bool {
        self.peek().is_some_and(|t| t.kind == TokenKind::Operator && self.text(t) == text)
    }

    pub(super) fn take_operator(&mut self, text: &[u8]) -> bool {
        let found = self.is_operator(text);
        if found {
            self.next();
        }
        found
    }

    /// Whether the next tokens are these, words in small letters, and then the statement ends.
    pub(super) fn is_all(&self, tokens: &[&[u8]]) -> bool {
        let mut ahead = self.cursor.clone();
        let matches = tokens.iter().all(|text| {
            ahead.next().is_some_and(|t| {
                matches!(t.kind, TokenKind::Word | TokenKind::Operator)
                    && ahead.text(t).eq_ignore_ascii_case(text)
            })
        });
        matches && ahead.next().is_none_or(|t| t.kind == TokenKind::Semicolon)
    }

    pub(super) fn name(&self, first: Token, last: Token) -> Name<Span> {
        Name { text: span(first.start, last.end), charset: self.cursor.mode().charset }
    }

    pub(super) fn literal(&self, kind: LiteralKind, text: Span) -> Literal<Span> {
        Literal { kind, text, charset: self.cursor.mode().charset }
    }
}

pub(super) fn span(start: u32, end: u32) -> Span {
    Span { start, end }
}
