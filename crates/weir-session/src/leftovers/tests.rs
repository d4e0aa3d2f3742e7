use super::*;

const MYSQL: Server = Server { family: ServerFamily::MySql, version: 90_704 };
const MARIADB: Server = Server { family: ServerFamily::MariaDb, version: 101_119 };
const BOTH: [Server; 2] = [MYSQL, MARIADB];
const OTHER: Place = Place::Other { insert_id: None };

fn ok(affected_rows: u64, insert_id: u64, warnings: u16) -> Outcome {
    Outcome::Ok { status: 2, affected_rows, insert_id, warnings }
}

fn rows(rows: u64) -> Outcome {
    Outcome::Rows { status: 2, rows, warnings: 0 }
}

const INSERT: Statement<'static> =
    Statement { insert_id: InsertId::Insert, found_rows: FoundRows::Kept, ..Statement::PLAIN };
const SELECT: Statement<'static> = Statement { found_rows: FoundRows::RowsSent, ..Statement::PLAIN };

fn left(history: &[(Statement<'static>, Outcome)]) -> Leftovers {
    let mut left = Leftovers::FRESH;
    history.iter().for_each(|(statement, outcome)| left.after(statement, *outcome));
    left
}

fn reading(reads: Reads) -> Statement<'static> {
    Statement { reads, ..Statement::PLAIN }
}

/// The texts that make anew what is read, separated by `;`.
fn made(left: &Leftovers, reads: Reads, server: Server) -> Result<String, Lost> {
    match left.next(&reading(reads), OTHER, server) {
        Next::Anywhere(steps) => {
            let texts = steps.iter().map(|s| match &s.send {
                Send::Query(text) => std::str::from_utf8(text).unwrap(),
                Send::InitDb(_) => panic!(),
            });
            Ok(texts.collect::<Vec<_>>().join(";"))
        }
        Next::Unavailable(lost) => Err(lost),
        Next::SameConnection => panic!(),
    }
}

#[test]
fn what_reads_nothing_runs_anywhere_and_what_reads_stays_if_it_can() {
    let left = left(&[(SELECT, rows(3))]);
    assert_eq!(left.next(&SELECT, OTHER, MYSQL), Next::Anywhere(vec![]));
    assert_eq!(left.next(&SELECT, Place::Untouched, MYSQL), Next::Anywhere(vec![]));
    assert_eq!(left.next(&reading(Reads::ALL), Place::Untouched, MYSQL), Next::SameConnection);
    assert!(left.holds(MYSQL).is_empty());
}

#[test]
fn p26_rows_of_a_cursor_are_not_counted_as_sent() {
    let status = status::AUTOCOMMIT | status::CURSOR_EXISTS;
    let mut left = left(&[(SELECT, rows(3))]);
    assert_eq!((left.found_rows(), left.owes()), (Some(3), Reads::NONE));
    left.after(&SELECT, Outcome::Rows { status, rows: 0, warnings: 0 });
    assert_eq!((left.found_rows(), left.owes()), (None, Reads::FOUND_ROWS));
}

#[test]
fn p26_an_insert_id_in_the_packet_is_not_last_insert_id() {
    let mut left = left(&[(INSERT, ok(1, 500, 0))]);
    assert_eq!((left.insert_id(), left.owes()), (None, Reads::LAST_INSERT_ID));
    assert_eq!(made(&left, Reads::LAST_INSERT_ID, MYSQL), Err(Lost::LastInsertId));
    assert!(!left.read_back(&[Some(b"77")]) && !left.read_back(&[None, Some(b"0")]));
    assert!(left.read_back(&[Some(b"77"), Some(b"9")]));
    assert_eq!(left.found_rows, Some(0), "what was known is not overwritten");
    let text = made(&left, Reads::LAST_INSERT_ID, MYSQL);
    assert_eq!(text.as_deref(), Ok("SET @@SESSION.last_insert_id=77"));
    let there = Place::Other { insert_id: Some(77) };
    assert_eq!(left.next(&reading(Reads::LAST_INSERT_ID), there, MYSQL), Next::Anywhere(vec![]));
}

#[test]
fn an_insert_begins_with_its_own_last_insert_id() {
    let mut left = left(&[(INSERT, ok(1, 0, 0))]);
    assert_eq!(left.insert_id(), Some(0), "no id was made");
    let Next::Anywhere(steps) = left.next(&INSERT, OTHER, MYSQL) else { panic!() };
    assert_eq!(steps, [step("SET @@SESSION.last_insert_id=0".to_owned(), false)]);
    left.after(&INSERT, Outcome::Err { code: 1062 });
    assert_eq!(left.insert_id(), None, "rows ahead of the error may have made ids");
    left.read_back(&[Some(b"5"), Some(b"0")]);
    left.after(&SELECT, rows(1));
    assert_eq!(left.insert_id(), Some(5));
    left.after(&Statement { insert_id: InsertId::Unknown, ..SELECT }, rows(1));
    assert_eq!(left.insert_id(), None);
}

#[test]
fn what_cannot_be_made_anew_holds_the_connection() {
    let holds = |history: &[_], server| left(history).holds(server).to_string();
    for server in BOTH {
        assert_eq!(holds(&[(INSERT, ok(1, 1, 0))], server), "");
        assert_eq!(holds(&[(INSERT, ok(2, 1, 0))], server), "row_count");
        assert_eq!(holds(&[(INSERT, ok(0, 0, 1))], server), "warnings");
        assert_eq!(holds(&[(SELECT, Outcome::Err { code: 1146 })], server), "warnings");
        assert_eq!(holds(&[(SELECT, rows(FOUND_ROWS_MAX))], server), "");
        assert_eq!(holds(&[(SELECT, rows(FOUND_ROWS_MAX + 1))], server), "found_rows");
        let calculated = Statement { pins: PinReason::FoundRows.into(), ..Statement::PLAIN };
        assert_eq!(holds(&[(calculated, rows(1))], server), "found_rows");
        // Reading it is not the end: FOUND_ROWS() is then that of the reading statement.
        assert_eq!(holds(&[(calculated, rows(1)), (SELECT, rows(1))], server), "");
        assert_eq!(holds(&[(INSERT, ok(2, 1, 1)), (SELECT, rows(1))], server), "");
    }
    let old = Server { version: 50_744, ..MYSQL };
    assert_eq!(holds(&[(SELECT, rows(2))], old), "found_rows");
    assert_eq!(holds(&[(Statement::PLAIN, rows(2))], old), "found_rows");
}

#[test]
fn announced_warnings_hold_until_a_statement_clears_them() {
    let mut left = Leftovers::FRESH;
    assert!(left.holds(MYSQL).is_empty());
    left.warned();
    assert_eq!(left.holds(MYSQL), PinReason::Warnings.into());
    left.after(&INSERT, ok(1, 0, 0));
    assert!(left.holds(MYSQL).is_empty());
}

#[test]
fn showing_warnings_keeps_them() {
    let show = Statement { keeps_diagnostics: true, reads: Reads::DIAGNOSTICS, ..INSERT };
    let left = left(&[(INSERT, ok(1, 0, 1)), (show, rows(1))]);
    assert_eq!(left.holds(MYSQL).to_string(), "warnings");
    assert_eq!(made(&left, Reads::DIAGNOSTICS, MYSQL), Err(Lost::Diagnostics));
}

/// `SET sql_mode='...'` on MySQL, which warns `warnings` times.
fn mode(text: &'static [u8], warnings: u16) -> Leftovers {
    let effects = [Effect::Variable { name: b"SQL_MODE", value: Assigned::Literal(text) }];
    let set = Statement { effects: &effects, found_rows: FoundRows::Kept, ..Statement::PLAIN };
    let mut left = left(&[(SELECT, rows(3))]);
    left.after(&set, ok(0, 0, warnings));
    left
}

#[test]
fn a_mode_that_is_warned_of_needs_no_connection() {
    const AGAIN: &str = "SET @@SESSION.sql_mode=@@SESSION.sql_mode";
    for text in [&b"NO_ZERO_DATE"[..], b"ansi,no_zero_in_date", b"ANSI_QUOTES,ERROR_FOR_DIVISION_BY_ZERO"] {
        let left = mode(text, 1);
        assert!(left.warns_anew() && left.holds(MYSQL).is_empty(), "{}", text.escape_ascii());
        assert_eq!(made(&left, Reads::DIAGNOSTICS, MYSQL).as_deref(), Ok(AGAIN));
        let both = Reads::DIAGNOSTICS.union(Reads::ROW_COUNT);
        assert_eq!(made(&left, both, MYSQL).as_deref(), Ok(AGAIN));
        let steps = made(&left, both.union(Reads::FOUND_ROWS), MYSQL).unwrap();
        assert!(steps.starts_with("SELECT SQL_CALC_FOUND_ROWS") && steps.ends_with(AGAIN), "{steps}");
    }
    // It is not that warning, or not that alone.
    for (text, warnings) in [
        (&b"NO_ZERO_DATE"[..], 2),
        (b"NO_ZERO_DATE,STRICT_ALL_TABLES", 1),
        (b"NO_ZERO_DATE,PAD_CHAR_TO_FULL_LENGTH", 1),
        (b"ANSI", 1),
        (b"4", 1),
    ] {
        let left = mode(text, warnings);
        assert_eq!(left.holds(MYSQL).to_string(), "warnings", "{}", text.escape_ascii());
        assert_eq!(made(&left, Reads::DIAGNOSTICS, MYSQL), Err(Lost::Diagnostics));
    }
    assert!(!mode(b"NO_ZERO_DATE", 0).warns_anew());
}

#[test]
fn what_comes_on_top_of_such_a_warning_finds_it_there() {
    let keeps = Statement { keeps_diagnostics: true, ..Statement::PLAIN };
    let mut left = mode(b"NO_ZERO_DATE", 1);
    assert_eq!((left.reads(&keeps), left.reads(&SELECT)), (Reads::DIAGNOSTICS, Reads::NONE));
    left.after_command(command::PING, true, MYSQL);
    assert!(left.warns_anew());
    for (command, succeeded) in [(command::INIT_DB, false), (command::FIELD_LIST, true)] {
        let mut left = left;
        left.after_command(command, succeeded, MYSQL);
        assert_eq!((left.warns_anew(), left.holds(MYSQL).to_string()), (false, "warnings".to_owned()));
        assert_eq!(left.reads(&keeps), Reads::NONE);
    }
    left.after_command(command::STMT_PREPARE, true, MYSQL);
    assert!(!left.warns_anew() && left.holds(MYSQL).is_empty());
}

#[test]
fn commands_without_a_statement_leave_what_the_server_leaves() {
    let after = |command, succeeded, server| {
        let mut left = left(&[(SELECT, Outcome::Rows { status: 2, rows: 3, warnings: 1 })]);
        left.read_back(&[Some(b"0"), Some(b"3")]);
        left.after_command(command, succeeded, server);
        (left.row_count(), left.found_rows(), left.holds(server).to_string())
    };
    let warned = |count| (count, Some(3), "warnings".to_owned());
    assert_eq!(after(command::PING, true, MYSQL), warned(0));
    assert_eq!(after(command::INIT_DB, false, MYSQL), warned(-1));
    assert_eq!(after(command::STATISTICS, true, MARIADB), warned(-1));
    assert_eq!(after(command::STMT_PREPARE, true, MARIADB), warned(-1));
    assert_eq!(after(command::STMT_PREPARE, true, MYSQL), (-1, Some(3), String::new()));
    assert_eq!(after(command::RESET_CONNECTION, true, MYSQL), (0, Some(3), String::new()));
}

#[test]
fn found_rows_are_those_sent_only_where_the_text_says_so() {
    let mut left = left(&[(Statement::PLAIN, rows(1))]);
    assert_eq!(left.owes(), Reads::FOUND_ROWS);
    assert_eq!(made(&left, Reads::FOUND_ROWS, MYSQL), Err(Lost::FoundRows));
    left.read_back(&[Some(b"0"), Some(b"12")]);
    assert!(made(&left, Reads::FOUND_ROWS, MYSQL).unwrap().contains("REPEAT(',0',11)"));
    left.after(&SELECT, Outcome::Err { code: 1317 });
    assert_eq!(left.owes(), Reads::FOUND_ROWS);
}

#[test]
fn each_sum_of_values_is_made_in_an_order_that_keeps_them() {
    let id = "SET @@SESSION.last_insert_id=0";
    let clean = "SET @@SESSION.last_insert_id=@@SESSION.last_insert_id";
    let none = left(&[(SELECT, rows(0))]);
    let three = left(&[(SELECT, rows(3))]);
    let set = left(&[(SELECT, rows(1)), (INSERT, ok(0, 0, 0))]);
    let one = left(&[(SELECT, rows(0)), (INSERT, ok(1, 0, 0))]);
    let both = Reads::ROW_COUNT.union(Reads::FOUND_ROWS);
    for server in BOTH {
        let made = |left: &Leftovers, reads| made(left, reads, server);
        assert_eq!(made(&none, both).as_deref(), Ok("SELECT 1 LIMIT 0"));
        // MariaDB clears the diagnostics area only for a statement that reads a table.
        let first = if server == MARIADB { "SELECT 1 FROM (SELECT 1) t LIMIT 1;" } else { "" };
        assert_eq!(made(&none, Reads::ALL), Ok(format!("{first}{id};SELECT 1 LIMIT 0")));
        let alone = if server == MARIADB { first.trim_end_matches(';') } else { clean };
        assert_eq!(made(&none, Reads::DIAGNOSTICS).as_deref(), Ok(alone));
        assert_eq!(made(&set, both), Ok(format!("SELECT 1 LIMIT 1;{clean}")));
        assert_eq!(made(&set, Reads::ROW_COUNT).as_deref(), Ok(clean));
        assert_eq!(made(&one, Reads::ROW_COUNT).as_deref(), Ok("SELECT 1 INTO @weir_row_count"));
        assert_eq!(made(&one, Reads::FOUND_ROWS).as_deref(), Ok("SELECT 1 LIMIT 0"));
    }
    assert_eq!(made(&one, both, MYSQL), Err(Lost::Combination));
    assert_eq!(made(&three, Reads::ALL, MYSQL), Err(Lost::Combination));
    assert!(made(&three, Reads::ALL, MARIADB).is_ok());
    let more = left(&[(INSERT, ok(7, 0, 0))]);
    assert_eq!(made(&more, Reads::ROW_COUNT, MYSQL), Err(Lost::RowCount));
    assert_eq!(made(&more, Reads::DIAGNOSTICS, MYSQL).as_deref(), Ok(clean));
}

#[test]
fn names_are_those_of_the_list() {
    for (i, lost) in Lost::ALL.into_iter().enumerate() {
        assert_eq!(lost as usize, i);
    }
    assert_eq!(Lost::Combination.as_str(), "combination");
}
