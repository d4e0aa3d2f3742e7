//! What is served, and for how long.

use super::*;

#[test]
fn what_was_asked_under_a_rule_counts_also_when_it_is_forgotten() {
    let w = World::new();
    w.put("a", "1");
    assert_eq!(w.hit("a").as_deref(), Some("1"));
    let asked = w.cache.stats().asked;
    assert_eq!(asked, Asked { hits: 1, misses: 1, waits: 0 });
    w.cache.retain_rules(|_| false);
    assert_eq!(w.cache.stats().rules.len(), 1, "it has an entry");
    w.cache.wipe(&Selector::all());
    w.cache.retain_rules(|_| false);
    assert_eq!((w.cache.stats().rules.len(), w.cache.stats().asked), (0, asked));
}

#[test]
fn a_rule_that_is_made_again_counts_from_nothing() {
    let mut w = World::new();
    w.put("a", "1");
    assert!(w.hit("a").is_some());
    w.miss("b").give_up(DropReason::Error);
    w.scope.rule().refuse(Refusal::Bypass);
    // It is gone, and still has an entry.
    w.cache.retain_rules(|_| false);
    let before = w.stats();
    assert_eq!((before.hits, before.misses, before.entries), (1, 2, 1));
    let again = w.cache.new_rule("stories");
    let stats = again.stats();
    let none = RuleStats { entries: before.entries, bytes: before.bytes, ..w.cache.rule("other").stats() };
    assert_eq!(RuleStats { name: "other".into(), ..stats }, none);
    assert_eq!(w.cache.stats().asked, Asked { hits: 1, misses: 2, waits: 0 }, "all together stays");
    // What is stored is served, and counts for the new one.
    w.scope = Arc::new(Scope::new(again, 1, "wp"));
    assert!(w.hit("a").is_some());
    assert_eq!((w.stats().hits, w.stats().saved), (1, Duration::from_micros(300)));
    w.cache.wipe(&Selector::all());
    assert_eq!((w.stats().wiped, w.stats().entries), (1, 0));
    assert_eq!(w.cache.stats().asked, Asked { hits: 2, misses: 2, waits: 0 });
}

#[test]
fn what_was_stored_is_served_until_its_ttl() {
    let mut w = World::new();
    assert_eq!(w.hit("a"), None);
    w.put("a", "one");
    assert_eq!(w.hit("a").as_deref(), Some("one"));
    assert_eq!(w.hit("b"), None);
    w.pass(TTL - Duration::from_nanos(1));
    assert_eq!(w.hit("a").as_deref(), Some("one"));
    w.pass(Duration::from_nanos(1));
    assert_eq!(w.hit("a"), None);
    let stats = w.stats();
    assert_eq!((stats.hits, stats.hit_bytes, stats.fills, stats.entries, stats.expired), (2, 6, 1, 0, 1));
    assert_eq!(stats.saved, Duration::from_micros(600));
}

/// Each hit counts for what its answer took the server, and a run that took much longer than others does not count for all of it.
#[test]
fn one_slow_run_does_not_count_with_each_hit() {
    let mut w = World::new();
    let ms = Duration::from_millis;
    let usual = Some(ms(200));
    // What this run took, what is usual, and what a hit counts for then.
    let runs = [
        (2_300, usual, 200),
        (180, usual, 180),
        (2_300, usual, 360),
        (100, None, 100),
        (2_300, None, 200),
        (2_300, None, 400),
    ];
    let mut saved = Duration::ZERO;
    for (took, usual, counts) in runs {
        let ticket = w.miss("a");
        let server_time = ticket.saves(ms(took), usual);
        assert_eq!(server_time, ms(counts), "{took}");
        let about = About { server_time, ..About::default() };
        let stored = ticket.fill(&Answer { packets: b"1", warning_packets: &[], about }, w.now);
        assert!(matches!(stored, Fill::Stored(_)));
        assert!(w.hit("a").is_some() && w.hit("a").is_some());
        saved += 2 * ms(counts);
        w.pass(TTL);
    }
    assert_eq!(w.stats().saved, saved);
    // Of another question nothing is known.
    assert_eq!(w.miss("b").saves(ms(2_300), None), ms(2_300));
}

