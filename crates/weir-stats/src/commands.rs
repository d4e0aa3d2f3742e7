/// One counter for each command byte up to COM_SUBSCRIBE_GROUP_REPLICATION_STREAM, one for MariaDB's
/// COM_STMT_BULK_EXECUTE, one for all others.
const SLOTS: usize = NAMES.len();

const BULK_EXECUTE: u8 = 0xfa;
const OTHER: usize = SLOTS - 1;

/// Spelled as the Command column of SHOW PROCESSLIST spells them (MySQL manual, "Thread Command Values").
const NAMES: [&str; 36] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Time",
    "Delayed insert",
    "Change user",
    "Binlog Dump",
    "Table Dump",
    "Connect Out",
    "Register Replica",
    "Prepare",
    "Execute",
    "Long Data",
    "Close stmt",
    "Reset stmt",
    "Set option",
    "Fetch",
    "Daemon",
    "Binlog Dump GTID",
    "Reset Connection",
    "Clone",
    "Group Replication Data Stream subscription",
    "Bulk execute",
    "Other",
];

/// One value for each command.
#[derive(Debug, Clone)]
pub(crate) struct PerCommand<T>(pub(crate) [T; SLOTS]);

impl<T: Default> Default for PerCommand<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

/// The name of a command byte, as in SHOW PROCESSLIST; "Other" for a byte that is no command.
pub fn command_name(command: u8) -> &'static str {
    NAMES[slot(command)]
}

pub(crate) fn slot(command: u8) -> usize {
    match command {
        BULK_EXECUTE => OTHER - 1,
        c if usize::from(c) < OTHER - 1 => usize::from(c),
        _ => OTHER,
    }
}

pub(crate) fn slot_name(slot: usize) -> &'static str {
    NAMES[slot]
}
