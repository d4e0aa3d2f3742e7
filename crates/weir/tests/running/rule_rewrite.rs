//! Rules with `rewrite`: the server and all of Weir see the other text.

use crate::cache_kit::MODES;
use crate::kit::*;
use crate::sharing_kit::*;

const RULES: &str = r#"
[[rule]]
name = "moved"
match = { pattern = '(?i)from\s+old_\w+' }
rewrite = { pattern = '(?i)from\s+old_(\w+)', with = "FROM new_$1" }
cache = { ttl = "1h" }

[[rule]]
name = "hinted"
match = { pattern = "HINTED" }
rewrite = { pattern = "^SELECT ", with = "SELECT 7 + " }

[[rule]]
name = "params"
match = { pattern = "PARAMS" }
rewrite = { pattern = '\?', with = "? + ?" }

[[rule]]
name = "more"
match = { pattern = "MORE" }
rewrite = { pattern = "MORE", with = "1; SELECT 2" }

[[rule]]
name = "cut"
match = { pattern = "CUT" }
rewrite = { pattern = "CUT.", with = "x" }

[[rule]]
name = "use"
match = { pattern = "WHERE AM I" }
rewrite = { pattern = ".*", with = "USE rule_rewrite_b" }
"#;

async fn fixture(server: &Server, name: &str) -> String {
    let tables = [
        "CREATE TABLE old_t (v INT)",
        "CREATE TABLE new_t (v INT)",
        "INSERT INTO old_t VALUES (1)",
        "INSERT INTO new_t VALUES (2)",
    ];
    database(server, name, &tables).await;
    database(server, &format!("{name}_b"), &[]).await;
    RULES.replace("rule_rewrite", name)
}

fn cannot(response: &Response, rule: &str, why: &str) {
    let error = response.err().unwrap_or_else(|| panic!("not refused: {response:?}"));
    assert_eq!((error.code, error.state.as_str()), (1105, "HY000"), "{error:?}");
    assert!(
        error.message.contains(&format!("`{rule}` cannot rewrite")) && error.message.contains(why),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_server_gets_the_other_text_and_the_cache_keeps_its_answer() {
    for (flavor, server) in both() {
        let name = "rule_rewrite1";
        let rules = fixture(&server, name).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules);
            let mut client = client(&weir, name).await;
            for sql in [
                "SELECT v FROM old_t",
                "SELECT v from/* x */old_t",
                "/*a*/ SELECT v FROM old_t # b",
                "SELECT v FROM old_t ; ",
            ] {
                assert_eq!(row(&mut client, sql).await, "2", "{flavor:?} {mode} {sql}");
            }
            let prepared = client.prepare("SELECT v FROM old_t WHERE v > ?").await.unwrap();
            assert_eq!(prepared.param_count, 1);
            for _ in 0..2 {
                let response = execute(&mut client, prepared.id, &[command::Param::Int(0)], true).await;
                let rows: Vec<&[u8]> = response.rows().collect();
                assert_eq!(rows.concat(), [0, 0, 2, 0, 0, 0], "{response:?}");
            }
            // What is in the cache is the answer to the other text: a write to its table takes it away.
            assert!(metric(&weir, "weir_cache_hits_total{rule=\"moved\"}").await > 0.0);
            client.run("UPDATE new_t SET v = 3").await.unwrap();
            assert_eq!(row(&mut client, "SELECT v FROM old_t").await, "3");
            client.run("UPDATE new_t SET v = 2").await.unwrap();
            assert!(metric(&weir, "weir_rule_rewritten_total{rule=\"moved\"}").await >= 6.0);
            // Several statements are not rewritten.
            let options = app(weir.addr()).database(name).with(Caps::MULTI_STATEMENTS);
            let mut several = options.connect().await.unwrap();
            let response = several.query("SELECT v FROM old_t; SELECT 1").await.unwrap();
            assert_eq!(response.rows().next(), Some(&b"\x011"[..]), "{response:?}");
        }
    }
}

#[tokio::test]
async fn the_session_is_what_the_other_text_makes_of_it() {
    for (_, server) in both() {
        let name = "rule_rewrite2";
        let rules = fixture(&server, name).await;
        for mode in MODES {
            let weir = sharing(&server, 2, mode, &rules);
            let [mut one, mut two] = clients(&weir, name).await;
            one.run("WHERE AM I").await.unwrap();
            for _ in 0..2 {
                assert_eq!(row(&mut two, "SELECT DATABASE()").await, name);
                assert_eq!(row(&mut one, "SELECT DATABASE()").await, format!("{name}_b"));
            }
        }
    }
}

#[tokio::test]
async fn attributes_stay_and_what_cannot_be_rewritten_is_an_error_of_the_rule() {
    for (flavor, server) in both() {
        let name = "rule_rewrite3";
        let rules = fixture(&server, name).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules);
            let mut client =
                app(weir.addr()).database(name).with(Caps::QUERY_ATTRIBUTES).connect().await.unwrap();
            assert_eq!(row(&mut client, "SELECT 1 AS HINTED").await, "8");
            if flavor == Flavor::MySql {
                let body = command::query_with_attribute("SELECT 2 AS HINTED", "a", "value");
                let response = client.command(command::QUERY, &body).await.unwrap();
                assert_eq!(response.rows().next(), Some(&b"\x019"[..]), "{response:?}");
            }
            let prepare = |sql: &'static str| (command::STMT_PREPARE, sql.as_bytes().to_vec());
            let (code, body) = prepare("SELECT ? AS PARAMS");
            cannot(&client.command(code, &body).await.unwrap(), "params", "2 parameters");
            cannot(&client.query("SELECT MORE").await.unwrap(), "more", "no longer one statement");
            cannot(&client.query("SELECT 'CUT\u{e9}'").await.unwrap(), "cut", "cut a character");
            // What is whole is passed on as it is.
            assert_eq!(row(&mut client, "SELECT 1").await, "1");
        }
    }
}