#[test]
fn the_age_counts_from_when_the_server_was_asked() {
    let mut w = World::new();
    let ticket = w.miss("a");
    w.pass(TTL - SECOND);
    w.fill(ticket, "slow");
    assert_eq!(w.hit("a").as_deref(), Some("slow"));
    w.pass(SECOND);
    assert_eq!(w.hit("a"), None);

    let mut ticket = w.miss("b");
    w.pass(TTL);
    ticket.asked(w.now);
    let entry = w.fill(ticket, "queued");
    assert_eq!((entry.asked(), entry.stored()), (w.now, w.now));
    w.pass(TTL - SECOND);
    assert_eq!(w.hit("b").as_deref(), Some("queued"));
}

#[test]
fn an_answer_that_took_longer_than_its_ttl_is_not_stored() {
    let mut w = World::new();
    let ticket = w.miss("a");
    w.pass(TTL);
    assert_eq!(w.dropped(ticket), DropReason::Outlived);
    assert_eq!(w.drops(DropReason::Outlived), 1);
}

#[test]
fn the_stricter_of_two_terms_holds() {
    let mut w = World::new();
    w.put("a", "long");
    w.pass(10 * SECOND);
    w.terms = Terms::ttl(5 * SECOND);
    let ticket = w.miss("a");
    w.terms = Terms::ttl(TTL);
    assert_eq!(w.hit("a").as_deref(), Some("long"), "others are still served");
    w.fill(ticket, "short");
    w.pass(5 * SECOND);
    assert_eq!(w.hit("a"), None, "whoever stored it did not want it used for longer");
}

#[test]
fn the_soft_ttl_makes_one_renew_and_others_are_served() {
    let mut w = World::new();
    w.terms.soft_ttl = Some(20 * SECOND);
    w.put("a", "old");
    w.pass(20 * SECOND);
    let ticket = w.refresh("a");
    assert_eq!(w.hit("a").as_deref(), Some("old"));
    drop(ticket);
    let ticket = w.refresh("a");
    assert_eq!(w.hit("a").as_deref(), Some("old"), "the second has the role");
    ticket.give_up(DropReason::Error);
    let ticket = w.refresh("a");
    w.fill(ticket, "new");
    assert_eq!(w.hit("a").as_deref(), Some("new"));
    assert_eq!(w.stats().refreshes, 3);
}

#[test]
fn who_comes_after_the_ttl_waits_for_the_one_who_renews() {
    let mut w = World::new();
    w.terms.soft_ttl = Some(20 * SECOND);
    w.put("a", "old");
    w.pass(50 * SECOND);
    let ticket = w.refresh("a");
    w.pass(20 * SECOND);
    let mut late = w.wait("a");
    w.fill(ticket, "new");
    assert_eq!(late.told(), "new");
}

#[test]
fn stale_answers_are_for_errors_only_and_bounded() {
    let mut w = World::new();
    w.terms.stale_if_error = 30 * SECOND;
    w.put("a", "old");
    w.pass(TTL + 29 * SECOND);
    w.miss("a").give_up(DropReason::Error);
    assert_eq!(w.stale("a").map(|e| text(&e)).as_deref(), Some("old"));
    assert!(w.stale("b").is_none());
    w.terms.stale_if_error = 29 * SECOND;
    assert!(w.stale("a").is_none(), "whoever asks may be stricter");
    w.terms.stale_if_error = 31 * SECOND;
    w.pass(SECOND);
    assert!(w.stale("a").is_none(), "whoever stored it too");
    assert_eq!(w.stats().stale_served, 1);
    assert_eq!(w.stats().hits, 0);
}

#[test]
fn a_session_sees_nothing_from_before_its_own_write() {
    let mut w = World::new();
    w.put("a", "before");
    w.floor = Some(w.now);
    let ticket = w.miss("a");
    w.floor = None;
    assert_eq!(w.hit("a").as_deref(), Some("before"), "others have written nothing");
    w.pass(SECOND);
    drop(ticket);
    w.put_after_write("a", "after");
    assert_eq!(w.hit("a").as_deref(), Some("after"));
    w.terms.stale_if_error = TTL;
    w.floor = Some(w.now);
    assert!(w.stale("a").is_none());
}

impl World {
    fn put_after_write(&mut self, key: &str, value: &str) {
        self.floor = Some(self.now - Duration::from_nanos(1));
        self.put(key, value);
    }
}

