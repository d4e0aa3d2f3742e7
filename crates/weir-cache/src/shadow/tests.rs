use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::*;

const TTL: Duration = Duration::from_secs(10);

fn observe(cache: &Cache, scope: &Arc<Scope>, hash: u64, now: Instant) -> ShadowOutcome {
    let ask = Ask { key: cache.key(b"k"), scope, terms: Terms::ttl(TTL), floor: None };
    let snapshot = cache.snapshot(&ask.key, now);
    let about = About { hash, server_time: Duration::from_millis(3), ..About::default() };
    cache.shadow_observe(&ask, &snapshot, &about, now)
}

#[test]
fn shadow_mode_says_what_would_have_been_and_serves_nothing() {
    let cache = Cache::new(CacheLimits::default(), 1);
    let scope = Arc::new(Scope::new(cache.rule("r"), 1, "u"));
    let now = Instant::now();
    let second = Duration::from_secs(1);
    let miss = ShadowOutcome { would_hit: false, would_be_stale: None, saved: Duration::ZERO };
    let hit = ShadowOutcome { would_hit: true, would_be_stale: None, saved: Duration::from_millis(3) };
    let stale = |age| ShadowOutcome { would_be_stale: Some(age), ..hit };

    assert_eq!(observe(&cache, &scope, 1, now), miss);
    assert_eq!(observe(&cache, &scope, 1, now + second), hit);
    assert_eq!(observe(&cache, &scope, 2, now + 2 * second), stale(2 * second));
    assert_eq!(observe(&cache, &scope, 2, now + 3 * second), stale(3 * second));
    assert_eq!(
        observe(&cache, &scope, 2, now + TTL),
        miss,
        "too old: the second answer would have been stored"
    );
    assert_eq!(observe(&cache, &scope, 2, now + TTL + second), hit);
    cache.wipe(&Selector::all().rule("r"));
    assert_eq!(observe(&cache, &scope, 2, now + TTL + second), miss);

    let ask = Ask { key: cache.key(b"k"), scope: &scope, terms: Terms::ttl(TTL), floor: None };
    assert!(matches!(cache.lookup(&ask, now), Lookup::Miss(_)));
    let stats = cache.rule("r").stats();
    assert_eq!((stats.shadow_seen, stats.shadow_hits, stats.shadow_stale), (7, 4, 2));
    assert_eq!(stats.shadow_saved, Duration::from_millis(12));
    assert_eq!(stats.hits, 0);
}

#[test]
fn the_sample_is_of_the_share_that_was_asked_for() {
    let cache = Cache::new(CacheLimits::default(), 5);
    for (share, least, most) in
        [(0, 0, 0), (10_000, 800, 1200), (500_000, 49_000, 51_000), (1_000_000, 100_000, 100_000)]
    {
        let rule = cache.rule(&format!("share {share}"));
        let sampled = (0..100_000).filter(|_| cache.samples(&rule, share)).count();
        assert!((least..=most).contains(&sampled), "{sampled} of 100,000 at {share} millionths");
    }
}

#[test]
fn a_difference_is_seen_and_dated() {
    let cache = Cache::new(CacheLimits::default(), 5);
    let scope = Arc::new(Scope::new(cache.rule("r"), 1, "u"));
    let hash = |pieces: &[&[u8]]| {
        let mut hash = cache.result_hash();
        pieces.iter().for_each(|p| hash.update(p));
        hash.finish()
    };
    assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    let now = Instant::now();
    let ask = Ask { key: cache.key(b"k"), scope: &scope, terms: Terms::ttl(TTL), floor: None };
    let Lookup::Miss(ticket) = cache.lookup(&ask, now) else { panic!("a hit") };
    let about = About { hash: hash(&[b"row"]), ..About::default() };
    let answer = Answer { packets: b"row", warning_packets: b"", about };
    let Fill::Stored(entry) = ticket.fill(&answer, now) else { panic!("not stored") };
    let later = now + Duration::from_secs(4);
    assert_eq!(cache.verified(scope.rule(), &entry, hash(&[b"row"]), later), Verdict::Same);
    let differs = Verdict::Differs { age: Duration::from_secs(4) };
    assert_eq!(cache.verified(scope.rule(), &entry, hash(&[b"new"]), later), differs);
    let stats = scope.rule().stats();
    assert_eq!((stats.verified, stats.mismatched), (2, 1));
}
