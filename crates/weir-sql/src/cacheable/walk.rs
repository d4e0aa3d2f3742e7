//! The walk over a query's tokens: one stack of parentheses, and in each what may come next.
//!
//! | state | behind | a `(` opens | a `,` means |
//! |---|---|---|---|
//! | `Start` | `(`, UNION, the beginning | a query or an expression | is not understood |
//! | `Expr` | SELECT, WHERE, ... | a call, a subquery, a list | nothing |
//! | `Factor` | FROM, JOIN, TABLE | tables or a subquery | is not understood |
//! | `Named` | a table | names: an alias's columns, partitions, indexes | the next table |
//! | `On` | ON, USING | as `Expr` | the next table |
//! | `Cte`, `CteBody`, `CteEnd` | WITH, the name of a table that it defines, its body | columns, then the body | the next name |
//! | `Names` | `(` of a list of names or of a type's size | is not understood | nothing |
//!
//! WHERE, GROUP, ORDER and the like, which end a list of tables, are reserved words on every version of both servers, so that
//! no alias is taken for one of them and hides the tables behind it. Words that are reserved on some only are told from an
//! alias by what follows, or refuse.

use super::calls;
use super::functions::Class;
use super::names::{FunctionName, TableName, is_system_schema, unquoted};
use super::query::begins_query;
use super::words::Folded;
use super::{ReadFacts, Uncacheable, Writes};
use crate::classify::Cursor;
use crate::{LexMode, Token, TokenKind};
use weir_model::ServerFamily;

/// Parentheses within parentheses, and names, up to which a statement is judged. The servers join at most 61 tables.
const LIMIT: usize = 256;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Start,
    Expr,
    Factor,
    Named,
    On,
    Cte,
    CteBody,
    CteEnd,
    Names,
}

/// What a pair of parentheses is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opener {
    /// A group, a subquery, a list, the arguments of a function.
    Group,
    /// Of TRIM, EXTRACT and SUBSTRING, where FROM names no table.
    FromArgument,
    /// Of CAST and CONVERT, where the name of a type may stand.
    Type,
    /// Of MariaDB's COLUMN_CREATE and its like, where the name of a type may stand behind AS.
    DynamicColumn,
    JsonTable,
    /// COLUMNS of JSON_TABLE.
    Columns,
    Names,
    /// The query that WITH gives a name.
    Body,
}

#[derive(Debug)]
pub(super) struct Level {
    pub(super) state: State,
    pub(super) opener: Opener,
    /// How many names of WITH are known outside.
    ctes: usize,
    /// The name that WITH defines next.
    pub(super) defines: Option<Vec<u8>>,
    pub(super) is_recursive: bool,
}

