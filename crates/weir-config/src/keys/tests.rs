use std::fmt::Write;
use std::io;
use std::path::Path;

use super::*;
use crate::{Config, hints, parse, schema};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/weir.example.toml");
const LEAST: &str = "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n";

fn pem(_: &Path) -> io::Result<String> {
    Ok("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n".to_owned())
}

fn config(text: &str) -> Config {
    parse("weir.toml", text, &|_| Some("secret".to_owned()), &pem).unwrap_or_else(|report| panic!("{report}"))
}

/// The table of one section as it stands in the documentation.
fn markdown(section: &Section) -> String {
    let mut text = format!(
        "{}\n\n| key | takes | default | range | reload | meaning |\n|---|---|---|---|---|---|\n",
        section.doc
    );
    for key in section.keys.iter().filter(|key| !matches!(key.kind, Kind::Table(_))) {
        let takes = match &key.kind {
            Kind::Count { .. } => "number",
            Kind::Duration { .. } => "duration",
            Kind::Size { .. } => "size",
            Kind::Flag => "`true`, `false`",
            Kind::Name { .. } => "string",
            Kind::Names { .. } => "list of strings",
            Kind::Pem(_) | Kind::File => "file",
            Kind::Address => "address",
            Kind::Addresses => "list of addresses",
            Kind::Network => "network",
            Kind::Networks => "list of networks",
            Kind::Text { .. } => "string",
            Kind::Pattern => "regular expression",
            Kind::TableName => "table's name",
            Kind::Ratio => "percentage",
            Kind::Rate => "rate",
            Kind::Word(_) => "string",
            Kind::Secret => "secret",
            Kind::Table(_) | Kind::Optional(_) | Kind::Tables(_) => "table",
        };
        let default = match key.default {
            Default::Required => "required".to_owned(),
            Default::Unset(words) => words.to_owned(),
            Default::Is(value) => format!("`{value}`"),
        };
        let reload = key.fixed.map_or("yes".to_owned(), |reason| format!("**no**: {reason}"));
        let range = hints::range(&key.kind);
        writeln!(text, "| `{}` | {takes} | {default} | {range} | {reload} | {} |", key.name, key.doc)
            .unwrap();
    }
    text
}

#[test]
fn the_documentation_lists_every_key_with_its_default() {
    let mut docs = std::fs::read_to_string(DOCS).unwrap();
    let before = docs.clone();
    for section in SECTIONS {
        let begin = format!("<!-- begin {} -->\n", section.header);
        let from =
            docs.find(&begin).unwrap_or_else(|| panic!("{} is not documented", section.header)) + begin.len();
        let end = format!("<!-- end {} -->", section.header);
        let to = docs.find(&end).unwrap_or_else(|| panic!("{} does not end", section.header));
        docs.replace_range(from..to, &markdown(section));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(DOCS, &docs).unwrap();
    } else {
        assert_eq!(
            before, docs,
            "run `BLESS=1 cargo test -p weir-config` to bring docs/configuration.md up to date"
        );
    }
}

#[test]
fn the_example_is_clean_and_shows_every_key() {
    let example = std::fs::read_to_string(EXAMPLE).unwrap();
    config(&example);
    // Uncommenting the defaults must not change anything either.
    let plain: String = example
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert_eq!(config(&plain), config(&example));
    for section in SECTIONS {
        let shown_elsewhere = |key: &&Key| matches!(section.header, "[server.tls]") && key.name != "mode";
        let keys = section.keys.iter().filter(|key| !shown_elsewhere(key));
        for key in keys {
            let shown = plain.lines().any(|line| line.contains(&format!("{} = ", key.name)));
            assert!(shown, "{} {} is not in the example", section.header, key.name);
        }
    }
}

#[test]
fn the_limits_are_those_of_the_model_and_so_are_their_defaults() {
    let limits = config(LEAST).limits;
    assert_eq!(limits, weir_model::Limits::default());
    let debug = format!("{limits:#?}");
    let fields: Vec<&str> =
        debug.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": ")).map(|f| f.0).collect();
    let keys: Vec<&str> = LIMITS.keys.iter().map(|key| key.name).collect();
    assert_eq!(fields, keys);
}

#[test]
fn every_default_is_in_the_schema() {
    let schema = schema();
    let mut pointers = vec![("".to_owned(), &ROOT)];
    let mut defaults = 0;
    while let Some((pointer, section)) = pointers.pop() {
        for key in section.keys {
            let at = format!("{pointer}/properties/{}", key.name);
            let property = schema.pointer(&at).unwrap_or_else(|| panic!("{at} is missing"));
            match &key.kind {
                Kind::Table(inner) | Kind::Optional(inner) => pointers.push((at.clone(), inner)),
                Kind::Tables(inner) => pointers.push((format!("{at}/items"), inner)),
                _ => {}
            }
            if let Default::Is(default) = key.default {
                assert_eq!(property["default"].to_string(), default, "{at}");
                defaults += 1;
            }
        }
    }
    assert!(defaults > 20);
    assert_eq!(schema["properties"]["limits"]["additionalProperties"], false);
    assert_eq!(schema["properties"]["server"]["items"]["required"], serde_json::json!(["name", "address"]));
    assert_eq!(schema["properties"]["limits"]["properties"]["max_kills"]["maximum"], 1024);
}

