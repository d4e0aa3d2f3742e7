use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::*;

/// A selector and the numbers of the entries it takes.
type Case = (Selector, fn(u64) -> bool);

const TERMS: Terms = Terms { ttl: Duration::from_secs(60), soft_ttl: None, stale_if_error: Duration::ZERO };

/// Entries of two rules, two users, two tables and 50 digests; even ones have a tag.
fn filled(now: Instant) -> (Cache, Vec<Arc<Entry>>) {
    let cache =
        Cache::new(CacheLimits { memory: 64 << 20, max_entry: 1 << 20, user_memory: None, shards: 8 }, 1);
    let mut entries = Vec::new();
    for n in 0..5000_u64 {
        let rule = cache.rule(if n % 2 == 0 { "even" } else { "odd" });
        let table = Table::new("shop", if n % 3 == 0 { "orders" } else { "items" });
        let mut scope = Scope::new(rule, n % 50, if n % 5 == 0 { "ann" } else { "bob" })
            .with_tables(Tables::Known(vec![table]));
        if n % 2 == 0 {
            scope = scope.with_tag("t");
        }
        let key = n.to_le_bytes();
        let ask = Ask { key: cache.key(&key), scope: &Arc::new(scope), terms: TERMS, floor: None };
        let Lookup::Miss(ticket) = cache.lookup(&ask, now) else { panic!("key {n} is there") };
        let answer = Answer { packets: b"x", warning_packets: b"", about: About::default() };
        let Fill::Stored(entry) = ticket.fill(&answer, now) else { panic!("{n} was not stored") };
        entries.push(entry);
    }
    (cache, entries)
}

#[test]
fn each_selector_takes_what_it_names_and_says_so_before() {
    let now = Instant::now();
    let cases: [Case; 9] = [
        (Selector::all(), |_| true),
        (Selector::all().key(&77_u64.to_le_bytes()), |n| n == 77),
        (Selector::all().key(&77_u64.to_le_bytes()).rule("even"), |_| false),
        (Selector::all().rule("odd"), |n| n % 2 == 1),
        (Selector::all().digest(13), |n| n % 50 == 13),
        (Selector::all().table("shop", "orders"), |n| n % 3 == 0),
        (Selector::all().schema("shop").user("ann"), |n| n % 5 == 0),
        (Selector::all().tag("t").table("shop", "items"), |n| n % 2 == 0 && n % 3 != 0),
        (Selector::all().rule("neither"), |_| false),
    ];
    for (selector, named) in cases {
        let (cache, entries) = filled(now);
        let gone: Vec<&Arc<Entry>> =
            (0..).zip(&entries).filter(|(n, _)| named(*n)).map(|(_, entry)| entry).collect();
        let expected = Wiped { entries: gone.len(), bytes: gone.iter().map(|e| e.size()).sum() };
        assert_eq!(cache.preview(&selector), expected, "{selector:?}");
        assert_eq!(cache.stats().entries, 5000);
        assert_eq!(cache.wipe(&selector), expected, "{selector:?}");
        assert_eq!(cache.preview(&selector), Wiped::default());
        assert_eq!(cache.stats().entries, 5000 - gone.len());
        let stats = cache.stats().rules;
        assert_eq!(stats.iter().map(|r| r.entries).sum::<u64>(), 5000 - gone.len() as u64);
        assert_eq!(stats.iter().map(|r| r.wiped).sum::<u64>(), gone.len() as u64);
        for (n, entry) in (0u64..).zip(&entries) {
            let key = n.to_le_bytes();
            let ask = Ask { key: cache.key(&key), scope: entry.scope(), terms: TERMS, floor: None };
            assert_eq!(
                matches!(cache.lookup(&ask, now), Lookup::Hit(_)),
                !named(n),
                "{n} after {selector:?}"
            );
        }
    }
}

#[test]
fn a_wipe_of_one_key_drops_no_answers_of_others_nor_remembers() {
    let now = Instant::now();
    let cache = Cache::new(CacheLimits::default(), 1);
    let scope = Arc::new(Scope::new(cache.rule("r"), 1, "u"));
    let ask = Ask { key: cache.key(b"a"), scope: &scope, terms: TERMS, floor: None };
    let Lookup::Miss(ticket) = cache.lookup(&ask, now) else { panic!("a hit") };
    for n in 0..5000_u64 {
        let key = n.to_le_bytes();
        // Generations are shared by keys: those that share one with "a" are left out.
        let hash = |bytes: &[u8]| cache.inner.hash(bytes);
        let shared = std::ptr::eq(
            cache.inner.parts()[cache.inner.place(hash(&key))].key_generation(hash(&key)),
            cache.inner.parts()[cache.inner.place(hash(b"a"))].key_generation(hash(b"a")),
        );
        if !shared {
            cache.wipe(&Selector::all().key(&key));
        }
    }
    let answer = Answer { packets: b"x", warning_packets: b"", about: About::default() };
    assert!(matches!(ticket.fill(&answer, now), Fill::Stored(_)));
}
