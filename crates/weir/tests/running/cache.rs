//! The result cache: what is answered from memory, and what never is.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

#[tokio::test]
async fn a_read_that_a_rule_names_is_answered_from_memory_until_something_ends_that() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_serve_t", "ca_serve_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            let [mut one, mut two] = clients(&weir, name).await;
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?} {mode}");
            change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?} {mode}");
            assert_eq!(value(&mut two, 1).await, "one", "{flavor:?} {mode}");
            assert_eq!(value(&mut two, 2).await, "changed", "{flavor:?} {mode}: another statement");
            let bypass = "/*nocache*/ SELECT v FROM t WHERE id=1";
            assert_eq!(row(&mut two, bypass).await, "changed", "{flavor:?} {mode}");
            assert_eq!(value(&mut two, 1).await, "one", "{flavor:?} {mode}: a bypass leaves the entry");
            let wipe = "/*wipe*/ SELECT v FROM t WHERE id=1";
            assert_eq!(row(&mut two, wipe).await, "changed", "{flavor:?} {mode}");
            assert_eq!(value(&mut one, 1).await, "changed", "{flavor:?} {mode}: a wipe stores anew");
        }
    }
}

#[tokio::test]
async fn without_a_rule_and_under_one_that_says_off_nothing_is() {
    let off = "[[rule]]\nname = \"off\"\nmatch = { table = \"t\" }\ncache = { mode = \"off\" }\n";
    let other = ALL.replace("kind = \"read\"", "table = \"elsewhere\"");
    for (flavor, server) in &both() {
        table(server, "ca_off").await;
        for rules in ["", &other, &format!("{off}{ALL}")] {
            let weir = sharing(server, 4, "", rules);
            let [mut client] = clients(&weir, "ca_off").await;
            for n in 0..3 {
                change(server, &format!("UPDATE ca_off.t SET v='{n}'")).await;
                assert_eq!(value(&mut client, 1).await, n.to_string(), "{flavor:?} {rules}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_ends_with_its_time() {
    let rules = ALL.replace("1h", "300ms");
    let server = server(Flavor::MariaDb);
    table(&server, "ca_ttl").await;
    let weir = sharing(&server, 4, "", &rules);
    let [mut client] = clients(&weir, "ca_ttl").await;
    assert_eq!(value(&mut client, 1).await, "one");
    change(&server, "UPDATE ca_ttl.t SET v='changed'").await;
    until("the answer is too old", async || (value(&mut client, 1).await == "changed").then_some(())).await;
}

#[tokio::test]
async fn nothing_of_a_transaction_is_kept_or_served() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_trx_t", "ca_trx_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            let [mut one, mut two] = clients(&weir, name).await;
            for begin in ["BEGIN", "SET autocommit=0", "START TRANSACTION READ ONLY"] {
                let at = format!("{flavor:?} {mode} {begin}");
                assert_eq!(value(&mut two, 1).await, "one", "{at}");
                one.run(begin).await.unwrap();
                if !begin.ends_with("READ ONLY") {
                    one.run("UPDATE t SET v='never committed' WHERE id=1").await.unwrap();
                    assert_eq!(value(&mut one, 1).await, "never committed", "{at}");
                    assert_eq!(value(&mut one, 1).await, "never committed", "{at}");
                }
                let third = format!("SELECT v AS `{begin}` FROM t WHERE id=3");
                assert_eq!(row(&mut one, &third).await, "three", "{at}");
                one.run("ROLLBACK").await.unwrap();
                one.run("SET autocommit=1").await.unwrap();
                assert_eq!(value(&mut two, 1).await, "one", "{at}");
                assert_eq!(value(&mut one, 1).await, "one", "{at}");
                change(server, &format!("UPDATE {name}.t SET v='direct' WHERE id=3")).await;
                assert_eq!(
                    row(&mut two, &third).await,
                    "direct",
                    "{at}: the read in the transaction was not kept"
                );
                change(server, &format!("UPDATE {name}.t SET v='three' WHERE id=3")).await;
            }
        }
    }
}

#[tokio::test]
async fn what_set_autocommit_commits_is_seen_by_its_session() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_auto_t", "ca_auto_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            let [mut one, mut two] = clients(&weir, name).await;
            one.run("SET autocommit=0").await.unwrap();
            one.run("UPDATE t SET v='mine' WHERE id=1").await.unwrap();
            assert_eq!(value(&mut two, 1).await, "one", "{flavor:?} {mode}: kept before the commit");
            one.run("SET autocommit=1").await.unwrap();
            assert_eq!(value(&mut one, 1).await, "mine", "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn a_session_sees_its_own_writes_at_once() {
    for (flavor, server) in &both() {
        table(server, "ca_own").await;
        for (lax, expected) in [("", "mine"), (", own_writes = false", "one")] {
            change(server, "UPDATE ca_own.t SET v='one' WHERE id=1").await;
            let rules = ALL.replace("ttl = \"1h\"", &format!("ttl = \"1h\"{lax}"));
            let weir = sharing(server, 4, "", &rules);
            let [mut one, mut two] = clients(&weir, "ca_own").await;
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?}");
            one.run("UPDATE t SET v='mine' WHERE id=1").await.unwrap();
            assert_eq!(value(&mut two, 1).await, "one", "{flavor:?}: others have the rule's time");
            assert_eq!(value(&mut one, 1).await, expected, "{flavor:?}{lax}");
            // What the writer has asked for is newer than what was there.
            assert_eq!(value(&mut two, 1).await, expected, "{flavor:?}{lax}");
        }
    }
}

