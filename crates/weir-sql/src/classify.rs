//! What a packet's statements are.

mod cursor;
mod read;
mod statement;
mod switched;

pub(crate) use cursor::Cursor;
pub use switched::Remainder;

use crate::{Keyword, KindSet, LexMode, StatementKind};

/// Namespace of [`Statement::classify`].
#[derive(Debug)]
pub struct Statement;

/// What the text of a COM_QUERY or COM_STMT_PREPARE says. Every field leans to the careful side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classified {
    /// The strongest kind in the packet.
    pub kind: StatementKind,
    /// All kinds in the packet.
    pub kinds: KindSet,
    /// A statement that the server can reach is `LOAD DATA | XML ... LOCAL INFILE`, so a request for a file is
    /// the client's own wish. MariaDB's `EXECUTE IMMEDIATE '<load>'` counts; `EXECUTE` of a prepared one does not,
    /// for its text is elsewhere.
    pub local_infile: bool,
    pub statements: Statements,
    /// The packet is a command to Weir, and only that.
    pub weir: Option<WeirCommand>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statements {
    One,
    /// There is text other than blanks and `;` behind a `;`, and multi-statements are enabled. That text may
    /// be a comment, which the servers answer with an OK of its own, or the rest of a compound statement.
    Many,
}

/// Commands that Weir answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeirCommand {
    /// `SHOW WEIR SESSION`.
    ShowSession,
}

impl Classified {
    /// Of a packet that is one statement and nothing else.
    pub(crate) fn one(kind: StatementKind) -> Self {
        let mut kinds = KindSet::default();
        kinds.insert(kind);
        Self { kind, kinds, local_infile: false, statements: Statements::One, weir: None }
    }
}

impl Statement {
    /// Reads the whole text once. `multi_statements` is what the client has enabled (the capability
    /// CLIENT_MULTI_STATEMENTS and COM_SET_OPTION); without it, text other than comments behind a `;` makes the
    /// kind `Other`.
    pub fn classify(sql: &[u8], mode: LexMode, multi_statements: bool) -> Classified {
        of(Cursor::new(sql, mode), multi_statements)
    }
}

pub(crate) fn of(mut cursor: Cursor<'_>, multi_statements: bool) -> Classified {
    let front = (cursor.peek_keyword() == Some(Keyword::Show)).then(|| cursor.clone());
    let mut all = Classified {
        kind: StatementKind::Read,
        kinds: KindSet::default(),
        local_infile: false,
        statements: Statements::One,
        weir: None,
    };
    loop {
        let one = statement::classify(&mut cursor);
        all.kind = all.kind.max(one.kind);
        all.kinds.insert(one.kind);
        all.local_infile |= one.local_infile;
        // After a syntax error, the server reads nothing more.
        if !one.more || cursor.is_rest_blank() {
            break;
        }
        if !multi_statements {
            // A comment behind the `;` is no second statement.
            let mut rest = cursor.clone();
            rest.begin_statement();
            if rest.only_end_follows() {
                break;
            }
            all.kind = StatementKind::Other;
            all.kinds.insert(StatementKind::Other);
            return all;
        }
        all.statements = Statements::Many;
        cursor.begin_statement();
    }
    all.weir = front.and_then(is_weir_command);
    all
}

/// Reads `SHOW WEIR SESSION`, in any case, with comments around and a `;` behind it.
pub fn weir_command(sql: &[u8], mode: LexMode) -> Option<WeirCommand> {
    is_weir_command(Cursor::new(sql, mode))
}

fn is_weir_command(mut cursor: Cursor<'_>) -> Option<WeirCommand> {
    use crate::Keyword::{Session, Show, Weir};
    let is_it = [Show, Weir, Session].iter().all(|&k| cursor.next_keyword() == Some(k));
    (is_it && cursor.only_end_follows()).then_some(WeirCommand::ShowSession)
}

#[cfg(test)]
mod tests;
