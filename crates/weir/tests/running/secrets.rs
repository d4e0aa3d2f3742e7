//! No password ever stands in the log, in an error, or on a page.

use std::fs;
use std::process::Command;

use crate::api_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const CANARIES: [&str; 6] =
    ["canary-listed", "canary-previous", "canary-through", "canary-wrong", "canary-changed", "canary-reload"];

/// What stands in the statements of clients, and in no digest.
const LITERALS: [&str; 4] = ["canary-literal", "canary-param", "canary-comment", "480915162342"];

/// A statement that the cache answers.
const CACHED: &str = "SELECT v FROM t WHERE v = 'canary-literal' AND id = 480915162342";

fn clean(what: &str, text: &str) {
    for canary in CANARIES.iter().chain(&LITERALS) {
        assert!(!text.contains(canary), "{canary} in {what}:\n{text}");
    }
}

#[tokio::test]
async fn passwords_are_in_no_log_no_error_and_no_page() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for (user, password) in
            [("canary1", "canary-listed"), ("canary2", "canary-through"), ("canary3", "canary-changed")]
        {
            admin.run(&format!("DROP USER IF EXISTS {user}")).await.unwrap();
            admin.run(&format!("CREATE USER {user} IDENTIFIED BY '{password}'")).await.unwrap();
        }
        let more = "[log]\nlevel = \"trace\"\n[[user]]\nname = \"canary1\"\npassword = \"canary-listed\"\nprevious = \"canary-previous\"\n";
        let address = server.addr().to_string();
        let mut weir = Weir::config(config(&address, more)).start().unwrap();
        for (user, password) in [("canary1", "canary-listed"), ("canary2", "canary-through")] {
            for tls in [Tls::Off, Tls::Unverified] {
                let options = ConnectOptions::tcp(weir.addr(), user, password).tls(tls.clone());
                let mut client = options.connect().await.unwrap();
                let session = client.run("SHOW WEIR SESSION").await.unwrap();
                clean("SHOW WEIR SESSION", &format!("{:?}", session.packets));
                let changed = client.change_user("canary3", "canary-changed", "", 45).await.unwrap();
                assert_eq!(changed.err(), None);
                let wrong = ConnectOptions::tcp(weir.addr(), user, "canary-wrong").tls(tls);
                clean("an error", &refusal(wrong.connect().await).to_string());
            }
        }
        let mut clear = ConnectOptions::tcp(weir.addr(), "canary2", "canary-through").tls(Tls::Unverified);
        clear = clear.plugin("mysql_clear_password");
        clear.connect().await.unwrap();
        for text in [
            config(&address, more) + "[[user]]\nname = \"x\"\npasword = \"canary-reload\"\n",
            config(&address, more) + "[[user]]\nname = \"x\"\npassword = \"canary-reload\nprevious = 1",
            config(&address, more).replace("canary-listed", "canary-reload"),
        ] {
            weir.reload(&text).unwrap();
        }
        weir.wait_for_line("configuration reloaded", PATIENCE).unwrap();
        for path in ["/metrics", "/readyz", "/healthz", "/"] {
            clean(path, &http(&weir, path).await.1);
        }
        weir.terminate(PATIENCE).unwrap();
        clean("the log", &weir.log());
        assert!(weir.log().contains("canary1"), "the log is not there at all");
    }
}

#[test]
fn weir_check_quotes_no_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    for text in [
        "[[server]]\nname = \"a\"\naddress = \"h:1\"\n[[user]]\nname = \"x\"\npassword = 7\nprevious = \"canary-listed\"\nfoo = \"canary-wrong\"\n",
        "[[user]]\nname = \"x\"\npassword = \"canary-listed\n",
        "[[user]]\nname = \"x\"\npassword = [\"canary-listed\"]\n",
    ] {
        fs::write(&path, text).unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg("-c").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        clean("weir check", &String::from_utf8_lossy(&output.stderr));
        clean("weir check", &String::from_utf8_lossy(&output.stdout));
    }
}

