use crate::Keyword;
use crate::words::WordId;
use std::ops::Range;

/// What a stretch of a statement's text is to the server's lexer.
///
/// Tokens carry no text: `&sql[token.start..token.end]` is it, quotes and all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Blanks between tokens.
    Blank,
    /// An identifier or keyword without quotes; character set introducers (`_utf8mb4`) are words too, and so is
    /// an identifier that begins with digits (`1st`).
    Word,
    /// An identifier without quotes right after a `.`, which the server never takes for a keyword.
    Name,
    /// `` `...` ``, and `"..."` under `ANSI_QUOTES`.
    QuotedIdent,
    /// `'...'`, `"..."`, `N'...'`, and MySQL's `$$...$$`.
    String,
    /// `12`, `1.5`, `.5`, `1e10`; a sign is an operator.
    Number,
    /// `0x1F`, `x'1F'`.
    HexLiteral,
    /// `0b101`, `b'101'`.
    BitLiteral,
    /// The parameter marker `?`.
    Param,
    /// `@name`, `@'...'`, `` @`...` ``, and the host of an account name (`'u'@'host'`). The name may be empty.
    UserVar,
    /// `@@name` or `@@scope`; the rest of `@@global.name` follows as a `.` and a `Name`.
    SysVar,
    /// An operator of one or more characters, or any other single byte. `(` and `)` are operators.
    Operator,
    Semicolon,
    /// `# ...` or `-- ...`, without its line feed.
    LineComment,
    /// `/* ... */`.
    BlockComment,
    /// `/*+ ... */` where the server reads optimizer hints: after SELECT, INSERT, REPLACE, UPDATE and DELETE.
    BlockHint,
    /// `/*!`, `/*!50700` or `/*M!` where what follows is code for this server.
    VersionCommentStart,
    /// The `*/` that ends it.
    VersionCommentEnd,
    /// A whole `/*!NNNNN ... */` whose content is not code for this server.
    VersionCommentSkipped,
    /// A number that breaks off after its `e` (`1.5e,`): MySQL's lexer drops it and goes on with the next byte.
    Dropped,
    /// A NUL byte outside of strings and block comments. The server takes it for the end of the text.
    Nul,
    /// From here to the end of the input the server reads nothing: a string, quoted identifier or comment that
    /// is not closed, or a literal on which its lexer gives up. The statement is a syntax error.
    Unterminated,
}

impl TokenKind {
    /// Whether the server's parser never sees the token.
    pub fn is_trivia(self) -> bool {
        matches!(
            self,
            Self::Blank
                | Self::LineComment
                | Self::BlockComment
                | Self::BlockHint
                | Self::VersionCommentStart
                | Self::VersionCommentEnd
                | Self::VersionCommentSkipped
                | Self::Dropped
        )
    }
}

/// A stretch `start..end` of the input, in bytes; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    pub kind: TokenKind,
    /// Of a `Word` its number in the table of words; of an `Operator` of one byte that byte; otherwise 0.
    pub(crate) code: u16,
    pub start: u32,
    pub end: u32,
}

impl Token {
    /// None; what a place for one holds.
    pub(crate) const NONE: Self = Self { kind: TokenKind::Blank, code: 0, start: 0, end: 0 };

    /// The token's bytes out of the text it was read from.
    #[inline]
    pub fn text<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        sql.get(self.span()).unwrap_or_default()
    }

    /// Where it stands in the text, in bytes.
    #[inline]
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// What is known of the word that it is; nothing of a token that is none.
    #[inline]
    pub(crate) fn word(&self) -> WordId {
        if self.kind == TokenKind::Word { WordId::from_code(self.code) } else { WordId::NONE }
    }

    #[inline]
    pub(crate) fn keyword(&self) -> Option<Keyword> {
        self.word().keyword()
    }

    /// Whether it is one of these operators.
    pub(crate) fn is_one_of(&self, operators: &[u8]) -> bool {
        operators.iter().any(|operator| self.is(*operator))
    }

    /// How wide the rows are for which it stands; see [`Text`](crate::Text).
    pub(crate) fn rows(&self) -> Option<bool> {
        (self.kind == TokenKind::Blank && self.code != 0).then_some(self.code > 1)
    }

    /// Whether it is this operator.
    #[inline]
    pub(crate) fn is(&self, operator: u8) -> bool {
        self.kind == TokenKind::Operator && self.code == u16::from(operator)
    }
}
