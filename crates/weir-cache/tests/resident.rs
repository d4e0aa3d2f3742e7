//! Memory as the system sees it, with the allocator of the binary. By itself in its process, so that nothing else is measured.
#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weir_cache::{About, Answer, Ask, Cache, CacheLimits, Lookup, Scope, Terms};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEMORY: usize = 64 << 20;
/// The bound that is promised.
const BOUND: usize = MEMORY + MEMORY / 10;
const THREADS: u64 = 2;

/// What two threads store, so many each: a million in all.
struct Phase {
    name: &'static str,
    inserts: [u64; THREADS as usize],
    /// Bytes of an answer.
    sizes: Range<usize>,
    /// Small ones are so many times as frequent as large ones.
    skew: u32,
}

/// Sizes that stay as they are, sizes that change altogether, and a thread that stops while the other goes on.
const PHASES: [Phase; 12] = [
    Phase { name: "mixed", inserts: [60_000; 2], sizes: 100..4_000, skew: 2 },
    Phase { name: "mixed", inserts: [60_000; 2], sizes: 100..4_000, skew: 2 },
    Phase { name: "small", inserts: [120_000; 2], sizes: 50..200, skew: 1 },
    Phase { name: "some hundred bytes", inserts: [60_000; 2], sizes: 300..600, skew: 1 },
    Phase { name: "some kilobytes", inserts: [20_000; 2], sizes: 3_000..6_000, skew: 1 },
    Phase { name: "some kilobytes, one thread", inserts: [20_000, 0], sizes: 3_000..6_000, skew: 1 },
    Phase { name: "small, the other thread", inserts: [0, 120_000], sizes: 50..200, skew: 1 },
    Phase { name: "tens of kilobytes", inserts: [2_000; 2], sizes: 20_000..60_000, skew: 1 },
    Phase { name: "skewed", inserts: [60_000; 2], sizes: 60..100_000, skew: 8 },
    Phase { name: "large", inserts: [300; 2], sizes: 300_000..900_000, skew: 1 },
    Phase { name: "small, one thread", inserts: [120_000, 0], sizes: 50..200, skew: 1 },
    Phase { name: "mixed", inserts: [30_000; 2], sizes: 100..4_000, skew: 2 },
];

#[test]
fn a_million_inserts_stay_within_a_tenth_of_the_limit() {
    let cache =
        Cache::new(CacheLimits { memory: MEMORY, max_entry: 1 << 20, user_memory: None, shards: 16 }, 11);
    let scope = Arc::new(Scope::new(cache.rule("churn"), 1, "u"));
    let barrier = Barrier::new(THREADS as usize);
    let value = vec![7; 1 << 20];
    let (before, seen) = (resident(), Mutex::new(Vec::new()));
    // Threads live as long as those that serve queries do: each frees what the other has made.
    thread::scope(|threads| {
        for n in 0..THREADS {
            let (cache, scope, barrier, seen, value) = (&cache, &scope, &barrier, &seen, &value);
            threads.spawn(move || {
                for (number, phase) in PHASES.iter().enumerate() {
                    let first = (number as u64 * THREADS + n) << 32;
                    // What is resident is looked at on the way too: in a change it is most.
                    let part = phase.inserts[n as usize] / 20;
                    for step in 0..20 {
                        churn(cache, scope, (phase, value), first + step * part..first + (step + 1) * part);
                        let now = (cache.stats().used, resident().saturating_sub(before));
                        seen.lock().unwrap().push((phase.name, now));
                    }
                    barrier.wait();
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    for of in seen.chunk_by(|a, b| a.0 == b.0) {
        let most = of.iter().map(|(_, (_, resident))| *resident).max().unwrap();
        println!("{:28} at most {:6.1} % of the limit", of[0].0, 100.0 * most as f64 / MEMORY as f64);
    }
    for (phase, (counted, resident)) in seen {
        assert!(counted <= MEMORY + (2 << 20), "{phase}: {counted} bytes counted");
        assert!(resident <= BOUND, "{phase}: {resident} bytes resident");
    }
    let rule = &cache.stats().rules[0];
    assert_eq!(rule.fills, rule.entries + rule.evicted);
    assert!(rule.fills >= 1_000_000, "{} inserts", rule.fills);
}

/// Stores answers, and reads every tenth again, so that some stay for long.
fn churn(cache: &Cache, scope: &Arc<Scope>, (phase, value): (&Phase, &[u8]), numbers: Range<u64>) {
    let now = Instant::now();
    let terms = Terms::ttl(Duration::from_secs(3600));
    let mut key = [0; 100];
    for n in numbers {
        let random = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let share = ((random >> 16) as u32 as f64 / f64::from(u32::MAX)).powi(phase.skew as i32);
        let size = phase.sizes.start + (phase.sizes.len() as f64 * share) as usize;
        key[..8].copy_from_slice(&n.to_le_bytes());
        let ask = Ask { key: cache.key(&key), scope, terms, floor: None };
        let Lookup::Miss(ticket) = cache.lookup(&ask, now) else { panic!("key {n} is there") };
        let answer = Answer { packets: &value[..size], warning_packets: &[], about: About::default() };
        ticket.fill(&answer, now);
        if n % 10 == 0 {
            for _ in 0..3 {
                // The other thread may have driven it out.
                _ = cache.lookup(&ask, now);
            }
        }
    }
}

/// Bytes of this process in memory (`/proc/self/statm`, the second number, in pages).
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