/// A value other than the default and other than `LEAST`'s.
fn other(key: &Key) -> String {
    match &key.kind {
        Kind::Flag => (key.default_text() != "true").to_string(),
        Kind::Count { max, .. } => max.to_string(),
        Kind::Size { min, .. } => min.to_string(),
        // A tenth stays below the limits that it must be below.
        Kind::Duration { max, .. } => format!("\"{}\"", crate::units::duration_text(*max / 10)),
        Kind::Name { .. } => "\"other\"".to_owned(),
        Kind::Names { .. } => "[\"other\"]".to_owned(),
        Kind::Pem(_) => "\"other.pem\"".to_owned(),
        Kind::File => "\"other.db\"".to_owned(),
        Kind::Address => "\"127.0.0.3:1\"".to_owned(),
        Kind::Addresses => "[\"192.0.2.2:2\"]".to_owned(),
        Kind::Network => "\"192.0.2.0/24\"".to_owned(),
        Kind::Networks => "[\"192.0.2.0/24\"]".to_owned(),
        Kind::Text { .. } | Kind::Pattern | Kind::TableName => "\"other\"".to_owned(),
        Kind::Ratio => "\"7%\"".to_owned(),
        Kind::Rate => "\"7/s\"".to_owned(),
        Kind::Word(words) => {
            format!("\"{}\"", words.iter().find(|w| key.default_text() != format!("\"{w}\"")).unwrap())
        }
        Kind::Secret => "{ env = \"OTHER\" }".to_owned(),
        Kind::Table(_) | Kind::Optional(_) | Kind::Tables(_) => unreachable!("tables have keys"),
    }
}

impl Key {
    fn default_text(&self) -> &'static str {
        if let Default::Is(text) = self.default { text } else { "" }
    }
}

#[test]
fn each_key_that_changes_is_told_and_only_it() {
    let user = "[[user]]\nname = \"app\"\npassword = \"old\"\n";
    let old = config(&format!("{LEAST}{user}"));
    // Rules and tokens are compared as a whole.
    let by_key = |section: &&Section| !section.header.contains("rule") && section.header != "[[token]]";
    for section in SECTIONS.into_iter().filter(by_key) {
        for key in section.keys.iter().filter(|key| !matches!(key.kind, Kind::Table(_))) {
            let line = format!("{} = {}\n", key.name, other(key));
            let (mut server, mut listed, mut rest) = (LEAST.to_owned(), user.to_owned(), String::new());
            let target = match section.header {
                "[[server]]" => &mut server,
                "[[user]]" => &mut listed,
                header => {
                    rest = format!("{header}\n");
                    &mut rest
                }
            };
            let kept: String =
                target.lines().filter(|l| !l.starts_with(key.name)).map(|l| format!("{l}\n")).collect();
            *target = format!("{kept}{line}");
            // A certificate and its key only go together, so the difference shows both.
            let pair = matches!(key.name, "cert" | "key");
            // Users are only listed where they are asked for.
            let listed_hints = matches!(key.name, "hints" | "hint_users");
            if listed_hints {
                rest.push_str(if key.name == "hints" {
                    "hint_users = [\"x\"]\n"
                } else {
                    "hints = \"listed\"\n"
                });
            }
            if pair {
                rest.push_str(if key.name == "cert" { "key = \"k\"\n" } else { "cert = \"c\"\n" });
            }
            let new = config(&if section.header == "[server.tls]" {
                format!("{server}{rest}{listed}")
            } else {
                format!("{server}{listed}{rest}")
            });
            let changes = crate::diff(&old, &new);
            let (told, quiet) = if key.fixed.is_some() {
                (changes.refused, changes.reloadable)
            } else {
                (changes.reloadable, changes.refused)
            };
            let expected = match (section.header, key.name) {
                ("[[user]]", "name") => 2,
                _ => 1 + usize::from(pair || listed_hints),
            };
            assert_eq!(
                (told.len(), quiet.len()),
                (expected, 0),
                "{} {}: {told:?} {quiet:?}",
                section.header,
                key.name
            );
            assert!(told.iter().any(|(name, _)| name.ends_with(key.name) || key.name == "name"), "{told:?}");
        }
    }
    assert!(crate::diff(&old, &old.clone()).is_empty());
}

#[test]
fn tokens_that_change_are_told_without_their_hashes() {
    let token = |name: &str, role: &str, digit: char| {
        let hash: String = std::iter::repeat_n(digit, 64).collect();
        format!("[[token]]\nname = \"{name}\"\nrole = \"{role}\"\nhash = \"sha256:{hash}\"\n")
    };
    let old = config(&format!(
        "{LEAST}{}{}{}",
        token("a", "read", '1'),
        token("b", "read", '2'),
        token("c", "read", '3')
    ));
    let new = config(&format!(
        "{LEAST}{}{}{}",
        token("d", "admin", '4'),
        token("b", "operate", '2'),
        token("a", "read", '5')
    ));
    let told: Vec<_> = crate::diff(&old, &new).reloadable;
    let expected = [
        ("token.a", "another token"),
        ("token.b", "read -> operate"),
        ("token.c", "removed"),
        ("token.d", "added, admin"),
    ];
    assert_eq!(told, expected.map(|(key, what)| (key.to_owned(), what.to_owned())));
}

#[test]
fn words_of_the_table_are_words_of_the_types() {
    for word in TlsMode::WORDS {
        assert_eq!(TlsMode::from_word(word).unwrap().as_str(), *word);
    }
    for word in Compression::WORDS {
        assert_eq!(Compression::from_word(word).unwrap().as_str(), *word);
    }
    for word in LogFormat::WORDS {
        assert_eq!(LogFormat::from_word(word).unwrap().as_str(), *word);
    }
    for word in LogLevel::WORDS {
        assert_eq!(LogLevel::from_word(word).unwrap().as_str(), *word);
    }
}
