//! Memory as the system sees it, with the allocator of the binary. By itself in its process, so that nothing else is measured.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weir_cache::{About, Answer, Ask, Cache, CacheLimits, Lookup, Scope, Terms};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEMORY: usize = 64 << 20;
const THREADS: u64 = 2;
const ROUNDS: u64 = 10;
/// In each round, of each thread: a million in all.
const INSERTS: u64 = 50_000;

#[test]
fn a_million_inserts_stay_near_the_limit() {
    let cache = Cache::new(CacheLimits { memory: MEMORY, max_entry: 1 << 20, shards: 16 }, 11);
    let scope = Arc::new(Scope::new(cache.rule("churn"), 1, "u"));
    let barrier = Barrier::new(THREADS as usize);
    let (before, rounds) = (resident(), Mutex::new(Vec::new()));
    // Threads live as long as those that serve queries do: each frees what the other has made.
    thread::scope(|threads| {
        for n in 0..THREADS {
            let (cache, scope, barrier, rounds) = (&cache, &scope, &barrier, &rounds);
            threads.spawn(move || {
                for round in 0..ROUNDS {
                    churn(cache, scope, (round * THREADS + n) << 32);
                    if barrier.wait().is_leader() {
                        rounds.lock().unwrap().push((cache.stats().used, resident().saturating_sub(before)));
                    }
                    barrier.wait();
                }
            });
        }
    });
    let rounds = rounds.into_inner().unwrap();
    println!("bytes counted and resident: {rounds:?}");
    for (counted, resident) in rounds {
        assert!(counted <= MEMORY, "{counted} bytes counted");
        // Where threads free what others have made, the allocator holds on to more: up to 27 % was seen.
        assert!(resident <= MEMORY + MEMORY * 2 / 5, "{resident} bytes resident");
        assert!(resident >= MEMORY - MEMORY / 10, "{resident} bytes resident, which is too few");
    }
    let rule = &cache.stats().rules[0];
    assert_eq!(rule.fills, THREADS * ROUNDS * INSERTS);
    assert_eq!(rule.fills, rule.entries + rule.evicted);
}

/// Stores answers of 100 bytes to 4 kB, most of them small.
fn churn(cache: &Cache, scope: &Arc<Scope>, first: u64) {
    let value = [7; 5000];
    let now = Instant::now();
    let terms = Terms::ttl(Duration::from_secs(3600));
    let mut key = [0; 40];
    for n in first..first + INSERTS {
        let random = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let size = 100 + (random >> 20) as usize % 400 * (1 + (random >> 40) as usize % 10);
        key[..8].copy_from_slice(&n.to_le_bytes());
        let ask = Ask { key: cache.key(&key), scope, terms, floor: None };
        let Lookup::Miss(ticket) = cache.lookup(&ask, now) else { panic!("key {n} is there") };
        let answer = Answer { packets: &value[..size], warning_packets: &[], about: About::default() };
        ticket.fill(&answer, now);
    }
}

/// Bytes of this process in memory (`/proc/self/statm`, the second number, in pages).
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
