//! Why statements are refused, as the rule's statistics and `/metrics` count it: as often as it was provoked, and nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::api_kit::told_json;
use crate::cache_kit::*;
use crate::fake_server::*;
use crate::kit::*;
use crate::sharing_kit::*;

async fn refused(weir: &Weir, reason: &str) -> f64 {
    metric(weir, &format!("weir_cache_refused_total{{rule=\"all\",reason=\"{reason}\"}}")).await
}

/// A session at the server and one through Weir.
async fn pair(server: &Server, weir: &Weir, name: &str) -> [Client; 2] {
    let options = |addr| app(addr).database(name).with(Caps(Caps::SESSION_TRACK.0 | Caps::DEPRECATE_EOF.0));
    [options(server.addr()).connect().await.unwrap(), options(weir.addr()).connect().await.unwrap()]
}

/// What the rule's statistics say was refused, and how often. `/metrics` says the same.
async fn told_refused(weir: &Weir) -> BTreeMap<String, u64> {
    let told = told_json(weir, &["rules", "show", "all"])["cache"]["refused"].clone();
    let told: BTreeMap<String, u64> = serde_json::from_value(told).unwrap();
    for (reason, count) in &told {
        assert_eq!(refused(weir, reason).await, *count as f64, "{reason}");
    }
    told
}

/// Nothing was refused but this.
async fn only(weir: &Weir, expected: &[(&str, u64)], at: &str) {
    let expected = expected.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
    assert_eq!(told_refused(weir).await, expected, "{at}");
}

#[tokio::test]
async fn what_is_not_known_of_names_is_counted_as_unresolved() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_names_t", "ca_names_s"]) {
            let at = format!("{flavor:?} {mode}");
            let merged = "CREATE TABLE merged (v INT) ENGINE=MERGE UNION=(part)";
            table(server, name).await;
            for sql in ["CREATE TABLE part (v INT) ENGINE=MyISAM", merged, "INSERT INTO part VALUES (1)"] {
                app(server.addr()).database(name).connect().await.unwrap().run(sql).await.unwrap();
            }
            let weir = sharing(server, 4, mode, ALL);
            let [mut client] = clients(&weir, name).await;
            // Its rows are those of other tables.
            for n in 1..=3 {
                change(server, &format!("UPDATE {name}.part SET v={n}")).await;
                assert_eq!(row(&mut client, "SELECT v FROM merged").await, n.to_string(), "{at}");
                shown(&mut client, "client_id").await;
                only(&weir, &[("unresolved", n)], &at).await;
            }
            // The session may ask for one row by its key, and not about the columns of a table.
            client.run("SET sql_big_selects=0, max_join_size=1").await.unwrap();
            for n in 4..=5 {
                change(server, &format!("UPDATE {name}.t SET v={n} WHERE id=1")).await;
                assert_eq!(value(&mut client, 1).await, n.to_string(), "{at}");
                shown(&mut client, "client_id").await;
                only(&weir, &[("unresolved", n)], &at).await;
            }
        }
    }
}

