//! What was driven, what `/metrics` says of it and what the API says: three times the same numbers.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api_kit::{told, told_json};
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// Each sample of a rule at `/metrics`, behind `weir_cache_`, and its name in the API.
const SAMPLES: [(&str, &str); 20] = [
    ("entries", "entries"),
    ("bytes", "bytes"),
    ("hits_total", "hits"),
    ("misses_total", "misses"),
    ("waits_total", "waits"),
    ("saved_seconds_total", "saved_seconds"),
    ("hit_bytes_total", "hit_bytes"),
    ("fills_total", "fills"),
    ("evicted_total", "evicted"),
    ("expired_total", "expired"),
    ("replaced_total", "replaced"),
    ("wiped_total", "wiped"),
    ("refreshes_total", "refreshes"),
    ("stale_served_total", "stale_served"),
    ("verified_total", "verified"),
    ("mismatched_total", "mismatched"),
    ("shadow_seen_total", "shadow_seen"),
    ("shadow_hits_total", "shadow_hits"),
    ("shadow_stale_total", "shadow_stale"),
    ("shadow_saved_seconds_total", "shadow_saved_seconds"),
];

/// What the rule has counted by now.
struct Counts(Value);

impl Counts {
    /// `client` is the only one, and what runs behind its answers is over when its next command is taken.
    async fn of(weir: &Weir, client: &mut Client, at: &str) -> Self {
        shown(client, "client_id").await;
        let counts = Self(told_json(weir, &["rules", "show", "all"])["cache"].clone());
        for (sample, field) in SAMPLES {
            let sample = format!("weir_cache_{sample}{{rule=\"all\"}}");
            let (_, body) = http(weir, "/metrics").await;
            let line = body.lines().find_map(|line| line.strip_prefix(&sample)?.strip_prefix(' '));
            let value: f64 = line.unwrap_or_else(|| panic!("{at}: no {sample}")).parse().unwrap();
            // Sums of seconds are written with other digits.
            assert!((value - counts.get(field)).abs() < 1e-6, "{at}: {sample}: {value}, {}", counts.0);
        }
        let stats = told_json(weir, &["cache", "stats"]);
        for (sample, field) in [("memory_used_bytes", "used"), ("stored_entries", "entries")] {
            let value = metric(weir, &format!("weir_cache_{sample}")).await;
            assert_eq!(stats[field], value as u64, "{at}: {sample}");
        }
        assert_eq!(stats["total"]["bytes"], counts.0["bytes"], "{at}: there is no other rule");
        counts
    }

    fn get(&self, field: &str) -> f64 {
        self.0[field].as_f64().unwrap_or_else(|| panic!("no {field}: {}", self.0))
    }

    /// These are so, and what is not named is 0.
    fn are(&self, expected: &[(&str, f64)], at: &str) {
        // They are looked at by themselves.
        let others = ["bytes", "hit_bytes", "saved_seconds"];
        for (_, field) in SAMPLES.into_iter().filter(|(_, field)| !others.contains(field)) {
            let named = expected.iter().find(|(name, _)| *name == field);
            assert_eq!(self.get(field), named.map_or(0.0, |(_, count)| *count), "{at}: {field}");
        }
    }
}

/// The server takes so long for the first answer at least.
const HELD: Duration = Duration::from_millis(300);

/// Asks for a row that is locked for a while. Returns how long that took at most.
async fn slowly(server: &Server, client: &mut Client, name: &str) -> Duration {
    let mut admin = app(server.addr()).database(name).connect().await.unwrap();
    admin.run("LOCK TABLES t WRITE").await.unwrap();
    let begin = Instant::now();
    client.send(command::QUERY, &client.query_body(READ.as_bytes())).await.unwrap();
    let (of, like) = ("information_schema.PROCESSLIST", "INFO LIKE 'SELECT v FROM t%'");
    let runs = format!("SELECT COUNT(*) FROM {of} WHERE DB='{name}' AND {like}");
    until("it waits", async || (row(&mut admin, &runs).await == "1").then_some(())).await;
    let waits = Instant::now();
    until("it has waited", async || (waits.elapsed() >= HELD).then_some(())).await;
    admin.run("UNLOCK TABLES").await.unwrap();
    assert_eq!(client.receive(command::QUERY).await.unwrap().err(), None);
    begin.elapsed()
}

const READ: &str = "SELECT v FROM t WHERE id=1";

/// Bytes of an answer with the heads of its packets.
fn size(answer: &Response) -> usize {
    answer.packets.iter().map(|packet| packet.payload.len() + 4 * packet.frames).sum()
}