#[test]
fn a_session_waits_for_no_flight_from_before_its_own_write() {
    let mut w = World::new();
    let early = w.miss("a");
    w.pass(SECOND);
    w.floor = Some(w.now);
    w.pass(SECOND);
    let late = w.miss("a");
    w.fill(late, "late");
    assert_eq!(w.hit("a").as_deref(), Some("late"));
    assert_eq!(w.dropped(early), DropReason::Superseded, "what is newer stays");
    assert_eq!(w.hit("a").as_deref(), Some("late"));
}

#[test]
fn what_is_too_large_is_not_stored() {
    let w = World::with(CacheLimits { memory: 1 << 20, max_entry: 4096, user_memory: None, shards: 4 });
    let large = "x".repeat(4096);
    assert!(matches!(w.lookup(&large), Lookup::Refused(Refusal::TooLarge)));
    match w.miss("a").fill(&answer(&large), w.now) {
        Fill::Dropped(reason) => assert_eq!(reason, DropReason::TooLarge),
        stored => panic!("{stored:?}"),
    }
    assert_eq!(w.hit("a"), None);
    w.put("a", &large[..2500]);
    assert_eq!(w.hit("a").as_deref(), Some(&large[..2500]));
}

#[test]
fn equal_hashes_are_told_apart_by_bytes() {
    for bits in [1, 8, 64] {
        let limits = CacheLimits { memory: 8 << 20, max_entry: 1 << 16, user_memory: None, shards: 4 };
        let mut w = World::new();
        w.cache = Cache::with_hash_bits(limits, 7, bits);
        let (keys, waits) = (0..500, w.wait_pair());
        drop(waits);
        for n in keys.clone() {
            w.put(&format!("key {n}"), &format!("value {n}"));
        }
        for n in keys {
            assert_eq!(w.hit(&format!("key {n}")), Some(format!("value {n}")), "{bits} bits");
        }
    }
}

impl World {
    /// Two flights at once, of keys that may have equal hashes.
    fn wait_pair(&self) -> (Ticket, Ticket) {
        (self.miss("one"), self.miss("two"))
    }
}

#[test]
fn all_that_is_asked_after_an_answer_is_kept() {
    let w = World::new();
    let about = About {
        rows: 10,
        found_rows: Some(1234),
        warnings: 1,
        status: 0x22,
        form: 3,
        hash: 99,
        server_time: Duration::from_millis(5),
    };
    let answer = Answer { packets: b"rows", warning_packets: b"deprecated", about };
    let Fill::Stored(stored) = w.miss("a").fill(&answer, w.now) else { panic!("not stored") };
    let Lookup::Hit(entry) = w.lookup("a") else { panic!("not served") };
    assert!(Arc::ptr_eq(&stored, &entry));
    assert_eq!(entry.packets().whole(), Some(&b"rows"[..]));
    assert_eq!(entry.warning_packets().whole(), Some(&b"deprecated"[..]));
    assert_eq!(entry.about(), about);
    assert_eq!(
        (entry.scope().digest(), entry.scope().user(), entry.scope().rule().name()),
        (1, "wp", "stories")
    );
}

#[test]
fn the_sum_of_bytes_returns_to_what_it_was() {
    let mut w = World::new();
    // The first round leaves the parts' empty tables of flights.
    flights_and_entries(&mut w);
    let empty = w.cache.stats().used;
    assert!(empty < 8 * 1024, "{empty} bytes for nothing");
    flights_and_entries(&mut w);
    assert_eq!(w.cache.stats().used, empty);
}

fn flights_and_entries(w: &mut World) {
    let empty = w.cache.stats().used;
    let tickets: Vec<Ticket> = (0..100).map(|n| w.miss(&format!("flight {n}"))).collect();
    assert!(w.cache.stats().used > empty + 100 * 50);
    let mut waiting = w.wait("flight 1");
    for (n, ticket) in tickets.into_iter().enumerate() {
        if n % 2 == 0 { _ = ticket.fill(&answer("some value"), w.now) } else { drop(ticket) }
    }
    assert_eq!(waiting.told(), "led");
    drop(waiting);
    let held = w.lookup("flight 0");
    assert_eq!(w.cache.stats().entries, 50);
    w.pass(TTL);
    (0..4).for_each(|_| _ = w.cache.sweep(w.now));
    let (cache, rule) = (w.cache.stats(), w.stats());
    assert_eq!((cache.entries, cache.flights, rule.entries, rule.bytes), (0, 0, 0, 0));
    let holding = cache.used;
    drop(held);
    assert!(w.cache.stats().used + 192 <= holding, "somebody still held an entry");
}
