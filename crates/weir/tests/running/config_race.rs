//! Many who change the rules at once, through the API and in the file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::api_kit::*;
use crate::kit::*;

const WRITERS: usize = 4;
/// Changes that each of them makes.
const CHANGES: usize = 12;
/// Changes by hand.
const BY_HAND: usize = 10;

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

/// Makes its changes, each until it is taken. Nobody writes the file by hand as long as `by_hand` is held.
async fn writer(weir: &Weir, at: usize, by_hand: &RwLock<()>) -> Vec<Step> {
    let host = format!("Host: {}\r\n", weir.admin_addr());
    let mut done = Vec::new();
    for n in 0..CHANGES {
        until("the change is taken", async || {
            let (_, table) = request(weir, "GET /api/v1/rules", &host, "").await;
            let before = names_of(&table);
            let (line, body, after) = plan(at, n, &before);
            let version = table["version"].as_str().unwrap();
            let headers = format!("{host}Content-Type: application/json\r\nIf-Match: \"{version}\"\r\n");
            let guard = by_hand.read().await;
            let (status, answer) = request(weir, &line, &headers, &body.to_string()).await;
            drop(guard);
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

/// Changes the file as an editor does, by another that takes its place, and has it read again.
async fn hand(weir: &Weir, by_hand: &RwLock<()>) {
    let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", weir.admin_addr());
    for n in 1..=BY_HAND {
        {
            let _alone = by_hand.write().await;
            let text = file(weir);
            let old = text.lines().find(|line| line.starts_with("# by hand: ")).unwrap();
            let text = text.replace(old, &format!("# by hand: {n}"));
            let at = text.find("name = \"hand\"").unwrap();
            let (front, rule) = text.split_at(at);
            let ttl = rule.find("ttl = \"").unwrap() + 7;
            let end = ttl + rule[ttl..].find('"').unwrap();
            let changed = format!("{front}{}{}m{}", &rule[..ttl], n + 1, &rule[end..]);
            let new = weir.home().join("weir.toml.new");
            std::fs::write(&new, changed).unwrap();
            std::fs::rename(&new, weir.home().join("weir.toml")).unwrap();
        }
        // Here the others meet a file that Weir has not read.
        tokio::task::yield_now().await;
        let (status, answer) = request(weir, "POST /api/v1/reload", &headers, "{}").await;
        assert_eq!(status, 200, "{answer}");
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
    let by_hand = RwLock::new(());
    let (one, two, three, four, ()) = tokio::join!(
        writer(&weir, 0, &by_hand),
        writer(&weir, 1, &by_hand),
        writer(&weir, 2, &by_hand),
        writer(&weir, 3, &by_hand),
        hand(&weir, &by_hand)
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
    let last = format!("{}m", BY_HAND + 1);
    assert_eq!(told_json(&weir, &["rules", "show", "hand"])["rule"]["cache"]["ttl"], json!(last));
    assert!(file(&weir).contains(&format!("# by hand: {BY_HAND}\n")), "{}", file(&weir));
}
