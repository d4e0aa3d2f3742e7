//! The command line: check, run without a file, and what is refused before a port is opened.

use std::fs;
use std::process::{Command, Output};

use crate::kit::*;

fn weir(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(args).output().unwrap()
}

/// `weir check` and `weir run` of the same text: both refuse it with status 2. Returns what the first prints.
fn refused_file(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let (check, run) = (weir(&["check", "-c", &path]), weir(&["run", "-c", &path]));
    assert_eq!((check.status.code(), run.status.code()), (Some(2), Some(2)), "{check:?} {run:?}");
    assert_eq!(check.stderr, run.stderr);
    String::from_utf8(check.stderr).unwrap()
}

#[test]
fn a_good_file_is_said_to_be_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    fs::write(&path, "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n").unwrap();
    let output = weir(&["check", "-c", &path.display().to_string()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("good"), "{output:?}");
}

#[test]
fn rules_that_do_nothing_are_warned_of_and_rules_that_cannot_be_are_refused() {
    let server = "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n";
    let all = "[[rule]]\nname = \"all\"\nmatch = {}\ncache = { ttl = \"10s\" }\n";
    let late = "[[rule]]\nname = \"late\"\nmatch = { user = \"app\" }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    fs::write(&path, format!("{server}{all}{late}")).unwrap();
    let output = weir(&["check", "-c", &path.display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("warning: rule `late` is never reached: rule `all`"), "{said}");
    let logs = "[history]\nfile = \"/no/such/folder/x.db\"\n[query_log]\nfile = \"/no/such/log/q.log\"\n";
    fs::write(&path, format!("{server}{logs}")).unwrap();
    let output = weir(&["check", &path.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.lines().count() == 2, "{output:?}");
    assert!(
        said.contains("no folder /no/such/folder:") && said.contains("no folder /no/such/log:"),
        "{said}"
    );
    let said = refused_file(&format!("{server}{all}deny = \"\"\n"));
    assert!(said.contains("`deny`"), "{said}");
}

#[test]
fn errors_come_all_at_once_with_their_places_and_hints() {
    let said = refused_file(
        "[listen]\nmysql = [\"127.0.0.1:99999\"]\n[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\nmax_conections = 7\n\
         tls = { mode = \"verify_cat\" }\n[limits]\nlogin_timeout = \"soon\"\n",
    );
    for wanted in [
        "weir.toml:2:",
        "weir.toml:6:1",
        "weir.toml:7:",
        "weir.toml:9:",
        "max_connections",
        "verify_ca",
        "99999",
        "help",
    ] {
        assert!(said.contains(wanted), "{wanted} is not in:\n{said}");
    }
}

#[test]
fn a_second_server_is_refused_with_words_that_say_so() {
    let server =
        |name: &str, port: u16| format!("[[server]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\n");
    let said = refused_file(&(server("db1", 3306) + &server("db2", 3307)));
    assert!(said.contains("pools of servers are not supported") && said.contains("weir.toml:4:"), "{said}");
}

#[test]
fn files_that_are_not_there_and_keys_that_do_not_fit() {
    let said = refused_file(
        "[tls]\ncert = \"/no/such.pem\"\nkey = \"/no/such.key\"\n[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n",
    );
    assert!(said.contains("/no/such.pem"), "{said}");
    let missing = weir(&["check", "-c", "/no/such/weir.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/no/such/weir.toml"));
}

/// With these variables set.
fn weir_with(set: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(args).env_remove("WEIR_CONFIG").env_remove("WEIR_ADMIN").envs(set.iter().copied());
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), said.concat())
}

