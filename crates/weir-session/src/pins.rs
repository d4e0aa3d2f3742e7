//! Why a session must keep its connection.

use std::fmt;

use weir_wire::packet::status;

use crate::statement::{Outcome, Statement};

/// A reason for which a session keeps its server connection. Shown by `SHOW WEIR SESSION` and counted by this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum PinReason {
    /// A transaction is open (SERVER_STATUS_IN_TRANS). Ends with an answer that says it is not.
    Transaction,
    /// autocommit is off, and a statement has begun a transaction, or left what lasts as long as one. Ends as above, or with a
    /// COMMIT or ROLLBACK.
    AutocommitOff,
    /// An error came where a transaction may have begun or ended: errors carry no status flags. Ends with the next answer
    /// that does.
    TransactionUnknown,
    /// SET TRANSACTION for the next transaction. Ends when a transaction was seen to begin and end.
    NextTransaction,
    /// An XA transaction. Ends with XA COMMIT, XA ROLLBACK or a detached XA PREPARE.
    Xa,
    /// A temporary table may exist. DROP does not prove that none is left. Ends with a reset.
    TemporaryTable,
    /// LOCK TABLES, FLUSH TABLES WITH READ LOCK or FOR EXPORT. Ends with UNLOCK TABLES.
    LockTables,
    /// MySQL's LOCK INSTANCE. Ends with UNLOCK INSTANCE.
    InstanceLock,
    /// MariaDB's BACKUP LOCK. Ends with BACKUP UNLOCK.
    BackupLock,
    /// MariaDB's BACKUP STAGE. Ends with BACKUP STAGE END.
    BackupStage,
    /// GET_LOCK(). Ends with RELEASE_ALL_LOCKS(), or a reset.
    UserLock,
    /// HANDLER ... OPEN. Ends with a reset.
    Handler,
    /// PREPARE: the name belongs to the connection. Ends with a reset.
    SqlPrepare,
    /// A user variable has a value that is not known here (`:=`, SELECT INTO, an expression). Ends when it was read back
    /// ([`crate::Unread`]), or with a reset.
    UserVariable,
    /// A system variable that is not moved was set. Ends with a reset.
    UntrackedVariable,
    /// The state could not be read back yet. Ends when it was.
    StateUnknown,
    /// A role was set. A reset keeps it; only COM_CHANGE_USER ends it.
    Role,
    /// A cursor is open. Ends when its last row was fetched, or the statement is reset or closed.
    Cursor,
    /// COM_STMT_SEND_LONG_DATA went to the connection, and the execution has not come. Ends with it, or a reset of the statement.
    LongData,
    /// LOAD DATA runs. Ends with its answer.
    LoadData,
    /// CALL, or a function that may change the session. Ends with a reset.
    Procedure,
    /// A statement that is not known. Ends with a reset.
    UnknownStatement,
    /// FLUSH, RESET, SET PASSWORD, replication and other matters of the server. Ends with a reset.
    Admin,
    /// MariaDB: LASTVAL() of a sequence is remembered for each connection. Ends with a reset.
    Sequence,
    /// One of several statements of a packet failed: which of them ran is not known. Ends with a reset.
    MultiStatement,
    /// SQL_CALC_FOUND_ROWS, and the value was not read. Ends with the next statement that sets it.
    FoundRows,
    /// A statement changed more rows than ROW_COUNT() can be made to show elsewhere. Ends with the next statement.
    RowCount,
    /// The last statement left warnings or an error, which SHOW WARNINGS may ask for. Ends with the next statement that
    /// clears them.
    Warnings,
    /// CONNECTION_ID() was told to the client. Ends with a reset.
    ConnectionId,
    /// The binary log is streamed. Ends with the connection.
    Replication,
    /// Connections are not shared: the configuration says so for this user. Ends with the connection.
    SessionMode,
}

