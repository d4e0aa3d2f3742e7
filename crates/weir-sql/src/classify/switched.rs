//! Whether a statement changes how the server reads the text behind it in the same packet.

use super::Cursor;
use crate::facts::{ClientCharset, Effect, Facts, Pin, Scope, Value};
use crate::{Keyword, LexMode};

/// The bytes that are read otherwise from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Switched {
    /// In strings.
    backslashes: bool,
    double_quotes: bool,
    /// Of characters beyond ASCII.
    high: bool,
}

/// What stands behind the statements of a packet: where the last bytes are whose meaning hangs on how the server reads them.
#[derive(Debug, Clone, Copy)]
pub struct Remainder {
    backslash: usize,
    double_quote: usize,
    high: usize,
}

impl Remainder {
    /// Of a packet of several statements.
    pub fn of(sql: &[u8]) -> Self {
        let end = |is: fn(&u8) -> bool| sql.iter().rposition(is).map_or(0, |at| at + 1);
        Self { backslash: end(|b| *b == b'\\'), double_quote: end(|b| *b == b'"'), high: end(|b| *b >= 0x80) }
    }

    /// Whether the server may read what stands behind `at` otherwise than in this mode, because of the statement ahead of it: a
    /// SET of `sql_mode` or of the client's character set. What the text then says is not known.
    pub fn is_read_otherwise(self, at: usize, statement: &[u8], mode: LexMode) -> bool {
        let there = [self.backslash, self.double_quote, self.high].map(|end| end > at);
        if there == [false; 3] || Cursor::new(statement, mode).peek_keyword() != Some(Keyword::Set) {
            return false;
        }
        let switched = Switched::by(statement, mode);
        let read = [switched.backslashes, switched.double_quotes, switched.high];
        there.iter().zip(read).any(|(there, switched)| *there && switched)
    }
}

impl Switched {
    fn by(statement: &[u8], mode: LexMode) -> Self {
        let mut switched = Self::default();
        let facts = Facts::of(statement, mode, false);
        if facts.pins.contains(Pin::Unknown) {
            return Self { backslashes: true, double_quotes: true, high: true };
        }
        for effect in facts.effects(statement) {
            let charset = effect.client_charset();
            switched.high |= charset.is_some_and(|of| of != ClientCharset::Named(mode.charset));
            let Effect::Variable { name, scope: Scope::Session | Scope::Unnamed, value } = effect else {
                continue;
            };
            if !name.is("sql_mode") {
                continue;
            }
            let modes = match value {
                Value::Literal(literal) => literal.plain(),
                Value::Expression => None,
            };
            let has = |of: &[&str]| {
                let is = |mode: &[u8]| of.iter().any(|name| mode.eq_ignore_ascii_case(name.as_bytes()));
                modes.as_ref().map(|modes| modes.split(|b| *b == b',').any(|mode| is(mode.trim_ascii())))
            };
            const QUOTES: [&str; 7] =
                ["ANSI_QUOTES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"];
            switched.backslashes |= has(&["NO_BACKSLASH_ESCAPES"]) != Some(mode.no_backslash_escapes);
            switched.double_quotes |= has(&QUOTES) != Some(mode.ansi_quotes);
        }
        switched
    }
}
