//! Rules and the cache through the command line and the API, of a running Weir.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const OK: &str = "weir_config_reloads_total{result=\"ok\"}";

fn rule(name: &str, table: &str) -> String {
    format!(
        "[[rule]]\nname = \"{name}\" # about {name}\nmatch = {{ table = \"{table}\" }}\ncache = {{ ttl = \"1h\" }}\n"
    )
}

#[tokio::test]
async fn a_rule_that_is_added_is_in_force_at_once_and_in_the_file_and_gone_when_removed() {
    for (flavor, server) in &both() {
        table(server, "api_add").await;
        let mut weir = sharing(server, 4, "", "# the end\n");
        let [mut client] = clients(&weir, "api_add").await;
        assert!(told(&weir, &["rules", "list"]).starts_with("no rules"));
        let before = file(&weir);
        let said = told(&weir, &["rules", "add", "--name", "t", "--match-table", "api_add.t", "--ttl", "1h"]);
        assert!(
            said.contains("rule t added, now at place 1; written to ") && said.contains("weir.toml"),
            "{said}"
        );
        let new = "\n[[rule]]\nname = \"t\"\nmatch = { table = \"api_add.t\" }\ncache = { ttl = \"1h\" }\n";
        assert_eq!(file(&weir).replace(new, ""), before, "{flavor:?}");

        for _ in 0..4 {
            assert_eq!(value(&mut client, 1).await, "one");
        }
        change(server, "UPDATE api_add.t SET v='new' WHERE id=1").await;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        client.run("SELECT v, NOW() FROM t").await.unwrap();
        let shown = told_json(&weir, &["rules", "show", "t"]);
        assert_eq!((&shown["hits"], &shown["position"]), (&json!(6), &json!(1)), "{shown}");
        assert!(shown["last_hit"].as_u64().unwrap() > 1_700_000_000, "{shown}");
        let time = shown["time_seconds"].as_f64().unwrap();
        assert!(time > 0.0 && time < 60.0, "{shown}");
        let counts = &shown["cache"];
        assert_eq!(
            (&counts["hits"], &counts["misses"], &counts["entries"]),
            (&json!(4), &json!(1), &json!(1))
        );
        assert_eq!(
            (&counts["hit_ratio"], &counts["refused"]),
            (&json!(0.8), &json!({"nondeterministic_function": 1}))
        );
        let text = told(&weir, &["rules", "show", "t"]);
        assert!(text.contains("ttl = \"1h\"") && text.contains("nondeterministic_function 1"), "{text}");
        let line = told(&weir, &["rules", "list"]);
        assert!(line.contains("table=api_add.t") && line.contains("80.0 %"), "{line}");
        for (sample, count) in [
            ("weir_rule_hits_total{rule=\"t\"}", 6.0),
            ("weir_cache_hits_total{rule=\"t\"}", 4.0),
            ("weir_cache_misses_total{rule=\"t\"}", 1.0),
            ("weir_cache_entries{rule=\"t\"}", 1.0),
            ("weir_cache_refused_total{rule=\"t\",reason=\"nondeterministic_function\"}", 1.0),
        ] {
            assert_eq!(metric(&weir, sample).await, count, "{sample}");
        }
        let counted = metric(&weir, "weir_rule_seconds_total{rule=\"t\"}").await;
        assert!((counted - time).abs() < 1e-6, "{counted} and {time}");

        // The file is read again at a signal, and means the same.
        weir.signal(weir_testkit::process::Signal::Hup).unwrap();
        until("the reload", async || (metric(&weir, OK).await == 1.0).then_some(())).await;
        assert_eq!((names(&weir), value(&mut client, 1).await.as_str()), (vec!["t".to_owned()], "one"));
        let said = told(&weir, &["rules", "remove", "t"]);
        assert!(said.starts_with("rule t removed; written to ") && said.contains("; 1 entry, "), "{said}");
        assert_eq!(told_json(&weir, &["cache", "stats"])["entries"], 0, "{flavor:?}");
        assert_eq!((file(&weir), value(&mut client, 1).await.as_str()), (before, "new"), "{flavor:?}");
        told(&weir, &["rules", "add", "--name", "again", "--match-table", "t", "--ttl", "1h"]);
        assert_eq!(
            value(&mut client, 1).await,
            "new",
            "{flavor:?}: what the rule had stored has gone with it"
        );
        told(&weir, &["check"]);
    }
}

