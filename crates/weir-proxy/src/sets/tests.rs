use super::*;
use std::collections::HashSet;
use std::hash::BuildHasher;

const PLACES: usize = 64;

fn find(sets: &mut Sets<u64>, hash: u64) -> bool {
    let at = sets.find(hash, |kept| *kept == hash);
    at.is_some_and(|at| sets.get_mut(at).copied() == Some(hash))
}

/// Hashes of one set, with tags of their own.
fn of_one_set() -> impl Iterator<Item = u64> {
    (1..).map(|n| n << 32 | 5)
}

#[test]
fn as_many_as_a_set_has_places_stay_whatever_their_turns() {
    let mut sets = Sets::new(PLACES);
    let hot: Vec<u64> = of_one_set().take(WAYS).collect();
    for hash in &hot {
        assert!(!find(&mut sets, *hash));
        sets.keep(*hash, *hash);
    }
    for _ in 0..3 {
        assert!(hot.iter().all(|hash| find(&mut sets, *hash)));
    }
}

#[test]
fn what_comes_once_takes_no_place_of_what_comes_again() {
    let mut sets = Sets::new(PLACES);
    let mut hashes = of_one_set();
    let hot: Vec<u64> = hashes.by_ref().take(WAYS - 1).collect();
    for hash in &hot {
        sets.keep(*hash, *hash);
    }
    for once in hashes.take(100) {
        assert!(hot.iter().all(|hash| find(&mut sets, *hash)));
        sets.keep(once, once);
    }
}

#[test]
fn the_same_hash_is_no_proof() {
    let mut sets = Sets::new(PLACES);
    let at = sets.keep(7, "one");
    assert_eq!(sets.find(7, |kept| *kept == "other"), None);
    assert_eq!(sets.find(7, |kept| *kept == "one"), Some(at));
    let other = sets.keep(7, "other");
    assert_eq!((sets.find(7, |kept| *kept == "other"), other == at), (Some(other), false));
    // Nor is half of it.
    assert_eq!(sets.find(7 | 1 << 40, |_| true), None);
}

#[test]
fn a_full_set_lets_the_newest_in() {
    let mut sets = Sets::new(PLACES);
    for hash in of_one_set().take(1_000) {
        sets.keep(hash, hash);
        assert!(find(&mut sets, hash));
    }
    assert_eq!(sets.iter_mut().count(), WAYS);
}

/// A hundred statements that come again and again: hardly one set in a thousand tables of 1,024 places has more than it holds.
#[test]
fn hot_ones_seldom_drive_each_other_out() {
    let mut driven_out = 0;
    for seed in 0..1_000 {
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        let mut sets = Sets::new(1024);
        let hashes: Vec<u64> = (0..100).map(|n| hasher.hash_one(format!("SELECT a FROM t{n}"))).collect();
        for hash in &hashes {
            sets.keep(*hash, *hash);
        }
        let lost = hashes.iter().filter(|hash| !find(&mut sets, **hash)).collect::<HashSet<_>>();
        driven_out += lost.len();
    }
    // With one place for each hash it is 4.7 of each hundred.
    assert!(driven_out < 40 * 10, "{driven_out} of 100,000");
}
