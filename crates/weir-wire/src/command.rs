//! Commands: the first byte of a request, and the shape of what answers it.

pub const SLEEP: u8 = 0x00;
pub const QUIT: u8 = 0x01;
pub const INIT_DB: u8 = 0x02;
pub const QUERY: u8 = 0x03;
pub const FIELD_LIST: u8 = 0x04;
pub const CREATE_DB: u8 = 0x05;
pub const DROP_DB: u8 = 0x06;
pub const REFRESH: u8 = 0x07;
pub const SHUTDOWN: u8 = 0x08;
pub const STATISTICS: u8 = 0x09;
pub const PROCESS_INFO: u8 = 0x0A;
pub const CONNECT: u8 = 0x0B;
pub const PROCESS_KILL: u8 = 0x0C;
pub const DEBUG: u8 = 0x0D;
pub const PING: u8 = 0x0E;
pub const TIME: u8 = 0x0F;
pub const DELAYED_INSERT: u8 = 0x10;
pub const CHANGE_USER: u8 = 0x11;
pub const BINLOG_DUMP: u8 = 0x12;
pub const TABLE_DUMP: u8 = 0x13;
pub const CONNECT_OUT: u8 = 0x14;
pub const REGISTER_SLAVE: u8 = 0x15;
pub const STMT_PREPARE: u8 = 0x16;
pub const STMT_EXECUTE: u8 = 0x17;
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
pub const STMT_CLOSE: u8 = 0x19;
pub const STMT_RESET: u8 = 0x1A;
pub const SET_OPTION: u8 = 0x1B;
pub const STMT_FETCH: u8 = 0x1C;
pub const DAEMON: u8 = 0x1D;
pub const BINLOG_DUMP_GTID: u8 = 0x1E;
pub const RESET_CONNECTION: u8 = 0x1F;
/// MySQL: hands the connection to the clone protocol.
pub const CLONE: u8 = 0x20;
/// MySQL: hands the connection to group replication.
pub const SUBSCRIBE_GROUP_REPLICATION_STREAM: u8 = 0x21;
/// MariaDB: execute a statement for many rows of parameters.
pub const STMT_BULK_EXECUTE: u8 = 0xFA;

/// The shape of the answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No answer at all.
    None,
    /// One packet: OK, ERR or EOF.
    Single,
    /// One packet of text, or ERR (COM_STATISTICS).
    Text,
    /// OK, ERR, a request for a local file, or result sets, as many as announced.
    Query,
    /// COM_STMT_PREPARE's answer.
    Prepare,
    /// Rows without column definitions, up to EOF.
    Rows,
    /// Column definitions without a count, up to EOF (COM_FIELD_LIST).
    Fields,
    /// An endless stream of events.
    Binlog,
    /// The rest of an authentication exchange.
    Auth,
}

/// The shape of what a server answers to `command`. Commands that no server knows are answered with one ERR.
pub fn shape(command: u8) -> Shape {
    match command {
        QUIT | STMT_CLOSE | STMT_SEND_LONG_DATA => Shape::None,
        QUERY | STMT_EXECUTE | PROCESS_INFO | STMT_BULK_EXECUTE => Shape::Query,
        FIELD_LIST => Shape::Fields,
        STATISTICS => Shape::Text,
        STMT_PREPARE => Shape::Prepare,
        STMT_FETCH => Shape::Rows,
        BINLOG_DUMP | BINLOG_DUMP_GTID | TABLE_DUMP => Shape::Binlog,
        CHANGE_USER => Shape::Auth,
        _ => Shape::Single,
    }
}

/// Whether a command streams or asks for the binary log, which Weir allows to listed replication users only.
pub fn is_replication(command: u8) -> bool {
    matches!(command, BINLOG_DUMP | BINLOG_DUMP_GTID | TABLE_DUMP | REGISTER_SLAVE)
}

/// The name in the MySQL manual (`Com_...`), for logs and metrics.
pub fn name(command: u8) -> &'static str {
    match command {
        QUIT => "quit",
        INIT_DB => "init_db",
        QUERY => "query",
        FIELD_LIST => "field_list",
        REFRESH => "refresh",
        SHUTDOWN => "shutdown",
        STATISTICS => "statistics",
        PROCESS_INFO => "process_info",
        PROCESS_KILL => "process_kill",
        DEBUG => "debug",
        PING => "ping",
        CHANGE_USER => "change_user",
        BINLOG_DUMP => "binlog_dump",
        REGISTER_SLAVE => "register_slave",
        STMT_PREPARE => "stmt_prepare",
        STMT_EXECUTE => "stmt_execute",
        STMT_SEND_LONG_DATA => "stmt_send_long_data",
        STMT_CLOSE => "stmt_close",
        STMT_RESET => "stmt_reset",
        SET_OPTION => "set_option",
        STMT_FETCH => "stmt_fetch",
        BINLOG_DUMP_GTID => "binlog_dump_gtid",
        RESET_CONNECTION => "reset_connection",
        STMT_BULK_EXECUTE => "stmt_bulk_execute",
        _ => "other",
    }
}