#[test]
fn variables_say_where_the_configuration_is_and_the_running_weir() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    // Nobody listens there; a port that was just free may be another test's a moment later.
    let (admin, other) = ("127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned());
    let text =
        format!("[listen]\nadmin = \"{admin}\"\n[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n");
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let both = [("WEIR_CONFIG", &*path), ("WEIR_ADMIN", &*other)];
    let gone = [("WEIR_CONFIG", "/no/such.toml")];
    for (set, args, status, expected) in [
        (&both[..1], &["check"][..], 0, "the configuration is good"),
        (&both[..1], &["token", "add", "me"], 0, "weir_"),
        (&both[..1], &["token", "list"], 0, "me"),
        (&both[..1], &["status"], 1, &admin),
        (&both[1..], &["status"], 1, &other),
        (&both, &["status"], 1, &other),
        (&both, &["status", "--config", &path], 1, &admin),
        (&gone, &["check"], 2, "/no/such.toml"),
        (&gone, &["run"], 2, "/no/such.toml"),
        (&gone, &["rules", "list"], 1, "/no/such.toml"),
        (&gone, &["check", "--config", &path], 0, "the configuration is good"),
        (&gone, &["check", &path], 0, "the configuration is good"),
        (&gone, &["check", &path, "-c", &path], 2, "cannot be used with"),
        // No file is meant.
        (&gone, &["run", "--backend", "nowhere"], 2, "nowhere"),
        (&[("WEIR_ADMIN", "6034")], &["status"], 2, "WEIR_ADMIN"),
    ] {
        let (code, said) = weir_with(set, args);
        assert!(code == Some(status) && said.contains(expected), "{args:?}: {code:?} {said}");
    }
}

#[test]
fn help_version_and_schema() {
    let help = String::from_utf8(weir(&["--help"]).stdout).unwrap();
    for word in ["run", "check", "config-schema", "--backend"] {
        assert!(help.contains(word), "{word} is not in:\n{help}");
    }
    let version = String::from_utf8(weir(&["--version"]).stdout).unwrap();
    assert_eq!(version.trim(), format!("weir {}", env!("CARGO_PKG_VERSION")));
    let schema = String::from_utf8(weir(&["config-schema"]).stdout).unwrap();
    assert!(schema.starts_with('{') && schema.contains("\"proxy_protocol\""), "{schema}");
}

#[tokio::test]
async fn run_without_a_file_serves_users_that_weir_was_never_told_about() {
    let server = server(Flavor::MySql);
    let weir = Weir::in_front_of(&server).unwrap();
    let options = ConnectOptions::tcp(weir.addr(), "app_sha", "sha-pw").plugin("caching_sha2_password");
    for tls in [Tls::Off, Tls::Unverified] {
        options.clone().tls(tls).connect().await.unwrap();
    }
    let wrong = ConnectOptions::tcp(weir.addr(), "app_sha", "wrong").plugin("caching_sha2_password");
    assert_eq!(refusal(wrong.connect().await).code, 1045);
}

/// What a shell proposes behind these words.
fn completed_by_bash(words: &[&str]) -> Vec<String> {
    let script = format!(
        "PATH=$1:$PATH; source <(weir completion bash) || exit 1; COMP_WORDS=(weir {}); COMP_CWORD={}; \
         _weir weir '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len(),
        words.last().unwrap(),
        words.iter().rev().nth(1).unwrap_or(&"weir"),
    );
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    let output = Command::new("bash").args(["--norc", "-c", &script, "bash"]).arg(folder).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_the_command_line() {
    assert_eq!(completed_by_bash(&["ru"]), ["run", "rules"]);
    assert_eq!(completed_by_bash(&["rules", "ed"]), ["edit"]);
    assert!(completed_by_bash(&["queries", "--so"]).contains(&"--sort".to_owned()));
    assert!(completed_by_bash(&["queries", "--sort", "re"]).contains(&"regret".to_owned()));
    for shell in ["zsh", "fish"] {
        let output = weir(&["completion", shell]);
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && script.contains("regret"), "{shell}: {script}");
    }
    assert_eq!(weir(&["completion", "tcsh"]).status.code(), Some(2));
}
