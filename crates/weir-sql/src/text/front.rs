//! The tokens of a statement as they are read: rows are passed, and what is special is noted.

use crate::functions::{computes, is_aggregate, stands_before_paren};
use crate::marks::{Marks, may_be_special};
use crate::{Keyword, LexMode, Lexer, Token, TokenKind};

/// A packet of one statement, with nothing in it of which more would have to be said: no comment, no variable, no call
/// but of functions that only compute, no word beyond those of everyday statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// A SELECT whose rows are sent as they are found; MariaDB may find none for one with an aggregate function.
    Select { uses_table: bool, names_table: bool, has_aggregate: bool },
    /// INSERT and REPLACE, without a query.
    Insert,
    /// UPDATE and DELETE.
    Modify,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// How many tokens.
    pub(super) count: usize,
    /// The place of the first token of the statement.
    first: usize,
    /// The place of its last `(`.
    open: Option<usize>,
    depth: u32,
    /// Of all tokens but the first.
    marks: Marks,
    has_aggregate: bool,
    /// FROM was the last token.
    is_behind_from: bool,
    uses_table: bool,
    /// Something stands behind a FROM.
    names_table: bool,
    /// The first word.
    leading: Option<Keyword>,
}

impl Front {
    /// What the packet is if it ends here.
    pub(super) fn plain(&self) -> Option<Plain> {
        use Keyword as K;
        let special = Marks::SPECIAL | Marks::CALL;
        match self.leading? {
            // Without a group there is one row of aggregates, whatever was found.
            K::Select if self.has_aggregate && self.marks.has(Marks::GROUP) => None,
            K::Select if !self.marks.has(special | Marks::INTO | Marks::UPDATE) => {
                let Self { uses_table, names_table, has_aggregate, .. } = *self;
                Some(Plain::Select { uses_table, names_table, has_aggregate })
            }
            K::Insert | K::Replace if !self.marks.has(special | Marks::LIMIT) => Some(Plain::Insert),
            K::Update | K::Delete if !self.marks.has(special) => Some(Plain::Modify),
            _ => None,
        }
    }

    /// Takes a token; there is a place for it.
    #[inline]
    pub(super) fn push(&mut self, token: Token, room: &mut [Token], lexer: &mut Lexer<'_>) {
        if let Some(place) = room.get_mut(self.count) {
            *place = token;
        }
        self.count += 1;
        self.names_table |= self.is_behind_from;
        match token.kind {
            TokenKind::Word => self.word(token),
            TokenKind::Operator => self.operator(token, room, lexer),
            TokenKind::Number
            | TokenKind::String
            | TokenKind::Param
            | TokenKind::HexLiteral
            | TokenKind::BitLiteral => self.is_behind_from = false,
            _ => self.other(token),
        }
    }

    #[inline]
    fn word(&mut self, token: Token) {
        if self.count == 1 {
            self.leading = token.keyword();
            return;
        }
        self.uses_table |= std::mem::take(&mut self.is_behind_from);
        let marks = token.word().marks();
        self.marks |= marks;
        if marks.has(Marks::FROM | Marks::LIMIT) {
            self.is_behind_from = marks.has(Marks::FROM);
            // Elsewhere they are of another query, or of a function's arguments.
            if self.depth > 0 {
                self.marks |= Marks::SPECIAL;
            }
        }
    }

    #[inline]
    fn operator(&mut self, token: Token, room: &mut [Token], lexer: &mut Lexer<'_>) {
        self.is_behind_from = false;
        match token.code as u8 {
            b'(' => self.open(room, lexer),
            b')' => self.depth = self.depth.saturating_sub(1),
            // Behind LIMIT it divides the offset from the number of rows.
            b',' if self.depth == 0 && self.marks.has(Marks::LIMIT) => self.marks |= Marks::SPECIAL,
            // One of several bytes may be `:=`.
            0 => self.marks |= if lexer.is_assignment(token) { Marks::SPECIAL } else { Marks::NONE },
            _ => {}
        }
    }

