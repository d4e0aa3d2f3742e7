//! What single tokens of a statement show, wherever they stand: calls, variables, leftovers that are read.

use super::bits::{Leftover, LeftoverSet, Pin, PinSet};
use super::found::Shape;
use super::listed::read_by_name;
use crate::calls::{self, Call};
use crate::classify::Cursor;
use crate::{Keyword, Token, TokenKind};
use weir_model::ServerFamily;

/// A packet that writes more user variables is one of which they are not known.
const MAX_ASSIGNED: usize = 64;

/// Whether tokens are names of columns and options, not expressions: a `(` calls nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Declares {
    #[default]
    Nothing,
    /// CREATE TABLE ... SELECT.
    UntilQuery,
    /// LOAD DATA ... SET c = f(@v).
    UntilSet,
    All,
}

/// Tokens of user variables. The first, which mostly is the only one, takes no memory.
#[derive(Debug, Default)]
pub(super) struct Assigned {
    first: Option<Token>,
    more: Vec<Token>,
}

impl Assigned {
    /// False: it is one too many.
    fn push(&mut self, token: Token) -> bool {
        let has_room = self.more.len() < MAX_ASSIGNED;
        match self.first {
            None => self.first = Some(token),
            Some(_) if has_room => self.more.push(token),
            Some(_) => {}
        }
        has_room
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Token> {
        self.first.iter().chain(&self.more)
    }
}

/// Sees every token of a statement once, in order.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last two tokens.
    before: [Option<Token>; 2],
    /// What the last one is.
    keyword: Option<Keyword>,
    depth: u32,
    pub(super) declares: Declares,
    /// A user variable in this statement may be written.
    pub(super) writes_variables: bool,
    /// `FROM` outside of parentheses names a table other than DUAL.
    pub(super) uses_table: bool,
    pub(super) shape: Shape,
    pub(super) pins: PinSet,
    pub(super) reads: LeftoverSet,
    pub(super) reads_variable: bool,
    pub(super) computes_variable: bool,
    /// The user variables that the text shows to be written other than as targets of SET.
    pub(super) assigned: Assigned,
    /// A user variable may be written that is not among these.
    pub(super) assigns_unnamed: bool,
    /// A statement begins with something else than SELECT or SET, and may touch a table that no FROM names.
    pub(super) others: bool,
    /// Behind INTO nothing has come yet but user variables and commas.
    behind_into: bool,
    /// Something other than DUAL stands behind a `FROM`, or TABLE somewhere.
    pub(super) names_table: bool,
}

impl Scan {
    /// Before the next statement of a packet. What was found stays.
    pub(super) fn begin_statement(&mut self) {
        *self = Self {
            pins: self.pins,
            reads: self.reads,
            reads_variable: self.reads_variable,
            computes_variable: self.computes_variable,
            assigned: std::mem::take(&mut self.assigned),
            assigns_unnamed: self.assigns_unnamed,
            others: self.others,
            names_table: self.names_table,
            ..Self::default()
        };
    }

    /// A token that only matters to the ones behind it.
    pub(super) fn skip(&mut self, token: Token) {
        self.keyword = None;
        self.before = [self.before[1], Some(token)];
    }

