//! Session variables, user variables, character sets.

use super::{Action, Class, Session};

/// Assignments that a session may make; some are refused, by one server or by both.
const ASSIGNMENTS: &[&str] = &[
    "sql_mode = ''",
    "sql_mode = 'ANSI_QUOTES'",
    "sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "sql_mode = 'PIPES_AS_CONCAT,IGNORE_SPACE'",
    "sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'",
    "sql_mode = 'ANSI,TRADITIONAL'",
    "sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')",
    "sql_mode = DEFAULT",
    "SESSION sql_mode = 'NONSENSE'",
    "time_zone = '+02:00'",
    "time_zone = '-11:30'",
    "time_zone = 'SYSTEM'",
    "time_zone = 'Nowhere/Land'",
    "@@session.time_zone = DEFAULT",
    "lc_time_names = 'de_DE'",
    "lc_time_names = DEFAULT",
    "lc_messages = 'en_US'",
    "group_concat_max_len = 10",
    "group_concat_max_len = DEFAULT",
    "sql_select_limit = 3",
    "sql_select_limit = DEFAULT",
    "div_precision_increment = 8",
    "LOCAL div_precision_increment = DEFAULT",
    "max_sort_length = 64",
    "default_week_format = 3",
    "foreign_key_checks = 0, unique_checks = 0",
    "foreign_key_checks = 1, unique_checks = 1",
    "sql_safe_updates = 1",
    "sql_safe_updates = 0",
    "sql_auto_is_null = 1",
    "sql_auto_is_null = 0",
    "big_tables = 0, max_join_size = 1000000",
    "max_join_size = DEFAULT",
    "timestamp = 1700000000.25",
    "timestamp = DEFAULT",
    "insert_id = 5000",
    "last_insert_id = 77",
    "rand_seed1 = 10, rand_seed2 = 20",
    "autocommit = 1",
    "autocommit = ON, @x = 5",
    "@y = (SELECT MAX(d) FROM dig), sql_big_selects = 1",
    "optimizer_switch = 'index_merge=off'",
    "optimizer_switch = DEFAULT",
    "wait_timeout = 3600, interactive_timeout = 3600",
    "net_write_timeout = 100",
    "lock_wait_timeout = 20",
    "innodb_lock_wait_timeout = 5",
    "max_error_count = 3",
    "max_error_count = DEFAULT",
    "sql_warnings = ON",
    "sql_quote_show_create = 0",
    "sql_quote_show_create = 1",
    "updatable_views_with_limit = NO",
    "transaction_isolation = 'READ-COMMITTED'",
    "tx_isolation = 'REPEATABLE-READ'",
    "transaction_isolation = DEFAULT",
    "no_such_variable = 1",
    "version = 'mine'",
    "max_allowed_packet = 1024",
    "sql_mode = 12345678901234567890",
    "autocommit = 'maybe'",
    "ROLE NONE",
    "session_track_system_variables = '*'",
    "session_track_system_variables = 'time_zone,sql_mode,autocommit'",
    "session_track_schema = OFF",
    "session_track_schema = ON",
    "session_track_state_change = ON",
    "session_track_state_change = OFF",
    "session_track_transaction_info = 'CHARACTERISTICS'",
    "session_track_transaction_info = 'STATE'",
    "session_track_transaction_info = 'OFF'",
];

