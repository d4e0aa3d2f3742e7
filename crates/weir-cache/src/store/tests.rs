use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::charge::Budget;
use crate::entry::{About, Answer, Terms};
use crate::rule::Rule;
use crate::scope::Scope;
use crate::spare::Spare;

struct Bench {
    store: Store,
    scope: Arc<Scope>,
    budget: Arc<Budget>,
    spare: Spare,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let scope = Arc::new(Scope::new(Rule::new("r"), 1, "u"));
        let budget = Budget::new(0);
        Self { store: Store::default(), scope, spare: Spare::new(&budget), budget, now: Instant::now() }
    }

    fn hash(n: u64) -> u64 {
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn insert(&mut self, n: u64, size: usize) -> SlotId {
        let (bytes, terms) = (vec![0; size], Terms::ttl(Duration::from_secs(60)));
        let answer = Answer { packets: &bytes, warning_packets: &[], about: About::default() };
        let scope = Arc::clone(&self.scope);
        let entry = Entry::new(
            Kind::Answer,
            &n.to_le_bytes(),
            &answer,
            scope,
            terms,
            self.now,
            self.now,
            &self.budget,
            self.spare.of(0),
        );
        self.store.insert(Self::hash(n), &n.to_le_bytes(), entry).slot
    }

    fn find(&self, n: u64) -> Option<SlotId> {
        self.store.find(Self::hash(n), &n.to_le_bytes(), Kind::Answer).map(|(id, _)| id)
    }

    fn read(&mut self, n: u64) -> bool {
        let Some(id) = self.find(n) else { return false };
        self.store.used(id);
        true
    }

    /// As the cache does after an insert.
    fn shrink_to(&mut self, bytes: usize) {
        while self.store.entry_bytes() > bytes {
            self.store.evict(None, self.now).unwrap();
        }
    }
}

#[test]
fn slots_are_used_again_and_everything_goes_when_the_last_goes() {
    let mut b = Bench::new();
    let empty = b.store.overhead();
    for round in 0..50 {
        let ids: HashSet<u64> = (0..200).map(|n| round * 1000 + n).collect();
        ids.iter().for_each(|n| _ = b.insert(*n, 10));
        assert_eq!((b.store.len(), b.store.slots()), (200 + usize::from(round > 0), 256));
        for n in ids {
            let slot = b.find(n).unwrap();
            // One stays, so that the slots are not all given back.
            if b.store.len() > 1 {
                b.store.remove(slot).unwrap();
            }
        }
    }
    let last = b.store.scan(0, 256).next().unwrap().0;
    b.store.remove(last).unwrap();
    assert_eq!((b.store.len(), b.store.slots(), b.store.entry_bytes(), b.store.overhead()), (0, 0, 0, empty));
    assert_eq!(b.budget.used(), 0);
}

#[test]
fn a_scan_does_not_drive_out_what_is_used() {
    let mut b = Bench::new();
    let room = 2_000 * 400;
    let mut next = 1_000_000;
    for _ in 0..30 {
        for hot in 0..500 {
            if !b.read(hot) {
                b.insert(hot, 100);
            }
            for _ in 0..5 {
                next += 1;
                b.insert(next, 100);
                b.shrink_to(room);
            }
        }
    }
    let kept = (0..500).filter(|n| b.find(*n).is_some()).count();
    assert!(kept > 490, "{kept} of 500 that are read all the time were kept");
}

#[test]
fn of_what_is_used_alike_the_large_goes_first() {
    let mut b = Bench::new();
    let room = 4_000_000;
    let (mut hits_small, mut hits_large, mut next) = (0, 0, 10_000_000);
    for round in 0..40 {
        for n in 0..3_000_u64 {
            let size = if n % 100 == 0 { 60_000 } else { 400 };
            let hit = b.read(n);
            if round > 5 {
                *(if size > 1000 { &mut hits_large } else { &mut hits_small }) += u32::from(hit);
            }
            if !hit {
                b.insert(n, size);
            }
            next += 1;
            b.insert(next, 400);
            b.shrink_to(room);
        }
    }
    let small = f64::from(hits_small) / (34.0 * 2970.0);
    let large = f64::from(hits_large) / (34.0 * 30.0);
    assert!(small > 0.9 && large < small, "hit ratio of the small {small:.2}, of the large {large:.2}");
}

#[test]
fn the_dead_go_before_they_have_another_chance() {
    let mut b = Bench::new();
    (0..10).for_each(|n| _ = b.insert(n, 100));
    (0..10).for_each(|n| assert!(b.read(n)));
    b.now += Duration::from_secs(61);
    let gone = b.store.evict(None, b.now).unwrap();
    assert!(gone.is_dead(b.now));
    assert_eq!(b.store.len(), 9);
}

#[test]
fn what_was_just_stored_is_kept() {
    let mut b = Bench::new();
    let kept = b.insert(1, 100_000);
    (2..5).for_each(|n| _ = b.insert(n, 100));
    for _ in 0..3 {
        b.store.evict(Some(kept), b.now).unwrap();
    }
    assert!(b.store.evict(Some(kept), b.now).is_none());
    assert_eq!(b.find(1), Some(kept));
}

#[test]
fn replacing_keeps_the_sums() {
    let mut b = Bench::new();
    b.insert(1, 100);
    let before = b.store.entry_bytes();
    let old = b.insert(1, 5_000);
    assert_eq!(b.store.len(), 1);
    assert!(b.store.entry_bytes() > before + 4_000);
    b.store.remove(old).unwrap();
    assert_eq!((b.store.entry_bytes(), b.budget.used()), (0, 0));
}