#[tokio::test]
async fn rules_are_added_at_places_moved_and_replaced_and_keep_their_comments() {
    let server = server(Flavor::MariaDb);
    let weir = sharing(&server, 4, "", &(rule("b", "b") + "\n" + &rule("d", "d")));
    let toml = weir.home().join("rule.toml");
    for (name, place) in
        [("a", &["--first"][..]), ("c", &["--before", "d"]), ("e", &["--after", "d"]), ("f", &[])]
    {
        std::fs::write(&toml, rule(name, name)).unwrap();
        told(&weir, &[&["rules", "add", toml.to_str().unwrap()], place].concat());
    }
    assert_eq!(names(&weir), ["a", "b", "c", "d", "e", "f"]);
    told(&weir, &["rules", "move", "b", "--last"]);
    told(&weir, &["rules", "move", "f", "--before", "a"]);
    assert_eq!(names(&weir), ["f", "a", "c", "d", "e", "b"]);
    let page = told_json(&weir, &["rules", "list", "--offset", "2", "--limit", "3"]);
    assert_eq!((&page["total"], &page["offset"]), (&json!(6), &json!(2)));
    let found: Vec<_> = page["rules"].as_array().unwrap().iter().map(|rule| &rule["name"]).collect();
    assert_eq!(found, ["c", "d", "e"]);
    assert_eq!(page["rules"][0]["position"], 3);
    let text = file(&weir);
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert!(text.contains(&format!("\"{name}\" # about {name}\n")), "{text}");
    }
    std::fs::write(&toml, "name = \"z\"\nmatch = { table = \"z\" }\ncache = { mode = \"off\" }\n").unwrap();
    told(&weir, &["rules", "replace", "c", toml.to_str().unwrap()]);
    told(
        &weir,
        &["rules", "replace", "z", "--name", "c", "--match-table", "c", "--ttl", "5s", "--verify", "1%"],
    );
    assert_eq!(names(&weir), ["f", "a", "c", "d", "e", "b"]);
    let shown = told_json(&weir, &["rules", "show", "c"]);
    assert_eq!(
        shown["rule"],
        json!({"name": "c", "match": {"table": "c"}, "cache": {"ttl": "5s", "verify": "1%"}})
    );
    assert!(file(&weir).contains("\"c\" # about c\n"), "{}", file(&weir));
    let late = ["rules", "add", "--name", "late", "--match-table", "a", "--match-user", "app", "--ttl", "1s"];
    let late = told(&weir, &late);
    assert!(late.contains("warning: rule `late` is never reached: rule `a`"), "{late}");
    std::fs::write(&toml, "name = \"idle\"\nmatch = { table = \"z\" }\n").unwrap();
    let idle = told(&weir, &["rules", "add", toml.to_str().unwrap()]);
    assert!(
        idle.contains("warning: rule `idle` does nothing: it has no action, and there is no rule below"),
        "{idle}"
    );
}