    /// The cursor stands behind the token.
    pub(super) fn see(&mut self, cursor: &mut Cursor<'_>, token: Token) {
        // Also where a parenthesis stands before it, or the table of a function.
        self.names_table |= self.keyword == Some(Keyword::From) && !is_dual(cursor, token);
        let mut keyword = None;
        let behind_into = std::mem::take(&mut self.behind_into);
        match token.kind {
            TokenKind::Operator => {
                self.operator(cursor, token);
                self.behind_into = behind_into && token.is(b',');
            }
            TokenKind::Word => {
                keyword = cursor.keyword(token);
                self.word(cursor, token, keyword);
            }
            TokenKind::QuotedIdent => {
                self.uses_table |= self.is_behind_from();
                self.table_of_leftovers(unquoted(cursor.text(token)));
            }
            TokenKind::Name => {
                let behind_variable = self.before[0].filter(|t| t.kind == TokenKind::SysVar);
                if behind_variable.is_some_and(|t| !is_global(cursor.text(t))) {
                    self.system_variable(cursor.text(token));
                } else {
                    self.qualified(cursor.text(token));
                }
            }
            TokenKind::SysVar => self.system_variable(cursor.text(token).get(2..).unwrap_or_default()),
            TokenKind::UserVar => {
                self.reads_variable = true;
                self.behind_into = behind_into || self.keyword == Some(Keyword::Into);
                if self.behind_into {
                    self.assigns(Some(token));
                } else if self.writes_variables {
                    self.assigns(None);
                }
            }
            _ => {}
        }
        if self.before[1].is_none() {
            self.others |= !matches!(keyword, Some(Keyword::Select | Keyword::Set));
        }
        self.skip(token);
        self.keyword = keyword;
    }

    fn operator(&mut self, cursor: &mut Cursor<'_>, token: Token) {
        if token.is(b'(') {
            self.depth += 1;
            if let Some(name) = self.before[1] {
                self.call(cursor, name, token);
            }
        } else if token.is(b')') {
            self.depth = self.depth.saturating_sub(1);
        } else if token.is(b',') && self.depth == 0 {
            self.shape.comma();
        } else if cursor.text(token) == b":=" {
            self.assigns(self.before[1].filter(|before| before.kind == TokenKind::UserVar));
        }
    }

    /// A user variable gets a value, this one if it is known which.
    fn assigns(&mut self, variable: Option<Token>) {
        self.computes_variable = true;
        match variable {
            Some(token) => self.assigns_unnamed |= !self.assigned.push(token),
            None => self.assigns_unnamed = true,
        }
    }

    fn call(&mut self, cursor: &mut Cursor<'_>, name: Token, open: Token) {
        if self.declares != Declares::Nothing {
            return;
        }
        match calls::call(cursor, self.before[0], name, open) {
            Call::None => return,
            Call::Harmless => self.shape.call(name.word()),
            Call::SetsLastInsertId => self.pins.insert(Pin::SetsLastInsertId),
            Call::Unknown => self.unknown_call(cursor, name),
        }
        // Quotes do not hide a built-in function.
        if let Some(leftover) = read_by_function(unquoted(cursor.text(name))) {
            self.reads.insert(leftover);
        }
    }

    fn unknown_call(&mut self, cursor: &Cursor<'_>, name: Token) {
        let is = |names: &[&[u8]]| names.iter().any(|n| unquoted(cursor.text(name)).eq_ignore_ascii_case(n));
        if is(&[b"get_lock", b"release_lock", b"release_all_locks"]) {
            self.pins.insert(Pin::UserLock);
        } else if is(&[b"nextval", b"lastval", b"setval"]) && cursor.mode().family == ServerFamily::MariaDb {
            self.pins.insert(Pin::Sequence);
        } else {
            self.pins.insert(Pin::StoredFunction);
        }
        if is(&[b"last_insert_id"]) {
            self.pins.insert(Pin::SetsLastInsertId);
        }
    }

    fn word(&mut self, cursor: &mut Cursor<'_>, token: Token, keyword: Option<Keyword>) {
        let text = cursor.text(token);
        if self.is_behind_from() {
            self.uses_table |= !is_dual(cursor, token);
        }
        self.names_table |= keyword == Some(Keyword::Table);
        if let Some(keyword) = keyword {
            self.shape.word(keyword, self.depth == 0);
        }
        match keyword {
            Some(Keyword::Select) => self.begins_query(),
            Some(Keyword::Set) if self.declares == Declares::UntilSet && self.is_set_of_load(cursor) => {
                self.declares = Declares::Nothing;
            }
            Some(Keyword::Values) => {
                if cursor.peek().is_some_and(|t| cursor.text(t).eq_ignore_ascii_case(b"row")) {
                    self.begins_query();
                }
            }
            Some(Keyword::Next | Keyword::Previous) if cursor.peek_keyword() == Some(Keyword::Value) => {
                self.pins.insert(Pin::Sequence);
            }
            Some(_) => {}
            None if text.eq_ignore_ascii_case(b"sql_calc_found_rows") => self.pins.insert(Pin::FoundRows),
            // MariaDB's `SQL%ROWCOUNT` under sql_mode=ORACLE.
            None if text.eq_ignore_ascii_case(b"rowcount") && self.is_behind_percent(cursor) => {
                self.reads.insert(Leftover::RowCount);
            }
            None => self.table_of_leftovers(text),
        }
    }