#[tokio::test]
async fn executions_are_kept_by_their_parameters() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_ps_t", "ca_ps_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            let [mut one, mut two] = clients(&weir, name).await;
            let first = one.prepare("SELECT v FROM t WHERE id=?").await.unwrap();
            let second = two.prepare("SELECT v FROM t WHERE id=?").await.unwrap();
            let int = |n: i64| [command::Param::Int(n)];
            let before = execute(&mut one, first.id, &int(1), true).await;
            let other = execute(&mut one, first.id, &int(2), false).await;
            assert!(before.rows().next() != other.rows().next(), "{flavor:?} {mode}");
            change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
            assert_eq!(execute(&mut one, first.id, &int(1), false).await, before, "{flavor:?} {mode}");
            assert_eq!(execute(&mut two, second.id, &int(1), true).await, before, "{flavor:?} {mode}");
            assert_eq!(value(&mut one, 1).await, "changed", "{flavor:?} {mode}: text is kept apart");
            let text = [command::Param::Text("1".to_owned())];
            let typed = execute(&mut two, second.id, &text, true).await;
            assert!(typed.rows().next() != before.rows().next(), "{flavor:?} {mode}: another type");
        }
    }
}

#[tokio::test]
async fn what_a_client_may_ask_next_is_as_after_a_run() {
    let reads = ["SELECT SQL_CALC_FOUND_ROWS v FROM t ORDER BY id LIMIT 2", "SELECT v FROM t ORDER BY id"];
    let nexts = [
        "SELECT FOUND_ROWS()",
        "SELECT ROW_COUNT()",
        "SHOW WARNINGS",
        "SHOW COUNT(*) WARNINGS",
        "SELECT @@warning_count",
        "SELECT LAST_INSERT_ID()",
        "SELECT ROW_COUNT(), FOUND_ROWS()",
    ];
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_next_t", "ca_next_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            for sql in reads {
                for next in nexts {
                    let at = format!("{flavor:?} {mode}: {sql}; {next}");
                    let mut direct = app(server.addr()).database(name).connect().await.unwrap();
                    let [mut through] = clients(&weir, name).await;
                    for client in [&mut direct, &mut through] {
                        // Something else to be found if the read does not count.
                        client.run("SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4").await.unwrap();
                    }
                    let expected = (direct.query(sql).await.unwrap(), direct.query(next).await.unwrap());
                    through.query(sql).await.unwrap();
                    change(server, &format!("INSERT INTO {name}.t VALUES (4, 'four')")).await;
                    through.run("SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4").await.unwrap();
                    let got = (through.query(sql).await.unwrap(), through.query(next).await.unwrap());
                    assert_eq!(got, expected, "{at}");
                    change(server, &format!("DELETE FROM {name}.t WHERE id=4")).await;
                    change(server, "DO 0").await;
                }
            }
        }
    }
}

