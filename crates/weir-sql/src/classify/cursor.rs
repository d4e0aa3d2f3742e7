use std::cell::Cell;

use super::switched::Remainder;
use crate::{Keyword, LexMode, Lexer, Text, Token, TokenKind};

/// The tokens that the server's parser would see, one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    sql: &'a [u8],
    mode: LexMode,
    /// The tokens that were read before.
    tokens: &'a [Token],
    /// Which of them comes next.
    at: usize,
    /// Reads those behind them.
    lexer: Lexer<'a>,
    /// Where the last token ended, be it one that was skipped.
    position: usize,
    peeked: Option<Token>,
    in_version_comment: bool,
    /// The text breaks off: no token follows and the statement is a syntax error.
    broken: bool,
    /// A version comment was skipped that the server may take for code, or a statement before this one has changed how it is read.
    doubtful: bool,
    /// Where the statement begins.
    start: usize,
    /// Found out at the first `;`.
    rest_of_packet: Option<Remainder>,
    /// Where something stands that is no blank and no `;`, as far as that was looked for.
    begins: Cell<usize>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(sql: &'a [u8], mode: LexMode) -> Self {
        Self::behind(sql, mode, &[], Lexer::new(sql, mode))
    }

    pub(crate) fn of(text: &Text<'a>) -> Self {
        Self::behind(text.sql(), text.mode(), text.tokens(), text.rest().clone())
    }

    fn behind(sql: &'a [u8], mode: LexMode, tokens: &'a [Token], lexer: Lexer<'a>) -> Self {
        Self {
            sql,
            mode,
            tokens,
            at: 0,
            lexer,
            position: 0,
            peeked: None,
            in_version_comment: false,
            broken: false,
            doubtful: false,
            start: 0,
            rest_of_packet: None,
            begins: Cell::new(0),
        }
    }

    pub(crate) fn mode(&self) -> LexMode {
        self.mode
    }

    pub(crate) fn sql(&self) -> &'a [u8] {
        self.sql
    }

    pub(crate) fn text(&self, token: Token) -> &'a [u8] {
        token.text(self.sql)
    }

    #[inline]
    /// The next token that is no trivia; `None` at the end and where the text breaks off.
    pub(crate) fn next(&mut self) -> Option<Token> {
        if let Some(token) = self.kept() {
            self.at += 1;
            self.position = token.end as usize;
            return Some(token);
        }
        self.next_plain()
    }

    /// The next token, if it was read before and the server's parser sees it.
    #[inline]
    fn kept(&self) -> Option<Token> {
        let is_next = |token: &Token| is_plain(token.kind) && self.peeked.is_none() && !self.broken;
        self.tokens.get(self.at).copied().filter(is_next)
    }

    fn next_plain(&mut self) -> Option<Token> {
        if let Some(token) = self.peeked.take() {
            return Some(token);
        }
        while !self.broken {
            let Some(token) = self.next_of_any_kind() else {
                self.broken |= self.in_version_comment;
                return None;
            };
            self.position = token.end as usize;
            match token.kind {
                // The servers take a NUL that ends the packet for its end.
                TokenKind::Nul if self.is_end(self.rest()) => return None,
                TokenKind::Unterminated | TokenKind::Nul => self.broken = true,
                TokenKind::VersionCommentStart => self.in_version_comment = true,
                TokenKind::VersionCommentEnd => self.in_version_comment = false,
                TokenKind::VersionCommentSkipped => self.doubtful |= self.is_galera_mark(token),
                kind if kind.is_trivia() => {}
                _ => return Some(token),
            }
        }
        None
    }

    fn next_of_any_kind(&mut self) -> Option<Token> {
        match self.tokens.get(self.at) {
            Some(token) => {
                self.at += 1;
                Some(*token)
            }
            None => self.lexer.next_dense(),
        }
    }

    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Token> {
        self.kept().or_else(|| self.peek_plain())
    }

    fn peek_plain(&mut self) -> Option<Token> {
        if self.peeked.is_none() {
            self.peeked = self.next_plain();
        }
        self.peeked
    }

    /// As [`peek`](Cursor::peek), within this statement.
    #[inline]
    pub(crate) fn peek_inside(&mut self) -> Option<Token> {
        self.peek().filter(|token| token.kind != TokenKind::Semicolon)
    }

    /// As [`next`](Cursor::next), without taking the `;` that ends the statement.
    #[inline]
    pub(crate) fn next_inside(&mut self) -> Option<Token> {
        self.peek_inside()?;
        self.next()
    }

    /// The keyword that a token is.
    #[inline]
    pub(crate) fn keyword(&self, token: Token) -> Option<Keyword> {
        token.keyword()
    }

    /// Takes the next token and tells its keyword.
    pub(crate) fn next_keyword(&mut self) -> Option<Keyword> {
        let token = self.next()?;
        self.keyword(token)
    }

    pub(crate) fn peek_keyword(&mut self) -> Option<Keyword> {
        let token = self.peek()?;
        self.keyword(token)
    }

    /// Takes the next token if it is this keyword.
    pub(crate) fn take(&mut self, keyword: Keyword) -> bool {
        let found = self.peek_keyword() == Some(keyword);
        if found {
            self.next();
        }
        found
    }

    /// Whether the statement cannot be judged by the tokens that were seen.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.broken || self.doubtful
    }

    /// Whether nothing but blanks, `;` and the NUL that may end a packet follow, which the servers cut off before
    /// they read a packet.
    pub(crate) fn is_rest_blank(&self) -> bool {
        if self.peeked.is_some() || self.position < self.begins.get() {
            return false;
        }
        // No byte is looked at twice, and nothing behind the first of a statement: this is asked behind each `;`.
        let rest = self.rest();
        let Some(at) = rest.iter().position(|b| !self.is_end(std::slice::from_ref(b))) else { return true };
        if rest[at] == 0 && self.is_end(&rest[at + 1..]) {
            return true;
        }
        self.begins.set(self.position + at + 1);
        false
    }

    fn rest(&self) -> &'a [u8] {
        self.sql.get(self.position..).unwrap_or_default()
    }

    fn is_end(&self, rest: &[u8]) -> bool {
        rest.iter().all(|&b| b == b';' || self.mode.charset.is_blank(b))
    }

    /// Whether the packet ends here, comments, blanks and semicolons aside.
    pub(crate) fn only_end_follows(&mut self) -> bool {
        while let Some(token) = self.next() {
            if token.kind != TokenKind::Semicolon {
                return false;
            }
            self.begin_statement();
        }
        !self.is_doubtful()
    }

    /// After a `;`, with multi-statements enabled.
    pub(crate) fn begin_statement(&mut self) {
        // Without one, the lexer remembers nothing behind a `;` that would matter.
        self.broken |= self.in_version_comment;
        let statement = self.sql.get(self.start..self.position).unwrap_or_default();
        self.start = self.position;
        if !self.is_doubtful() {
            let (sql, mode) = (self.sql, self.mode);
            let rest = self.rest_of_packet.get_or_insert_with(|| Remainder::of(sql));
            self.doubtful = rest.is_read_otherwise(self.start, statement, mode);
        }
    }

    /// MariaDB takes `/*!99997 ... */` for code while Galera replicates, and for a comment otherwise.
    fn is_galera_mark(&self, token: Token) -> bool {
        self.mode.family == weir_model::ServerFamily::MariaDb && self.text(token).starts_with(b"/*!99997")
    }
}

/// Whether the server's parser sees a token of this kind, and goes on behind it.
fn is_plain(kind: TokenKind) -> bool {
    !kind.is_trivia() && !matches!(kind, TokenKind::Nul | TokenKind::Unterminated)
}
