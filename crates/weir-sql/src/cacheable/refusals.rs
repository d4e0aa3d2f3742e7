//! Words and braces that say more than they seem to, wherever they stand.

use super::Uncacheable;
use super::functions::class_of_bare;
use super::walk::{Opener, State, Walk};
use crate::TokenKind;

impl Walk<'_> {
    /// Refuses if the word is one that no cacheable read has.
    pub(super) fn refusals(&mut self, word: &[u8]) {
        use Uncacheable as U;
        match word {
            b"into" => self.refuse(U::Into),
            b"lock" => self.refuse(U::LockingRead),
            b"for" if matches!(self.next_word().text(), b"update" | b"share") => self.refuse(U::LockingRead),
            b"procedure" => self.refuse(U::ProcedureAnalyse),
            b"delete" => self.refuse(U::NotARead),
            b"update" if !self.was(0, b"for") => self.refuse(U::NotARead),
            b"insert" | b"replace" if !self.is_next(b"(") => self.refuse(U::NotARead),
            b"sql_no_cache" => self.refuse(U::SqlNoCache),
            b"sql_calc_found_rows" => self.found_rows = true,
            b"next" | b"previous" if self.next_word().text() == b"value" => {
                self.refuse(U::NondeterministicFunction);
            }
            b"nextval" | b"currval" | b"lastval" if self.is_mariadb() => {
                self.refuse(U::NondeterministicFunction);
            }
            // A part of the table, by chance; LIMIT ROWS EXAMINED, which ends where the plan has it.
            b"tablesample" | b"examined" => self.refuse(U::Unknown),
            b"time" if self.is_time_type() => self.refuse(U::TimeValue),
            // A TIME may be stored in the dynamic column.
            b"date" | b"datetime" if self.opener() == Opener::DynamicColumn && self.was(0, b"as") => {
                self.refuse(U::TimeValue);
            }
            // `SQL%ROWCOUNT` under sql_mode=ORACLE is ROW_COUNT().
            b"rowcount" if self.was(0, b"%") => self.refuse(U::SessionFunction),
            b"interval" if self.opener() == Opener::Type && self.was(0, b"as") => self.refuse(U::TimeValue),
            _ => {
                if let Some(class) = class_of_bare(word) {
                    self.refuse_class(class);
                }
            }
        }
    }

    /// Whether TIME, which comes, is the type: `TIME '10:00'`, `CAST(a AS TIME)`, `CONVERT(a, TIME)`, `RETURNING TIME`.
    fn is_time_type(&mut self) -> bool {
        let is_cast = self.is_type_next(0);
        let is_literal = self.cursor.peek().is_some_and(|t| t.kind == TokenKind::String);
        is_cast || is_literal || self.was(0, b"returning")
    }

    /// `{d '...'}` and `{ts '...'}` of ODBC, and `{OJ` before a table.
    pub(super) fn brace(&mut self) {
        let word = self.next_word();
        match (word.text(), self.state()) {
            (b"oj", State::Factor) => {
                self.braces += 1;
                self.cursor.next();
            }
            (b"d" | b"ts", State::Start | State::Expr | State::On) => {
                self.operand();
                self.cursor.next();
                let literal = self.cursor.next();
                let is_whole = literal.is_some_and(|t| t.kind == TokenKind::String) && self.is_next(b"}");
                self.cursor.next();
                if !is_whole {
                    self.refuse(Uncacheable::Unknown);
                }
            }
            (b"t", _) => self.refuse(Uncacheable::TimeValue),
            _ => self.refuse(Uncacheable::Unknown),
        }
    }
}
