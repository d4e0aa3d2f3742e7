//! How much the answers to one user's statements may take.

use super::*;

const CAP: usize = 256 << 10;

/// A cache of 16 MiB with a limit for each user.
fn world() -> World {
    World::with(CacheLimits { memory: 16 << 20, max_entry: 64 << 10, user_memory: Some(CAP), shards: 8 })
}

impl World {
    /// Stores an answer for a user.
    fn put_for(&self, user: &str, key: &str, bytes: usize) -> Fill {
        let scope = Arc::new(Scope::new(self.cache.rule("stories"), 1, user));
        let key = format!("{user} {key}");
        let key = self.cache.key(key.as_bytes());
        let ask = Ask { key, scope: &scope, terms: self.terms, floor: None };
        let Lookup::Miss(ticket) = self.cache.lookup(&ask, self.now) else { panic!("a miss was expected") };
        ticket.fill(&answer(&"v".repeat(bytes)), self.now)
    }

    fn holds(&self, user: &str, key: &str) -> bool {
        self.hit(&format!("{user} {key}")).is_some()
    }

    fn bytes_of(&self, user: &str) -> usize {
        self.cache.stats().users.iter().find(|(name, _)| **name == *user).map_or(0, |(_, bytes)| *bytes)
    }
}

#[test]
fn a_user_takes_no_more_than_its_share_and_pushes_out_nobody_else() {
    let w = world();
    for n in 0..100 {
        w.put_for("quiet", &n.to_string(), 1_000);
    }
    let quiet = w.bytes_of("quiet");
    for n in 0..10_000 {
        w.put_for("loud", &n.to_string(), 1_000);
        assert!(w.bytes_of("loud") <= CAP, "{n}: {}", w.bytes_of("loud"));
    }
    assert!(w.bytes_of("loud") > CAP * 9 / 10, "{} of {CAP}", w.bytes_of("loud"));
    assert_eq!(w.bytes_of("quiet"), quiet);
    assert!((0..100).all(|n| w.holds("quiet", &n.to_string())));
    let kept = (9_000..10_000).filter(|n| w.holds("loud", &n.to_string())).count();
    assert!(kept > 50, "the newest of the loud one are kept: {kept}");
    let stats = w.stats();
    assert!(stats.evicted > 9_000, "{stats:?}");
    assert_eq!(stats.evicted + stats.entries + w.drops(DropReason::UserMemory), 10_100);
}

#[test]
fn where_nothing_of_a_user_is_found_soon_its_new_answer_is_served_and_not_kept() {
    let w = world();
    // Few and large among many of another's, which is given no limit here.
    w.cache.set_limits(CacheLimits { memory: 16 << 20, max_entry: 64 << 10, user_memory: None, shards: 8 });
    for n in 0..4 {
        w.put_for("large", &n.to_string(), 60_000);
    }
    for n in 0..12_000 {
        w.put_for("others", &n.to_string(), 300);
    }
    w.cache.set_limits(CacheLimits {
        memory: 16 << 20,
        max_entry: 64 << 10,
        user_memory: Some(CAP),
        shards: 8,
    });
    for n in 4..40 {
        assert!(matches!(w.put_for("large", &n.to_string(), 60_000), Fill::Stored(_)));
        assert!(w.bytes_of("large") <= CAP);
    }
    let dropped = w.drops(DropReason::UserMemory);
    assert!(dropped > 0, "of {} evicted", w.stats().evicted);
    assert_eq!(w.stats().fills, 12_040);
}

/// What others have stored before and still use stays at the front of each queue for as long as the cache is not full.
#[test]
fn behind_much_of_others_a_users_own_older_answers_make_room() {
    let mut w = world();
    w.cache.set_limits(CacheLimits { memory: 16 << 20, max_entry: 64 << 10, user_memory: None, shards: 8 });
    for n in 0..4_000 {
        w.put_for("others", &n.to_string(), 300);
    }
    w.cache.set_limits(CacheLimits {
        memory: 16 << 20,
        max_entry: 64 << 10,
        user_memory: Some(3 << 20),
        shards: 8,
    });
    for n in 0..8_000 {
        w.put_for("late", &n.to_string(), 600);
        w.pass(Duration::from_millis(1));
    }
    let kept = (7_000..8_000).filter(|n| w.holds("late", &n.to_string())).count();
    assert!(kept > 700, "{kept} of the newest thousand");
    assert!((0..4_000).all(|n| w.holds("others", &n.to_string())));
    let dropped = w.drops(DropReason::UserMemory);
    assert!(dropped < 200, "{dropped} were not kept");
}

/// Fills of one user from several threads, under a limit that is lowered meanwhile, into a cache whose parts run empty.
#[test]
fn fills_of_one_user_may_meet() {
    let w = world();
    let limits = |user_memory| CacheLimits { memory: 16 << 20, max_entry: 64 << 10, user_memory, shards: 64 };
    let w = World::with(CacheLimits { ..limits(Some(w.cache.stats().memory)) });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let w = &w;
            scope.spawn(move || {
                for n in 0..3_000 {
                    let cap = if n % 50 < 25 { 40 << 10 } else { 400 << 10 };
                    w.cache.set_limits(limits(Some(cap)));
                    w.put_for("a", &format!("{thread} {n}"), 10_000);
                    if n % 7 == 0 {
                        w.cache.wipe(&Selector::all().user("a"));
                    }
                }
            });
        }
    });
    w.cache.wipe(&Selector::all());
    assert_eq!((w.bytes_of("a"), w.cache.stats().entries), (0, 0));
}

#[test]
fn what_goes_in_any_way_is_no_more_counted_for_its_user() {
    let mut w = world();
    w.put_for("a", "wiped", 100);
    w.put_for("b", "kept", 100);
    w.cache.wipe(&Selector::all().user("a"));
    assert_eq!((w.bytes_of("a"), w.bytes_of("b") > 0), (0, true));
    w.put_for("a", "old", 100);
    w.pass(TTL);
    (0..16).for_each(|_| _ = w.cache.sweep(w.now));
    assert_eq!((w.bytes_of("a"), w.bytes_of("b"), w.cache.stats().entries), (0, 0, 0));
    // Replaced by itself.
    w.put_for("a", "again", 100);
    let once = w.bytes_of("a");
    w.pass(TTL / 2);
    w.terms = Terms::ttl(TTL / 4);
    w.put_for("a", "again", 100);
    assert_eq!((w.bytes_of("a"), w.stats().replaced), (once, 1));
}

#[test]
fn a_smaller_limit_is_reached_step_by_step() {
    let w = world();
    for n in 0..150 {
        w.put_for("a", &n.to_string(), 1_000);
    }
    let limits =
        CacheLimits { memory: 16 << 20, max_entry: 32 << 10, user_memory: Some(64 << 10), shards: 8 };
    w.cache.set_limits(limits);
    for n in 0..10 {
        w.put_for("a", &format!("new {n}"), 1_000);
    }
    assert!(w.bytes_of("a") <= 64 << 10, "{}", w.bytes_of("a"));
}

#[test]
fn an_answer_that_is_more_than_a_user_may_have_drives_out_nothing() {
    let w = world();
    w.put_for("a", "small", 100);
    w.cache.set_limits(CacheLimits {
        memory: 16 << 20,
        max_entry: 64 << 10,
        user_memory: Some(4 << 10),
        shards: 8,
    });
    assert!(matches!(w.put_for("a", "large", 5_000), Fill::Dropped(DropReason::TooLarge)));
    assert!(w.holds("a", "small"));
}
