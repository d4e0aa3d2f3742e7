//! Sessions that logged in before there was a cache rule for them: they are not served, and everybody says so.

use serde_json::json;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const BEFORE: &str = "connected before there was a cache rule";

#[tokio::test]
async fn who_cannot_be_served_before_the_next_login_is_told_of() {
    for (flavor, server) in &both() {
        table(server, "ns_told").await;
        let weir = sharing(server, 4, "sharing = \"session\"\n", "");
        let [mut one, two] = clients(&weir, "ns_told").await;
        assert_eq!(shown(&mut one, "cache").await, "no: no cache rule is for this user", "{flavor:?}");
        let rule = |name: &'static str, more: &[&'static str]| {
            let first = ["rules", "add", "--name", name, "--match-table", "t", "--ttl", "1h", "--first"];
            [&first[..], more].concat()
        };
        for (name, more) in [
            ("root", ["--match-user", "root"]),
            ("far", ["--match-client", "10.0.0.0/8"]),
            ("off", ["--mode", "off"]),
        ] {
            let said = told(&weir, &rule(name, &more));
            assert!(!said.contains(BEFORE), "{flavor:?}: no session is meant: {said}");
        }
        let status = told_json(&weir, &["status"]);
        assert_eq!(status["clients"]["not_served"], 0, "{flavor:?}");

        let said = told(&weir, &rule("t", &[]));
        assert!(
            said.contains(&format!("2 sessions {BEFORE}")) && said.contains("weir kill"),
            "{flavor:?}: {said}"
        );
        for args in [&["rules", "list"][..], &["rules", "show", "t"], &["sessions"]] {
            let said = told(&weir, args);
            assert!(said.contains(&format!("2 sessions {BEFORE}")), "{flavor:?} {args:?}: {said}");
        }
        let said = told(&weir, &["rules", "show", "root"]);
        assert!(!said.contains(BEFORE), "{flavor:?}: {said}");
        let status = told_json(&weir, &["status"]);
        assert_eq!(status["clients"]["not_served"], 2, "{flavor:?}");
        let warned = status["warnings"].as_array().unwrap();
        assert!(
            warned.iter().any(|warning| warning["warning"] == "sessions_not_served"),
            "{flavor:?}: {status:#}"
        );
        for (user, count) in [(&["--user", "app"][..], 2), (&["--user", "root"], 0), (&[], 2)] {
            let plan = told_json(&weir, &[&["explain", "SELECT v FROM ns_told.t"], user].concat());
            assert_eq!(
                (&plan["cache"]["rule"], &plan["cache"]["not_served"]),
                (&json!("t"), &json!(count)),
                "{plan:#}"
            );
        }
        assert!(shown(&mut one, "cache").await.starts_with("no: logged in before"), "{flavor:?}");

        // Who logs in now is served, and the others are not.
        let mut three = client(&weir, "ns_told").await;
        assert_eq!(shown(&mut three, "cache").await, "yes", "{flavor:?}");
        three.run("BEGIN").await.unwrap();
        assert_eq!(shown(&mut three, "cache").await, "not now: in_transaction", "{flavor:?}");
        three.run("ROLLBACK").await.unwrap();
        assert_eq!(value(&mut three, 1).await, "one");
        change(server, "UPDATE ns_told.t SET v='new'").await;
        assert_eq!(
            (value(&mut three, 1).await, value(&mut one, 1).await),
            ("one".to_owned(), "new".to_owned())
        );

        let listed = told_json(&weir, &["sessions", "--not-served", "--sort", "id"]);
        assert_eq!(
            (&listed["total"], &listed["not_served"]),
            (&json!(2), &json!(2)),
            "{flavor:?}: {listed:#}"
        );
        for (session, of) in listed["sessions"].as_array().unwrap().iter().zip([&one, &two]) {
            let id = of.greeting().connection_id;
            assert_eq!(
                (&session["id"], &session["not_served"]),
                (&json!(id), &json!("logged_in_before")),
                "{flavor:?}"
            );
            let said = told(&weir, &["sessions", "show", &id.to_string()]);
            assert!(said.contains("not served: it logged in before"), "{flavor:?}: {said}");
        }
        let [first, second] = [&one, &two].map(|client| client.greeting().connection_id.to_string());
        // One that is not there does not save the others.
        let said = cli(&[
            "kill",
            &first,
            "7",
            &second,
            "--config",
            &weir.home().join("weir.toml").display().to_string(),
        ]);
        assert_eq!(said.status.code(), Some(1), "{flavor:?}: {said:?}");
        let (done, refused) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert!(
            done.contains(&first) && done.contains(&second) && refused.contains("the id `7`"),
            "{flavor:?}: {said:?}"
        );
        // Those that are selected: shown at first, and none ended.
        let ids = [three.greeting().connection_id.to_string()];
        let selects = ["kill", "--user", "app", "--schema", "ns_told", "--state", "idle"];
        let path = weir.home().join("weir.toml").display().to_string();
        let said = cli(&[&selects[..], &["--config", &path]].concat());
        let (shown, why) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert!(ids.iter().all(|id| shown.contains(id)), "{flavor:?}: {shown}");
        assert!(
            said.status.code() == Some(1) && why.contains("add --yes if you mean it"),
            "{flavor:?}: {why}"
        );
        assert_eq!(value(&mut three, 1).await, "one", "{flavor:?}: it goes on");
        let [other] = clients(&weir, "information_schema").await;
        assert_eq!(told(&weir, &["kill", "--user", "nobody", "--yes"]), "no such session\n");
        let ended = told(&weir, &[&selects[..], &["--yes"]].concat());
        assert!(ended.contains("told to end"), "{flavor:?}: {ended}");
        until("they have ended, and the other one goes on", async || {
            let sessions = told_json(&weir, &["sessions"]);
            let left = sessions["sessions"].as_array().unwrap();
            (left.len() == 1 && left[0]["id"] == other.greeting().connection_id).then_some(())
        })
        .await;
        until("all are served", async || {
            (told_json(&weir, &["status"])["clients"]["not_served"] == 0).then_some(())
        })
        .await;
        assert!(!told(&weir, &["rules", "list"]).contains(BEFORE), "{flavor:?}");
    }
}