#[tokio::test]
async fn a_change_that_cannot_be_leaves_everything_as_it_was() {
    let server = server(Flavor::MariaDb);
    let weir = sharing(&server, 4, "", &rule("one", "t"));
    let (before, add) = (file(&weir), ["rules", "add", "--match-user", "app", "--name"]);
    let cases: &[(&[&str], &str)] = &[
        (
            &["one", "--ttl", "1h"],
            "there is already a rule `one`: change that one with `weir rules edit one`",
        ),
        (&["two", "--ttl", "1h", "--match-pattern", "("], "unclosed group"),
        (&["two", "--ttl", "1h", "--match-pattern", "((a{100}){100}){100}"], "too large when compiled"),
        (&["two", "--ttl", "soon"], "`ttl`"),
        (&["two", "--mode", "shadow"], "`ttl` is missing"),
        (&["two words", "--ttl", "1h"], "not a name for a rule"),
        (&["two", "--ttl", "1h", "--match-kind", "reed"], "\"read\""),
        (&["two", "--ttl", "1h", "--before", "none"], "there is no rule `none`"),
    ];
    for (args, expected) in cases {
        let said = refused_with(&weir, &[&add[..], args].concat());
        assert!(said.starts_with("error: ") && said.contains(expected), "{args:?}: {said}");
    }
    // Nothing but where the running Weir is.
    for args in [&["rules", "add"][..], &["rules", "replace", "one"]] {
        let said = failed_with(&weir, args, 2);
        assert!(said.contains("say which rule") && said.contains("--from-digest"), "{args:?}: {said}");
        // Refused before anything is looked for, such as the digest.
        for (which, expected, help) in [
            (&["--from-digest", "0123456789abcdef"][..], "this rule would do nothing", "--cache TTL"),
            (&["--name", "one"], "this rule would do nothing", "--cache TTL"),
            (&["--name", "one", "--ttl", "5m"], "for every statement", "--match-kind read"),
        ] {
            let said = failed_with(&weir, &[args, which].concat(), 2);
            assert!(said.contains(expected) && said.contains(help), "{which:?}: {said}");
        }
    }
    for args in [
        &["move", "none", "--first"][..],
        &["remove", "none"],
        &["show", "none"],
        &["replace", "none", "--name", "x", "--match-table", "t", "--ttl", "1s"],
    ] {
        let said = refused_with(&weir, &[&["rules"], args].concat());
        assert!(said.contains("there is no rule `none`"), "{args:?}: {said}");
    }
    assert!(refused_with(&weir, &["rules", "move", "one", "--after", "one"]).contains("beside itself"));
    assert!(refused_with(&weir, &["rules", "add", "/no/such.toml"]).contains("/no/such.toml"));
    assert_eq!((file(&weir), names(&weir)), (before.clone(), vec!["one".to_owned()]));

    // Somebody is at the file: it is not written over.
    let path = weir.home().join("weir.toml");
    let two = [&add[..], &["two", "--ttl", "1h"]].concat();
    let by_hand = before.replace("\"1h\"", "\"2h\"");
    std::fs::write(&path, &by_hand).unwrap();
    assert!(refused_with(&weir, &two).contains("is not what Weir has read: reload it"));
    let broken = format!("{before}\nno_such_key = 1\n");
    std::fs::write(&path, &broken).unwrap();
    assert!(refused_with(&weir, &two).contains("no_such_key"));
    assert_eq!(file(&weir), broken);
    std::fs::write(&path, &before).unwrap();
    // Read-only: also for root, who may write to any file, and into the folder.
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o444);
    let said = refused_with(&weir, &two);
    assert!(said.contains("is read-only") && said.contains("nothing was changed"), "{said}");
    let said = refused_with(&weir, &["token", "add", "three"]);
    assert!(said.contains("is read-only") && said.contains("nothing was changed"), "{said}");
    assert_eq!(said.matches("nobody may write to it").count(), 1, "{said}");
    assert_eq!((file(&weir), names(&weir)), (before, vec!["one".to_owned()]));
    mode(0o600);
    told(&weir, &two);
    assert_eq!(names(&weir), ["one", "two"]);
}

#[tokio::test]
async fn what_the_api_writes_is_not_read_again_and_what_others_write_is() {
    let server = server(Flavor::MariaDb);
    let text = sharing_config(&server.addr().to_string(), 4, "", "")
        .replace("workers = 1", "workers = 1\nwatch = true");
    let weir = Weir::config(text).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    told(&weir, &["rules", "add", "--name", "mine", "--match-table", "t", "--ttl", "1h"]);
    // The watch looks once a second, and waits for one look more: so this change comes behind that of the API.
    let path = weir.home().join("weir.toml");
    std::fs::write(&path, file(&weir) + &rule("yours", "u")).unwrap();
    until("the reload", async || (metric(&weir, OK).await == 1.0).then_some(())).await;
    assert_eq!(names(&weir), ["mine", "yours"]);
    told(&weir, &["rules", "remove", "mine"]);
    std::fs::write(&path, file(&weir).replace("yours", "theirs")).unwrap();
    until("the second reload", async || (metric(&weir, OK).await == 2.0).then_some(())).await;
    assert_eq!(names(&weir), ["theirs"]);
}

