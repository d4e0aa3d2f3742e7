/// What a statement is, as far as its text tells. Ordered by [`strength`](StatementKind::strength).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum StatementKind {
    /// SELECT, WITH ... SELECT, TABLE, VALUES, SHOW, DESCRIBE, EXPLAIN, HELP, DO, or nothing but comments.
    ///
    /// The promise: to kill it loses nothing that its user would miss. Its text writes no table, file or
    /// variable, takes no lock that outlives it, starts nothing, and calls only functions that are built into
    /// both families and change nothing. What the text cannot show stays possible: a view may call a stored
    /// function that writes; the server undoes such a write when the statement is killed.
    /// It is no promise that the answer depends on the data alone: `NOW()`, `@v` and `SLEEP(1)` are reads.
    Read,
    /// USE.
    Use,
    /// SET of variables, roles, names, transaction characteristics.
    Set,
    /// BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, RELEASE SAVEPOINT.
    TransactionControl,
    /// LOCK and UNLOCK TABLES or INSTANCE, BACKUP LOCK and STAGE.
    Lock,
    /// KILL in any form; [`parse_kill`](crate::parse_kill) reads the common ones.
    Kill,
    /// INSERT, UPDATE, DELETE, REPLACE, EXPLAIN ANALYZE of these; a SELECT that locks rows (`FOR UPDATE`,
    /// `FOR SHARE`, `LOCK IN SHARE MODE`), sets variables (`:=`, `INTO @v`) or writes a file (`INTO OUTFILE`).
    Write,
    /// LOAD DATA, LOAD XML.
    Load,
    /// CREATE, ALTER, DROP, RENAME, TRUNCATE of anything, IMPORT TABLE.
    Ddl,
    /// Statements about the server, accounts and replication, and table maintenance.
    Admin,
    /// CALL: what it runs cannot be told.
    Call,
    /// PREPARE, EXECUTE, DEALLOCATE PREPARE, DROP PREPARE, EXECUTE IMMEDIATE: what runs cannot be told.
    PrepareText,
    /// XA transactions.
    Xa,
    /// Everything else, and whatever is in doubt: the most careful class.
    Other,
}

impl StatementKind {
    /// Every kind, the weakest first.
    pub const ALL: [Self; 14] = [
        Self::Read,
        Self::Use,
        Self::Set,
        Self::TransactionControl,
        Self::Lock,
        Self::Kill,
        Self::Write,
        Self::Load,
        Self::Ddl,
        Self::Admin,
        Self::Call,
        Self::PrepareText,
        Self::Xa,
        Self::Other,
    ];

    /// How much care it asks for, 0 (`Read`) to 13 (`Other`). The strongest statement stands for a packet; to
    /// know whether a weaker one is in it, ask the [`KindSet`].
    pub fn strength(self) -> u8 {
        self as u8
    }

    /// The name used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Use => "use",
            Self::Set => "set",
            Self::TransactionControl => "transaction_control",
            Self::Lock => "lock",
            Self::Kill => "kill",
            Self::Write => "write",
            Self::Load => "load",
            Self::Ddl => "ddl",
            Self::Admin => "admin",
            Self::Call => "call",
            Self::PrepareText => "prepare_text",
            Self::Xa => "xa",
            Self::Other => "other",
        }
    }
}

/// The kinds of all statements of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KindSet(u16);

impl KindSet {
    pub fn contains(self, kind: StatementKind) -> bool {
        self.0 & 1 << kind.strength() != 0
    }

    pub(crate) fn insert(&mut self, kind: StatementKind) {
        self.0 |= 1 << kind.strength();
    }
}
