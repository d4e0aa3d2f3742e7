//! Tokens: who may do what through the API and the command line, and what stands in the log of it.

use serde_json::json;
use weir_testkit::weir::ADMIN_TOKEN;

use crate::api_kit::*;
use crate::kit::*;

/// `weir token ...` on the configuration file of this Weir; what it prints.
fn token(weir: &Weir, args: &[&str]) -> String {
    let file = weir.home().join("weir.toml").display().to_string();
    let output = cli_with(None, &[&["token"], args, &["--config", &file]].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The command line with a token; its status, and what it says.
fn ask(weir: &Weir, with: Option<&str>, args: &[&str]) -> (i32, String) {
    let file = weir.home().join("weir.toml").display().to_string();
    let output = cli_with(with, &[args, &["--config", &file]].concat());
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn a_token_is_made_used_and_removed() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let before = file(&weir);
    let made: Vec<(&str, String)> = ["read", "operate", "admin"]
        .into_iter()
        .map(|role| (role, token(&weir, &["add", &format!("my-{role}"), "--role", role])))
        .collect();
    assert!(file(&weir).starts_with(&before), "what was there has changed");
    let rules = ["rules", "list"];
    let wipe = ["cache", "wipe", "--all", "--yes"];
    let add = ["rules", "add", "--name", "one", "--match-table", "t", "--ttl", "1s"];
    // None of them counts before a reload; nobody gets in without.
    let (status, said) = ask(&weir, Some(&made[2].1), &rules);
    assert!(status == 1 && said.contains("this token is not accepted"), "{said}");
    let (status, said) = ask(&weir, None, &rules);
    assert!(status == 1 && said.contains("weir token add NAME"), "{said}");
    let (status, said) = ask(&weir, Some(ADMIN_TOKEN), &["reload"]);
    assert!(status == 0 && said.contains("token.my-operate: added, operate"), "{said}");
    for ((role, token), allowed) in made.iter().zip([[0, 1, 1], [0, 0, 1], [0, 0, 0]]) {
        for (args, expected) in [&rules[..], &wipe, &add].into_iter().zip(allowed) {
            let (status, said) = ask(&weir, Some(token), args);
            assert_eq!(status, expected, "{role} {args:?}: {said}");
            assert!(expected == 0 || said.contains(&format!("`my-{role}` has the role `{role}`")), "{said}");
        }
    }
    let secrets: Vec<String> = made
        .iter()
        .flat_map(|(role, token)| [token[5..].to_owned(), weir_testkit_hash(&weir, role)])
        .collect();
    let mut pages = vec![http(&weir, "/metrics").await.1, http(&weir, "/").await.1];
    for path in ["status", "sessions", "queries", "rules", "cache"] {
        let host = format!("Host: {}\r\n", weir.admin_addr());
        let (status, page) = request(&weir, &format!("GET /api/v1/{path}"), &host, "").await;
        assert_eq!(status, 200, "{path}");
        pages.push(page.to_string());
    }
    for page in pages {
        assert!(secrets.iter().all(|secret| !page.contains(secret)), "a page shows a token: {page}");
    }
    let listed = token(&weir, &["list", "--json"]);
    assert!(secrets.iter().all(|secret| !listed.contains(secret)), "{listed}");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[1], json!({"name": "my-read", "role": "read"}));
    token(&weir, &["remove", "my-admin"]);
    assert_eq!(ask(&weir, Some(&made[1].1), &["reload"]).0, 0);
    assert_eq!(ask(&weir, Some(&made[2].1), &rules).0, 1);
    let log = weir.log();
    for line in ["my-operate", "/api/v1/cache/wipe", "\"all\":true", "role_too_low", "unknown_token"] {
        assert!(log.contains(line), "{line} in {log}");
    }
    for (role, token) in &made {
        let hash = weir_testkit_hash(&weir, role);
        assert!(!log.contains(&token[5..]) && !log.contains(&hash), "the log shows a token");
        assert!(!file(&weir).contains(token.as_str()), "the file shows a token");
    }
}

/// Whatever level the log has: who has changed something stands in it, and whoever was not let in.
#[tokio::test]
async fn no_level_of_the_log_hides_who_changed_what() {
    let server = server(Flavor::MariaDb);
    let weir =
        Weir::config(config(&server.addr().to_string(), "[log]\nlevel = \"error\"\n")).start().unwrap();
    let listens = async || tokio::net::TcpStream::connect(weir.admin_addr()).await.ok();
    until("the admin port listens", listens).await;
    let [read, operate, admin] = ["read", "operate", "admin"]
        .map(|role| token(&weir, &["add", &format!("level-{role}"), "--role", role]));
    assert_eq!(ask(&weir, Some(ADMIN_TOKEN), &["reload"]).0, 0);
    let wipe = ["cache", "wipe", "--all", "--yes"];
    let rule = weir.home().join("rule.toml");
    std::fs::write(&rule, "name = \"level-rule\"\nmatch = {}\ndeny = \"no\"\n").unwrap();
    let add = ["rules", "add", rule.to_str().unwrap()];
    assert_eq!(ask(&weir, Some(&read), &wipe).0, 1);
    assert_eq!(ask(&weir, Some(&operate), &wipe).0, 0);
    assert_eq!(ask(&weir, Some(&operate), &add).0, 1);
    assert_eq!(ask(&weir, Some(&admin), &add).0, 0);
    // Its name is taken now.
    assert_eq!(ask(&weir, Some(&admin), &add).0, 1);
    let expected = [
        &["event=\"reloaded\"", "token.level-read: added, read"][..],
        &["event=\"audit\"", "outcome=\"done\"", "caller=kit", "path=/api/v1/reload"],
        &["event=\"admin_refused\"", "code=\"role_too_low\"", "caller=level-read", "path=/api/v1/cache/wipe"],
        &["event=\"audit\"", "outcome=\"done\"", "caller=level-operate", "path=/api/v1/cache/wipe"],
        &["event=\"admin_refused\"", "caller=level-operate", "needed=\"admin\""],
        &[
            "event=\"audit\"",
            "outcome=\"done\"",
            "caller=level-admin",
            "said={\"rule\":\"level-rule\",\"position\":1}",
        ],
        &["event=\"audit\"", "outcome=\"refused\" code=\"duplicate_rule\"", "said={\"rule\":\"level-rule\"}"],
    ];
    for words in expected {
        let is_it = |line: &str| words.iter().all(|word| line.contains(word));
        until(&format!("{words:?}"), async || weir.log().lines().any(is_it).then_some(())).await;
    }
    assert_eq!(weir.log().lines().count(), expected.len(), "{}", weir.log());
    let refused = metric(&weir, "weir_admin_refused_total{reason=\"role_too_low\"}").await;
    assert_eq!(refused, 2.0);
    assert_eq!(metric(&weir, "weir_stderr_lines_lost_total{reason=\"queue_full\"}").await, 0.0);
}

/// The hash of a token, as it stands in the file or stood there.
fn weir_testkit_hash(weir: &Weir, role: &str) -> String {
    let text = file(weir);
    let from = text.find(&format!("name = \"my-{role}\"")).map(|at| &text[at..]);
    let hash = from.and_then(|text| text.split("sha256:").nth(1)).map(|hash| hash[..64].to_owned());
    hash.unwrap_or_else(|| "not there any more".to_owned())
}

#[tokio::test]
async fn what_token_cannot_do_it_says() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let path = weir.home().join("weir.toml").display().to_string();
    let before = file(&weir);
    for (args, status, expected) in [
        (&["add", "kit"][..], 1, "already a token `kit`"),
        (&["add", "two words"], 1, "not a name for a token"),
        (&["add", "x", "--role", "root"], 2, "a role is one of read, operate, admin"),
        (&["remove", "nobody"], 1, "there is no token `nobody`"),
    ] {
        let output = cli_with(None, &[&["token"], args, &["--config", &path]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(file(&weir), before);
    // From a file, and a variable that holds something else.
    let secret = weir.home().join("token");
    std::fs::write(&secret, format!("{ADMIN_TOKEN}\n")).unwrap();
    let from_file = ["rules", "list", "--token-file", secret.to_str().unwrap()];
    assert_eq!(ask(&weir, Some("weir_other"), &from_file).0, 0);
    std::fs::write(&secret, "a b").unwrap();
    let (status, said) = ask(&weir, None, &from_file);
    assert!(status == 1 && said.contains("holds no token"), "{said}");
}

/// The user that Weir runs as needs no token on a unix socket.
#[tokio::test]
async fn on_a_unix_socket_its_own_user_may_do_everything() {
    let server = server(Flavor::MariaDb);
    let listen = "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"unix:$DIR/admin.sock\"\n";
    let weir = Weir::config(config(&server.addr().to_string(), listen)).start().unwrap();
    let socket = weir.home().join("admin.sock");
    until("the admin socket", async || socket.exists().then_some(())).await;
    for (args, expected) in [
        (&["rules", "add", "--name", "one", "--match-table", "t", "--ttl", "1s"][..], "rule one added"),
        (&["rules", "list"], "one"),
        (&["reload"], "reloaded"),
    ] {
        let (status, said) = ask(&weir, None, args);
        assert!(status == 0 && said.contains(expected), "{said}");
    }
    let (status, said) = ask(&weir, Some("weir_nobodys"), &["rules", "list"]);
    assert!(status == 1 && said.contains("not accepted"), "{said}");
    // A file that is wrong changes nothing, and whoever asks is told why.
    let good = file(&weir);
    std::fs::write(weir.home().join("weir.toml"), format!("{good}[log]\nlevel = \"loud\"\n")).unwrap();
    let socket = format!("unix:{}", socket.display());
    let output = cli_with(None, &["reload", "--admin", &socket]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("loud"), "{said}");
}

/// Two who change the rules at the same time: one of them is told, and nothing is lost.
#[tokio::test]
async fn of_two_who_change_the_rules_the_second_is_told() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", weir.admin_addr());
    let add = |name: &str| format!("{{\"toml\": \"name = '{name}'\\nmatch = {{}}\\ndeny = 'no'\\n\"}}");
    let version = async || {
        let (_, table) = request(&weir, "GET /api/v1/rules", &host, "").await;
        table["version"].as_str().unwrap().to_owned()
    };
    let first = version().await;
    let held = format!("{host}If-Match: \"{first}\"\r\n");
    assert_eq!(request(&weir, "POST /api/v1/rules", &held, &add("one")).await.0, 201);
    let second = version().await;
    assert_ne!(first, second);
    for (line, body) in [
        ("POST /api/v1/rules", add("two")),
        ("PUT /api/v1/rules/one", add("two")),
        ("POST /api/v1/rules/one/move", "{\"place\": \"first\"}".to_owned()),
        ("DELETE /api/v1/rules/one", String::new()),
    ] {
        let (status, answer) = request(&weir, line, &held, &body).await;
        assert_eq!((status, &answer["error"]["code"]), (412, &json!("rules_changed")), "{line}");
    }
    assert_eq!(names(&weir), ["one"]);
    // Who replaces a rule has to say which rules he has seen.
    let (status, answer) = request(&weir, "PUT /api/v1/rules/one", &host, &add("two")).await;
    assert_eq!((status, &answer["error"]["code"]), (428, &json!("version_needed")));
    let replace =
        ["rules", "replace", "one", "--name", "two", "--match-table", "t", "--ttl", "1m", "--if-version"];
    let said = refused_with(&weir, &[&replace[..], &[&first]].concat());
    assert!(said.contains("somebody else has changed the rules meanwhile"), "{said}");
    assert_eq!(names(&weir), ["one"]);
    let (status, answer) =
        request(&weir, "DELETE /api/v1/rules/one", &format!("{host}If-Match: W/x\r\n"), "").await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad_request")));
    let held = format!("{host}If-Match: \"{second}\"\r\n");
    assert_eq!(request(&weir, "DELETE /api/v1/rules/one", &held, "").await.0, 200);
    assert_eq!(version().await, first, "the same rules have the same version");
    assert_eq!(request(&weir, "POST /api/v1/rules", &host, &add("one")).await.0, 201);
    told(&weir, &[&replace[..], &[&version().await]].concat());
    assert_eq!(names(&weir), ["two"]);
}