pub(super) struct Walk<'a> {
    pub(super) cursor: Cursor<'a>,
    levels: Vec<Level>,
    /// The last three tokens, the last one last.
    pub(super) before: [Option<Token>; 3],
    pub(super) ctes: Vec<Vec<u8>>,
    /// Of `{ OJ`.
    pub(super) braces: u32,
    tables: Vec<TableName>,
    functions: Vec<FunctionName>,
    pub(super) found_rows: bool,
    /// A bit for each [`Uncacheable`].
    refused: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(cursor: Cursor<'a>) -> Self {
        let mut walk = Self {
            cursor,
            levels: Vec::new(),
            before: [None; 3],
            ctes: Vec::new(),
            braces: 0,
            tables: Vec::new(),
            functions: Vec::new(),
            found_rows: false,
            refused: 0,
        };
        walk.open(State::Start, Opener::Group);
        walk
    }

    /// Takes the statement to its end, or to where it is refused for good.
    pub(super) fn whole(&mut self) {
        while let Some(token) = self.cursor.next() {
            if token.kind == TokenKind::Semicolon {
                if !self.cursor.is_rest_blank() {
                    self.refuse(Uncacheable::MultiStatement);
                }
                break;
            }
            self.token(token);
            self.push_before(token);
            let is_too_large = self.tables.len() + self.functions.len() + self.ctes.len() > LIMIT;
            if is_too_large || self.levels.len() > LIMIT {
                self.refuse(Uncacheable::TooLarge);
                return;
            }
        }
        let is_whole = self.levels.len() == 1 && self.braces == 0;
        if self.cursor.is_doubtful() || !is_whole {
            self.refuse(Uncacheable::Unparsable);
        }
    }

    pub(super) fn into_facts(self, asks_found_rows: bool) -> ReadFacts {
        // A function may write, and so may what stands behind a `;`.
        let reasons = [
            Uncacheable::NotARead,
            Uncacheable::MultiStatement,
            Uncacheable::Unparsable,
            Uncacheable::TooLarge,
        ];
        let is_unsure = !self.functions.is_empty() || reasons.iter().any(|reason| self.is_refused(*reason));
        let first = Uncacheable::ALL.iter().find(|reason| self.is_refused(**reason));
        ReadFacts {
            cut: self.is_refused(Uncacheable::TooLarge),
            verdict: first.map_or(Ok(()), |reason| Err(*reason)),
            tables: self.tables,
            functions: self.functions,
            found_rows: self.found_rows,
            asks_found_rows,
            writes: Writes { tables: Vec::new(), unsure: is_unsure },
        }
    }

    fn is_refused(&self, reason: Uncacheable) -> bool {
        self.refused & 1 << reason as u32 != 0
    }

    pub(super) fn refuse(&mut self, reason: Uncacheable) {
        self.refused |= 1 << reason as u32;
    }

    pub(super) fn refuse_class(&mut self, class: Class) {
        match class {
            Class::Pure => {}
            Class::Varies => self.refuse(Uncacheable::NondeterministicFunction),
            Class::Session => self.refuse(Uncacheable::SessionFunction),
            Class::Time => self.refuse(Uncacheable::TimeValue),
            Class::XPath => self.refuse(Uncacheable::UserVariable),
        }
    }

    pub(super) fn mode(&self) -> LexMode {
        self.cursor.mode()
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.mode().family == ServerFamily::MariaDb
    }

    pub(super) fn text(&self, token: Token) -> &'a [u8] {
        self.cursor.text(token)
    }

    pub(super) fn push_before(&mut self, token: Token) {
        self.before = [self.before[1], self.before[2], Some(token)];
    }

    /// Whether the last token but `back` is this word or operator.
    pub(super) fn was(&self, back: usize, text: &[u8]) -> bool {
        let token = self.before.iter().rev().nth(back).copied().flatten();
        token.is_some_and(|t| {
            matches!(t.kind, TokenKind::Word | TokenKind::Operator) && self.text(t).eq_ignore_ascii_case(text)
        })
    }

    /// Whether behind the last token but `back` comes the name of a type, in CAST, CONVERT, COLUMN_GET and their like.
    pub(super) fn is_type_next(&self, back: usize) -> bool {
        match self.opener() {
            Opener::Type => self.was(back, b"as") || self.was(back, b","),
            Opener::DynamicColumn => self.was(back, b"as"),
            _ => false,
        }
    }

    pub(super) fn next_word(&mut self) -> Folded {
        let next = self.cursor.peek().filter(|t| t.kind == TokenKind::Word);
        Folded::of(next.map_or(b"", |t| self.text(t)))
    }

    pub(super) fn is_next(&mut self, operator: &[u8]) -> bool {
        self.cursor.peek().is_some_and(|t| t.kind == TokenKind::Operator && self.text(t) == operator)
    }

    pub(super) fn name_of(&self, token: Token) -> Vec<u8> {
        unquoted(token, self.cursor.sql(), self.mode().charset)
    }

    pub(super) fn state(&self) -> State {
        self.levels.last().map_or(State::Expr, |level| level.state)
    }

    pub(super) fn opener(&self) -> Opener {
        self.levels.last().map_or(Opener::Group, |level| level.opener)
    }

    pub(super) fn become_state(&mut self, state: State) {
        if let Some(level) = self.levels.last_mut() {
            level.state = state;
        }
    }

    pub(super) fn level(&mut self) -> Option<&mut Level> {
        self.levels.last_mut()
    }

    pub(super) fn open(&mut self, state: State, opener: Opener) {
        let ctes = self.ctes.len();
        self.levels.push(Level { state, opener, ctes, defines: None, is_recursive: false });
    }

    fn close(&mut self) {
        if self.levels.len() < 2 {
            self.refuse(Uncacheable::Unparsable);
            return;
        }
        let Some(closed) = self.levels.pop() else { return };
        self.ctes.truncate(closed.ctes);
        if closed.opener == Opener::Body {
            self.become_state(State::CteEnd);
            let name = self.levels.last_mut().and_then(|level| level.defines.take());
            self.ctes.extend(name);
        }
    }

    pub(super) fn add_table(&mut self, table: TableName) {
        if table.schema.as_deref().is_some_and(is_system_schema) {
            self.refuse(Uncacheable::SystemSchema);
        }
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }

    pub(super) fn add_function(&mut self, function: FunctionName) {
        if function.schema.as_deref().is_some_and(is_system_schema) {
            self.refuse(Uncacheable::SystemSchema);
        }
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
    }

    fn token(&mut self, token: Token) {
        match token.kind {
            TokenKind::Operator => self.operator(token),
            TokenKind::Word if self.was(0, b".") => {
                self.refusals(Folded::of(self.text(token)).text());
                self.name(token);
            }
            TokenKind::Word => self.word(token),
            TokenKind::Name => self.name(token),
            TokenKind::QuotedIdent => self.identifier(token),
            TokenKind::UserVar => self.refuse(Uncacheable::UserVariable),
            TokenKind::SysVar => self.refuse(Uncacheable::SystemVariable),
            _ => self.operand(),
        }
    }

    /// A literal, a parameter, or an operator that stands before or between operands.
    pub(super) fn operand(&mut self) {
        match self.state() {
            State::Start => self.become_state(State::Expr),
            State::Expr | State::On | State::Names => {}
            State::Factor | State::Named | State::Cte | State::CteBody | State::CteEnd => {
                self.refuse(Uncacheable::Unknown);
            }
        }
    }

    fn operator(&mut self, token: Token) {
        match self.text(token) {
            b"(" => self.parenthesis(token),
            b")" => self.close(),
            b"," => self.comma(),
            b"." => {}
            b":=" => self.refuse(Uncacheable::UserVariable),
            b"{" => self.brace(),
            b"}" if self.braces > 0 => self.braces -= 1,
            b"\\N" => self.operand(),
            [
                b'*' | b'+' | b'-' | b'/' | b'%' | b'=' | b'<' | b'>' | b'!' | b'~' | b'&' | b'|' | b'^',
                ..,
            ] => {
                self.operand();
            }
            // `[` is a quote under MariaDB's sql_mode=MSSQL, `:` a parameter under ORACLE.
            _ => self.refuse(Uncacheable::Unknown),
        }
    }

    fn comma(&mut self) {
        match self.state() {
            State::Expr | State::Names => {}
            State::Named | State::On => self.become_state(State::Factor),
            State::CteEnd => self.become_state(State::Cte),
            State::Start | State::Factor | State::Cte | State::CteBody => self.refuse(Uncacheable::Unknown),
        }
    }

    fn parenthesis(&mut self, open: Token) {
        match self.state() {
            State::Start => {
                self.become_state(State::Expr);
                self.open(State::Start, Opener::Group);
            }
            State::Expr | State::On => calls::open(self, open),
            State::Factor => {
                self.become_state(State::Named);
                self.open(State::Factor, Opener::Group);
            }
            State::Named => {
                calls::refuse_named(self);
                self.open(State::Names, Opener::Names);
            }
            State::CteBody => self.cte_parenthesis(),
            State::CteEnd => {
                self.become_state(State::Expr);
                self.open(State::Start, Opener::Group);
            }
            State::Names if self.opener() == Opener::Columns => {
                let opener = if self.was(0, b"columns") { Opener::Columns } else { Opener::Names };
                self.open(State::Names, opener);
            }
            State::Names | State::Cte => {
                self.refuse(Uncacheable::Unknown);
                self.open(State::Expr, Opener::Group);
            }
        }
    }

    /// An identifier in quotes.
    fn identifier(&mut self, token: Token) {
        match self.state() {
            State::Start => self.become_state(State::Expr),
            State::Factor => self.table(token),
            State::Cte => self.defines(token),
            State::CteBody | State::CteEnd => self.refuse(Uncacheable::Unknown),
            State::Expr | State::On | State::Named | State::Names => {}
        }
        if self.was(0, b".") {
            self.name(token);
        }
    }

    /// What stands behind a point, of a column or function.
    fn name(&mut self, token: Token) {
        // MariaDB's `sequence.NEXTVAL` under sql_mode=ORACLE, which works with quotes too.
        let name = self.name_of(token);
        if self.is_mariadb() && (is(&name, b"nextval") || is(&name, b"currval")) {
            self.refuse(Uncacheable::NondeterministicFunction);
        }
        if matches!(self.state(), State::Factor | State::Cte | State::CteBody | State::CteEnd) {
            self.refuse(Uncacheable::Unknown);
        }
    }

    fn word(&mut self, token: Token) {
        let folded = Folded::of(self.text(token));
        let word = folded.text();
        // Whatever may be meant by it here, such a word refuses.
        self.refusals(word);
        match self.state() {
            State::Start => self.start(token, word),
            State::Expr => self.expression(word),
            State::On => {
                if !self.ends_tables(word) {
                    self.expression(word);
                }
            }
            State::Named => self.named(word),
            State::Factor => self.factor(token, word),
            State::Cte => self.cte(token, word),
            State::CteBody if word == b"as" => {}
            State::CteBody => self.refuse(Uncacheable::Unknown),
            State::CteEnd => self.cte_end(token, word),
            State::Names => {
                if word == b"time" && self.opener() == Opener::Columns {
                    self.refuse(Uncacheable::TimeValue);
                }
            }
        }
    }

    /// Where a query or an expression may begin.
    pub(super) fn start(&mut self, token: Token, word: &[u8]) {
        match word {
            b"with" => self.become_state(State::Cte),
            b"table" => self.become_state(State::Factor),
            b"all" | b"distinct" => {}
            _ if begins_query(word) => self.become_state(State::Expr),
            _ => {
                self.become_state(State::Expr);
                self.word(token);
            }
        }
    }

    /// A word of an expression, or one that begins a clause.
    pub(super) fn expression(&mut self, word: &[u8]) {
        match word {
            b"union" | b"except" | b"intersect" | b"minus" => self.set_operator(word),
            b"from" if self.opener() != Opener::FromArgument => self.from(),
            b"join" if !self.was(0, b"for") => self.become_state(State::Factor),
            b"table" => self.become_state(State::Factor),
            _ => {}
        }
    }

    fn set_operator(&mut self, word: &[u8]) {
        // MINUS is an operator in MariaDB under sql_mode=ORACLE, and a name otherwise.
        let version = self.mode().server_version;
        let is_sure = match (word, self.is_mariadb()) {
            (b"union", _) => true,
            (b"minus", false) => return,
            (b"minus", true) => false,
            (_, false) => version >= 80_031,
            (_, true) => version >= 100_300,
        };
        if !is_sure {
            self.refuse(Uncacheable::Unknown);
        }
        self.become_state(State::Start);
    }
}

fn is(name: &[u8], known: &[u8]) -> bool {
    name.eq_ignore_ascii_case(known)
}