/// SELECTs that the server has run.
async fn selects(admin: &mut Client) -> u64 {
    let told = row(admin, "SHOW GLOBAL STATUS LIKE 'Com_select'").await;
    told.split('|').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn found_rows_after_a_hit_is_told_without_the_server() {
    let calculated = "SELECT SQL_CALC_FOUND_ROWS v FROM t ORDER BY id LIMIT 1";
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        table(&server, "ca_found").await;
        let weir = sharing(&server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_found").await;
        for _ in 0..3 {
            assert_eq!(row(&mut client, calculated).await, "one", "{flavor:?}");
            assert_eq!(row(&mut client, "SELECT FOUND_ROWS()").await, "3", "{flavor:?}");
        }
        let mut admin = app(server.addr()).connect().await.unwrap();
        let before = selects(&mut admin).await;
        for _ in 0..5 {
            assert_eq!(row(&mut client, calculated).await, "one", "{flavor:?}");
            assert_eq!(row(&mut client, "SELECT FOUND_ROWS()").await, "3", "{flavor:?}");
            assert_eq!(row(&mut client, "SELECT FOUND_ROWS()").await, "1", "{flavor:?}: of the one before");
        }
        assert_eq!(selects(&mut admin).await, before, "{flavor:?}");
        client.run(calculated).await.unwrap();
        client.run("SELECT FOUND_ROWS()").await.unwrap();
        let mut direct = app(server.addr()).database("ca_found").connect().await.unwrap();
        direct.run(calculated).await.unwrap();
        direct.run("SELECT FOUND_ROWS()").await.unwrap();
        let (expected, got) = (direct.query("SHOW WARNINGS").await, client.query("SHOW WARNINGS").await);
        assert_eq!(got.unwrap(), expected.unwrap(), "{flavor:?}");
    }
}

#[tokio::test]
async fn many_that_ask_the_same_at_once_ask_the_server_once() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        table(&server, "ca_flight").await;
        let weir = sharing(&server, 4, "", ALL);
        let all = clients::<24>(&weir, "ca_flight").await;
        let [mut alone] = clients(&weir, "ca_flight").await;
        let joins = (0..11).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(", ");
        let mut admin = app(server.addr()).connect().await.unwrap();
        // What one costs, with the questions about its names.
        let before = selects(&mut admin).await;
        alone.run(&format!("SELECT COUNT(*), 1 FROM {joins}")).await.unwrap();
        // What is asked behind the answer is over when the next command is taken.
        shown(&mut alone, "client_id").await;
        let one = selects(&mut admin).await - before;
        let before = selects(&mut admin).await;
        let slow = format!("SELECT COUNT(*), 2 FROM {joins}");
        let runs: Vec<_> = all
            .into_iter()
            .map(|mut client| {
                let sql = slow.clone();
                tokio::spawn(async move { row(&mut client, &sql).await })
            })
            .collect();
        for run in runs {
            assert_eq!(run.await.unwrap(), "177147|2", "{flavor:?}");
        }
        let asked = selects(&mut admin).await - before;
        assert!(
            asked <= one,
            "{flavor:?}: the server was asked {asked} times, and {one} times by one client"
        );
    }
}