/// What the file of that name holds, and those that SQLite keeps beside it.
fn files(weir: &Weir, name: &str) -> String {
    let entries = fs::read_dir(weir.home()).unwrap().map(|entry| entry.unwrap());
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(name));
    named.map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned()).collect()
}

/// Changes rules that hold literals, in every form in which a rule can be sent, and asks for some changes that are refused.
async fn change_rules(weir: &Weir) {
    let file = weir.home().join("rule.toml");
    fs::write(
        &file,
        "name = \"in-file\"\nmatch = { pattern = \"canary-literal\" }\ndeny = \"canary-param\"\n",
    )
    .unwrap();
    let file = file.display().to_string();
    for args in [
        &["rules", "add", "--name", "by-digest", "--match-digest", CACHED, "--ttl", "5s"][..],
        &[
            "rules",
            "add",
            "--name",
            "by-pattern",
            "--match-pattern",
            "canary-literal",
            "--ttl",
            "5s",
            "--first",
        ],
        &[
            "rules",
            "replace",
            "by-pattern",
            "--name",
            "again",
            "--match-pattern",
            "canary-param",
            "--ttl",
            "5s",
        ],
        &["rules", "add", &file],
        &["rules", "replace", "in-file", &file],
        &["rules", "move", "in-file", "--before", "by-digest"],
    ] {
        told(weir, args);
    }
    refused_with(
        weir,
        &["rules", "add", "--name", "bad", "--match-pattern", "canary-literal(", "--ttl", "5s"],
    );
    for body in [
        r#"{"rule": {"name": "unknown", "canary-literal": 1, "match": {"pattern": "canary-literal"}}}"#,
        r#"{"toml": "name = \"canary-literal"}"#,
        r#"{"canary-literal": 1}"#,
        "canary-literal",
    ] {
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        let (status, answer) = request(weir, "POST /api/v1/rules", headers, body).await;
        assert!(matches!(status, 400 | 422), "{answer}");
    }
    for name in ["by-digest", "again", "in-file"] {
        told(weir, &["rules", "remove", name]);
    }
}

