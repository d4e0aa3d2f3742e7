//! One asks, others wait.

use super::*;

#[test]
fn one_asks_and_all_get_the_answer() {
    let w = World::new();
    let leader = w.miss("a");
    let mut tasks: Vec<Task> = (0..5).map(|_| w.wait("a")).collect();
    let other = w.miss("b");
    assert!(tasks.iter_mut().all(|t| t.poll().is_none()));
    w.fill(leader, "one");
    tasks.iter_mut().for_each(|t| assert_eq!(t.told(), "one"));
    drop(other);
    let stats = w.stats();
    assert_eq!((stats.misses, stats.waits, stats.fills, stats.hits), (2, 5, 1, 0));
    assert_eq!(w.cache.stats().flights, 0);
}

#[test]
fn a_failing_server_is_reached_by_one_two_four() {
    let w = World::new();
    let leader = w.miss("a");
    let mut tasks: Vec<Task> = (0..10).map(|_| w.wait("a")).collect();
    leader.give_up(DropReason::Error);
    // Each round: who leads gives up with an error as soon as it is polled.
    let round = |tasks: &mut Vec<Task>| {
        let told: Vec<String> = {
            let ready: Vec<&mut Task> = tasks.iter_mut().filter(|t| t.woken()).collect();
            ready.into_iter().rev().map(Task::told).collect()
        };
        tasks.drain(..told.len());
        told.into_iter().rev().collect::<Vec<_>>()
    };
    assert_eq!(round(&mut tasks), ["led"]);
    assert_eq!(round(&mut tasks), ["led", "runs"]);
    assert_eq!(round(&mut tasks), ["led", "runs", "runs", "runs"]);
    assert_eq!(round(&mut tasks), ["led", "runs", "runs"]);
    assert!(tasks.is_empty());
    assert_eq!(w.cache.stats().flights, 0);
    assert_eq!(w.stats().handovers, 4);
    drop(w.miss("a"));
}

#[test]
fn nobody_waits_for_what_another_has_waited_for_too_long() {
    let w = World::new();
    let stuck = w.miss("a");
    let (mut patient, impatient) = (w.wait("a"), w.wait("a"));
    impatient.lose_patience();
    let next = w.miss("a");
    let mut behind = w.wait("a");
    assert_eq!((patient.told(), behind.told()), ("waits".to_owned(), "waits".to_owned()));
    w.fill(next, "next");
    assert_eq!(behind.told(), "next");
    assert_eq!(w.hit("a").as_deref(), Some("next"));
    // What it brings in the end is for those who have stayed.
    drop(stuck);
    assert_eq!(patient.told(), "led");
    assert_eq!(w.hit("a").as_deref(), Some("next"));
    assert_eq!(w.cache.stats().flights, 0);
}

#[test]
fn nobody_is_served_what_a_wipe_of_its_tags_would_not_take() {
    let mut w = World::new();
    let scope = |tags: &[&str]| {
        let scope = Scope::new(w.cache.rule("stories"), 1, "wp");
        Arc::new(tags.iter().fold(scope, |scope, tag| scope.with_tag(tag)))
    };
    let (plain, a, both) = (scope(&[]), scope(&["a"]), scope(&["b", "a"]));
    w.terms.stale_if_error = TTL;
    w.put("x", "plain");
    w.scope = Arc::clone(&a);
    assert!(w.stale("x").is_none());
    let ticket = w.miss("x");
    // Nor does it wait for one that has not all of its tags.
    w.scope = Arc::clone(&both);
    drop(w.miss("x"));
    w.scope = Arc::clone(&plain);
    assert_eq!(w.hit("x").as_deref(), Some("plain"));
    w.scope = Arc::clone(&a);
    w.fill(ticket, "of a");
    for scope in [&a, &plain] {
        w.scope = Arc::clone(scope);
        assert_eq!(w.hit("x").as_deref(), Some("of a"));
    }
    w.scope = both;
    w.put("x", "of both");
    w.scope = a;
    assert_eq!(w.hit("x").as_deref(), Some("of both"));
    assert_eq!(w.cache.wipe(&Selector::all().tag("a")).entries, 1);
}

#[test]
fn who_waits_with_tags_is_not_told_what_a_leader_without_them_brings() {
    let mut w = World::new();
    let plain = Arc::clone(&w.scope);
    w.scope = Arc::new(Scope::new(w.cache.rule("stories"), 1, "wp").with_tag("a"));
    let leader = w.miss("x");
    w.scope = plain;
    let mut without = w.wait("x");
    w.scope = Arc::clone(&leader.scope);
    let (mut with, mut other) = (w.wait("x"), w.wait("x"));
    leader.give_up(DropReason::Error);
    let Some(Waited::Miss(ticket)) = without.poll() else { panic!("the first does not lead") };
    w.fill(ticket, "of none");
    assert_eq!((with.told(), other.told()), ("runs".to_owned(), "runs".to_owned()));
}

