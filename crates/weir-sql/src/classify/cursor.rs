use crate::{Keyword, LexMode, Lexer, Token, TokenKind};

/// The tokens that the server's parser would see, one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    sql: &'a [u8],
    mode: LexMode,
    lexer: Lexer<'a>,
    peeked: Option<Token>,
    /// The text breaks off: no token follows and the statement is a syntax error.
    broken: bool,
    /// A version comment was skipped that the server may take for code.
    doubtful: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(sql: &'a [u8], mode: LexMode) -> Self {
        Self { sql, mode, lexer: Lexer::new(sql, mode), peeked: None, broken: false, doubtful: false }
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

    /// The next token that is no trivia; `None` at the end and where the text breaks off.
    pub(crate) fn next(&mut self) -> Option<Token> {
        if let Some(token) = self.peeked.take() {
            return Some(token);
        }
        while !self.broken {
            let Some(token) = self.lexer.next() else {
                self.broken |= self.lexer.in_version_comment();
                return None;
            };
            match token.kind {
                // The servers take a NUL that ends the packet for its end.
                TokenKind::Nul if self.is_end(self.rest()) => return None,
                TokenKind::Unterminated | TokenKind::Nul => self.broken = true,
                TokenKind::VersionCommentSkipped => self.doubtful |= self.is_galera_mark(token),
                kind if kind.is_trivia() => {}
                _ => return Some(token),
            }
        }
        None
    }

    pub(crate) fn peek(&mut self) -> Option<Token> {
        self.peeked = self.next();
        self.peeked
    }

    /// The keyword that a token is.
    pub(crate) fn keyword(&self, token: Token) -> Option<Keyword> {
        if token.kind == TokenKind::Word { Keyword::of(self.text(token)) } else { None }
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
            self.peeked = None;
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
        let mut parts = self.rest().splitn(2, |&b| b == 0);
        self.peeked.is_none() && parts.all(|part| self.is_end(part))
    }

    fn rest(&self) -> &'a [u8] {
        self.sql.get(self.lexer.position()..).unwrap_or_default()
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
        self.broken |= self.lexer.in_version_comment();
        self.lexer.begin_statement();
    }

    /// MariaDB takes `/*!99997 ... */` for code while Galera replicates, and for a comment otherwise.
    fn is_galera_mark(&self, token: Token) -> bool {
        self.mode.family == weir_model::ServerFamily::MariaDb && self.text(token).starts_with(b"/*!99997")
    }
}
