use super::*;

fn execute(slot: usize, params: Vec<Param>, types: bool) -> Action {
    Action::Execute { slot, params, flags: 0, types }
}

fn prepare(slot: usize, sql: &str) -> Action {
    Action::Prepare { slot, sql: sql.into() }
}

fn query(sql: &str) -> Action {
    Action::Query(sql.into())
}

/// What is left of `actions`.
fn check(flavor: Flavor, actions: Vec<Action>, expected: Vec<Action>) {
    let class = super::super::Class::Prepared;
    let mut steps: Vec<_> = actions.into_iter().map(|action| Step { class, action }).collect();
    leave_out(flavor, &mut steps);
    let got: Vec<_> = steps.iter().map(|step| step.action.to_string()).collect();
    let expected: Vec<_> = expected.iter().map(Action::to_string).collect();
    assert_eq!(got, expected);
}

#[test]
fn types_stay_those_that_were_bound_first_on_mysql() {
    let (number, text) = (vec![Param::Int(1)], vec![Param::Text("x".to_owned())]);
    let actions = || {
        vec![
            prepare(1, "SELECT ? + 1"),
            execute(1, number.clone(), true),
            execute(1, text.clone(), true),
            execute(1, text.clone(), false),
            prepare(2, "SELECT ?"),
            execute(2, text.clone(), true),
        ]
    };
    let mut expected = actions();
    expected[2] = execute(1, number.clone(), true);
    expected[3] = execute(1, number.clone(), false);
    check(Flavor::MySql, actions(), expected);
    check(Flavor::MariaDb, actions(), actions());
}

#[test]
fn arguments_of_a_procedure_stay_in_range_on_mariadb() {
    let params = || vec![Param::UInt(u64::MAX), Param::Null, Param::Null];
    let actions = || {
        vec![
            prepare(1, "CALL pr_out(?, ?, ?)"),
            execute(1, params(), true),
            prepare(2, "SELECT ?, ?, ?"),
            execute(2, params(), true),
        ]
    };
    let mut expected = actions();
    expected[1] = execute(1, vec![Param::Int(4), Param::Null, Param::Text("in and out".to_owned())], true);
    check(Flavor::MariaDb, actions(), expected);
    check(Flavor::MySql, actions(), actions());
}

#[test]
fn an_execution_ends_ahead_of_its_values_only_where_there_are_none() {
    let body = [&u32::MAX.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
    let last = || Action::Command { code: command::STMT_EXECUTE, body: body.clone() };
    let actions = || {
        vec![
            prepare(1, "BEGIN"),
            last(),
            execute(1, Vec::new(), true),
            prepare(2, "SET @x = ?"),
            last(),
            execute(2, Vec::new(), true),
        ]
    };
    let mut expected = actions();
    expected[4] = Action::Command { code: command::PING, body: Vec::new() };
    expected[5] = Action::Command { code: command::PING, body: Vec::new() };
    check(Flavor::MariaDb, actions(), expected);
    check(Flavor::MySql, actions(), actions());
}

#[test]
fn queries_that_are_listed_are_replaced_and_others_stay() {
    for flavor in Flavor::BOTH {
        check(
            flavor,
            vec![
                query("CALL pr_warn(); SHOW WARNINGS"),
                query("SHOW WARNINGS"),
                query("set/**/session_track_transaction_info = 'STATE' -- done"),
                query("SET session_track_schema = ON"),
            ],
            vec![
                query("CALL pr_warn()"),
                query("SHOW WARNINGS"),
                query("SELECT @@session_track_transaction_info"),
                query("SET session_track_schema = ON"),
            ],
        );
        assert!(reasons(flavor).count() >= 3);
    }
}

#[test]
fn set_statement_is_left_out_for_who_hears_of_all_variables_on_mariadb() {
    let put_back = "SET STATEMENT group_concat_max_len = 4 FOR SELECT 1";
    let hears = "/*!50000 SET session_track_system_variables = '*' */";
    let actions = || vec![query(put_back), query(hears), query(put_back)];
    let expected = vec![query(put_back), query(hears), query("SELECT @@group_concat_max_len")];
    check(Flavor::MariaDb, actions(), expected);
    check(Flavor::MySql, actions(), actions());
}

#[test]
fn what_a_trigger_sets_is_asked_for_until_one_may_have_failed() {
    let asks = || query("SELECT @x, @tr, @made");
    let ignored = || query("INSERT IGNORE INTO k VALUES (1, 'a')");
    let actions = vec![ignored(), asks(), query("INSERT INTO k VALUES (1, 'again')"), asks()];
    let expected =
        vec![ignored(), asks(), query("INSERT INTO k VALUES (1, 'again')"), query("SELECT @x, @made")];
    for flavor in Flavor::BOTH {
        check(flavor, actions.clone(), expected.clone());
    }
}

#[test]
fn who_hears_of_all_variables_goes_on_to_do_so_on_mysql() {
    let (all, less) =
        ("SET session_track_system_variables = '*'", "SET session_track_system_variables = 'autocommit'");
    let actions = || vec![query(less), query(all), query(all), query(less)];
    let mut expected = actions();
    expected[3] = query("SELECT @@session_track_system_variables");
    check(Flavor::MySql, actions(), expected);
    check(Flavor::MariaDb, actions(), actions());
}

#[test]
fn the_time_of_day_is_told_to_nobody() {
    let (all, time) = ("SET session_track_system_variables = '*'", "SET timestamp = DEFAULT");
    let expected = vec![query(time), query(all), query("SET timestamp = 1700000000")];
    for flavor in Flavor::BOTH {
        check(flavor, vec![query(time), query(all), query(time)], expected.clone());
    }
}
