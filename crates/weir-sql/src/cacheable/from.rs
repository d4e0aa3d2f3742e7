//! FROM and WITH: which tables a query names.

use super::names::TableName;
use super::query::begins_query;
use super::walk::{Opener, State, Walk};
use super::{Uncacheable, words::Folded};
use crate::{Token, TokenKind};

impl Walk<'_> {
    /// Behind FROM.
    pub(super) fn from(&mut self) {
        // MySQL's `NTH_VALUE(a, 2) FROM FIRST OVER w`.
        let mut ahead = self.cursor.clone();
        let mut next = || ahead.next().map(|t| Folded::of_word(t, ahead.sql()));
        let is_first_or_last = next().is_some_and(|w| matches!(w.text(), b"first" | b"last"));
        if is_first_or_last && next().is_some_and(|w| matches!(w.text(), b"over" | b"respect" | b"ignore")) {
            return;
        }
        self.become_state(State::Factor);
    }

    /// A word where a table has to come.
    pub(super) fn factor(&mut self, token: Token, word: &[u8]) {
        match word {
            b"lateral" if self.is_next(b"(") => {}
            b"json_table" if self.is_next(b"(") => {
                self.cursor.next();
                self.become_state(State::Named);
                self.open(State::Start, Opener::JsonTable);
            }
            b"dual" if !self.is_next(b".") => self.become_state(State::Named),
            _ if begins_query(word) => {
                self.become_state(State::Start);
                self.start(token, word);
            }
            _ => self.table(token),
        }
    }

    /// The name of a table, which begins with this token.
    pub(super) fn table(&mut self, first: Token) {
        self.become_state(State::Named);
        let first = self.name_of(first);
        if !self.is_next(b".") {
            if self.is_next(b"(") {
                // A function that gives a table.
                self.refuse(Uncacheable::Unknown);
            }
            if !self.ctes.contains(&first) {
                self.add_table(TableName { schema: None, name: first });
            }
            return;
        }
        self.cursor.next();
        let second = self.cursor.next();
        let Some(second) = second.filter(|t| is_identifier(t.kind)) else {
            self.refuse(Uncacheable::Unknown);
            return;
        };
        if self.is_next(b".") || self.is_next(b"(") {
            self.refuse(Uncacheable::Unknown);
        }
        let name = self.name_of(second);
        self.add_table(TableName { schema: Some(first), name });
    }

    /// A word behind a table: of an alias, of partitions, of index hints, or the end of these.
    pub(super) fn named(&mut self, word: &[u8]) {
        if self.ends_tables(word) {
            return;
        }
        match word {
            b"on" | b"using" => self.become_state(State::On),
            b"for" if self.next_word().text() == b"system_time" => self.system_time(),
            b"for" => {}
            b"from" => self.from(),
            b"qualify" => self.refuse(Uncacheable::Unknown),
            _ => self.expression(word),
        }
    }

    /// Whether the word ends the list of tables or brings the next one, in which case it is taken.
    pub(super) fn ends_tables(&mut self, word: &[u8]) -> bool {
        let is_of_index_hint = self.state() == State::Named && self.was(0, b"for");
        match word {
            b"join" | b"order" | b"group" if is_of_index_hint => return true,
            b"join" | b"straight_join" => self.become_state(State::Factor),
            b"where" | b"group" | b"having" | b"order" | b"limit" | b"fetch" => {
                self.become_state(State::Expr);
            }
            b"into" | b"lock" | b"procedure" => self.become_state(State::Expr),
            b"for" if matches!(self.next_word().text(), b"update" | b"share") => {
                self.become_state(State::Expr);
            }
            b"window" if self.is_window() => self.become_state(State::Expr),
            b"offset" => {
                let next = self.cursor.peek().map(|t| t.kind);
                if matches!(next, Some(TokenKind::Number | TokenKind::Param)) {
                    self.become_state(State::Expr);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether `name AS` follows: WINDOW is an alias elsewhere, where it is no reserved word.
    fn is_window(&self) -> bool {
        let mut ahead = self.cursor.clone();
        let is_named = ahead.next().is_some_and(|t| is_identifier(t.kind));
        is_named && ahead.next().is_some_and(|t| ahead.text(t).eq_ignore_ascii_case(b"as"))
    }

    /// MariaDB's `FOR SYSTEM_TIME`, from the FOR, with literals.
    fn system_time(&mut self) {
        self.cursor.next();
        let first = self.cursor.next().map(|t| Folded::of_word(t, self.cursor.sql()));
        let is_known = match first.as_ref().map_or(b"".as_slice(), |w| w.text()) {
            b"all" => true,
            b"as" => self.take(b"of") && self.point_in_time(),
            b"between" => self.point_in_time() && self.take(b"and") && self.point_in_time(),
            b"from" => self.point_in_time() && self.take(b"to") && self.point_in_time(),
            _ => false,
        };
        if !is_known || !self.is_behind_expression() {
            self.refuse(Uncacheable::Unknown);
        }
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let found = self.next_word().text() == word;
        if found {
            self.cursor.next();
        }
        found
    }

    fn point_in_time(&mut self) -> bool {
        let has_unit = self.take(b"timestamp") || self.take(b"transaction");
        let literal = self.cursor.next();
        has_unit && literal.is_some_and(|t| matches!(t.kind, TokenKind::String | TokenKind::Number))
            || literal.is_some_and(|t| t.kind == TokenKind::String)
    }

    /// Whether no operator continues a literal.
    fn is_behind_expression(&mut self) -> bool {
        const OPERATORS: [&[u8]; 14] = [
            b"div", b"mod", b"and", b"or", b"xor", b"collate", b"is", b"in", b"like", b"regexp", b"rlike",
            b"between", b"not", b"sounds",
        ];
        let Some(next) = self.cursor.peek() else { return true };
        match next.kind {
            TokenKind::Word => !OPERATORS.contains(&self.next_word().text()),
            TokenKind::QuotedIdent | TokenKind::Semicolon => true,
            TokenKind::Operator => matches!(self.text(next), b"," | b")" | b"}"),
            _ => false,
        }
    }

    /// A word behind WITH.
    pub(super) fn cte(&mut self, token: Token, word: &[u8]) {
        if word == b"recursive" {
            if let Some(level) = self.level() {
                level.is_recursive = true;
            }
            return;
        }
        self.defines(token);
    }

    /// The name of a table that WITH defines.
    pub(super) fn defines(&mut self, token: Token) {
        let name = self.name_of(token);
        self.become_state(State::CteBody);
        if let Some(level) = self.level() {
            level.defines = Some(name);
        }
    }

    /// Of its columns, or of its body, in which it is known only if it is recursive.
    pub(super) fn cte_parenthesis(&mut self) {
        if !self.was(0, b"as") {
            self.open(State::Names, Opener::Names);
            return;
        }
        let own = self.level().and_then(|l| if l.is_recursive { l.defines.take() } else { None });
        self.ctes.extend(own);
        self.open(State::Start, Opener::Body);
    }

    /// A word behind the body.
    pub(super) fn cte_end(&mut self, token: Token, word: &[u8]) {
        match word {
            // MariaDB's `CYCLE a, b RESTRICT`.
            b"cycle" => {
                while let Some(next) = self.cursor.peek().filter(|t| t.kind != TokenKind::Semicolon) {
                    self.cursor.next();
                    if self.text(next).eq_ignore_ascii_case(b"restrict") {
                        return;
                    }
                }
                self.refuse(Uncacheable::Unparsable);
            }
            _ if begins_query(word) && word != b"with" => {
                self.become_state(State::Start);
                self.start(token, word);
            }
            _ => {
                self.refuse(Uncacheable::NotARead);
                self.become_state(State::Expr);
            }
        }
    }
}

pub(super) fn is_identifier(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Word | TokenKind::Name | TokenKind::QuotedIdent)
}