#[tokio::test]
async fn past_its_soft_time_an_answer_is_served_and_renewed_behind_it() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_soft_t", "ca_soft_s"]) {
            table(server, name).await;
            let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", soft_ttl = \"200ms\"");
            let weir = sharing(server, 4, mode, &rules);
            let [mut client] = clients(&weir, name).await;
            assert_eq!(value(&mut client, 1).await, "one", "{flavor:?} {mode}");
            change(server, &format!("UPDATE {name}.t SET v='renewed'")).await;
            // Who finds it old still gets it, at once; the next gets what was asked for behind that.
            let mut last = "one".to_owned();
            until("it is renewed", async || {
                let now = value(&mut client, 1).await;
                let next = (now == "renewed").then_some(());
                assert!(next.is_some() || now == "one", "{flavor:?} {mode}: {now}");
                last = now;
                next
            })
            .await;
            // What follows a statement behind the answer is as if there had been none.
            assert_eq!(row(&mut client, "SELECT ROW_COUNT()").await, "-1", "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn when_the_server_is_gone_an_old_answer_may_stand_in() {
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"300ms\", stale_if_error = \"1h\"");
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        // What it has written must outlast its end.
        change(&server, "SET GLOBAL innodb_flush_log_at_trx_commit = 1").await;
        table(&server, "ca_stale").await;
        let weir = sharing(&server, 4, "", &format!("[auth]\nrevalidate = \"1h\"\n{rules}"));
        let [mut client, mut other] = clients(&weir, "ca_stale").await;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        change(&server, "UPDATE ca_stale.t SET v='changed'").await;
        until("the answer is too old", async || (value(&mut client, 1).await == "changed").then_some(()))
            .await;
        server.kill9().unwrap();
        let until = tokio::time::Instant::now() + std::time::Duration::from_millis(800);
        while tokio::time::Instant::now() < until {
            assert_eq!(value(&mut client, 1).await, "changed", "{flavor:?}");
            assert_eq!(value(&mut other, 1).await, "changed", "{flavor:?}");
        }
        let never_asked = other.query("SELECT v FROM t WHERE id=2").await.unwrap();
        assert!(never_asked.err().is_some(), "{flavor:?}: {never_asked:?}");
        server.restart().unwrap();
        change(&server, "UPDATE ca_stale.t SET v='after'").await;
        assert_eq!(value(&mut client, 1).await, "after", "{flavor:?}");
    }
}

