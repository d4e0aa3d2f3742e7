//! Rules with `deny`: nothing of the statement reaches the server, and the session goes on.

use crate::cache_kit::{ALL, MODES, change, table, value};
use crate::kit::*;
use crate::sharing_kit::*;

fn denied(response: &Response, rule: &str) {
    let error = response.err().unwrap_or_else(|| panic!("not denied by {rule}: {response:?}"));
    assert_eq!((error.code, error.state.as_str()), (1227, "42000"), "{error:?}");
    let text = &error.message;
    assert!(
        text.starts_with("Access denied: not here") && text.contains(&format!("rule `{rule}`")),
        "{text}"
    );
}

const RULES: &str = "[[rule]]\nname = \"drops\"\nmatch = { pattern = \"(?i)drop\\\\s+table\" }\ndeny = \"not here\"\n\
                     [[rule]]\nname = \"ddl\"\nmatch = { kind = \"ddl\", user = \"app\" }\ndeny = \"not here\"\n\
                     [[rule]]\nname = \"runs\"\nmatch = { digest = \"SELECT 4 + 5\", command = \"execute\" }\ndeny = \"not here\"\n\
                     [[rule]]\nname = \"table\"\nmatch = { table = \"rule_deny.secret\" }\ndeny = \"not here\"\n\
                     [[rule]]\nname = \"here\"\nmatch = { schema = \"rule_deny_b\", kind = \"read\" }\ndeny = \"not here\"\n";

/// Two databases of a test's own, `name` and `name_b`.
async fn fixture(server: &Server, name: &str) {
    database(server, name, &["CREATE TABLE t (id INT)", "CREATE TABLE secret (id INT)"]).await;
    database(server, &format!("{name}_b"), &[]).await;
}

fn rules(name: &str) -> String {
    RULES.replace("rule_deny", name)
}

/// The `count`th reload has brought this configuration.
async fn in_force(weir: &mut Weir, config: &str, count: f64) {
    weir.reload(config).unwrap();
    let reloaded = async || metric(weir, "weir_config_reloads_total{result=\"ok\"}").await;
    until("the rules are in force", async || (reloaded().await == count).then_some(())).await;
}

/// What the rules have looked at is the text of the statement that it became, and of no other.
#[tokio::test]
async fn the_text_of_a_statement_that_could_not_be_prepared_is_no_others() {
    for (flavor, server) in both() {
        fixture(&server, "rule_deny9").await;
        // Refused by the server, and by Weir.
        for (mode, (pattern, code)) in
            MODES.into_iter().flat_map(|mode| [("NEVER SAID", 1146), ("gone", 1227)].map(|by| (mode, by)))
        {
            let at = format!("{flavor:?} {mode} {code}");
            let config = |rules: &str| sharing_config(&server.addr().to_string(), 4, mode, rules);
            let other = format!(
                "[[rule]]\nname = \"other\"\nmatch = {{ pattern = \"{pattern}\" }}\ndeny = \"not here\"\n"
            );
            let table = "[[rule]]\nname = \"table\"\nmatch = { table = \"rule_deny9.secret\" }\ndeny = \"not here\"\n";
            let mut weir = Weir::config(config(&other)).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let mut client = client(&weir, "rule_deny9").await;
            let gone = client.command(command::STMT_PREPARE, b"SELECT * FROM gone").await.unwrap();
            assert_eq!(gone.err().map(|err| err.code), Some(code), "{at}");
            in_force(&mut weir, &config(""), 1.0).await;
            let prepared = client.prepare("DELETE FROM secret").await.unwrap();
            in_force(&mut weir, &config(table), 2.0).await;
            denied(&execute(&mut client, prepared.id, &[], true).await, "table");
        }
    }
}

