//! Sets of named reasons, each a few bits.

/// Declares an enum of reasons and the set of them.
macro_rules! reasons {
    ($(#[$enum_doc:meta])* $name:ident, $(#[$set_doc:meta])* $set:ident($bits:ty):
     $($(#[$doc:meta])* $variant:ident $text:literal)*) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in logs and metrics.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        $(#[$set_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set($bits);

        impl $set {
            pub const EMPTY: Self = Self(0);

            pub const fn of(members: &[$name]) -> Self {
                let mut bits = 0;
                let mut i = 0;
                while i < members.len() {
                    bits |= 1 << members[i] as $bits;
                    i += 1;
                }
                Self(bits)
            }

            pub const fn all() -> Self {
                Self::of($name::ALL)
            }

            pub fn is_empty(self) -> bool {
                self.0 == 0
            }

            pub fn contains(self, member: $name) -> bool {
                self.0 & 1 << member as $bits != 0
            }

            pub fn is_subset(self, other: Self) -> bool {
                self.0 & !other.0 == 0
            }

            pub fn insert(&mut self, member: $name) {
                self.0 |= 1 << member as $bits;
            }

            #[must_use]
            pub fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            #[must_use]
            pub fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            #[must_use]
            pub fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// The members in the order of their declaration.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                $name::ALL.iter().copied().filter(move |member| self.contains(*member))
            }
        }

        impl std::fmt::Debug for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }
    };
}

reasons! {
    /// Why a statement's session has to stay on the server connection that runs it.
    Pin,
    /// See [`Pin`].
    PinSet(u32):
    /// CREATE, ALTER or DROP TEMPORARY.
    TemporaryTable "temporary_table"
    /// LOCK TABLES, FLUSH TABLES WITH READ LOCK or FOR EXPORT. UNLOCK TABLES ends it.
    TableLock "table_lock"
    /// MySQL's LOCK INSTANCE. UNLOCK INSTANCE ends it.
    InstanceLock "instance_lock"
    /// MariaDB's BACKUP LOCK. BACKUP UNLOCK ends it.
    BackupLock "backup_lock"
    /// MariaDB's BACKUP STAGE. BACKUP STAGE END ends it.
    BackupStage "backup_stage"
    /// GET_LOCK() and RELEASE_LOCK(). A statement that is nothing but `SELECT` or `DO RELEASE_ALL_LOCKS()` ends it.
    UserLock "user_lock"
    /// HANDLER.
    Handler "handler"
    /// PREPARE, EXECUTE, DEALLOCATE PREPARE, EXECUTE IMMEDIATE: named statements belong to the connection, and
    /// what runs cannot be told.
    PreparedText "prepared_text"
    /// CALL.
    Call "call"
    /// A function that is not built into the server, or one that does more than compute.
    StoredFunction "stored_function"
    /// MariaDB's sequences: LASTVAL() remembers for each connection.
    Sequence "sequence"
    /// A user variable gets a value that the text does not show, or has a name that cannot be compared.
    ComputedVariable "computed_variable"
    /// SQL_CALC_FOUND_ROWS: FOUND_ROWS() tells more than the answer itself.
    FoundRows "found_rows"
    /// LAST_INSERT_ID(expr).
    SetsLastInsertId "sets_last_insert_id"
    /// XA transactions.
    Xa "xa"
    /// LOAD DATA, LOAD XML.
    LoadData "load_data"
    /// A compound statement outside of a stored program.
    Compound "compound"
    /// SET PASSWORD.
    Password "password"
    /// SET ROLE, SET DEFAULT ROLE.
    Role "role"
    /// SET RESOURCE GROUP.
    ResourceGroup "resource_group"
    /// KILL.
    Kill "kill"
    /// FLUSH, RESET, binary log, replication, plugins and other matters of the server.
    Admin "admin"
    /// Not understood. What else is told of the text may be incomplete.
    Unknown "unknown"
}

reasons! {
    /// What a statement leaves behind on its connection for the next one to ask.
    Leftover,
    /// See [`Leftover`].
    LeftoverSet(u8):
    /// LAST_INSERT_ID(), @@last_insert_id, @@identity, @@insert_id.
    LastInsertId "last_insert_id"
    /// ROW_COUNT().
    RowCount "row_count"
    /// FOUND_ROWS().
    FoundRows "found_rows"
    /// SHOW WARNINGS, SHOW ERRORS, SHOW COUNT(*), @@warning_count, @@error_count, GET DIAGNOSTICS, SHOW PROFILE.
    Diagnostics "diagnostics"
    /// CONNECTION_ID(), @@pseudo_thread_id, PS_CURRENT_THREAD_ID(); the seeds of RAND() in SHOW VARIABLES.
    ConnectionId "connection_id"
    /// SIGNAL and RESIGNAL, which make or change conditions of the diagnostics.
    Signal "signal"
    /// The counters of the connection: SHOW STATUS and the tables behind it.
    Status "status"
}