    /// Behind SET of `CHARACTER SET utf8mb4` stands no assignment.
    fn is_set_of_load(&self, cursor: &Cursor<'_>) -> bool {
        let charset = |t: Token| {
            let text = cursor.text(t);
            text.eq_ignore_ascii_case(b"character") || text.eq_ignore_ascii_case(b"char")
        };
        !self.before[1].is_some_and(charset)
    }

    fn begins_query(&mut self) {
        if self.declares == Declares::UntilQuery {
            self.declares = Declares::Nothing;
        }
    }

    /// A name behind a point.
    fn qualified(&mut self, text: &[u8]) {
        if text.eq_ignore_ascii_case(b"nextval") || text.eq_ignore_ascii_case(b"currval") {
            self.pins.insert(Pin::Sequence);
        }
        self.table_of_leftovers(text);
    }

    /// Whether the name of a table comes, outside of parentheses.
    fn is_behind_from(&self) -> bool {
        self.depth == 0 && self.keyword == Some(Keyword::From)
    }

    fn is_behind_percent(&self, cursor: &Cursor<'_>) -> bool {
        self.before[1].is_some_and(|t| cursor.text(t) == b"%")
    }

    /// Tables of `information_schema` and `performance_schema` that show what belongs to the connection.
    fn table_of_leftovers(&mut self, name: &[u8]) {
        let is = |names: &[&[u8]]| names.iter().any(|n| name.eq_ignore_ascii_case(n));
        match name.len() {
            9 if is(&[b"profiling"]) => self.reads.insert(Leftover::Diagnostics),
            14 | 16 if is(&[b"session_status", b"status_by_thread"]) => self.reads.insert(Leftover::Status),
            16..=19 if is(&[b"session_variables", b"variables_by_thread", b"system_variables"]) => {
                self.reads = self.reads.union(SHOWN_BY_VARIABLES);
            }
            _ => {}
        }
    }

    fn system_variable(&mut self, name: &[u8]) {
        self.reads = self.reads.union(read_by_name(unquoted(name)));
    }
}

/// SHOW VARIABLES without a filter lists @@identity, @@warning_count and @@pseudo_thread_id among the others.
pub(super) const SHOWN_BY_VARIABLES: LeftoverSet =
    LeftoverSet::of(&[Leftover::LastInsertId, Leftover::Diagnostics, Leftover::ConnectionId]);

fn read_by_function(name: &[u8]) -> Option<Leftover> {
    const FUNCTIONS: [(&[u8], Leftover); 5] = [
        (b"last_insert_id", Leftover::LastInsertId),
        (b"row_count", Leftover::RowCount),
        (b"found_rows", Leftover::FoundRows),
        (b"connection_id", Leftover::ConnectionId),
        (b"ps_current_thread_id", Leftover::ConnectionId),
    ];
    FUNCTIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, leftover)| *leftover)
}

fn is_dual(cursor: &Cursor<'_>, token: Token) -> bool {
    token.kind == TokenKind::Word && cursor.text(token).eq_ignore_ascii_case(b"dual")
}

/// Whether a `@@word` is the scope of the server's own value.
fn is_global(text: &[u8]) -> bool {
    text.eq_ignore_ascii_case(b"@@global")
}

/// Without quotes around it; what is doubled inside stays, for no name we look for has a quote.
fn unquoted(name: &[u8]) -> &[u8] {
    match name {
        [b'`' | b'"', inside @ .., b'`' | b'"'] => inside,
        _ => name,
    }
}
