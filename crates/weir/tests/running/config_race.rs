//! Many who change the configuration file at once: through the API, with `weir token`, and by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::api_kit::*;
use crate::kit::*;

const WRITERS: usize = 4;
/// Changes that each of them makes.
const CHANGES: usize = 12;
/// Changes by hand.
const BY_HAND: usize = 10;
/// Who add a token, each in a process of its own.
const TOKENS: usize = 8;

const RULES: &str =
    "# by hand: 0\n[[rule]]\nname = \"hand\"\nmatch = { table = \"none\" }\ncache = { ttl = \"1m\" }\n";

/// The names of the rules before and after a change that was taken.
type Step = (Vec<String>, Vec<String>);

fn names_of(table: &Value) -> Vec<String> {
    let rules = table["rules"].as_array().unwrap().iter();
    rules.map(|rule| rule["name"].as_str().unwrap().to_owned()).collect()
}

/// What the `n`th change of a writer is, made to this list: a request, and the list that follows from it.
fn plan(writer: usize, n: usize, names: &[String]) -> (String, Value, Vec<String>) {
    let mut after = names.to_vec();
    let mut own = names.iter().filter(|name| name.starts_with(&format!("w{writer}-")));
    let first = own.next().cloned();
    match (n % 4, first) {
        (2, Some(name)) => {
            after.retain(|other| *other != name);
            after.insert(0, name.clone());
            (format!("POST /api/v1/rules/{name}/move"), json!({"place": "first"}), after)
        }
        (3, Some(name)) => {
            after.retain(|other| *other != name);
            (format!("DELETE /api/v1/rules/{name}"), Value::Null, after)
        }
        _ => {
            let name = format!("w{writer}-{n}");
            let rule = json!({"name": name, "match": {"table": name}, "cache": {"ttl": "1m"}});
            let place = json!({"before": "hand"});
            let at = after.iter().position(|other| other == "hand").unwrap();
            after.insert(at, name);
            ("POST /api/v1/rules".to_owned(), json!({"rule": rule, "place": place}), after)
        }
    }
}

/// Makes its changes, each until it is taken.
async fn writer(weir: &Weir, at: usize) -> Vec<Step> {
    let host = format!("Host: {}\r\n", weir.admin_addr());
    let mut done = Vec::new();
    for n in 0..CHANGES {
        until("the change is taken", async || {
            let (_, table) = request(weir, "GET /api/v1/rules", &host, "").await;
            let before = names_of(&table);
            let (line, body, after) = plan(at, n, &before);
            let version = table["version"].as_str().unwrap();
            let headers = format!("{host}Content-Type: application/json\r\nIf-Match: \"{version}\"\r\n");
            let (status, answer) = request(weir, &line, &headers, &body.to_string()).await;
            match (status, answer["error"]["code"].as_str()) {
                (200 | 201, None) => {
                    done.push((before, after));
                    Some(())
                }
                (412, Some("rules_changed")) | (409, Some("file_changed")) => None,
                other => panic!("{line}: {other:?} {answer}"),
            }
        })
        .await;
    }
    done
}

/// The `n`th change by hand: the comment, and the TTL of the rule.
fn by_hand(text: &str, n: usize) -> String {
    let old = text.lines().find(|line| line.starts_with("# by hand: ")).unwrap();
    let text = text.replace(old, &format!("# by hand: {n}"));
    let at = text.find("name = \"hand\"").unwrap();
    let (front, rule) = text.split_at(at);
    let ttl = rule.find("ttl = \"").unwrap() + 7;
    let end = ttl + rule[ttl..].find('"').unwrap();
    format!("{front}{}{}m{}", &rule[..ttl], n + 1, &rule[end..])
}

/// Saves as an editor does that knows nothing of locks, by a file that takes the place of the old one; `false` where that is not the
/// one that was read, which is then put back.
fn saved(weir: &Weir, read: &str, text: &str) -> bool {
    let (new, path) = (weir.home().join("weir.toml~"), weir.home().join("weir.toml"));
    std::fs::write(&new, text).unwrap();
    renameat_with(CWD, &new, CWD, &path, RenameFlags::EXCHANGE).unwrap();
    let same = std::fs::read_to_string(&new).unwrap() == read;
    if !same {
        std::fs::rename(&new, &path).unwrap();
    }
    same
}

/// Changes the file with an editor, and has it read again.
async fn hand(weir: &Weir) {
    let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", weir.admin_addr());
    for n in 1..=BY_HAND {
        until("the editor has saved", async || {
            let read = file(weir);
            saved(weir, &read, &by_hand(&read, n)).then_some(())
        })
        .await;
        // Here the others meet a file that Weir has not read.
        tokio::task::yield_now().await;
        let (status, answer) = request(weir, "POST /api/v1/reload", &headers, "{}").await;
        assert_eq!(status, 200, "{answer}");
    }
}

/// Adds tokens, all at once.
async fn tokens(weir: &Weir) {
    let file = weir.home().join("weir.toml").display().to_string();
    let add = |n: usize| {
        let file = file.clone();
        tokio::task::spawn_blocking(move || {
            cli_with(None, &["token", "add", &format!("race-{n}"), "--role", "read", "--config", &file])
        })
    };
    for process in (0..TOKENS).map(add).collect::<Vec<_>>() {
        let output = process.await.unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[tokio::test]
async fn of_many_writers_no_change_is_lost_and_the_file_is_good_at_every_moment() {
    let weir = Arc::new(weir_with(&server(Flavor::MariaDb), RULES));
    let path = weir.home().join("weir.toml");
    let done = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (path, done) = (path.clone(), Arc::clone(&done));
        move || {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                weir_config::load(&path).unwrap_or_else(|report| panic!("{report}"));
                reads += 1;
                // The writers need the machine too.
                std::thread::sleep(Duration::from_millis(1));
            }
            reads
        }
    });
    let (one, two, three, four, (), ()) = tokio::join!(
        writer(&weir, 0),
        writer(&weir, 1),
        writer(&weir, 2),
        writer(&weir, 3),
        hand(&weir),
        tokens(&weir)
    );
    done.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 10);
    let steps: Vec<Step> = [one, two, three, four].into_iter().flatten().collect();
    assert_eq!(steps.len(), WRITERS * CHANGES);

    // Each list was left as often as it was come to, but for the first and the last: so every change that was said to be taken was made
    // to what the one before it had left.
    let mut balance: BTreeMap<&[String], i32> = BTreeMap::new();
    for (before, after) in &steps {
        *balance.entry(before).or_default() -= 1;
        *balance.entry(after).or_default() += 1;
    }
    balance.retain(|_, count| *count != 0);
    let (start, end) = (vec!["hand".to_owned()], names(&weir));
    assert_eq!(balance, [(&start[..], -1), (&end[..], 1)].into());
    let config = weir_config::load(&path).unwrap();
    assert_eq!(config.rules.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>(), end, "the file");
    let tokens: Vec<&str> = config.tokens.iter().map(|token| token.name.as_str()).collect();
    let lost = (0..TOKENS).map(|n| format!("race-{n}")).find(|name| !tokens.contains(&name.as_str()));
    assert_eq!(lost, None, "{tokens:?}");
    let last = format!("{}m", BY_HAND + 1);
    assert_eq!(told_json(&weir, &["rules", "show", "hand"])["rule"]["cache"]["ttl"], json!(last));
    assert!(file(&weir).contains(&format!("# by hand: {BY_HAND}\n")), "{}", file(&weir));
}