const READS: &[&str] = &[
    "SELECT @@sql_mode, @@time_zone, @@session.sql_select_limit",
    "SELECT @@div_precision_increment, 1/7, @@group_concat_max_len, GROUP_CONCAT(d) FROM dig",
    "SELECT NOW(), CURDATE() FROM dig WHERE @@timestamp = 1700000000.25 LIMIT 1",
    "SELECT FROM_UNIXTIME(86400 * 365), DATE_FORMAT('2024-03-05', '%W %M')",
    "SELECT \"id\" FROM t ORDER BY id LIMIT 2",
    "SELECT 'a' || 'b', 'it\\'s', 'c\\\\d'",
    "SELECT WEEK('2024-01-01'), RAND() > -1",
    "SELECT @@autocommit, @@session.foreign_key_checks, @@unique_checks, @@sql_safe_updates",
    "SELECT COUNT (*) FROM t",
    "SELECT id, v FROM t ORDER BY id",
    "UPDATE t SET n = n + 1",
    "SELECT @@no_such_variable",
    "SELECT @@global.max_allowed_packet > 0, @@SESSION.time_zone",
    "INSERT INTO k VALUES (1, 'a-much-longer-string-than-the-column-holds')",
];

pub(super) fn session_variables(s: &mut Session) {
    s.class(Class::SessionVariables);
    let assignment = s.rng.pick(ASSIGNMENTS).to_owned();
    match s.rng.below(8) {
        0 => s.q(format!("/* why */ SET {assignment}")),
        1 => s.q(format!("/*!50000 SET {assignment} */")),
        2 => s.q(format!("set/**/{assignment} -- done")),
        3 if s.maria() => s.q(
            "SET STATEMENT group_concat_max_len = 4 FOR SELECT GROUP_CONCAT(d), @@max_sort_length FROM dig",
        ),
        3 => s.q("SELECT /*+ SET_VAR(group_concat_max_len = 4) */ GROUP_CONCAT(d) FROM dig"),
        _ => s.q(format!("SET {assignment}")),
    }
    s.stray();
    s.one_of(READS);
    if s.rng.one_in(2) {
        s.q("SET sql_mode = DEFAULT, sql_select_limit = DEFAULT, sql_safe_updates = 0, sql_auto_is_null = 0");
    }
}

pub(super) fn user_variables(s: &mut Session) {
    s.class(Class::UserVariables);
    let (n, word) = (s.small(), s.word());
    match s.rng.below(12) {
        0 => s.q(format!("SET @x = {n}, @y := '{word}'")),
        // Read back: see `weir_session::Unread`.
        9 => s.one_of(COMPUTED),
        10 => s.q(format!("SET @x = IFNULL(@x, 0) + {n}, @y = CONCAT('{word}', {n})")),
        11 => s.q(format!("SELECT {n} / 3, UPPER('{word}') INTO @x, @z")),
        1 => s.q(format!("SELECT @x := {n} + 1")),
        2 => s.q("SELECT id, v INTO @x, @y FROM t ORDER BY id LIMIT 1"),
        3 => s.q("SELECT id INTO @x FROM t"),
        4 => s.q("UPDATE t SET n = (@x := @x + 1) WHERE id < 4 ORDER BY id"),
        5 => s.q(format!("SELECT fn({n}), @fn")),
        6 => s.q(format!("SET @`odd name` = _latin1'{word}' COLLATE latin1_bin")),
        7 => s.q("CALL pr_out(4, @x, @y)"),
        _ => s.q(format!("SET @x = {n}.50, @y = NULL, @z = x'616263', @w = 1e3")),
    }
    s.stray();
    s.one_of(&[
        "SELECT @x, @y, @z, @w, @fn",
        "SELECT @x + 1, CONCAT(@y, 'z'), @never_set",
        "SELECT @`odd name`, COLLATION(@`odd name`), @tr, @made",
        "SELECT @x IS NULL, @y LIKE '%a%'",
    ]);
}

