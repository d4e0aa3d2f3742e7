use super::*;
use crate::facts::with_statement;
use weir_model::ServerFamily;
use weir_sql::{CharsetClass, LexMode};

fn replay(sql: &str) -> Replay {
    let mode = LexMode {
        family: ServerFamily::MariaDb,
        server_version: 101_119,
        ansi_quotes: false,
        no_backslash_escapes: false,
        charset: CharsetClass::from_collation_id(45),
    };
    let facts = Facts::of(sql.as_bytes(), mode, true);
    with_statement(&facts, sql.as_bytes(), |statement| Replay::of(&facts, sql.as_bytes(), statement))
}

#[test]
fn what_only_sets_and_shows_tracked_variables_is_answered_alike() {
    for sql in [
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'",
        "SET SESSION sql_mode='NO_ZERO_IN_DATE,NO_ZERO_DATE'",
        "set time_zone = '+01:00', @@session.sql_mode = ''",
        "SET autocommit=1",
        "SET transaction_isolation = 'SERIALIZABLE'",
        "SELECT @@SESSION.sql_mode",
        " select @@sql_mode , @@local.time_zone ",
        "SELECT @@session.tx_isolation",
    ] {
        assert_eq!(replay(sql), Replay::Always, "{sql}");
    }
    for sql in ["USE app", "SET max_error_count = 5", "SET sql_mode='', min_examined_row_limit=1"] {
        assert_eq!(replay(sql), Replay::WhilePermitted, "{sql}");
    }
}

#[test]
fn what_hangs_on_anything_else_is_asked_each_time() {
    for sql in [
        "SELECT 1",
        "SELECT @@SESSION.sql_mode, 1",
        "SELECT @@SESSION.sql_mode FROM t",
        "SELECT @@SESSION.sql_mode LIMIT 1",
        "SELECT @@SESSION.timestamp",
        "SELECT @@GLOBAL.sql_mode",
        "SELECT @@hostname",
        "SELECT @@sql_mode /*weir: fresh*/",
        "SELECT @@sql_mode; SELECT 1",
        "SELECT @u",
        "SELECTx @@sql_mode",
        "SET @u = 1",
        "SET sql_mode = DEFAULT",
        "SET sql_mode = @@GLOBAL.sql_mode",
        "SET sql_mode = CONCAT(@@sql_mode, '')",
        "SET GLOBAL sql_mode = ''",
        "SET NAMES DEFAULT",
        "SET CHARACTER SET utf8mb4",
        "SET sql_mode = '', timestamp = 1",
        "SET @@transaction_isolation = 'SERIALIZABLE'",
        "SET SESSION TRANSACTION READ ONLY, sql_mode = 1 + 1",
        "SET session_track_schema = 1",
        "SET STATEMENT sql_mode = '' FOR SELECT 1",
        "SET last_insert_id = 4",
        "SET PASSWORD = 'x'",
        "SET ROLE NONE",
        "INSERT INTO t VALUES (1)",
        "BEGIN",
        "",
    ] {
        assert_eq!(replay(sql), Replay::Never, "{sql}");
    }
}