impl PinReason {
    /// Every reason, in the order of their discriminants.
    pub const ALL: [Self; 31] = [
        Self::Transaction,
        Self::AutocommitOff,
        Self::TransactionUnknown,
        Self::NextTransaction,
        Self::Xa,
        Self::TemporaryTable,
        Self::LockTables,
        Self::InstanceLock,
        Self::BackupLock,
        Self::BackupStage,
        Self::UserLock,
        Self::Handler,
        Self::SqlPrepare,
        Self::UserVariable,
        Self::UntrackedVariable,
        Self::StateUnknown,
        Self::Role,
        Self::Cursor,
        Self::LongData,
        Self::LoadData,
        Self::Procedure,
        Self::UnknownStatement,
        Self::Admin,
        Self::Sequence,
        Self::MultiStatement,
        Self::FoundRows,
        Self::RowCount,
        Self::Warnings,
        Self::ConnectionId,
        Self::Replication,
        Self::SessionMode,
    ];

    /// The name used in logs, metrics and `SHOW WEIR SESSION`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::AutocommitOff => "autocommit_off",
            Self::TransactionUnknown => "transaction_unknown",
            Self::NextTransaction => "next_transaction",
            Self::Xa => "xa",
            Self::TemporaryTable => "temporary_table",
            Self::LockTables => "lock_tables",
            Self::InstanceLock => "instance_lock",
            Self::BackupLock => "backup_lock",
            Self::BackupStage => "backup_stage",
            Self::UserLock => "user_lock",
            Self::Handler => "handler",
            Self::SqlPrepare => "sql_prepare",
            Self::UserVariable => "user_variable",
            Self::UntrackedVariable => "untracked_variable",
            Self::StateUnknown => "state_unknown",
            Self::Role => "role",
            Self::Cursor => "cursor",
            Self::LongData => "long_data",
            Self::LoadData => "load_data",
            Self::Procedure => "procedure",
            Self::UnknownStatement => "unknown_statement",
            Self::Admin => "admin",
            Self::Sequence => "sequence",
            Self::MultiStatement => "multi_statement",
            Self::FoundRows => "found_rows",
            Self::RowCount => "row_count",
            Self::Warnings => "warnings",
            Self::ConnectionId => "connection_id",
            Self::Replication => "replication",
            Self::SessionMode => "session_mode",
        }
    }
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PinSet(u32);

impl PinSet {
    pub const EMPTY: Self = Self(0);

    /// What a reset (COM_RESET_CONNECTION) does not end.
    const SURVIVES_RESET: Self = Self::of(&[PinReason::Role, PinReason::Replication, PinReason::SessionMode]);
    /// What COM_CHANGE_USER does not end.
    const SURVIVES_CHANGE_USER: Self = Self::of(&[PinReason::Replication, PinReason::SessionMode]);
    /// What the flags of an answer decide.
    const BY_STATUS: Self =
        Self::of(&[PinReason::Transaction, PinReason::AutocommitOff, PinReason::TransactionUnknown]);
    /// What lasts for one statement.
    const STATEMENT: Self = Self::of(&[PinReason::LoadData]);
    /// What is left of the last statement: [`crate::Leftovers::holds`] decides.
    pub(crate) const LEFTOVERS: Self =
        Self::of(&[PinReason::FoundRows, PinReason::RowCount, PinReason::Warnings]);

    /// The set of these reasons.
    pub const fn of(reasons: &[PinReason]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < reasons.len() {
            bits |= 1 << reasons[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    pub fn contains(self, reason: PinReason) -> bool {
        self.0 >> reason as u32 & 1 != 0
    }

    pub fn insert(&mut self, reason: PinReason) {
        self.0 |= 1 << reason as u32;
    }

    pub fn remove(&mut self, reason: PinReason) {
        self.0 &= !(1 << reason as u32);
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Bit `n` is the reason with that number.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The reasons of these bits; those that are none are left out by [`Self::iter`].
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = PinReason> {
        PinReason::ALL.into_iter().filter(move |reason| self.contains(*reason))
    }
}

impl From<PinReason> for PinSet {
    fn from(reason: PinReason) -> Self {
        Self::of(&[reason])
    }
}

impl fmt::Display for PinSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, reason) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            f.write_str(reason.as_str())?;
        }
        Ok(())
    }
}