#[test]
fn who_takes_over_brings_it_to_the_others() {
    let mut w = World::new();
    let leader = w.miss("a");
    let (mut first, mut second) = (w.wait("a"), w.wait("a"));
    drop(leader);
    assert_eq!(w.drops(DropReason::Abandoned), 1);
    assert!(first.woken() && !second.woken());
    let Some(Waited::Miss(mut ticket)) = first.poll() else { panic!("the first does not lead") };
    w.pass(TTL);
    ticket.asked(w.now);
    w.fill(ticket, "second try");
    assert_eq!(second.told(), "second try", "however long it waited, the data is fresh");
    assert_eq!(w.hit("a").as_deref(), Some("second try"));
}

#[test]
fn who_was_to_lead_and_left_is_followed_by_the_next() {
    let w = World::new();
    let leader = w.miss("a");
    let (first, mut second, mut third) = (w.wait("a"), w.wait("a"), w.wait("a"));
    drop(leader);
    assert!(first.woken() && !second.woken());
    drop(first);
    let Some(Waited::Miss(ticket)) = second.poll() else { panic!("the second does not lead") };
    assert_eq!(third.told(), "runs");
    let mut fourth = w.wait("a");
    w.fill(ticket, "one");
    assert_eq!(fourth.told(), "one");
}

#[test]
fn who_left_before_is_not_asked() {
    let w = World::new();
    let leader = w.miss("a");
    let (first, mut second) = (w.wait("a"), w.wait("a"));
    drop(first);
    drop(leader);
    assert_eq!(second.told(), "led");
}

#[test]
fn what_cannot_be_cached_is_waited_for_by_nobody() {
    for reason in [DropReason::TooLarge, DropReason::NotCacheable] {
        let w = World::new();
        let leader = w.miss("a");
        let mut tasks: Vec<Task> = (0..3).map(|_| w.wait("a")).collect();
        leader.give_up(reason);
        tasks.iter_mut().for_each(|t| assert_eq!(t.told(), "runs"));
        assert_eq!(w.cache.stats().flights, 0);
        assert_eq!(w.drops(reason), 1);
    }
}

#[test]
fn whoever_wants_it_newer_than_the_flight_brings_runs() {
    let mut w = World::new();
    let leader = w.miss("a");
    w.pass(3 * SECOND);
    w.terms = Terms::ttl(4 * SECOND);
    let mut strict = w.wait("a");
    w.terms = Terms::ttl(3 * SECOND);
    drop(w.miss("a"));
    w.terms = Terms::ttl(TTL);
    let mut patient = w.wait("a");
    w.pass(SECOND);
    w.fill(leader, "one");
    assert_eq!(strict.told(), "runs");
    assert_eq!(patient.told(), "one");
}

#[test]
fn a_wipe_takes_flights_along() {
    for key in [false, true] {
        let w = World::new();
        let early = w.miss("a");
        let mut waited = w.wait("a");
        let selector = if key { Selector::all().key(b"a") } else { Selector::all().rule("stories") };
        assert_eq!(w.cache.wipe(&selector), Wiped::default());
        let late = w.miss("a");
        let mut follower = w.wait("a");
        assert_eq!(w.dropped(early), DropReason::Wiped);
        assert_eq!(w.hit("a"), None);
        let Some(Waited::Miss(ticket)) = waited.poll() else { panic!("nobody took over") };
        w.fill(late, "late");
        assert_eq!(follower.told(), "late");
        w.fill(ticket, "again");
    }
}

#[test]
fn who_has_lost_patience_is_counted_once() {
    let world = World::new();
    let again = |key: &str| {
        let key = world.cache.key(key.as_bytes());
        let ask = Ask { key, scope: &world.scope, terms: world.terms, floor: None };
        world.cache.lookup_again(&ask, world.now)
    };
    let ticket = world.miss("a");
    drop(world.wait("a"));
    assert!(matches!(again("a"), Lookup::Wait(_)));
    world.fill(ticket, "one");
    assert!(matches!(again("a"), Lookup::Hit(_)));
    assert!(matches!(again("b"), Lookup::Miss(_)));
    let stats = world.stats();
    assert_eq!((stats.misses, stats.waits, stats.hits, stats.saved), (1, 1, 0, Duration::ZERO));
}
