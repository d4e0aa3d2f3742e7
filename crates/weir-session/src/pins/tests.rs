use super::*;

const OPEN: u16 = status::IN_TRANS | status::AUTOCOMMIT;
const IDLE: u16 = status::AUTOCOMMIT;

fn with(pins: &[PinReason]) -> Statement<'static> {
    Statement { pins: PinSet::of(pins), ..Statement::PLAIN }
}

fn run(pins: &mut Pins, statement: &Statement<'_>, status: u16) {
    pins.begin(statement);
    pins.end(statement, Outcome::Ok { status, affected_rows: 0, insert_id: 0, warnings: 0 });
}

fn fail(pins: &mut Pins, statement: &Statement<'_>) {
    pins.begin(statement);
    pins.end(statement, Outcome::Err { code: 1213 });
}

#[test]
fn all_names_every_reason_once_in_order() {
    for (i, reason) in PinReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, i);
        assert_eq!(PinReason::ALL.iter().filter(|r| r.as_str() == reason.as_str()).count(), 1);
    }
}

#[test]
fn a_transaction_pins_until_the_flags_say_that_it_ended() {
    let mut pins = Pins::default();
    run(&mut pins, &Statement::PLAIN, OPEN);
    assert_eq!(pins.why().to_string(), "transaction");
    run(&mut pins, &Statement::PLAIN, OPEN);
    // A deadlock ends the transaction, another error does not: only the next flags tell.
    fail(&mut pins, &Statement::PLAIN);
    assert_eq!(pins.why().to_string(), "transaction, transaction_unknown");
    run(&mut pins, &Statement::PLAIN, IDLE);
    assert!(pins.is_free());
    run(&mut pins, &Statement::PLAIN, status::IN_TRANS);
    assert_eq!(pins.why().to_string(), "autocommit_off");
    run(&mut pins, &Statement::PLAIN, 0);
    assert!(pins.is_free());
}

#[test]
fn an_error_pins_only_where_a_transaction_may_have_begun() {
    let mut pins = Pins::default();
    fail(&mut pins, &Statement::PLAIN);
    assert!(pins.is_free());
    let ddl = Statement { may_begin: true, only_commits: true, ..Statement::PLAIN };
    fail(&mut pins, &ddl);
    assert!(pins.is_free(), "nothing was open before a DDL that failed");
    fail(&mut pins, &Statement { may_begin: true, ..Statement::PLAIN });
    assert_eq!(pins.why().to_string(), "transaction_unknown");
    run(&mut pins, &Statement::PLAIN, 0);
    assert!(pins.is_free());
    fail(&mut pins, &Statement::PLAIN);
    assert_eq!(pins.why().to_string(), "transaction_unknown", "autocommit is off");
}

#[test]
fn what_lasts_until_a_transaction_ends_that_shows_in_no_flag_pins() {
    let lingers = Statement { lingers: true, ..Statement::PLAIN };
    let commit = Statement { ends_transaction: true, may_begin: true, ..Statement::PLAIN };
    let mut pins = Pins::default();
    run(&mut pins, &lingers, IDLE);
    assert!(pins.is_free());
    for status in [0, status::IN_TRANS] {
        run(&mut pins, &lingers, status);
        run(&mut pins, &Statement::PLAIN, status);
        assert_eq!(pins.why().to_string(), "autocommit_off");
        fail(&mut pins, &commit);
        run(&mut pins, &Statement::PLAIN, status);
        assert_eq!(pins.why().to_string(), "autocommit_off");
        run(&mut pins, &commit, 0);
        assert!(pins.is_free());
    }
    // Behind an error the flags of the answer before hold.
    fail(&mut pins, &lingers);
    run(&mut pins, &Statement::PLAIN, 0);
    assert_eq!(pins.why().to_string(), "autocommit_off");
    run(&mut pins, &Statement::PLAIN, IDLE);
    assert!(pins.is_free());
}

#[test]
fn set_transaction_pins_until_a_transaction_has_begun_and_ended() {
    let mut pins = Pins::default();
    let next = with(&[PinReason::NextTransaction]);
    run(&mut pins, &next, IDLE);
    run(&mut pins, &Statement::PLAIN, IDLE);
    assert_eq!(pins.why().to_string(), "next_transaction");
    run(&mut pins, &Statement::PLAIN, OPEN);
    run(&mut pins, &Statement::PLAIN, IDLE);
    assert!(pins.is_free());
    // Set again within the next one's life, it waits for one more.
    run(&mut pins, &next, IDLE);
    run(&mut pins, &Statement::PLAIN, OPEN);
    run(&mut pins, &next, OPEN);
    run(&mut pins, &Statement::PLAIN, IDLE);
    assert_eq!(pins.why().to_string(), "next_transaction");
}

#[test]
fn a_statement_ends_pins_only_if_it_succeeds() {
    let mut pins = Pins::default();
    let lock = with(&[PinReason::LockTables]);
    let unlock = Statement { ends: PinSet::of(&[PinReason::LockTables]), ..Statement::PLAIN };
    run(&mut pins, &lock, IDLE);
    fail(&mut pins, &unlock);
    assert_eq!(pins.why().to_string(), "lock_tables");
    run(&mut pins, &unlock, IDLE);
    assert!(pins.is_free());
    // What failed may have done its part all the same.
    fail(&mut pins, &lock);
    assert!(!pins.is_free());
}

#[test]
fn load_data_pins_while_it_runs() {
    let mut pins = Pins::default();
    let load = with(&[PinReason::LoadData]);
    pins.begin(&load);
    assert_eq!(pins.why().to_string(), "load_data");
    pins.end(&load, Outcome::Err { code: 1062 });
    assert!(pins.is_free());
}

#[test]
fn a_reset_ends_what_the_server_clears() {
    let mut pins = Pins::default();
    pins.add(PinReason::ALL.into_iter().fold(PinSet::EMPTY, |set, r| set.union(r.into())));
    pins.reset();
    assert_eq!(pins.why().to_string(), "role, replication, session_mode");
    pins.changed_user();
    assert_eq!(pins.why().to_string(), "replication, session_mode");
}

#[test]
fn leftovers_and_levels_come_and_go() {
    let mut pins = Pins::default();
    pins.hold(PinReason::Warnings.into());
    pins.level(PinReason::Cursor, true);
    pins.hold(PinReason::RowCount.into());
    assert_eq!(pins.why().to_string(), "cursor, row_count");
    pins.level(PinReason::Cursor, false);
    pins.hold(PinSet::EMPTY);
    assert!(pins.is_free());
}