/// Every page and every verb, after statements of all sorts: no secret, no literal.
#[tokio::test]
async fn literals_passwords_and_keys_are_on_no_page_in_no_answer_and_in_no_log() {
    let server = server(Flavor::MariaDb);
    database(&server, "canary", &["CREATE TABLE t (id BIGINT, v VARCHAR(40))"]).await;
    let mut admin = app(server.addr()).connect().await.unwrap();
    admin.run("CREATE OR REPLACE USER canary4 IDENTIFIED BY 'canary-listed'").await.unwrap();
    admin.run("GRANT ALL ON canary.* TO canary4").await.unwrap();
    let certs = server.certs();
    let more = format!(
        "[log]\nlevel = \"trace\"\n[tls]\ncert = \"{}\"\nkey = \"{}\"\n[pool]\nsharing = \"transaction\"\n\
         [history]\nfile = \"history.db\"\n[query_log]\nfile = \"queries.json\"\nsample = \"100%\"\n\
         [[user]]\nname = \"canary4\"\npassword = \"canary-listed\"\nprevious = \"canary-previous\"\n\
         [[rule]]\nname = \"no\"\nmatch = {{ pattern = \"(?i)delete\" }}\ndeny = \"not here\"\n\
         [[rule]]\nname = \"reads\"\nmatch = {{ kind = \"read\", schema = \"canary\" }}\ncache = {{ ttl = \"1h\" }}\n",
        certs.server_cert.display(),
        certs.server_key.display()
    );
    let mut weir = weir_with(&server, &more);
    let options = ConnectOptions::tcp(weir.addr(), "canary4", "canary-listed").database("canary");
    let mut client = options.clone().tls(Tls::Unverified).connect().await.unwrap();
    let id = client.greeting().connection_id.to_string();
    for sql in [
        "INSERT INTO t VALUES (480915162342, 'canary-literal')",
        CACHED,
        CACHED,
        "SELECT /* canary-comment */ v FROM t WHERE v = \"canary-literal\"",
        "SELECT v FRM t WHERE v = 'canary-literal'",
        "DELETE FROM t WHERE v = 'canary-literal'",
        "SET @a = 'canary-literal'",
        "SET SESSION time_zone = 'canary-literal'",
        "KILL 'canary-literal'",
        "SELECT v FROM t WHERE id = 'canary-literal",
    ] {
        client.query(sql).await.unwrap();
    }
    let prepared = client.prepare("SELECT v FROM t WHERE v = ? AND v <> 'canary-literal'").await.unwrap();
    let params = [weir_testkit::client::command::Param::Text("canary-param".to_owned())];
    for _ in 0..2 {
        execute(&mut client, prepared.id, &params, true).await;
    }
    refusal(ConnectOptions::tcp(weir.addr(), "canary4", "canary-wrong").connect().await);
    weir.reload(&config(
        &server.addr().to_string(),
        &more.replace("reads\"", "reads\"\nttl = \"canary-reload\""),
    ))
    .unwrap();
    weir.wait_for_line("reload_refused", PATIENCE).unwrap();
    weir.reload(&config(&server.addr().to_string(), &more)).unwrap();
    weir.wait_for_line("configuration reloaded", PATIENCE).unwrap();

    let host = format!("Host: {}\r\n", weir.admin_addr());
    let (_, document) = request(&weir, "GET /api/v1/openapi.json", &host, "").await;
    let queries = told_json(&weir, &["queries"]);
    let digest = queries["queries"][0]["id"].as_str().unwrap_or_else(|| panic!("{queries}")).to_owned();
    for page in ["/metrics", "/readyz", "/healthz"] {
        clean(page, &http(&weir, page).await.1);
    }
    let mut pages = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("/rules/{name}", "/rules/reads")
            .replace("/sessions/{id}", &format!("/sessions/{id}"))
            .replace("{id}", &digest);
        if item.get("get").is_some() {
            pages += 1;
            clean(&path, &request(&weir, &format!("GET /api/v1{path}"), &host, "").await.1.to_string());
        }
    }
    assert!(pages >= 8, "{pages}");
    let key = std::fs::read_to_string(&certs.server_key).unwrap();
    let key = key.lines().nth(1).unwrap();
    let mut said = String::new();
    for args in [
        &["rules", "list"][..],
        &["rules", "show", "reads"],
        &["cache", "stats"],
        &["queries"],
        &["queries", "--quadrants"],
        &["queries", "show", &digest],
        &["status"],
        &["history"],
        &["sessions"],
        &["sessions", "show", &id],
        &["advise", "cache"],
        &["advise", "pins"],
        &["explain", "SELECT v FROM t", "--user", "canary4", "--schema", "canary"],
        &["rules", "test", "SELECT v FROM t"],
        &["reload"],
        &["check"],
        &["token", "list"],
        &["cache", "preview", "--digest", CACHED],
        &["cache", "wipe", "--digest", CACHED],
        &["kill", &id, "--query"],
        &["kill", &id],
    ] {
        let text = told(&weir, args);
        clean(&args.join(" "), &text);
        said.push_str(&text);
    }
    assert!(
        said.contains("SELECT `v` FROM `t` WHERE `v` = ?"),
        "the statements were not counted at all: {said}"
    );
    drop(client);
    change_rules(&weir).await;
    weir.terminate(PATIENCE).unwrap();
    clean("the log", &weir.log());
    assert!(!weir.log().contains(key) && !said.contains(key), "the TLS key shows");
    assert!(weir.log().contains("canary4") && weir.log().len() > 2000, "the log is not there at all");
    let log = weir.log();
    let mut audit = log.lines().filter(|line| line.contains("audit") && line.contains("/cache/wipe"));
    assert!(audit.any(|line| line.contains("SELECT `v` FROM `t` WHERE `v` = ?")), "{log}");
    let said = |method: &str, path: &str, said: &str| {
        let mut audit = log.lines().filter(|line| line.contains("event=\"audit\""));
        let line = |line: &str| {
            line.contains(&format!("method={method} path=/api/v1/rules{path} "))
                && line.contains(&format!("said={said} "))
        };
        assert!(audit.any(line), "{method} {path} {said}:\n{log}");
    };
    said("POST", "", r#"{"rule":"by-digest","position":3}"#);
    said("PUT", "/by-pattern", r#"{"rule":"again","position":1}"#);
    said("POST", "", r#"{"rule":"in-file","position":5}"#);
    said("POST", "/in-file/move", r#"{"place":{"before":"by-digest"}}"#);
    said("POST", "", r#"{"rule":"bad"}"#);
    said("DELETE", "/again", "");
    for name in ["history.db", "queries.json"] {
        let file = files(&weir, name);
        clean(name, &file);
        assert!(file.contains("SELECT `v` FROM `t` WHERE `v` = ?"), "{name} has no statement at all");
    }
}

/// Where samples and texts are asked for, what carries an account's password is left out of them, as the servers leave it out of their own
/// logs.
#[tokio::test]
async fn passwords_of_accounts_are_in_no_sample_and_in_no_text_of_a_log() {
    for (flavor, server) in &both() {
        database(server, "canary_samples", &[]).await;
        let more = "[log]\nlevel = \"trace\"\n[analytics]\nsamples = true\n[history]\nfile = \"history.db\"\n\
                    [query_log]\nfile = \"queries.json\"\nsample = \"100%\"\nliterals = true\n";
        let mut weir = weir_with(server, more);
        let mut client = client(&weir, "canary_samples").await;
        let id = client.greeting().connection_id.to_string();
        let password = match flavor {
            Flavor::MariaDb => "PASSWORD('canary-changed')",
            Flavor::MySql => "'canary-changed'",
        };
        let set = format!("SET PASSWORD FOR canary5 = {password}");
        // Some are none of this server's; what a client has sent is seen all the same.
        let carrying = [
            "CREATE USER canary5 IDENTIFIED BY 'canary-listed'",
            "ALTER USER canary5 IDENTIFIED BY 'canary-previous'",
            &set,
            "GRANT SELECT ON canary_samples.* TO canary5 IDENTIFIED BY 'canary-wrong'",
            "CHANGE MASTER TO MASTER_PASSWORD = 'canary-through', NO_SUCH = 1",
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'canary-through', NO_SUCH = 1",
            "START REPLICA USER = 'u' PASSWORD = 'canary-through' NO_SUCH",
            "CREATE SERVER s FOREIGN DATA WRAPPER NO SUCH OPTIONS (PASSWORD 'canary-through')",
            "PREPARE s FROM 'ALTER USER canary5 IDENTIFIED BY ''canary-changed'''",
            "SELECT 1 NO SUCH; SET PASSWORD = 'canary-reload'",
        ];
        client.run("DROP USER IF EXISTS canary5").await.unwrap();
        for sql in carrying {
            let answer = client.query(sql).await.unwrap();
            assert!(
                !sql.starts_with("CREATE USER") || answer.err().is_none(),
                "{flavor:?} {sql}: {answer:?}"
            );
            clean(sql, &told(&weir, &["sessions", "show", &id]));
        }
        client.run("DROP USER canary5").await.unwrap();
        let plain = "SELECT 'as it came' AS plain";
        client.run(plain).await.unwrap();
        let shown = told(&weir, &["sessions", "show", &id]);
        assert!(shown.contains(plain), "{flavor:?}: texts are not kept at all: {shown}");
        client.command(command::PING, b"").await.unwrap();
        let statements = carrying.len() + 3;
        let logged = async || (files(&weir, "queries.json").lines().count() >= statements).then_some(());
        until("all are logged", logged).await;
        let queries = told_json(&weir, &["queries", "--limit", "1000"]).to_string();
        assert!(queries.contains(plain), "{flavor:?}: there are no samples at all: {queries}");
        clean("queries", &queries);
        weir.terminate(PATIENCE).unwrap();
        let log = files(&weir, "queries.json");
        assert!(log.contains(plain), "{flavor:?}: there are no texts at all: {log}");
        clean("queries.json", &log);
        clean("history.db", &files(&weir, "history.db"));
        clean("the log", &weir.log());
    }
}
