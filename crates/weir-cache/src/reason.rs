//! Closed lists of reasons: the same words stand in counters, logs, the API and the documentation.

macro_rules! reasons {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$inner])* $variant,)*
        }

        impl $name {
            /// All of them, in the order in which they are counted and shown.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

reasons! {
    /// Why a statement's answer is neither taken from the cache nor stored.
    Refusal {
        /// No rule names the statement. Never counted, for there is no rule to count it for; it keeps its place as the first, by which
        /// histories name the others.
        NoRule = "no_rule",
        /// The rule says `mode = "off"`, or its TTL is 0.
        RuleOff = "rule_off",
        /// `/*nocache*/` or SQL_NO_CACHE.
        Bypass = "bypass",
        /// It is not one SELECT, WITH ... SELECT, TABLE or VALUES.
        NotARead = "not_a_read",
        /// More than one statement in a packet.
        MultiStatement = "multi_statement",
        /// What it is cannot be told.
        Unknown = "unknown",
        /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
        LockingRead = "locking_read",
        /// SELECT ... INTO.
        Into = "into",
        /// Its answer depends on time, chance, the connection or the account.
        NondeterministicFunction = "nondeterministic_function",
        /// A TIME, by its text, a parameter or a column: servers complete it with the current date where they need one.
        TimeValue = "time_value",
        /// A stored or loadable function, of which nothing is known.
        StoredFunction = "stored_function",
        /// `@name`.
        UserVariable = "user_variable",
        /// `@@name`.
        SystemVariable = "system_variable",
        /// It asks for what the statement before left: FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID().
        SessionFunction = "session_function",
        /// A schema of the server's own: information_schema, performance_schema, mysql, sys.
        SystemSchema = "system_schema",
        /// The session has temporary tables.
        TemporaryTable = "temporary_table",
        /// The session holds LOCK TABLES.
        LockedTables = "locked_tables",
        /// A transaction is open, or autocommit is off.
        InTransaction = "in_transaction",
        /// The session's state is not fully known.
        SessionUnknown = "session_unknown",
        /// It reads a view that may not be cached.
        View = "view",
        /// A name in it could not be resolved at the server.
        Unresolved = "unresolved",
        /// The statement is executed with a cursor.
        Cursor = "cursor",
        /// The client may not read it, or it is not known that it may.
        NotGranted = "not_granted",
        /// The answer, or the key, is larger than an entry may be.
        TooLarge = "too_large",
        /// It gave warnings, and the list of them could not be had.
        Warnings = "warnings",
        /// The value of FOUND_ROWS() could not be had.
        FoundRows = "found_rows",
        /// The server's answer says that the session changed.
        SessionChanged = "session_changed",
        /// The answer is an error.
        Error = "error",
        /// The answer has more than one result.
        MoreResults = "more_results",
        /// The answer did not come to its end.
        Cut = "cut",
        /// Its like are seldom asked for again, and this is its first asking of late.
        SeldomAskedAgain = "seldom_asked_again",
    }
}

reasons! {
    /// Why an answer that was to be stored was not.
    DropReason {
        /// What covers it was wiped since the server was asked.
        Wiped = "wiped",
        /// The server answered with an error.
        Error = "error",
        /// The answer did not come to its end.
        Cut = "cut",
        /// Whoever asked has gone.
        Abandoned = "abandoned",
        /// It is larger than an entry may be.
        TooLarge = "too_large",
        /// It may not be cached, which only the answer showed.
        NotCacheable = "not_cacheable",
        /// The server took longer than the answer may be used.
        Outlived = "outlived",
        /// So much is stored for its user already as may be, and nothing of that was found soon that could make room.
        UserMemory = "user_memory",
        /// A newer answer is stored already.
        Superseded = "superseded",
    }
}

impl DropReason {
    /// Whether the next who asks can expect better. If not, who waits is told to ask by itself.
    pub(crate) fn may_pass(self) -> bool {
        matches!(self, Self::Wiped | Self::Error | Self::Cut | Self::Abandoned)
    }
}