/// Where connections are shared every session is followed.
#[tokio::test]
async fn who_shares_connections_is_served_at_once() {
    let server = server(Flavor::MariaDb);
    table(&server, "ns_shared").await;
    let weir = sharing(&server, 4, "", "");
    let [mut one] = clients(&weir, "ns_shared").await;
    let said = told(&weir, &["rules", "add", "--name", "t", "--match-table", "t", "--ttl", "1h"]);
    assert!(!said.contains(BEFORE), "{said}");
    assert_eq!(shown(&mut one, "cache").await, "yes");
}

/// A shadow rule measures, and answers nothing.
#[tokio::test]
async fn who_is_only_measured_is_told_so() {
    for (flavor, server) in &both() {
        table(server, "ns_shadow").await;
        let shadow = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", mode = \"shadow\"");
        let weir = sharing(server, 4, "", &shadow);
        let [mut one] = clients(&weir, "ns_shadow").await;
        let cache = shown(&mut one, "cache").await;
        assert_eq!(
            cache, "no: the cache rules for this user are shadows, which answer nothing",
            "{flavor:?}"
        );
        // Who was there before is not measured, and nobody is said to lack what a shadow does not give.
        let weir = sharing(server, 4, "sharing = \"session\"\n", "");
        let [_one, _two] = clients(&weir, "ns_shadow").await;
        let add = ["rules", "add", "--name", "t", "--match-table", "t", "--ttl", "1h", "--mode", "shadow"];
        assert!(told(&weir, &add).contains(&format!("2 sessions {BEFORE}")), "{flavor:?}");
        let status = told(&weir, &["status"]);
        assert!(
            status.contains(
                "2 sessions connected before there was a shadow rule for them, and are not measured"
            ) && status.contains("1 (1 in shadow mode)"),
            "{flavor:?}: {status}"
        );
        let both = sharing(server, 4, "", &format!("{shadow}{}", ALL.replace("all", "serves")));
        let [mut one] = clients(&both, "ns_shadow").await;
        assert_eq!(shown(&mut one, "cache").await, "yes", "{flavor:?}");
    }
}
