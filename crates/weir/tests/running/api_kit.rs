//! What the tests of the API have in common: the command line, asked as an operator would, and requests by hand.

use std::process::{Command, Output, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use weir_testkit::weir::{ADMIN_TOKEN, AUTHORIZATION};

use crate::kit::*;

/// The command line with these arguments and this token, or none.
pub fn cli_with(token: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let command = command.args(args).stdin(Stdio::null()).env_remove("WEIR_TOKEN");
    token.into_iter().fold(command, |command, token| command.env("WEIR_TOKEN", token)).output().unwrap()
}

/// The command line with these arguments. It asks another process, so it may block the test.
pub fn cli(args: &[&str]) -> Output {
    cli_with(Some(ADMIN_TOKEN), args)
}

/// `weir ARGS --config FILE` of this Weir, which must succeed. Returns what it prints.
pub fn told(weir: &Weir, args: &[&str]) -> String {
    let output = cli(&with_config(weir, args).iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same, as JSON.
pub fn told_json(weir: &Weir, args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&told(weir, &[args, &["--json"]].concat())).unwrap()
}

/// The same, which must fail with status 1. Returns the error.
pub fn refused_with(weir: &Weir, args: &[&str]) -> String {
    failed_with(weir, args, 1)
}

/// The same with another status.
pub fn failed_with(weir: &Weir, args: &[&str], status: i32) -> String {
    let output = cli(&with_config(weir, args).iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(status), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn with_config(weir: &Weir, args: &[&str]) -> Vec<String> {
    let file = weir.home().join("weir.toml").display().to_string();
    let given = args.iter().map(|arg| (*arg).to_owned());
    given.chain(["--config".to_owned(), file]).collect()
}

/// The text of the configuration file now.
pub fn file(weir: &Weir) -> String {
    std::fs::read_to_string(weir.home().join("weir.toml")).unwrap()
}

/// The names of the rules in force, in their order.
pub fn names(weir: &Weir) -> Vec<String> {
    let rules = told_json(weir, &["rules", "list"]);
    let rules = rules["rules"].as_array().unwrap();
    rules.iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect()
}

/// A request with these header lines; the status, and the body as JSON.
pub async fn request(weir: &Weir, line: &str, headers: &str, body: &str) -> (u16, serde_json::Value) {
    let mut stream = TcpStream::connect(weir.admin_addr()).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{AUTHORIZATION}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split_whitespace().nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {answer}")))
}