#[tokio::test]
async fn the_cache_is_wiped_by_each_selector_and_by_nothing_that_never_was() {
    for (flavor, server) in &both() {
        table(server, "api_wipe").await;
        let weir = sharing(server, 4, "", &rule("t", "t"));
        let [mut client] = clients(&weir, "api_wipe").await;
        let tagged = "/*weir: tag=red */ SELECT v FROM t WHERE id=3";
        let digest = told_json(&weir, &["explain", "SELECT v FROM t WHERE id=9"]);
        let digest = digest["digest"]["id"].as_str().unwrap().to_owned();
        let selectors: &[(&[&str], u64)] = &[
            (&["--rule", "t"], 3),
            (&["--digest", &digest], 3),
            (&["--digest", "select v from t where id = 77"], 3),
            (&["--schema", "api_wipe"], 3),
            (&["--table", "api_wipe.t"], 3),
            (&["--table", "T", "--schema", "API_WIPE"], 3),
            (&["--user", "app"], 3),
            (&["--tag", "red"], 1),
            (&["--all", "--yes"], 3),
            (&["--rule", "t", "--tag", "red", "--user", "app"], 1),
        ];
        for (n, (args, count)) in selectors.iter().enumerate() {
            let at = format!("{flavor:?} {args:?}");
            told(&weir, &["cache", "wipe", "--all", "--yes"]);
            change(server, &format!("UPDATE api_wipe.t SET v='{n}'")).await;
            for id in [1, 2] {
                value(&mut client, id).await;
            }
            row(&mut client, tagged).await;
            change(server, "UPDATE api_wipe.t SET v='fresh'").await;
            let preview: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--yes").collect();
            // The client has the last answer before it is stored.
            let preview = until(&at, async || {
                let covered = told_json(&weir, &[&["cache", "preview"], &preview[..]].concat());
                (covered["entries"] == json!(count)).then_some(covered)
            })
            .await;
            assert!(preview["bytes"].as_u64().unwrap() > 100 * count, "{at}: {preview}");
            assert_eq!(row(&mut client, tagged).await, n.to_string(), "{at}: a preview leaves all as it is");
            let wiped = told_json(&weir, &[&["cache", "wipe"], *args].concat());
            assert_eq!(wiped, preview, "{at}");
            assert_eq!(row(&mut client, tagged).await, "fresh", "{at}");
            let other = if *count == 3 { "fresh".to_owned() } else { n.to_string() };
            assert_eq!(value(&mut client, 1).await, other, "{at}");
        }
        told(&weir, &["cache", "wipe", "--all", "--yes"]);
        assert_eq!(told(&weir, &["cache", "wipe", "--table", "api_wipe.t"]), "removed 0 entries, 0 B\n");
        for verb in ["preview", "wipe"] {
            for (args, expected) in [
                (&["--rule", "none"][..], "there is no rule `none`"),
                (&["--table", "api_wipe.none"], "never held anything of this table"),
                (&["--schema", "none"], "never held anything of this schema"),
                (&["--tag", "none"], "never held anything of this tag"),
                (&["--user", "none"], "never held anything of this user"),
                (&["--digest", "select none"], "never held anything of this digest"),
                (&["--table", "t"], "needs its schema"),
                (&["--table", "a.b.c"], "not the name of a table"),
                (&["--tag", ""], "a name is empty"),
            ] {
                let said = refused_with(&weir, &[&["cache", verb], args].concat());
                assert!(said.contains(expected), "{verb} {args:?}: {said}");
            }
        }
        let log = weir.log();
        let line = |word: &str, said: &str| {
            let line = log.lines().find(|line| line.contains("event=\"audit\"") && line.contains(said));
            let line = line.unwrap_or_else(|| panic!("{said}: {log}"));
            assert!(line.contains(&format!(" {word} ")) && line.contains("/api/v1/cache/wipe"), "{line}");
            line.to_owned()
        };
        let refused = line("WARN", "said={\"table\":\"api_wipe.none\"}");
        assert!(
            refused.contains("outcome=\"refused\" code=\"nothing_named\"") && refused.contains("status=404"),
            "{refused}"
        );
        assert!(line("INFO", "said={\"tag\":\"red\"}").contains("outcome=\"done\""));
        let wiped = |line: &&str| line.contains("cache_wiped");
        assert!(
            log.lines().filter(wiped).any(|line| line.contains("selection=rule=t tag=red user=app ")),
            "{log}"
        );
        assert!(!log.lines().filter(wiped).any(|line| line.contains("none")), "nothing was wiped: {log}");
        assert!(refused_with(&weir, &["cache", "wipe", "--all"]).contains("--yes"));
        let stats = told(&weir, &["cache", "stats"]);
        assert!(stats.contains("256.0 MiB") && stats.contains("wiped"), "{stats}");
    }
}