#[tokio::test]
async fn a_denied_statement_never_reaches_the_server_and_the_session_goes_on() {
    for (flavor, server) in both() {
        fixture(&server, "rule_deny1").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules("rule_deny1"));
            let options = app(weir.addr()).database("rule_deny1").with(Caps::MULTI_STATEMENTS);
            let mut client = options.connect().await.unwrap();
            client.run("BEGIN").await.unwrap();
            client.run("INSERT INTO t VALUES (7)").await.unwrap();
            for (sql, rule) in [
                ("DROP TABLE t", "drops"),
                ("drop /* x */ table t", "drops"),
                ("/*!50000 DROP */ TABLE t", "drops"),
                ("/*!50000 DROP TABLE t */", "drops"),
                ("DROP/**/TABLE/**/t", "drops"),
                ("SELECT 1; DROP TABLE t", "drops"),
                ("SELECT ';'; DROP -- x\n TABLE t", "drops"),
                ("TRUNCATE t", "ddl"),
                ("SELECT 1;/*!50000 TRUNCATE*/ t", "ddl"),
                ("SELECT * FROM secret", "table"),
                ("SELECT 1; DELETE FROM `secret`", "table"),
                ("SELECT 1 FROM t; SELECT * FROM /*!50000 rule_deny1.*/secret; SELECT 2", "table"),
            ] {
                denied(&client.query(sql).await.unwrap(), rule);
            }
            // The transaction is still there.
            assert_eq!(row(&mut client, "SELECT COUNT(*) FROM t").await, "1", "{flavor:?} {mode}");
            client.run("ROLLBACK").await.unwrap();
            assert_eq!(row(&mut client, "SELECT COUNT(*) FROM t").await, "0");
            // A text that only speaks of it is matched by a pattern too.
            denied(&client.query("SELECT 'drop table'").await.unwrap(), "drops");
        }
    }
}

#[tokio::test]
async fn prepared_statements_are_denied_when_prepared_or_when_executed() {
    for (_, server) in both() {
        fixture(&server, "rule_deny2").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules("rule_deny2"));
            let mut client = client(&weir, "rule_deny2").await;
            for (sql, rule) in [("DROP TABLE t", "drops"), ("SELECT * FROM secret", "table")] {
                denied(&client.command(command::STMT_PREPARE, sql.as_bytes()).await.unwrap(), rule);
            }
            let one = client.prepare("SELECT 4 + 5").await.unwrap();
            denied(&execute(&mut client, one.id, &[], true).await, "runs");
            // As text it is not.
            assert_eq!(row(&mut client, "SELECT 4 + 5").await, "9");
            let other = client.prepare("SELECT 4").await.unwrap();
            assert!(execute(&mut client, other.id, &[], true).await.err().is_none());
            denied(&execute(&mut client, one.id, &[], true).await, "runs");
        }
    }
}

#[tokio::test]
async fn p39_the_last_statement_is_not_the_one_before_a_denied_one() {
    // Only MariaDB knows it, and its library sends both commands at once.
    let server = server(Flavor::MariaDb);
    fixture(&server, "rule_deny6").await;
    for mode in MODES {
        let weir = sharing(&server, 4, mode, &rules("rule_deny6"));
        let mut client = client(&weir, "rule_deny6").await;
        client.prepare("SELECT 4").await.unwrap();
        assert!(execute(&mut client, u32::MAX, &[], true).await.err().is_none());
        denied(&client.command(command::STMT_PREPARE, b"DROP TABLE t").await.unwrap(), "drops");
        let response = execute(&mut client, u32::MAX, &[], true).await;
        assert_eq!(response.err().map(|error| error.code), Some(1243), "{response:?}");
        client.prepare("SELECT 5").await.unwrap();
        assert!(execute(&mut client, u32::MAX, &[], true).await.err().is_none());
    }
}

#[tokio::test]
async fn the_current_schema_is_followed_whatever_the_session_shares() {
    for (_, server) in both() {
        fixture(&server, "rule_deny3").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules("rule_deny3"));
            let mut client = client(&weir, "rule_deny3").await;
            row(&mut client, "SELECT 1").await;
            client.run("USE rule_deny3_b").await.unwrap();
            denied(&client.query("SELECT 1").await.unwrap(), "here");
            client.run("USE /* back */ `rule_deny3`").await.unwrap();
            row(&mut client, "SELECT 1").await;
            client.command(command::INIT_DB, b"rule_deny3_b").await.unwrap();
            denied(&client.query("SELECT 1").await.unwrap(), "here");
            // It does not succeed, so the session stays where it is.
            assert!(client.command(command::INIT_DB, b"rule_deny3_none").await.unwrap().err().is_some());
            denied(&client.query("SELECT 1").await.unwrap(), "here");
            client.command(command::INIT_DB, b"rule_deny3").await.unwrap();
            row(&mut client, "SELECT 1").await;
        }
    }
}

