//! Many threads at once: readers, writers that wipe, sessions that read their own writes, short TTLs, sweeps and eviction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::*;

const KEYS: usize = 24;
const OPS: u32 = 20_000;
const TTL: Duration = Duration::from_millis(3);

/// The server, and what must be true of answers.
struct Server {
    /// The version of each row.
    rows: [AtomicU64; KEYS],
    /// The version that was there when the last wipe that covers the key was called; set when it has returned.
    wiped: [AtomicU64; KEYS],
    asked: AtomicU64,
}

struct Shared {
    cache: Cache,
    server: Server,
    scopes: [Arc<Scope>; 2],
    stop: AtomicBool,
    hits: AtomicU64,
}

#[test]
fn no_answer_is_older_than_its_ttl_a_wipe_or_ones_own_write() {
    let cache = Cache::with_hash_bits(
        CacheLimits { memory: 24 << 10, max_entry: 4 << 10, user_memory: None, shards: 2 },
        3,
        8,
    );
    let table = |name| Tables::Known(vec![Table::new("s", name)]);
    let scopes = ["even", "odd"].map(|t| Arc::new(Scope::new(cache.rule("r"), 1, "u").with_tables(table(t))));
    let server = Server {
        rows: [const { AtomicU64::new(1) }; KEYS],
        wiped: [const { AtomicU64::new(0) }; KEYS],
        asked: AtomicU64::new(0),
    };
    let shared = Shared { cache, server, scopes, stop: AtomicBool::new(false), hits: AtomicU64::new(0) };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..4).map(|n| scope.spawn(move_ref(&shared, n, Shared::reads))).collect();
        let writers = (0..2).map(|n| scope.spawn(move_ref(&shared, n, Shared::writes)));
        let writers: Vec<_> = writers.collect();
        let sweeper = scope.spawn(|| {
            while !shared.stop.load(Ordering::SeqCst) {
                shared.cache.sweep(Instant::now());
                thread::yield_now();
            }
        });
        let ended: Vec<_> = readers.into_iter().map(|r| r.join()).collect();
        shared.stop.store(true, Ordering::SeqCst);
        ended.into_iter().for_each(|e| e.unwrap());
        writers.into_iter().for_each(|w| w.join().unwrap());
        sweeper.join().unwrap();
    });
    let hits = shared.hits.load(Ordering::SeqCst);
    assert!(hits > 1000, "only {hits} hits");
    shared.cache.wipe(&Selector::all());
    let stats = shared.cache.stats();
    assert_eq!((stats.entries, stats.flights), (0, 0));
    let rule = &stats.rules[0];
    assert_eq!((rule.entries, rule.bytes), (0, 0), "{rule:?}");
    assert!(rule.wiped > 0 && rule.waits > 0, "{rule:?}");
    assert!(stats.used < 400 * 1024, "{} bytes for nothing", stats.used);
}

fn move_ref<'s>(shared: &'s Shared, n: u64, work: fn(&Shared, u64)) -> impl FnOnce() + Send + 's {
    move || work(shared, n)
}

impl Shared {
    fn reads(&self, thread: u64) {
        let mut random = thread * 1_000_003 + 1;
        let mut floor = None;
        for op in 0..OPS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (random >> 33) as usize % KEYS;
            let mut least = self.server.wiped[key].load(Ordering::SeqCst);
            if op % 16 == 0 {
                // This session's own write; from here on the floor holds for all keys, as it does in a session.
                let written = self.server.rows[key].fetch_add(1, Ordering::SeqCst) + 1;
                floor = Some(Instant::now());
                least = least.max(written);
            } else if op % 16 == 8 {
                floor = None;
            }
            self.read(key, floor, least);
        }
    }

    fn read(&self, key: usize, floor: Option<Instant>, least: u64) {
        let bytes = [key as u8; 100];
        let terms = Terms { ttl: TTL, soft_ttl: Some(TTL / 2), stale_if_error: TTL };
        let ask = Ask { key: self.cache.key(&bytes), scope: &self.scopes[key % 2], terms, floor };
        let now = Instant::now();
        match self.cache.lookup(&ask, now) {
            Lookup::Hit(entry) => self.check(&entry, key, least, now),
            Lookup::Refresh(entry, ticket) => {
                self.check(&entry, key, least, now);
                self.ask(ticket, key);
            }
            Lookup::Miss(ticket) => self.ask(ticket, key),
            Lookup::Wait(waiting) => match block_on(waiting) {
                Waited::Hit(entry) => self.check(&entry, key, least, now),
                Waited::Miss(ticket) => self.ask(ticket, key),
                Waited::RunYourself => {}
            },
            Lookup::Refused(reason) => panic!("{}", reason.as_str()),
        }
    }

    fn check(&self, entry: &Entry, key: usize, least: u64, now: Instant) {
        let mut packets = Vec::new();
        entry.packets().append_to(&mut packets);
        let (answer, rest) = packets.split_first_chunk().unwrap();
        assert!(rest.iter().all(|b| *b == key as u8), "another key's answer");
        let version = u64::from_le_bytes(*answer);
        assert!(version >= least, "version {version} of key {key}, at least {least} was expected");
        assert!(entry.age(now) < TTL, "{:?} old", entry.age(now));
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks the server; sometimes slowly, sometimes in vain.
    fn ask(&self, mut ticket: Ticket, key: usize) {
        ticket.asked(Instant::now());
        let nth = self.server.asked.fetch_add(1, Ordering::SeqCst);
        let version = self.server.rows[key].load(Ordering::SeqCst);
        if nth.is_multiple_of(3) {
            thread::yield_now();
        }
        if nth.is_multiple_of(50) {
            thread::park_timeout(Duration::from_micros(200));
        }
        let mut packets = version.to_le_bytes().to_vec();
        packets.resize(8 + (nth % 7) as usize * 300, key as u8);
        match nth % 20 {
            0 => ticket.give_up(DropReason::Error),
            1 => drop(ticket),
            2 => ticket.give_up(DropReason::NotCacheable),
            _ => {
                let answer = Answer { packets: &packets, warning_packets: &[], about: About::default() };
                ticket.fill(&answer, Instant::now());
            }
        }
    }

    /// Bumps rows and wipes them, one by one, by table, or all.
    fn writes(&self, thread: u64) {
        let mut n = thread;
        while !self.stop.load(Ordering::SeqCst) {
            n += 1;
            let one = (n * 7 + thread) as usize % KEYS;
            let (selector, keys): (Selector, Vec<usize>) = match n % 8 {
                0 => (Selector::all().rule("r"), (0..KEYS).collect()),
                1 => (Selector::all().table("s", "odd"), (0..KEYS).filter(|k| k % 2 == 1).collect()),
                _ => (Selector::all().key(&[one as u8; 100]), vec![one]),
            };
            let written: Vec<u64> =
                keys.iter().map(|k| self.server.rows[*k].fetch_add(1, Ordering::SeqCst) + 1).collect();
            self.cache.wipe(&selector);
            for (key, version) in keys.iter().zip(written) {
                self.server.wiped[*key].fetch_max(version, Ordering::SeqCst);
            }
            thread::park_timeout(Duration::from_micros(100));
        }
    }
}

/// Polls on this thread. Nobody waits for long here, so a wake-up that is lost shows.
fn block_on(waiting: Waiting) -> Waited {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut waiting = std::pin::pin!(waiting);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(waited) = waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
            return waited;
        }
        thread::park_timeout(Duration::from_secs(20));
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody woke who waits");
    }
}