    /// A name, a variable, a comment, the end of a statement.
    fn other(&mut self, token: Token) {
        let len = token.span().len();
        let is_special = match token.kind {
            TokenKind::Name => may_be_special(len),
            TokenKind::QuotedIdent => may_be_special(len - 2),
            _ => true,
        };
        if is_special {
            self.marks |= Marks::SPECIAL;
        }
        self.uses_table |= self.is_behind_from && token.kind == TokenKind::QuotedIdent;
        self.is_behind_from = false;
        if token.kind == TokenKind::Semicolon {
            (self.first, self.open) = (self.count, None);
        }
    }

    /// A `(`, which calls a function or does not, and may begin a row of an INSERT.
    fn open(&mut self, room: &mut [Token], lexer: &mut Lexer<'_>) {
        self.depth += 1;
        if self.may_call(room, lexer.mode()) {
            self.marks |= Marks::CALL;
        }
        let first = room.get(self.first).and_then(Token::keyword);
        if matches!(first, Some(Keyword::Insert | Keyword::Replace)) {
            let place = self.count - 1;
            self.pass_rows(place, room, lexer);
            self.open = Some(place);
        }
    }

    /// Whether the token before the `(` may be the name of a function that does more than compute.
    fn may_call(&mut self, room: &[Token], mode: LexMode) -> bool {
        let Some((open, before)) = room.get(..self.count).and_then(<[Token]>::split_last) else {
            return true;
        };
        let Some(name) = before.last() else { return true };
        match (name.kind, before) {
            // The columns of INSERT INTO t (...), unless `t` may be one of the words that stand there.
            (TokenKind::Word, [_, into, name]) if into.word().marks() == Marks::INTO => name.code != 0,
            (TokenKind::QuotedIdent, [_, into, _]) => into.word().marks() != Marks::INTO,
            (TokenKind::Word, _) if stands_before_paren(name.word()) => false,
            (TokenKind::Word, [.., behind, _]) => {
                // `AS d (a, b)`; behind WITH and RECURSIVE nothing is plain.
                let names_columns = matches!(behind.keyword(), Some(Keyword::As | Keyword::Into));
                let is_harmless = computes(name.word(), mode) && name.end == open.start && !names_columns;
                self.has_aggregate |= is_harmless && is_aggregate(name.word());
                !is_harmless
            }
            (TokenKind::Name | TokenKind::QuotedIdent, _) => true,
            _ => false,
        }
    }

    /// If a row of literals begins at the `(` behind another one, it and all its like that follow are passed, and become
    /// three tokens: a `Blank` that covers them, whose code tells how wide they are, a `(` and a `)`. Those who look
    /// at the tokens skip the blank, and see a row without values.
    fn pass_rows(&mut self, place: usize, room: &mut [Token], lexer: &mut Lexer<'_>) {
        let passed = self.open.and_then(|open| {
            let [first, .., close, comma, next] = room.get(open..self.count)? else { return None };
            if !comma.is(b',') || !close.is(b')') || room.len() < self.count + 2 {
                return None;
            }
            let row = lexer.row(first.start as usize).filter(|row| row.end == close.end as usize)?;
            Some((*next, lexer.rows(next.start as usize, row.is_wide)?, row.is_wide))
        });
        let Some((open, end, is_wide)) = passed else { return };
        let close = Token { code: u16::from(b')'), start: end as u32 - 1, end: end as u32, ..open };
        let rows = Token { kind: TokenKind::Blank, code: 1 + u16::from(is_wide), end: end as u32, ..open };
        if let Some(places) = room.get_mut(place..self.count + 2) {
            places.copy_from_slice(&[rows, open, close]);
        }
        self.count += 2;
        self.depth -= 1;
        lexer.skip_row(end);
    }
}