/// An execution comes in parts where its values are long, or where a client sends it so.
#[tokio::test]
async fn an_execution_with_long_values_is_denied_as_a_short_one() {
    for (flavor, server) in both() {
        fixture(&server, "rule_deny_long").await;
        let rule = "[[rule]]\nname = \"runs\"\nmatch = { digest = \"SELECT LENGTH(?)\", command = \"execute\" }\ndeny = \"not here\"\n";
        for mode in MODES {
            let weir = sharing(&server, 4, mode, rule);
            for length in [10, 3_000, 40_000, 70_000, 300_000] {
                let mut client = client(&weir, "rule_deny_long").await;
                let one = client.prepare("SELECT LENGTH(?)").await.unwrap();
                let other = client.prepare("SELECT LENGTH(?) + 1").await.unwrap();
                let value = [command::Param::Text("x".repeat(length))];
                let answer = execute(&mut client, other.id, &value, true).await;
                assert!(answer.err().is_none(), "{flavor:?} {mode} {length}: {answer:?}");
                denied(&execute(&mut client, one.id, &value, true).await, "runs");
            }
        }
    }
}

/// Behind a USE in the same text nobody knows the schema beforehand.
#[tokio::test]
async fn what_stands_behind_use_is_denied_as_if_it_were_there() {
    for (_, server) in both() {
        fixture(&server, "rule_deny_use").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules("rule_deny_use"));
            let options = app(weir.addr()).database("rule_deny_use").with(Caps::MULTI_STATEMENTS);
            let mut client = options.connect().await.unwrap();
            client.run("SELECT 1; SELECT 2").await.unwrap();
            denied(&client.query("USE rule_deny_use_b; SELECT 1").await.unwrap(), "here");
            client.run("SELECT 1; USE rule_deny_use_b").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_text_too_long_to_look_at_is_denied_where_a_rule_may_match() {
    for (_, server) in both() {
        fixture(&server, "rule_deny4").await;
        for mode in MODES {
            for (length, room) in [(1_100_000, ""), (200_000, "[limits]\nstatement_memory = \"100KiB\"\n")] {
                let weir = sharing(&server, 4, mode, &format!("{room}{}", rules("rule_deny4")));
                let long = format!("SELECT '{}'; TRUNCATE t", "x".repeat(length));
                let options = app(weir.addr()).database("rule_deny4").with(Caps::MULTI_STATEMENTS);
                let mut client = options.connect().await.unwrap();
                denied(&client.query(&long).await.unwrap(), "drops");
            }
        }
    }
}

/// COM_SET_OPTION switches several statements on for a client that has not asked for them when it logged in.
#[tokio::test]
async fn several_statements_that_are_switched_on_later_count_as_those_of_the_login() {
    const ON: &[u8] = &[0, 0];
    const OFF: &[u8] = &[1, 0];
    let rule = "[[rule]]\nname = \"ddl\"\nmatch = { kind = \"ddl\", user = \"app\" }\ndeny = \"not here\"\n";
    let long = format!("SELECT LENGTH('{}')", "x".repeat(1_100_000));
    let two = format!("{long}; TRUNCATE t");
    for (flavor, server) in both() {
        database(&server, "rule_deny_option", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (1)"]).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, rule);
            for options in [&[][..], &[OFF], &[ON], &[ON, OFF], &[OFF, ON]] {
                let login = app(weir.addr()).database("rule_deny_option").without(Caps::MULTI_STATEMENTS);
                let mut client = login.connect().await.unwrap();
                for option in options {
                    let answer = client.command(command::SET_OPTION, option).await.unwrap();
                    assert_eq!(answer.err(), None, "{flavor:?} {mode} {options:?}");
                }
                let answer = client.query(&two).await.unwrap();
                match options.last() {
                    Some(&ON) => denied(&answer, "ddl"),
                    _ => {
                        assert_eq!(answer.err().map(|e| e.code), Some(1064), "{flavor:?} {mode} {options:?}");
                        let told = row(&mut client, &long).await;
                        assert_eq!(told, "1100000", "{flavor:?} {mode} {options:?}: one alone");
                    }
                }
                let mut direct = app(server.addr()).database("rule_deny_option").connect().await.unwrap();
                assert_eq!(
                    row(&mut direct, "SELECT COUNT(*) FROM t").await,
                    "1",
                    "{flavor:?} {mode} {options:?}"
                );
            }
        }
    }
}

/// A server reads each statement of a packet as the one ahead of it has set.
#[tokio::test]
async fn p31_what_is_hidden_behind_a_change_of_how_texts_are_read_is_denied() {
    const HIDDEN: [&[u8]; 2] = [
        b"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; DELETE FROM t; -- '",
        b"SET NAMES gbk; SELECT '\xbf\x5c'; DELETE FROM t; -- '",
    ];
    let rule = "[[rule]]\nname = \"writes\"\nmatch = { kind = \"write\" }\ndeny = \"not here\"\n";
    for (flavor, server) in both() {
        database(&server, "rule_deny_hid", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (1)"]).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, rule);
            let options = app(weir.addr()).database("rule_deny_hid").with(Caps::MULTI_STATEMENTS);
            let mut client = options.connect().await.unwrap();
            for sql in HIDDEN {
                denied(&client.query(sql).await.unwrap(), "writes");
            }
            // What is as before hides nothing.
            for sql in [
                &b"SET sql_mode = ''; SELECT '\\'; DELETE FROM t; -- '"[..],
                b"SET NAMES utf8mb4; SELECT '\xc3\xa9'",
            ] {
                assert_eq!(client.query(sql).await.unwrap().err(), None, "{flavor:?} {mode}");
            }
            let mut direct = app(server.addr()).database("rule_deny_hid").connect().await.unwrap();
            assert_eq!(row(&mut direct, "SELECT COUNT(*) FROM t").await, "1", "{flavor:?} {mode}");
        }
    }
}

/// Beyond a bound names and statements are not read any more; a rule may be about what is there.
#[tokio::test]
async fn what_is_too_much_to_be_read_is_denied_where_a_rule_may_match() {
    let ctes = |n: usize| {
        let all: Vec<String> = (0..n).map(|n| format!("a{n} AS (SELECT 1)")).collect();
        format!("WITH {} SELECT * FROM secret", all.join(", "))
    };
    let deep = |n: usize| format!("SELECT {}1{} FROM secret", "(".repeat(n), ")".repeat(n));
    let many = |n: usize| format!("{}SELECT * FROM secret", "DO 0;".repeat(n));
    let only = "[[rule]]\nname = \"table\"\nmatch = { table = \"secret\" }\ndeny = \"not here\"\n";
    for (_, server) in both() {
        fixture(&server, "rule_deny7").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, only);
            let options = app(weir.addr()).database("rule_deny7").with(Caps::MULTI_STATEMENTS);
            let mut client = options.connect().await.unwrap();
            for sql in [ctes(3), ctes(400), deep(3), deep(400), many(3), many(100), many(20_000)] {
                denied(&client.query(&sql).await.unwrap(), "table");
            }
            row(&mut client, "SELECT 1").await;
        }
    }
}

