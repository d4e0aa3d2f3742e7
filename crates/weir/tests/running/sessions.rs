//! Live sessions, and what keeps them on their connections, as an operator sees them.

use serde_json::{Value, json};

use crate::api_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const SESSION: &str = "sharing = \"session\"\n";
const TRANSACTION: &str = "sharing = \"transaction\"\n";

/// The session of this client.
fn of(weir: &Weir, client: &Client) -> Value {
    told_json(weir, &["sessions", "show", &client.greeting().connection_id.to_string()])
}

/// The session of this client, once it is in this state.
async fn when(weir: &Weir, client: &Client, state: &str) -> Value {
    until(state, async || Some(of(weir, client)).filter(|session| session["state"] == state)).await
}

fn listed(weir: &Weir, args: &[&str]) -> Value {
    told_json(weir, &[&["sessions"], args].concat())
}

#[tokio::test]
async fn what_sessions_do_is_seen_from_outside() {
    for (flavor, server) in &both() {
        for mode in [SESSION, TRANSACTION] {
            let at = format!("{flavor:?} {mode}");
            database(server, "se_seen", &["CREATE TABLE t (i INT)"]).await;
            let mut direct = app(server.addr()).connect().await.unwrap();
            let weir = sharing(server, 2, mode, "");
            let [mut one, mut two] = clients(&weir, "se_seen").await;
            assert_eq!(of(&weir, &two)["schema"], "se_seen", "{at}: of one that has run nothing");
            one.run("SELECT 1 + 17").await.unwrap();
            let session = when(&weir, &one, "idle").await;
            assert_eq!(session["statement"]["digest"], "SELECT ? + ?", "{at}");
            assert_eq!(session["statement"]["text"], Value::Null, "{at}");
            assert_eq!((&session["user"], &session["schema"]), (&json!("app"), &json!("se_seen")), "{at}");
            assert!(session["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{at}");
            assert!(
                session["bytes_in"].as_u64() > Some(17) && session["bytes_out"].as_u64() > Some(30),
                "{at}"
            );
            let commands = session["commands"].as_u64().unwrap();
            let own = mode == SESSION;
            assert_eq!(session["pins"], if own { json!(["session_mode"]) } else { json!([]) }, "{at}");
            assert_eq!(session["server_connection_id"].is_u64(), own, "{at}");

            one.run("BEGIN").await.unwrap();
            let session = when(&weir, &one, "in_transaction").await;
            assert_eq!(session["commands"], commands + 1, "{at}");
            assert!(session["server_connection_id"].is_u64() && session["server"].is_string(), "{at}");
            if !own {
                assert_eq!(session["pins"], json!(["transaction"]), "{at}");
                assert!(session["pinned_seconds"].is_f64(), "{at}");
                let pinned = listed(&weir, &["--pinned"]);
                assert_eq!(
                    (&pinned["total"], &pinned["sessions"][0]["id"]),
                    (&json!(1), &session["id"]),
                    "{at}"
                );
            }
            direct.run("SELECT GET_LOCK('se_seen', 60)").await.unwrap();
            one.send(command::QUERY, b"SELECT 'secret', GET_LOCK('se_seen', 60)").await.unwrap();
            let session = when(&weir, &one, "running").await;
            assert_eq!(session["statement"]["digest"], "SELECT ? , `GET_LOCK` (...)", "{at}");
            let first = listed(&weir, &["--limit", "1"]);
            assert_eq!((&first["total"], &first["sessions"][0]["id"]), (&json!(2), &session["id"]), "{at}");
            let second = listed(&weir, &["--limit", "1", "--offset", "1"]);
            assert_eq!(second["sessions"][0]["id"], two.greeting().connection_id, "{at}");
            let table = told(&weir, &["sessions"]);
            assert!(table.contains("running") && !table.contains("secret"), "{at}: {table}");
            direct.run("SELECT RELEASE_LOCK('se_seen')").await.unwrap();
            one.receive(command::QUERY).await.unwrap();
            one.run("SELECT RELEASE_ALL_LOCKS()").await.unwrap();
            one.run("COMMIT").await.unwrap();
            one.run("USE mysql").await.unwrap();
            assert_eq!(when(&weir, &one, "idle").await["schema"], "mysql", "{at}");
            for (args, total) in
                [(["--schema", "mysql"], 1), (["--user", "app"], 2), (["--user", "nobody"], 0)]
            {
                assert_eq!(listed(&weir, &args)["total"], total, "{at} {args:?}");
            }
            let id = one.greeting().connection_id.to_string();
            one.command(command::QUIT, b"").await.ok();
            until("the session has ended", async || (listed(&weir, &[])["total"] == 1).then_some(())).await;
            let gone = refused_with(&weir, &["sessions", "show", &id]);
            assert!(gone.contains("no session with the id"), "{gone}");
            two.run("SELECT 1").await.unwrap();
        }
    }
}

/// utf8mb4_general_ci.
const UTF8MB4: u16 = 45;

#[tokio::test]
async fn a_session_that_changes_its_user_is_shown_as_that_user_s_and_idle() {
    for (flavor, server) in &both() {
        database(server, "se_change", &[]).await;
        let mut direct = app(server.addr()).connect().await.unwrap();
        direct.run("DROP USER IF EXISTS se_change").await.unwrap();
        direct.run("CREATE USER se_change IDENTIFIED BY 'change-pw'").await.unwrap();
        direct.run("GRANT ALL ON se_change.* TO se_change").await.unwrap();
        for mode in [SESSION, TRANSACTION] {
            let at = format!("{flavor:?} {mode}");
            let weir = sharing(server, 2, mode, "");
            let [mut one] = clients(&weir, "se_change").await;
            one.run("SELECT 1 + 17").await.unwrap();
            for (user, password, schema) in [
                ("se_change", "change-pw", ""),
                ("se_change", "change-pw", "se_change"),
                ("app", "app-pw", ""),
            ] {
                let before = of(&weir, &one);
                let changed = one.change_user(user, password, schema, UTF8MB4).await.unwrap();
                assert!(changed.ok().is_some(), "{at}: {changed:?}");
                let session = when(&weir, &one, "idle").await;
                let shown = if schema.is_empty() { Value::Null } else { json!(schema) };
                assert_eq!((&session["user"], &session["schema"]), (&json!(user), &shown), "{at}");
                assert_eq!(session["statement"], Value::Null, "{at}: another user's");
                for bytes in ["bytes_in", "bytes_out"] {
                    assert!(session[bytes].as_u64() > before[bytes].as_u64(), "{at}: {before} {session}");
                }
                one.run("SELECT 1 + 17").await.unwrap();
                let session = when(&weir, &one, "idle").await;
                assert_eq!(session["schema"], shown, "{at}");
                assert_eq!(session["statement"]["digest"], "SELECT ? + ?", "{at}");
            }
            // MySQL closes behind a refusal.
            if *flavor == Flavor::MariaDb {
                let refused = one.change_user("se_change", "wrong", "", UTF8MB4).await.unwrap();
                assert_eq!(refused.err().map(|err| err.code), Some(1045), "{at}: {refused:?}");
                assert_eq!(when(&weir, &one, "idle").await["user"], "app", "{at}");
            }
        }
    }
}

#[tokio::test]
async fn who_waits_is_seen_to_wait() {
    for (flavor, server) in &both() {
        database(server, "se_wait", &[]).await;
        let rule = "[[rule]]\nname = \"one\"\nmatch = { pattern = \"limited\" }\nlimit = { concurrency = 1, queue = \"30s\" }\n";
        let weir = sharing(server, 1, TRANSACTION, rule);
        let [mut one, mut two] = clients(&weir, "se_wait").await;
        one.run("BEGIN").await.unwrap();
        two.send(command::QUERY, b"SELECT 'waits'").await.unwrap();
        let session = when(&weir, &two, "waiting_for_connection").await;
        assert_eq!(session["statement"]["digest"], "SELECT ?", "{flavor:?}");
        one.run("COMMIT").await.unwrap();
        two.receive(command::QUERY).await.unwrap();
        when(&weir, &two, "idle").await;
        let mut direct = app(server.addr()).connect().await.unwrap();
        direct.run("SELECT GET_LOCK('se_wait', 60)").await.unwrap();
        one.send(command::QUERY, b"SELECT GET_LOCK('se_wait', 60), 'limited'").await.unwrap();
        when(&weir, &one, "running").await;
        two.send(command::QUERY, b"SELECT 'limited'").await.unwrap();
        when(&weir, &two, "waiting_for_rule").await;
        direct.run("SELECT RELEASE_LOCK('se_wait')").await.unwrap();
        one.receive(command::QUERY).await.unwrap();
        two.receive(command::QUERY).await.unwrap();
    }
}

#[tokio::test]
async fn statements_are_shown_as_they_came_only_where_that_is_asked_for() {
    for (flavor, server) in &both() {
        database(server, "se_samples", &[]).await;
        for mode in [SESSION, TRANSACTION] {
            let weir = sharing(server, 2, mode, "[analytics]\nsamples = true\n");
            let [mut one] = clients(&weir, "se_samples").await;
            one.run("SELECT 'first'").await.unwrap();
            one.run("SELECT 'shown'").await.unwrap();
            let session = when(&weir, &one, "idle").await;
            assert_eq!(session["statement"]["text"], "SELECT 'shown'", "{flavor:?} {mode}");
            let prepared = one.prepare("SELECT 'hidden'").await.unwrap();
            execute(&mut one, prepared.id, &[], true).await;
            let session = when(&weir, &one, "idle").await;
            assert_eq!(session["statement"]["digest"], "SELECT ?", "{flavor:?} {mode}");
            assert_eq!(session["statement"]["text"], Value::Null, "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn what_keeps_connections_is_counted_by_time_and_named() {
    for (flavor, server) in &both() {
        database(server, "se_pins", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 4, TRANSACTION, "");
        let [mut one, mut two, mut three] = clients(&weir, "se_pins").await;
        let none = told(&weir, &["advise", "pins"]);
        assert!(none.contains("no session has kept"), "{flavor:?}: {none}");
        one.run("BEGIN").await.unwrap();
        one.run("SELECT SLEEP(0.3)").await.unwrap();
        one.run("COMMIT").await.unwrap();
        two.run("SELECT GET_LOCK('se_pins', 1)").await.unwrap();
        three.run("SELECT SLEEP(0.2)").await.unwrap();
        let advice = told_json(&weir, &["advise", "pins"]);
        let reason = |name: &str| {
            let all = advice["reasons"].as_array().unwrap().iter();
            all.clone()
                .find(|row| row["reason"] == name)
                .unwrap_or_else(|| panic!("{name}: {advice:#}"))
                .clone()
        };
        let (transaction, lock) = (reason("transaction"), reason("user_lock"));
        assert_eq!(
            (&transaction["times"], &transaction["sessions_now"]),
            (&json!(1), &json!(0)),
            "{flavor:?}"
        );
        assert!(transaction["seconds"].as_f64() >= Some(0.3), "{flavor:?}: {transaction}");
        assert!(transaction["advice"].as_str().unwrap().contains("short"), "{flavor:?}");
        assert_eq!((&lock["times"], &lock["sessions_now"]), (&json!(1), &json!(1)), "{flavor:?}");
        assert!(lock["seconds"].as_f64() >= Some(0.2), "{flavor:?}: {lock}");
        let statements = advice["statements"].as_array().unwrap();
        let behind = |digest: &str| statements.iter().find(|row| row["digest"] == digest).unwrap();
        assert!(behind("BEGIN")["kept_seconds"].as_f64() >= Some(0.3), "{flavor:?}: {advice:#}");
        assert_eq!(behind("BEGIN")["times"], json!({"transaction": 1}), "{flavor:?}");
        assert_eq!(
            behind("SELECT `GET_LOCK` (...)")["times"],
            json!({"user_lock": 1}),
            "{flavor:?}: {advice:#}"
        );
        assert_eq!(advice["users"][0]["user"], "app", "{flavor:?}");
        let kept: f64 = statements.iter().map(|row| row["kept_seconds"].as_f64().unwrap()).sum();
        let average = kept / advice["observed_seconds"].as_f64().unwrap();
        assert!((advice["connections"].as_f64().unwrap() - average).abs() < 0.01, "{flavor:?}: {advice:#}");
        let table = told(&weir, &["advise", "pins"]);
        assert!(table.contains("RELEASE_ALL_LOCKS") && table.contains("BEGIN"), "{flavor:?}: {table}");
        two.run("SELECT RELEASE_ALL_LOCKS()").await.unwrap();
        // Now that nothing is kept any more, the order stays.
        let all = told_json(&weir, &["advise", "pins"]);
        let part = told_json(&weir, &["advise", "pins", "--limit", "1", "--offset", "1"]);
        let statements = all["statements"].as_array().unwrap();
        assert_eq!((&part["total_statements"], &part["total_users"]), (&json!(statements.len()), &json!(1)));
        assert_eq!(part["statements"].as_array().unwrap().len(), 1, "{flavor:?}: {part:#}");
        assert_eq!(part["statements"][0]["digest"], statements[1]["digest"], "{flavor:?}: {part:#}");
        assert_eq!(part["users"], json!([]), "{flavor:?}");
    }
}

#[tokio::test]
async fn one_screen_tells_how_weir_is() {
    for (flavor, server) in &both() {
        database(server, "se_status", &[]).await;
        let rules = "[[rule]]\nname = \"all\"\nmatch = {}\ncache = { ttl = \"10s\" }\n[[rule]]\nname = \"late\"\nmatch = { user = \"app\" }\ndeny = \"x\"\n";
        let mut weir = sharing(server, 1, TRANSACTION, rules);
        let [mut one, mut two] = clients(&weir, "se_status").await;
        one.run("BEGIN").await.unwrap();
        two.send(command::QUERY, b"SELECT 'waits'").await.unwrap();
        when(&weir, &two, "waiting_for_connection").await;
        let status = told_json(&weir, &["status"]);
        assert_eq!(status["version"], env!("CARGO_PKG_VERSION"), "{flavor:?}");
        assert_eq!(status["config_file"], weir.home().join("weir.toml").display().to_string(), "{flavor:?}");
        let clients = &status["clients"];
        let counts =
            ["connected", "waiting", "in_transaction", "pinned"].map(|name| clients[name].as_u64().unwrap());
        assert_eq!(counts, [2, 1, 1, 1], "{flavor:?}: {clients}");
        let connections = &status["connections"];
        let counts = ["open", "limit", "in_use", "idle", "pinned", "waiting"];
        let counts = counts.map(|name| connections[name].as_u64().unwrap());
        assert_eq!(counts, [1, 1, 1, 0, 1, 1], "{flavor:?}: {connections}");
        let family = if *flavor == Flavor::MariaDb { "mariadb" } else { "mysql" };
        assert_eq!(
            (&status["server"]["reachable"], &status["server"]["family"]),
            (&json!(true), &json!(family))
        );
        assert!(status["process"]["resident_bytes"].as_u64() > Some(1 << 20), "{flavor:?}");
        let warned: Vec<&str> =
            status["warnings"].as_array().unwrap().iter().map(|w| w["warning"].as_str().unwrap()).collect();
        assert_eq!(
            warned,
            ["statements_wait", "pinned_near_limit", "connections_near_limit", "idle_rules"],
            "{flavor:?}"
        );
        assert_eq!(status["last_reload"], Value::Null, "{flavor:?}");
        one.run("COMMIT").await.unwrap();
        two.receive(command::QUERY).await.unwrap();
        until("what goes through is counted", async || {
            for _ in 0..20 {
                two.run("SELECT 1").await.unwrap();
            }
            let status = told_json(&weir, &["status"]);
            (status["traffic"]["statements_per_second"].as_f64() > Some(1.0)).then_some(())
        })
        .await;
        let text = file(&weir);
        weir.reload(&format!("{text}\n[nonsense]\n")).unwrap();
        until("the reload was refused", async || {
            (told_json(&weir, &["status"])["last_reload"]["applied"] == false).then_some(())
        })
        .await;
        let screen = told(&weir, &["status"]);
        assert!(
            screen.contains("REFUSED") && screen.contains("nonsense") && screen.contains("weir check"),
            "{screen}"
        );
        assert!(screen.lines().count() < 40, "{screen}");
        weir.reload(&text).unwrap();
        until("the reload was taken", async || {
            (told_json(&weir, &["status"])["last_reload"]["applied"] == true).then_some(())
        })
        .await;
    }
}

/// What a client has left for the next is nobody's.
#[tokio::test]
async fn connections_that_wait_for_the_next_client_are_idle() {
    for (flavor, server) in &both() {
        database(server, "se_idle", &[]).await;
        let weir = sharing(server, 4, "sharing = \"session\"\nreuse_timeout = \"60s\"\n", "");
        let mut one = client(&weir, "se_idle").await;
        one.run("SELECT 1").await.unwrap();
        let counts = |status: &Value| {
            ["open", "in_use", "idle"].map(|name| status["connections"][name].as_u64().unwrap())
        };
        assert_eq!(counts(&told_json(&weir, &["status"])), [1, 1, 0], "{flavor:?}");
        one.quit().await.unwrap();
        until("the connection waits", async || {
            (counts(&told_json(&weir, &["status"])) == [1, 0, 1]).then_some(())
        })
        .await;
    }
}

/// What the advisors have to say is said where it is worth it.
#[tokio::test]
async fn kept_connections_are_suggested_where_they_are_many() {
    let server = server(Flavor::MariaDb);
    database(&server, "se_suggest", &[]).await;
    let weir = sharing(&server, 4, TRANSACTION, "");
    let [mut one, mut two] = clients(&weir, "se_suggest").await;
    assert_eq!(told_json(&weir, &["status"])["suggestions"], json!([]));
    assert!(told(&weir, &["status"]).contains("nothing to act on"));
    for client in [&mut one, &mut two] {
        client.run("BEGIN").await.unwrap();
    }
    let status = until("two are kept", async || {
        let status = told_json(&weir, &["status"]);
        (status["suggestions"] != json!([])).then_some(status)
    })
    .await;
    assert_eq!(status["suggestions"][0]["suggestion"], "pins", "{status:#}");
    let screen = told(&weir, &["status"]);
    assert!(screen.contains("for `transaction`") && screen.contains("weir advise pins"), "{screen}");
}
