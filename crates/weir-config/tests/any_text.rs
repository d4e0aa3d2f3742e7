//! Whatever a file holds, reading it ends in a configuration or a report, and no secret comes out.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::io;

use proptest::prelude::*;
use weir_config::{Config, Report};

/// Secrets in every form and position; none may be seen in any report on any text near this one.
const SECRETS: &str = r#"[listen]
mysql = ["127.0.0.1:6033"]

[[server]]
name = "db1"
address = "127.0.0.1:3306"
tls = { mode = "preferred" }

[[user]]
name = "app"
password = "canary" # was canary
previous = 'canary'

[[user]]
name = "multi"
password = """
canary
canary"""
replication = false

[[user]]
name = "inline"
previous = { env = "PREVIOUS" }
password = { file = "password" }

[auth]
passthrough = true

[limits]
max_clients = 10
"#;

const INLINE: &str = r#"user = [{ name = "a", password = "canary" },
  { name = "b", password = 'canary', previous = "canary" }]
server = [{ name = "db1", address = "127.0.0.1:3306" }]
auth = { passthrough = true }
"#;

fn parse(text: &str) -> Result<Config, Report> {
    let env = |_: &str| Some("canary".to_owned());
    weir_config::parse("weir.toml", text, &env, &|_| -> io::Result<String> { Ok("canary\n".to_owned()) })
}

fn shown(result: &Result<Config, Report>) -> String {
    match result {
        Ok(config) => format!("{config:?}{:?}", weir_config::diff(&parse(SECRETS).unwrap(), config)),
        Err(report) => format!("{report:?}{}{}", report.render(false), report.render(true)),
    }
}

/// Pieces that make texts which are nearly TOML and nearly ours.
fn piece() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "[listen]\n",
        "[[server]]\n",
        "[[user]]\n",
        "[tls]\n",
        "[limits]\n",
        "[server.tls]\n",
        "mysql = ",
        "name = ",
        "password = ",
        "address = ",
        "max_clients = ",
        "login_timeout = ",
        "cert = ",
        "mode = ",
        "\"",
        "'",
        "\"\"\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        ".",
        "#",
        "\n",
        "\r\n",
        "\t",
        " ",
        "127.0.0.1:3306",
        "unix:/x",
        "10s",
        "64KiB",
        "-1",
        "0x7fffffffffffffffff",
        "1e400",
        "true",
        "2026-11-20",
        "\\u0000",
        "\u{feff}",
        "ä",
        "\u{1F980}",
        "\u{0}",
    ];
    prop_oneof![8 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => any::<String>()]
}

/// A text with up to three characters replaced, removed or put in.
fn edited(text: &'static str) -> impl Strategy<Value = String> {
    let edit = (0..text.len(), 0..3u8, prop::sample::select(&b"\"'#[]{}=,.\n\\ ax1"[..]));
    prop::collection::vec(edit, 1..=3).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, what, byte) in edits {
            let at = at.min(bytes.len() - 1);
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        String::from_utf8(bytes).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_ends_in_a_configuration_or_a_report(text in any::<String>()) {
        shown(&parse(&text));
    }

    #[test]
    fn nearly_good_text_ends_in_a_configuration_or_a_report(pieces in prop::collection::vec(piece(), 0..60)) {
        shown(&parse(&pieces.concat()));
    }

    #[test]
    fn no_secret_comes_out_of_a_damaged_file(text in edited(SECRETS)) {
        let shown = shown(&parse(&text));
        prop_assert!(!shown.contains("canar"), "{text}\n----\n{shown}");
    }

    #[test]
    fn no_secret_comes_out_of_damaged_inline_tables(text in edited(INLINE)) {
        let shown = shown(&parse(&text));
        prop_assert!(!shown.contains("canar"), "{text}\n----\n{shown}");
    }
}