#[tokio::test]
async fn a_long_text_is_looked_at_to_its_end() {
    for (flavor, server) in both() {
        fixture(&server, "rule_deny11").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules("rule_deny11"));
            let mut client = client(&weir, "rule_deny11").await;
            for length in [66_000, 131_072, 300_000, 1_000_000] {
                let value = "x".repeat(length);
                let what = format!("{flavor:?} {mode} {length}");
                let told = row(&mut client, &format!("SELECT LENGTH('{value}')")).await;
                assert_eq!(told, length.to_string(), "{what}");
                denied(&client.query(&format!("SELECT '{value}', 'drop  table'")).await.unwrap(), "drops");
                denied(&client.query(&format!("SELECT '{value}' FROM secret")).await.unwrap(), "table");
                assert_eq!(row(&mut client, "SELECT 7").await, "7", "{what}");
            }
        }
    }
}

#[tokio::test]
async fn rules_that_come_while_sessions_are_there_hold_for_these_too() {
    for (_, server) in both() {
        fixture(&server, "rule_deny5").await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, "");
            let mut client = client(&weir, "rule_deny5").await;
            row(&mut client, "SELECT 1").await;
            let early = client.prepare("SELECT 4 + 5").await.unwrap();
            client.run("USE rule_deny5_b").await.unwrap();
            let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", weir.admin_addr());
            let add = r#"{"rule": {"name": "late", "match": {"schema": "rule_deny5_b", "kind": "read"}, "deny": "not here"}}"#;
            let added = crate::api_kit::request(&weir, "POST /api/v1/rules", &headers, add).await;
            assert_eq!(added.0, 201, "{added:?}");
            denied(&client.query("SELECT 1").await.unwrap(), "late");
            denied(&execute(&mut client, early.id, &[], true).await, "late");
            let sample = "weir_rule_denied_total{rule=\"late\"}";
            assert_eq!(metric(&weir, sample).await, 2.0);
        }
    }
}