/// The pins of a session.
///
/// A pin is set when a statement is sent, for what it may do is done whatever is heard of it; it ends where that is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pins {
    set: PinSet,
    /// SET TRANSACTION was followed by a transaction that has not ended.
    next_begun: bool,
    /// The last flags said that autocommit is off: any statement may begin a transaction.
    autocommit_off: bool,
    /// Something lasts until the transaction ends, though none is said to be open: see [`Statement::lingers`].
    lingers: bool,
}

impl Pins {
    /// Whether the connection can be given to somebody else between two statements.
    pub fn is_free(self) -> bool {
        self.set.is_empty()
    }

    /// The reasons; [`PinSet`] displays them separated by commas.
    pub fn why(self) -> PinSet {
        self.set
    }

    /// A statement is about to be sent.
    pub fn begin(&mut self, statement: &Statement<'_>) {
        self.set = self.set.union(statement.pins.without(PinSet::LEFTOVERS));
        if statement.pins.contains(PinReason::NextTransaction) {
            self.next_begun = false;
        }
    }

    /// Its last answer has come.
    pub fn end(&mut self, statement: &Statement<'_>, outcome: Outcome) {
        self.set = self.set.without(PinSet::STATEMENT);
        match outcome.status() {
            Some(flags) => {
                self.set = self.set.without(statement.ends);
                self.lingers &= !statement.ends_transaction;
                self.status(flags);
                if statement.lingers && flags & (status::AUTOCOMMIT | status::IN_TRANS) == 0 {
                    self.lingers = true;
                    self.set.insert(PinReason::AutocommitOff);
                }
            }
            None if (statement.may_begin && !statement.only_commits)
                || self.autocommit_off
                || self.in_transaction() =>
            {
                self.set.insert(PinReason::TransactionUnknown);
                self.lingers |= statement.lingers && self.autocommit_off;
            }
            None => {}
        }
    }

    /// Takes in the status flags of an answer.
    pub fn status(&mut self, flags: u16) {
        let was_in = self.in_transaction();
        self.autocommit_off = flags & status::AUTOCOMMIT == 0;
        self.set = self.set.without(PinSet::BY_STATUS);
        self.lingers &= flags & (status::AUTOCOMMIT | status::IN_TRANS) == 0;
        if self.lingers {
            self.set.insert(PinReason::AutocommitOff);
        }
        if flags & status::IN_TRANS != 0 {
            let off = self.autocommit_off;
            self.set.insert(if off { PinReason::AutocommitOff } else { PinReason::Transaction });
            self.next_begun |= self.set.contains(PinReason::NextTransaction) && !was_in;
        } else if self.next_begun {
            self.next_begun = false;
            self.set.remove(PinReason::NextTransaction);
        }
    }

    /// Takes in what is left of the last statement ([`crate::Leftovers::holds`]): the pins found_rows, row_count and
    /// warnings are these and no others.
    pub fn hold(&mut self, leftovers: PinSet) {
        self.set = self.set.without(PinSet::LEFTOVERS).union(leftovers);
    }

    /// Sets or ends a pin that follows something counted elsewhere: cursors, long data, state read back.
    pub fn level(&mut self, reason: PinReason, on: bool) {
        if on { self.set.insert(reason) } else { self.set.remove(reason) }
    }

    /// Adds what [`crate::State::learn`] could not hold.
    pub fn add(&mut self, pins: PinSet) {
        self.set = self.set.union(pins);
    }

    /// COM_RESET_CONNECTION was answered with OK.
    pub fn reset(&mut self) {
        self.keep(PinSet::SURVIVES_RESET);
    }

    /// COM_CHANGE_USER was answered with OK.
    pub fn changed_user(&mut self) {
        self.keep(PinSet::SURVIVES_CHANGE_USER);
    }

    fn in_transaction(self) -> bool {
        !self.set.without(self.set.without(PinSet::BY_STATUS)).is_empty()
    }

    fn keep(&mut self, kept: PinSet) {
        self.set = self.set.without(self.set.without(kept));
        (self.next_begun, self.lingers) = (false, false);
    }
}

#[cfg(test)]
mod tests;