/// Values of each type that no literal has.
const COMPUTED: &[&str] = &[
    "SET @x = CAST(5 AS UNSIGNED) + 1, @y = 10 / 4, @z = CAST(7 AS DECIMAL(20,0))",
    "SET @w = 1e0 / 3, @x = -1e0 * 0, @y = 2e0 + 2",
    "SET @y = CONVERT('caf' USING latin1) COLLATE latin1_german1_ci, @z = UNHEX('00FF27')",
    "SET @x = @@sql_mode, @y = @@character_set_results, @z = @@time_zone, @w = @@autocommit",
    "SET @x = DATE'2026-11-20', @y = CAST('12:30:00.25' AS TIME(2)), @z = JSON_OBJECT('a', 1)",
    "SET @x = IF(1 > 2, 1, NULL), @y = '' || 'x', @z = LAST_INSERT_ID()",
    "SELECT @x := 5, @y := CONCAT(@x, 'b')",
    "SELECT LAST_INSERT_ID(), DATABASE() INTO @x, @y",
    "SET @y = UPPER('na\u{ef}ve'), @x = 9223372036854775806 + 1, @z = -9223372036854775807 - 1",
];

/// Text as each character set writes it.
const SAMPLES: &[(&str, &[u8])] = &[
    ("latin1", b"caf\xe9 \xa4"),
    ("utf8mb4", "h\u{e9}llo \u{4e2d}\u{6587} \u{1f600}".as_bytes()),
    ("utf8mb3", "na\u{ef}ve \u{4e2d}".as_bytes()),
    ("gbk", b"\xd6\xd0\xce\xc4 \xbf\x5c x"),
    ("big5", b"\xa4\xa4 \xa5\x5c y"),
    ("sjis", b"\x83\x5c \x93\xfa"),
    ("cp1251", b"\xcf\xf0\xe8"),
    ("ascii", b"plain"),
    ("binary", b"\x00\xff\x27\x5c"),
    ("koi8r", b"\xf0\xd2"),
];

const NAMES: &[&str] = &[
    "SET NAMES {}",
    "SET NAMES '{}'",
    "SET CHARACTER SET {}",
    "SET character_set_results = {}",
    "SET character_set_client = {}, character_set_connection = {}",
    "SET character_set_results = NULL",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET NAMES {} COLLATE latin1_german1_ci",
    "SET NAMES DEFAULT",
    "SET collation_connection = latin1_general_ci",
    "SET NAMES ucs2",
    "SET NAMES nonsense",
];

pub(super) fn character_sets(s: &mut Session) {
    s.class(Class::CharacterSets);
    let (set, sample) = SAMPLES[s.rng.below(SAMPLES.len())];
    let names = s.rng.pick(NAMES).replace("{}", set);
    s.q(names);
    let mut literal = Vec::new();
    for byte in sample {
        match byte {
            b'\'' => literal.extend(b"''"),
            0 => literal.extend(b"\\0"),
            other => literal.push(*other),
        }
    }
    let quoted = |before: &str, after: &str| [before.as_bytes(), &literal, after.as_bytes()].concat();
    match s.rng.below(5) {
        0 => s.q(quoted("SELECT '", "' AS s, LENGTH('abc')")),
        1 => s.q(quoted("INSERT INTO cs (l, u, g, b) VALUES ('x', '", "', 'y', 'z')")),
        2 => s.q(quoted("SELECT '", "' COLLATE utf8mb4_bin")),
        3 => s.q(quoted("SELECT 1 AS `", "`")),
        _ => {
            let sql = quoted("SELECT ? , '", "'");
            let slot = s.slots;
            s.slots += 1;
            s.act(Action::Prepare { slot, sql: sql.into() });
            let params = vec![crate::client::command::Param::Bytes(sample.to_vec())];
            s.act(Action::Execute { slot, params, flags: 0, types: true });
            s.act(Action::Close { slot });
        }
    }
    s.one_of(&[
        "SELECT id, l, u, g, b FROM cs ORDER BY id DESC LIMIT 3",
        "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection",
        "SELECT _utf8mb4 x'e4b8ad', _gbk x'd6d0', _latin1 x'e9', CHARSET('a'), COLLATION('a')",
        "SELECT vc, HEX(vc) FROM types WHERE id = 1",
        "SELECT * FROM no_such_t\u{e4}ble",
    ]);
    if s.rng.one_in(2) {
        s.q("SET NAMES utf8mb4");
    }
}