#[tokio::test]
async fn a_session_with_user_variables_is_served_what_names_none() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_user_t", "ca_user_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            for set in ["SET @id=2", "SET @id=(SELECT MAX(id)-1 FROM t)", "SET @v='x', @id=2"] {
                let at = format!("{flavor:?} {mode} {set}");
                let [mut client] = clients(&weir, name).await;
                change(server, &format!("UPDATE {name}.t SET v='one' WHERE id=1")).await;
                assert_eq!(row(&mut client, "/*wipe*/ SELECT v FROM t WHERE id=1").await, "one", "{at}");
                client.run(set).await.unwrap();
                change(server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
                assert_eq!(value(&mut client, 1).await, "one", "{at}");
                // What names one is the server's to answer, whichever value it has.
                for (id, expected) in [("2", "two"), ("3", "three"), ("2", "two")] {
                    client.run(&format!("SET @id={id}")).await.unwrap();
                    assert_eq!(row(&mut client, "SELECT v FROM t WHERE id=@id").await, expected, "{at}");
                }
                assert_eq!(value(&mut client, 1).await, "one", "{at}");
                client.run("PREPARE p FROM 'SELECT v FROM t WHERE id=?'").await.unwrap();
                for (id, expected) in [("2", "two"), ("3", "three"), ("2", "two")] {
                    client.run(&format!("SET @id={id}")).await.unwrap();
                    assert_eq!(row(&mut client, "EXECUTE p USING @id").await, expected, "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_a_name_stands_for_reads_no_user_variable_unseen() {
    for (flavor, server) in &both() {
        table(server, "ca_hides").await;
        let mut admin = app(server.addr()).database("ca_hides").connect().await.unwrap();
        for sql in ["CREATE VIEW w AS SELECT @id AS v", "CREATE VIEW w AS SELECT v FROM t WHERE id=@id"] {
            let answer = admin.query(sql).await.unwrap();
            assert!(answer.err().is_some(), "{flavor:?}: {sql}");
        }
        // MariaDB lets a computed column read one.
        let computed = admin.query("CREATE TABLE g (a INT, b INT AS (@id) VIRTUAL)").await.unwrap();
        assert_eq!(computed.err().is_none(), *flavor == Flavor::MariaDb, "{flavor:?}");
        if *flavor != Flavor::MariaDb {
            continue;
        }
        admin.run("INSERT INTO g (a) VALUES (1)").await.unwrap();
        admin.run("CREATE VIEW w AS SELECT b FROM g").await.unwrap();
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_hides").await;
        for read in ["SELECT b FROM g", "SELECT b FROM w"] {
            for id in ["1", "2", "3"] {
                let set = format!("SET @id={id}");
                client.run(&set).await.unwrap();
                admin.run(&set).await.unwrap();
                assert_eq!(row(&mut client, read).await, row(&mut admin, read).await, "{read} after {set}");
            }
        }
    }
}

/// What a trigger has set goes with the reset, and the session is served as any other that has variables.
#[tokio::test]
async fn a_session_that_is_reset_is_served_again() {
    for (flavor, server) in &both() {
        table(server, "ca_untold_r").await;
        let trigger = "CREATE TRIGGER ca_untold_r.sets BEFORE UPDATE ON ca_untold_r.t FOR EACH ROW SET @x=1, @@session.sql_mode='ANSI_QUOTES'";
        change(server, trigger).await;
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_untold_r").await;
        for (n, end) in [command::RESET_CONNECTION, command::CHANGE_USER].into_iter().enumerate() {
            let at = format!("{flavor:?} {end:#x}");
            client.run("UPDATE t SET v=v WHERE id=2").await.unwrap();
            pinned(&mut client, "user_variable", &at).await;
            match end {
                command::CHANGE_USER => {
                    client.change_user("app", "app-pw", "ca_untold_r", 45).await.unwrap();
                }
                _ => assert_eq!(client.command(end, b"").await.unwrap().err(), None, "{at}"),
            }
            freed(&mut client).await;
            client.run("SELECT @own := 5").await.unwrap();
            // MySQL warns of that, and the warning keeps the connection.
            turn(&mut client).await;
            freed(&mut client).await;
            let read = format!("SELECT v, {n} FROM t WHERE id=1");
            let before = row(&mut client, &read).await;
            change(server, &format!("UPDATE ca_untold_r.t SET v='later{n}' WHERE id=1")).await;
            assert_eq!(row(&mut client, &read).await, before, "{at}: from memory");
        }
    }
}

#[tokio::test]
async fn a_session_that_a_trigger_may_have_changed_is_not_served() {
    for (flavor, server) in &both() {
        table(server, "ca_untold").await;
        change(server, "CREATE TRIGGER ca_untold.sets BEFORE UPDATE ON ca_untold.t FOR EACH ROW SET @x=1, @@session.sql_mode='ANSI_QUOTES'").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_untold").await;
        let read = "SELECT \"v\" FROM t WHERE id=1";
        assert_eq!(row(&mut client, read).await, "v", "{flavor:?}: a string");
        client.run("UPDATE t SET v=v WHERE id=2").await.unwrap();
        let direct = &mut app(server.addr()).database("ca_untold").connect().await.unwrap();
        direct.run("UPDATE t SET v=v WHERE id=2").await.unwrap();
        assert_eq!(row(&mut client, read).await, row(direct, read).await, "{flavor:?}");
        change(server, "UPDATE ca_untold.t SET v='changed' WHERE id=1").await;
        for _ in 0..2 {
            assert_eq!(row(&mut client, read).await, row(direct, read).await, "{flavor:?}");
        }
    }
}