#[tokio::test]
async fn explain_and_test_say_what_would_happen_and_run_nothing() {
    for (flavor, server) in &both() {
        table(server, "api_tell").await;
        let rules = "[[rule]]\nname = \"never\"\nmatch = { table = \"t\", user = \"root\" }\ncache = { mode = \"off\" }\n"
            .to_owned()
            + &rule("t", "api_tell.t")
            + &rule("w", "api_tell.w")
            + "[[rule]]\nname = \"rest\"\nmatch = {}\n";
        let weir = sharing(server, 4, "", &rules);
        let [mut client] = clients(&weir, "api_tell").await;
        value(&mut client, 2).await;
        let stored = "weir_cache_entries{rule=\"t\"}";
        until("it is stored", async || (metric(&weir, stored).await == 1.0).then_some(())).await;
        let explain =
            |sql: &str| told_json(&weir, &["explain", sql, "--user", "app", "--schema", "api_tell"]);
        let told_of = explain("SELECT v FROM t WHERE id=1");
        assert_eq!(
            (&told_of["cache"]["verdict"], &told_of["cache"]["rule"]),
            (&json!("serve"), &json!("t")),
            "{told_of}"
        );
        assert_eq!(told_of["cache"]["stored"]["entries"], json!(1), "{flavor:?}: of the digest: {told_of}");
        assert_eq!(told_of["digest"]["text"], json!("SELECT `v` FROM `t` WHERE `id` = ?"));
        assert_eq!((&told_of["facts"]["reads"], &told_of["facts"]["kind"]), (&json!(["t"]), &json!("read")));
        assert_eq!(told_of["key"][0], json!({"part": "statement", "value": "SELECT v FROM t WHERE id=1"}));
        assert_eq!(
            (&told_of["route"]["server"], &told_of["route"]["sharing"]),
            (&json!("db1"), &json!("transaction"))
        );
        assert!(told_of["facts"]["read_as"].as_str().unwrap().starts_with(flavor.as_str()), "{told_of}");
        let outcomes: Vec<_> =
            told_of["rules"].as_array().unwrap().iter().map(|rule| &rule["outcome"]).collect();
        assert_eq!(outcomes, ["no_match", "decides", "not_reached", "not_reached"]);
        assert_eq!(told_of["rules"][0]["mismatches"], json!(["user"]));
        // What the server has said about names, and what it would be asked.
        let names =
            |told: &serde_json::Value| told["cache"]["provided"].as_array().unwrap().last().cloned().unwrap();
        assert!(
            names(&told_of).as_str().unwrap().starts_with("t: may be cached, as the server said "),
            "{told_of}"
        );
        let unasked = explain("SELECT id FROM t");
        assert!(names(&unasked).as_str().unwrap().contains("the server is asked"), "{unasked}");
        change(server, "CREATE OR REPLACE VIEW api_tell.w AS SELECT NOW() AS n FROM api_tell.t").await;
        assert_eq!(explain("SELECT n FROM w")["cache"]["verdict"], json!("serve"), "nobody has asked yet");
        client.run("SELECT n FROM w").await.unwrap();
        free(&mut client, "what a view is was asked behind the answer").await;
        let told_of = explain("SELECT n FROM w")["cache"].clone();
        assert_eq!(
            (&told_of["verdict"], &told_of["refusal"]),
            (&json!("refuse"), &json!("view")),
            "{told_of}"
        );

        for (sql, refusal) in [
            ("SELECT v, NOW() FROM t", "nondeterministic_function"),
            ("/*nocache*/ SELECT v FROM t", "bypass"),
            ("DELETE FROM t", "not_a_read"),
            ("SELECT v FROM t FOR UPDATE", "locking_read"),
            ("SELECT f(v) FROM t", "stored_function"),
            ("SELECT 1 FROM other", "no_rule"),
            ("SELECT v FROM t /* never ends", "unknown"),
        ] {
            let plan = explain(sql)["cache"].clone();
            assert_eq!(
                (&plan["verdict"], &plan["refusal"]),
                (&json!("refuse"), &json!(refusal)),
                "{sql}: {plan}"
            );
        }
        let as_root = told_json(&weir, &["explain", "SELECT v FROM api_tell.t", "--user", "root"]);
        assert_eq!(as_root["cache"]["refusal"], json!("rule_off"), "{as_root}");
        let text = told(&weir, &["rules", "test", "SELECT v FROM t", "--schema", "api_tell"]);
        assert!(
            text.starts_with("rule t decides\ncache: by rule t\n") && text.contains("user differs"),
            "{text}"
        );
        let text = told(&weir, &["rules", "test", "INSERT INTO x VALUES (1)", "--client", "10.0.0.1"]);
        assert!(text.starts_with("rule rest decides\n"), "{text}");
        assert!(refused_with(&weir, &["explain", " "]).contains("there is no statement"));
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}: nothing was deleted");
    }
}

