//! What a command is to the state of its session: the facts of its text, as far as weir-session asks for them.

use std::sync::Arc;
use weir_session::{
    Effect, FoundRows, InsertId, Outcome, PinReason, PinSet, Reads, State, Statement, Variable,
    with_statement,
};
use weir_sql::{Facts, Statements, Transaction};
use weir_wire::command as com;
use weir_wire::response::Walker;

/// What the command under way is to the state of its session.
#[derive(Debug)]
pub(crate) enum Doing {
    /// A statement that sets nothing that its text shows.
    Plain {
        statement: Statement<'static>,
        several: bool,
        release: Release,
        /// It names a user variable other than as the target of SET.
        reads_variables: bool,
    },
    /// A statement that sets something: its text is read again when it has ended.
    Text(Box<(Facts, Vec<u8>)>),
    /// COM_INIT_DB.
    InitDb(Vec<u8>),
    /// COM_STMT_PREPARE, and whether the text is all there.
    Prepare {
        text: Arc<[u8]>,
        whole: bool,
    },
    Command(u8),
}

impl Doing {
    pub fn of_text(sql: &[u8], facts: Facts) -> Self {
        let several = facts.classified.statements == Statements::Many;
        let plain = with_statement(&facts, sql, |statement| {
            statement.effects.is_empty().then_some(Statement { effects: &[], ..*statement })
        });
        let release = Release::of(&facts);
        match plain {
            Some(statement) => {
                Self::Plain { statement, several, release, reads_variables: facts.variables.read }
            }
            None => Self::Text(Box::new((facts, sql.to_vec()))),
        }
    }

    /// Itself, where it sets nothing.
    pub fn plain(&self) -> Option<Self> {
        match *self {
            Self::Plain { statement, several, release, reads_variables } => {
                Some(Self::Plain { statement, several, release, reads_variables })
            }
            _ => None,
        }
    }

    /// Hands the statement to `f`; a command counts as one.
    pub fn with<R>(&self, f: impl FnOnce(&Statement<'_>) -> R) -> R {
        match self {
            Self::Plain { statement, .. } => f(statement),
            Self::Text(text) => with_statement(&text.0, &text.1, f),
            Self::InitDb(name) => {
                // Beyond ASCII it depends on the character set which name the bytes are.
                let effect = if name.is_ascii() { Effect::Schema(name) } else { Effect::SchemaUnknown };
                f(&Statement { effects: &[effect], keeps_diagnostics: true, ..COMMAND })
            }
            Self::Prepare { .. } => f(&COMMAND),
            Self::Command(command) => {
                // Their answers count the warnings.
                let keeps_diagnostics =
                    matches!(*command, com::PING | com::FIELD_LIST | com::SET_OPTION | com::STMT_RESET);
                f(&Statement { pins: command_pins(*command), keeps_diagnostics, ..COMMAND })
            }
        }
    }

    /// Whether the server closes the connection behind it.
    pub fn releases(&self, state: &State) -> bool {
        let release = match self {
            Self::Plain { release, .. } => *release,
            Self::Text(text) => Release::of(&text.0),
            Self::InitDb(_) | Self::Prepare { .. } | Self::Command(_) => Release::No,
        };
        let by_default = || match state.get(Variable::COMPLETION_TYPE) {
            Some(Some(value)) => value.eq_ignore_ascii_case(b"RELEASE"),
            _ => true,
        };
        release == Release::Yes || (release == Release::ByDefault && by_default())
    }

    /// Whether it asks for user variables.
    pub fn reads_variables(&self) -> bool {
        match self {
            Self::Plain { reads_variables, .. } => *reads_variables,
            Self::Text(text) => text.0.variables.read,
            Self::InitDb(_) | Self::Prepare { .. } | Self::Command(_) => false,
        }
    }

    /// It is a statement, and not another command.
    pub fn is_statement(&self) -> bool {
        matches!(self, Self::Plain { .. } | Self::Text(_))
    }

    pub fn several(&self) -> bool {
        match self {
            Self::Plain { several, .. } => *several,
            Self::Text(text) => text.0.classified.statements == Statements::Many,
            Self::InitDb(_) | Self::Prepare { .. } | Self::Command(_) => false,
        }
    }
}

/// Whether the server closes the connection behind a COMMIT or ROLLBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    No,
    Yes,
    /// As `completion_type` says.
    ByDefault,
}

impl Release {
    fn of(facts: &Facts) -> Self {
        match facts.transaction {
            Transaction::Commit(how) | Transaction::Rollback(how) => match (how.release, how.chain) {
                (Some(true), _) => Self::Yes,
                (Some(false), _) | (None, Some(true)) => Self::No,
                (None, _) => Self::ByDefault,
            },
            Transaction::Several => Self::ByDefault,
            _ => Self::No,
        }
    }
}

const COMMAND: Statement<'static> =
    Statement { found_rows: FoundRows::Kept, insert_id: InsertId::Kept, ..Statement::PLAIN };

/// A statement of which only the beginning was read.
pub(crate) const UNREAD: Statement<'static> = Statement {
    effects: &[Effect::Everything],
    pins: PinSet::of(&[PinReason::UnknownStatement]),
    // Of a text so long the rest is not looked at: what asks for warnings or FOUND_ROWS() is short.
    reads: Reads::LAST_INSERT_ID,
    insert_id: InsertId::Unknown,
    may_begin: true,
    ..Statement::PLAIN
};

/// What a command that is no statement ties to its connection.
fn command_pins(command: u8) -> PinSet {
    match command {
        com::PING
        | com::STATISTICS
        | com::FIELD_LIST
        | com::INIT_DB
        | com::PROCESS_INFO
        | com::PROCESS_KILL => PinSet::EMPTY,
        com::RESET_CONNECTION | com::CHANGE_USER | com::DEBUG | com::SLEEP => PinSet::EMPTY,
        com::STMT_PREPARE
        | com::STMT_EXECUTE
        | com::STMT_FETCH
        | com::STMT_RESET
        | com::STMT_CLOSE
        | com::STMT_SEND_LONG_DATA => PinSet::EMPTY,
        com::SET_OPTION => PinReason::UntrackedVariable.into(),
        com::REFRESH | com::SHUTDOWN => PinReason::Admin.into(),
        _ if com::is_replication(command) => PinReason::Replication.into(),
        _ => PinReason::UnknownStatement.into(),
    }
}

/// How the answer that the walker has seen ended.
pub(crate) fn outcome(walker: &Walker) -> Outcome {
    let ok = walker.ok();
    // An answer without flags (COM_STMT_PREPARE, COM_STATISTICS) leaves them as they were.
    let status = walker.status();
    match walker.error() {
        Some(code) => Outcome::Err { code },
        None if walker.ended_rows() => Outcome::Rows { status, rows: walker.rows(), warnings: ok.warnings },
        None => Outcome::Ok {
            status,
            affected_rows: ok.affected_rows,
            insert_id: ok.last_insert_id,
            warnings: ok.warnings,
        },
    }
}