/// Answers of which some twenty fit into the memory.
const LARGE: usize = 40_000;
const LARGE_ONES: usize = 60;
const MEMORY: f64 = 1_048_576.0;

#[tokio::test]
async fn what_was_driven_is_what_metrics_and_the_api_count() {
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", verify = \"100%\"");
    let cache = "[cache]\nmemory = \"1MiB\"\nmax_entry = \"128KiB\"\nadmission = \"always\"\n";
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_metrics_t", "ca_metrics_s"]) {
            let at = &format!("{flavor:?} {mode}");
            table(server, name).await;
            let weir = sharing(server, 4, mode, &format!("{cache}{rules}"));
            let [mut client] = clients(&weir, name).await;

            let took = slowly(server, &mut client, name).await;
            for id in [2, 3] {
                value(&mut client, id).await;
            }
            let counts = Counts::of(&weir, &mut client, at).await;
            counts.are(&[("misses", 3.0), ("fills", 3.0), ("entries", 3.0)], at);
            let bytes = counts.get("bytes");
            assert!(bytes > 0.0 && counts.get("hit_bytes") + counts.get("saved_seconds") == 0.0, "{at}");

            let mut served = 0;
            for _ in 0..5 {
                served += size(&client.run(READ).await.unwrap());
            }
            let counts = Counts::of(&weir, &mut client, at).await;
            let so_far =
                [("misses", 3.0), ("fills", 3.0), ("entries", 3.0), ("hits", 5.0), ("verified", 5.0)];
            counts.are(&so_far, at);
            assert_eq!((counts.get("hit_bytes"), counts.get("bytes")), (served as f64, bytes), "{at}");
            let (least, most) = (5.0 * HELD.as_secs_f64(), 5.0 * took.as_secs_f64());
            assert!(
                (least..=most).contains(&counts.get("saved_seconds")),
                "{at}: {least} {most} {}",
                counts.0
            );

            differs(server, (&weir, &mut client), name, at).await;
            wiped(&weir, &mut client, at).await;
            evicted(&weir, &mut client, at).await;
        }
    }
}

/// One more hit, whose fresh answer is another.
async fn differs(server: &Server, (weir, client): (&Weir, &mut Client), name: &str, at: &str) {
    change(server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
    assert_eq!(value(client, 1).await, "one", "{at}");
    let counts = Counts::of(weir, client, at).await;
    let (verified, mismatched) = (counts.get("verified"), counts.get("mismatched"));
    assert_eq!((counts.get("hits"), verified, mismatched), (6.0, 6.0, 1.0), "{at}");
    assert_eq!(metric(weir, "weir_cache_stale_age_seconds_count{rule=\"all\"}").await, 1.0, "{at}");
}

/// What is there is wiped.
async fn wiped(weir: &Weir, client: &mut Client, at: &str) {
    let before = Counts::of(weir, client, at).await;
    told(weir, &["cache", "wipe", "--rule", "all"]);
    let counts = Counts::of(weir, client, at).await;
    let gone = (counts.get("wiped"), counts.get("entries"), counts.get("bytes"));
    assert_eq!(gone, (before.get("entries"), 0.0, 0.0), "{at}");
    assert!(before.get("entries") >= 2.0, "{at}");
}

/// More is asked for than there is memory.
async fn evicted(weir: &Weir, client: &mut Client, at: &str) {
    let before = Counts::of(weir, client, at).await;
    for n in 0..LARGE_ONES {
        let sql = format!("SELECT id, REPEAT('x', {LARGE}), {n} FROM t WHERE id=1");
        assert_eq!(client.run(&sql).await.unwrap().rows().count(), 1, "{at}");
    }
    let counts = Counts::of(weir, client, at).await;
    let grown = |field| counts.get(field) - before.get(field);
    assert_eq!((grown("misses"), grown("fills")), (LARGE_ONES as f64, LARGE_ONES as f64), "{at}");
    let (entries, evicted) = (counts.get("entries"), counts.get("evicted"));
    assert_eq!(entries + evicted, LARGE_ONES as f64, "{at}");
    assert!(entries >= 5.0 && evicted >= (LARGE_ONES as f64 - MEMORY / LARGE as f64), "{at}: {}", counts.0);
    let bytes = counts.get("bytes");
    assert!((entries * LARGE as f64..=MEMORY).contains(&bytes), "{at}: {}", counts.0);
    assert_eq!(metric(weir, "weir_cache_memory_limit_bytes").await, MEMORY, "{at}");
}