/// What was sent ahead for an execution stands at the server: a second try would put the same behind it.
#[tokio::test]
async fn an_execution_that_is_refused_takes_what_was_sent_ahead_for_it_with_its_session() {
    let rule = "[[rule]]\nname = \"once\"\nmatch = { digest = \"INSERT INTO l VALUES (?)\", command = \"execute\" }\n\
                limit = { rate = \"1/h\", queue = \"0s\" }\n";
    for (flavor, server) in both() {
        database(&server, "rule_deny12", &["CREATE TABLE l (v TEXT)"]).await;
        for mode in MODES {
            change(&server, "DELETE FROM rule_deny12.l").await;
            let weir = sharing(&server, 4, mode, rule);
            let [mut client, mut other] = clients(&weir, "rule_deny12").await;
            let mut ids = Vec::new();
            for client in [&mut client, &mut other] {
                ids.push(client.prepare("INSERT INTO l VALUES (?)").await.unwrap().id);
            }
            let execution = |id| {
                let params = &[command::Param::LongData];
                command::Execute { id, flags: 0, params, types: true, attributes: false }.body()
            };
            client.command(command::STMT_SEND_LONG_DATA, &command::long_data(ids[0], 0, b"a")).await.unwrap();
            let done = client.command(command::STMT_EXECUTE, &execution(ids[0])).await.unwrap();
            assert_eq!(done.err(), None, "{flavor:?} {mode}");
            // Nothing is held for this one: the session goes on, whatever is held for others and was sent for none.
            let unheard = client.prepare("SELECT ?").await.unwrap().id;
            for id in [unheard, unheard + 1000] {
                client.command(command::STMT_SEND_LONG_DATA, &command::long_data(id, 0, b"x")).await.unwrap();
            }
            let refused = client.command(command::STMT_EXECUTE, &execution(ids[0])).await.unwrap();
            assert_eq!(refused.err().map(|err| err.code), Some(1226), "{flavor:?} {mode} {refused:?}");
            row(&mut client, "SELECT 1").await;

            other.command(command::STMT_SEND_LONG_DATA, &command::long_data(ids[1], 0, b"b")).await.unwrap();
            let refused = other.command(command::STMT_EXECUTE, &execution(ids[1])).await.unwrap();
            assert_eq!(refused.err().map(|err| err.code), Some(1226), "{flavor:?} {mode} {refused:?}");
            let after = other.run("SELECT 1").await;
            assert!(after.as_ref().map_or(true, |answer| answer.closed), "{flavor:?} {mode} {after:?}");
            assert_eq!(row(&mut client, "SELECT GROUP_CONCAT(v) FROM l").await, "a", "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn what_is_in_memory_is_denied_from_the_moment_that_a_rule_says_so() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["rule_deny_t", "rule_deny_s"]) {
            table(server, name).await;
            let at = format!("{flavor:?} {mode}");
            let config = |rules: &str| sharing_config(&server.addr().to_string(), 4, mode, rules);
            let mut weir = Weir::config(config(ALL)).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let mut client = client(&weir, name).await;
            let id = client.prepare("SELECT v FROM t WHERE id=2").await.unwrap().id;
            assert_eq!(value(&mut client, 1).await, "one", "{at}");
            let kept = execute(&mut client, id, &[], true).await;
            change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
            assert_eq!(value(&mut client, 1).await, "one", "{at}: it is kept");
            assert_eq!(execute(&mut client, id, &[], true).await, kept, "{at}: it is kept");
            let deny = "[[rule]]\nname = \"no\"\nmatch = { table = \"t\" }\ndeny = \"not here\"\n";
            in_force(&mut weir, &config(&format!("{deny}{ALL}")), 1.0).await;
            denied(&client.query("SELECT v FROM t WHERE id=1").await.unwrap(), "no");
            denied(&execute(&mut client, id, &[], true).await, "no");
            in_force(&mut weir, &config(ALL), 2.0).await;
            assert_eq!(value(&mut client, 1).await, "one", "{at}: a reload empties no cache");
        }
    }
}