#[tokio::test]
async fn without_a_file_changes_hold_as_long_as_weir_runs() {
    let server = server(Flavor::MariaDb);
    table(&server, "api_bare").await;
    let folder = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", folder.path().join("admin.sock").display());
    let weir = Weir::backend(server.addr().to_string()).arg("--admin").arg(&socket).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    let mode = std::fs::metadata(folder.path().join("admin.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let added = cli_with(
        None,
        &["rules", "add", "--admin", &socket, "--name", "t", "--match-table", "t", "--ttl", "1h"],
    );
    let said = String::from_utf8_lossy(&added.stdout);
    assert!(
        added.status.success() && said.contains("not kept: Weir was started without a file"),
        "{added:?}"
    );
    let [mut client] = clients(&weir, "api_bare").await;
    assert_eq!(value(&mut client, 1).await, "one");
    change(&server, "UPDATE api_bare.t SET v='new'").await;
    assert_eq!(value(&mut client, 1).await, "one");
    let listed = cli_with(None, &["rules", "list", "--admin", &socket]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("these rules end with it"), "{listed:?}");
}

/// What it would have served was the same, and then out of date; nothing was.
#[tokio::test]
async fn a_shadow_serves_nothing_and_tells_what_would_have_been() {
    for (flavor, server) in &both() {
        table(server, "api_shadow").await;
        let weir = sharing(server, 4, "", &rule("t", "t").replace("\"1h\"", "\"1h\", mode = \"shadow\""));
        let [mut client, mut other] = clients(&weir, "api_shadow").await;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        // The names are looked up and known, and its mark is there.
        shown(&mut client, "client_id").await;
        assert_eq!(value(&mut other, 1).await, "one", "{flavor:?}");
        shown(&mut other, "client_id").await;
        for fresh in ["new", "newer"] {
            change(server, &format!("UPDATE api_shadow.t SET v='{fresh}'")).await;
            assert_eq!(value(&mut client, 1).await, fresh, "{flavor:?}");
        }
        shown(&mut client, "client_id").await;
        let figure = async |name| metric(&weir, &format!("weir_cache_{name}{{rule=\"t\"}}")).await;
        let seen = [figure("shadow_seen_total").await, figure("shadow_hits_total").await];
        assert_eq!(seen, [4.0, 3.0], "{flavor:?}");
        assert_eq!(figure("shadow_stale_total").await, 2.0, "{flavor:?}");
        assert!(figure("shadow_saved_seconds_total").await > 0.0, "{flavor:?}");
        assert_eq!(figure("stale_age_seconds_count").await, 2.0, "{flavor:?}");
        assert_eq!(figure("hits_total").await, 0.0, "{flavor:?}");
        let counts = told_json(&weir, &["cache", "stats"])["total"].clone();
        assert_eq!((&counts["shadow_hits"], &counts["hits"]), (&json!(3), &json!(0)), "{counts}");
        let status = told(&weir, &["status"]);
        assert!(
            status.contains("; shadow: 3 of 4 statements would have been hits; "),
            "{flavor:?}: {status}"
        );
    }
}

#[tokio::test]
async fn changes_at_once_take_turns() {
    let server = server(Flavor::MariaDb);
    let weir = sharing(&server, 4, "", "");
    let names_of: Vec<String> = (0..6).map(|n| format!("r{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names_of {
            let weir = &weir;
            scope.spawn(move || {
                told(weir, &["rules", "add", "--name", name, "--match-table", name, "--ttl", "1s"])
            });
        }
    });
    let mut found = names(&weir);
    found.sort();
    assert_eq!(found, names_of);
    let text = file(&weir);
    assert!(names_of.iter().all(|name| text.contains(&format!("name = \"{name}\""))), "{text}");
    told(&weir, &["check"]);
}