#[tokio::test]
async fn who_was_not_answered_by_the_server_lately_is_counted_as_not_granted() {
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", share = \"grants\"");
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_granted_t", "ca_granted_s"]) {
            let at = format!("{flavor:?} {mode}");
            table(server, name).await;
            let mut users = String::new();
            for (user, right) in [("may", "SELECT"), ("must_not", "INSERT")] {
                let user = format!("{name}_{user}");
                change(server, &format!("DROP USER IF EXISTS {user}")).await;
                change(server, &format!("CREATE USER {user} IDENTIFIED BY 'granted-pw'")).await;
                change(server, &format!("GRANT {right} ON {name}.t TO {user}")).await;
                users += &format!("[[user]]\nname = \"{user}\"\npassword = \"granted-pw\"\n");
            }
            let weir = sharing(server, 8, mode, &format!("{users}{rules}"));
            let login = async |user| {
                let options = ConnectOptions::tcp(weir.addr(), &format!("{name}_{user}"), "granted-pw");
                options.database(name).connect().await.unwrap()
            };
            let [mut first] = clients(&weir, name).await;
            // Of nobody it is known before the first answer; the second is kept.
            for _ in 0..2 {
                assert_eq!(value(&mut first, 1).await, "one", "{at}");
                only(&weir, &[("not_granted", 1)], &at).await;
            }
            change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
            assert_eq!(value(&mut first, 1).await, "one", "{at}: it is kept");
            let mut may = login("may").await;
            for expected in ["changed", "one", "one"] {
                assert_eq!(value(&mut may, 1).await, expected, "{at}");
                only(&weir, &[("not_granted", 2)], &at).await;
            }
            for n in 1..=3 {
                // An error is left to be asked for, and until then nothing is kept for its session.
                let refused = login("must_not").await.query("SELECT v FROM t WHERE id=1").await.unwrap();
                assert_eq!(refused.err().map(|err| err.code), Some(1142), "{at}: {refused:?}");
                only(&weir, &[("not_granted", 2 + n), ("error", n)], &at).await;
            }
        }
    }
}

/// The columns of a prepared statement are others than it was told: its answer says so, once.
#[tokio::test]
async fn an_answer_that_says_that_its_columns_changed_is_counted_as_session_changed() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_changes_t", "ca_changes_s"]) {
            table(server, name).await;
            let weir = sharing(server, 8, mode, ALL);
            let mut pair = pair(server, &weir, name).await;
            for n in 1..=2 {
                let at = format!("{flavor:?} {mode} {n}");
                let sql = format!("SELECT * FROM t WHERE id={n}");
                let ids = [pair[0].prepare(&sql).await.unwrap().id, pair[1].prepare(&sql).await.unwrap().id];
                change(server, &format!("ALTER TABLE {name}.t ADD COLUMN c{n} INT DEFAULT 5")).await;
                let [direct, through] = &mut pair;
                for _ in 0..2 {
                    let expected = execute(direct, ids[0], &[], true).await;
                    assert_eq!(execute(through, ids[1], &[], true).await, expected, "{at}");
                    only(&weir, &[("session_changed", n)], &at).await;
                }
                // The second says nothing of the kind.
                let kept = execute(through, ids[1], &[], true).await;
                change(server, &format!("UPDATE {name}.t SET v='changed{n}'")).await;
                assert_eq!(execute(through, ids[1], &[], true).await, kept, "{at}: from memory");
            }
        }
    }
}

/// No server answers one SELECT with two results; what one that does means by it is not known.
#[tokio::test]
async fn an_answer_of_several_results_is_counted_so_and_asked_for_each_time() {
    const READ: &str = "SELECT v FROM t";
    let asked = AtomicU8::new(b'0');
    let server = FakeServer::start("8.0.99", Caps::COMMON, move |request| match request {
        [command::QUERY, sql @ ..] if sql == READ.as_bytes() => {
            let value = char::from(asked.fetch_add(1, Ordering::SeqCst)).to_string();
            let first = result(0, MORE, &[&value]);
            let second = result(first.1, 0, &["x"]);
            Reply::Bytes([first.0, second.0].concat())
        }
        [command::QUERY, sql @ ..] if asks_state(sql) => Reply::Bytes(state(sql)),
        [command::QUIT, ..] => Reply::Last(Vec::new()),
        _ => Reply::Bytes(packet(1, b"\0\0\0\x02\0\0\0")),
    })
    .await;
    let weir = sharing_config(&server.addr().to_string(), 4, MODES[1], ALL);
    let weir = Weir::config(weir).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    let mut client = app(weir.addr()).connect().await.unwrap();
    for n in 1..=3 {
        let answer = client.query(READ).await.unwrap();
        let rows: Vec<_> = answer.rows().map(<[u8]>::to_vec).collect();
        assert_eq!(rows, [lenenc_text(&(n - 1).to_string()), lenenc_text("x")], "{answer:?}");
        only(&weir, &[("more_results", n)], "").await;
    }
}

/// SERVER_MORE_RESULTS_EXISTS.
const MORE: u8 = 8;
