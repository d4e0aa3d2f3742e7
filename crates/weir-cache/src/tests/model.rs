//! Random steps against a model that holds whole copies and knows no hashes, queues or locks.

use std::collections::HashMap;

use super::*;

const KEYS: usize = 32;
const STEPS: u32 = 50_000;

/// What the model may rely on.
#[derive(Debug, Clone, Copy)]
struct Mode {
    name: &'static str,
    hash_bits: u32,
    memory: usize,
    /// There is room for all: what may be served must be.
    roomy: bool,
}

#[test]
fn with_room_for_all_every_answer_is_foretold() {
    run(Mode { name: "roomy", hash_bits: 64, memory: 8 << 20, roomy: true });
}

#[test]
fn with_hashes_of_eight_bits_too() {
    run(Mode { name: "8 bits", hash_bits: 8, memory: 8 << 20, roomy: true });
}

#[test]
fn with_hashes_of_one_bit_too() {
    run(Mode { name: "1 bit", hash_bits: 1, memory: 8 << 20, roomy: true });
}

#[test]
fn with_little_memory_nothing_forbidden_is_served() {
    run(Mode { name: "tight", hash_bits: 8, memory: 48 << 10, roomy: false });
}

fn run(mode: Mode) {
    for seed in 0..3 {
        let mut model = Model::new(mode, seed);
        let mut hits = 0;
        for step in 0..STEPS / 3 {
            model.at = format!("{} seed {seed} step {step}", mode.name);
            model.step();
            hits = model.served;
        }

        assert!(hits > STEPS / 15, "only {hits} hits: {}", model.at);
        model.end();
    }
}

/// An answer that is stored, by the model's books.
#[derive(Debug, Clone)]
struct Stored {
    version: u64,
    asked: Instant,
    terms: Terms,
}

struct OpenTicket {
    ticket: Ticket,
    key: usize,
    asked: Instant,
    terms: Terms,
    /// Something that covers it was wiped since it was asked.
    wiped: bool,
    /// A single key was wiped since; it may share its generation.
    key_wiped: bool,
}

struct OpenWait {
    task: Task,
    key: usize,
    terms: Terms,
    floor: Option<Instant>,
}

struct Model {
    mode: Mode,
    at: String,
    random: u64,
    cache: Cache,
    scopes: Vec<Arc<Scope>>,
    now: Instant,
    stored: HashMap<usize, Stored>,
    /// When the flight that can be joined began.
    flights: HashMap<usize, Instant>,
    tickets: Vec<OpenTicket>,
    waits: Vec<OpenWait>,
    version: u64,
    served: u32,
}

impl crate::inner::Inner {
    fn can_be_joined(&self, flight: &Arc<crate::flight::Flight>) -> bool {
        let state = self.parts()[self.place(flight.hash)].state.lock();
        let key = crate::Key { bytes: &flight.key, hash: flight.hash };
        state.flight(&key).is_some_and(|f| Arc::ptr_eq(f, flight))
    }
}

impl Model {
    fn new(mode: Mode, seed: u64) -> Self {
        let limits = CacheLimits { memory: mode.memory, max_entry: 1 << 14, user_memory: None, shards: 4 };
        let cache = Cache::with_hash_bits(limits, seed, mode.hash_bits);
        let scopes = (0..8_u64).map(|n| {
            let table = Table::new("s", if n & 2 == 0 { "even" } else { "odd" });
            let user = if n & 4 == 0 { "ann" } else { "bob" };
            let scope = Scope::new(cache.rule(if n & 1 == 0 { "a" } else { "b" }), n, user);
            Arc::new(scope.with_tables(Tables::Known(vec![table])).with_tag(&format!("tag{}", n % 3)))
        });
        let scopes = scopes.collect();
        Self {
            mode,
            at: String::new(),
            random: seed.wrapping_mul(77) + 1,
            cache,
            scopes,
            now: Instant::now(),
            stored: HashMap::new(),
            flights: HashMap::new(),
            tickets: Vec::new(),
            waits: Vec::new(),
            version: 0,
            served: 0,
        }
    }

    /// SplitMix64.
    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn step(&mut self) {
        match self.below(100) {
            0..2 => {
                let seconds = self.below(4) as u32;
                self.now += SECOND * seconds;
            }
            2..60 => self.lookup(),
            60..63 => self.stale(),
            63..64 => self.wipe(),
            64..65 => _ = self.cache.sweep(self.now),
            65..66 => self.leave(),
            66..70 => self.ask_now(),
            _ => self.end_ticket(),
        }
        self.poll();
    }

    fn terms(&mut self) -> Terms {
        Terms {
            ttl: SECOND * [5, 20, 20, 60][self.below(4)],
            soft_ttl: [None, Some(10 * SECOND)][self.below(2)],
            stale_if_error: SECOND * [0, 15][self.below(2)],
        }
    }

    fn floor(&mut self) -> Option<Instant> {
        (self.below(5) == 0).then(|| self.now - SECOND * self.below(10) as u32)
    }

    fn key(&mut self) -> usize {
        // Some are asked more often than others.
        let most = self.below(KEYS) + 1;
        self.below(most)
    }

    fn lookup(&mut self) {
        let (key, terms, floor) = (self.key(), self.terms(), self.floor());
        let bytes = bytes(key);
        let scope = Arc::clone(&self.scopes[key % 8]);
        let ask = Ask { key: self.cache.key(&bytes), scope: &scope, terms, floor };
        let flight = self.flights.get(&key).copied();
        let servable = self.servable(key, &terms, floor);
        let soft = servable.as_ref().is_some_and(|s| {
            let soft = |t: &Terms| t.soft_ttl.unwrap_or(Duration::MAX);
            self.now - s.asked >= soft(&s.terms).min(soft(&terms))
        });
        let joinable =
            flight.is_some_and(|began| floor.is_none_or(|f| began > f) && self.now - began < terms.ttl);
        let at = self.at.clone();
        match self.cache.lookup(&ask, self.now) {
            Lookup::Hit(entry) => {
                let expected = servable.unwrap_or_else(|| panic!("{at}: nothing may be served"));
                assert_eq!(version(&entry, key), expected.version, "{at}");
                assert!(!soft || flight.is_some(), "{at}: somebody must renew it");
                self.served += 1;
            }
            Lookup::Refresh(entry, ticket) => {
                let expected = servable.unwrap_or_else(|| panic!("{at}: nothing may be served"));
                assert_eq!(version(&entry, key), expected.version, "{at}");
                assert!(soft && flight.is_none(), "{at}: nobody need renew it");
                self.opened(key, ticket, terms);
            }
            Lookup::Miss(ticket) => {
                assert!(!self.mode.roomy || servable.is_none(), "{at}: {servable:?} should be served");
                assert!(!joinable, "{at}: somebody is at it");
                self.opened(key, ticket, terms);
            }
            Lookup::Wait(waiting) => {
                assert!(!self.mode.roomy || servable.is_none(), "{at}: {servable:?} should be served");
                assert!(joinable, "{at}: nobody is at it");
                self.waits.push(OpenWait { task: Task::new(waiting), key, terms, floor });
            }
            Lookup::Refused(_) => panic!("{at}: refused"),
        }
    }

    fn servable(&self, key: usize, terms: &Terms, floor: Option<Instant>) -> Option<Stored> {
        let stored = self.stored.get(&key)?;
        let young = self.now - stored.asked < stored.terms.ttl.min(terms.ttl);
        (young && floor.is_none_or(|f| stored.asked > f)).then(|| stored.clone())
    }

    fn opened(&mut self, key: usize, ticket: Ticket, terms: Terms) {
        self.flights.entry(key).or_insert(self.now);
        let (asked, wiped, key_wiped) = (self.now, false, false);
        self.tickets.push(OpenTicket { ticket, key, asked, terms, wiped, key_wiped });
    }

    fn stale(&mut self) {
        let (key, terms, floor) = (self.key(), self.terms(), self.floor());
        let bytes = bytes(key);
        let scope = Arc::clone(&self.scopes[key % 8]);
        let ask = Ask { key: self.cache.key(&bytes), scope: &scope, terms, floor };
        let found = self.cache.stale_if_error(&ask, self.now).map(|e| version(&e, key));
        let allowed = self.stored.get(&key).filter(|s| {
            let bound = s.terms.ttl.min(terms.ttl) + s.terms.stale_if_error.min(terms.stale_if_error);
            self.now - s.asked < bound && floor.is_none_or(|f| s.asked > f)
        });
        let allowed = allowed.map(|s| s.version);
        if self.mode.roomy || found.is_some() {
            assert_eq!(found, allowed, "{}", self.at);
        }
    }

    fn wipe(&mut self) {
        let n = self.below(8);
        let all = Selector::all();
        let (selector, covers): (Selector, Box<dyn Fn(usize) -> bool>) = match self.below(9) {
            0 if self.below(4) == 0 => (all, Box::new(|_| true)),
            1 => (all.rule("a"), Box::new(|k| k % 2 == 0)),
            2 => (all.digest(n as u64), Box::new(move |k| k % 8 == n)),
            3 => (all.table("S", "odd"), Box::new(|k| k & 2 != 0)),
            4 => (all.user("bob").rule("b"), Box::new(|k| k & 4 != 0 && k % 2 == 1)),
            5 => (all.tag("tag1"), Box::new(|k| k % 8 % 3 == 1)),
            6 => (all.schema("s").digest(3), Box::new(|k| k % 8 == 3)),
            _ => {
                let key = self.key();
                self.tickets.iter_mut().for_each(|t| t.key_wiped = true);
                (all.key(&bytes(key)), Box::new(move |k| k == key))
            }
        };
        let preview = self.cache.preview(&selector);
        let wiped = self.cache.wipe(&selector);
        assert_eq!(preview, wiped, "{}", self.at);
        let present = self.stored.iter().filter(|(k, _)| covers(**k));
        let (alive, most) =
            present.fold((0, 0), |(alive, most), (_, s)| (alive + usize::from(!self.dead(s)), most + 1));
        assert!(wiped.entries <= most, "{}: {wiped:?} of {most}", self.at);
        assert!(!self.mode.roomy || wiped.entries >= alive, "{}: {wiped:?} of {alive}", self.at);
        self.stored.retain(|key, _| !covers(*key));
        self.flights.retain(|key, _| !covers(*key));
        self.tickets.iter_mut().filter(|t| covers(t.key)).for_each(|t| t.wiped = true);
    }

    /// Whether it may have been removed already, because nobody can use it.
    fn dead(&self, stored: &Stored) -> bool {
        self.now - stored.asked >= stored.terms.ttl + stored.terms.stale_if_error
    }

    fn leave(&mut self) {
        if !self.waits.is_empty() {
            let at = self.below(self.waits.len());
            self.waits.remove(at);
        }
    }

    fn ask_now(&mut self) {
        if !self.tickets.is_empty() {
            let at = self.below(self.tickets.len());
            let open = &mut self.tickets[at];
            open.ticket.asked(self.now);
            (open.asked, open.wiped, open.key_wiped) = (self.now, false, false);
        }
    }

    fn end_ticket(&mut self) {
        if self.tickets.is_empty() {
            return;
        }
        let at = self.below(self.tickets.len());
        let open = self.tickets.swap_remove(at);
        let key = open.key;
        // Whether the flight is the one that can be joined.
        let leads = open.ticket.inner.can_be_joined(&open.ticket.flight);
        let waits = self.waits.iter().any(|w| Arc::ptr_eq(&w.task.waiting.flight, &open.ticket.flight));
        let over = match self.below(12) {
            0 => {
                drop(open.ticket);
                !waits
            }
            1 => {
                open.ticket.give_up(DropReason::Error);
                !waits
            }
            2 => {
                open.ticket.give_up(DropReason::NotCacheable);
                true
            }
            _ => self.fill(open) || !waits,
        };
        if leads && over {
            self.flights.remove(&key);
        }
    }

    /// Returns whether the flight is over.
    fn fill(&mut self, open: OpenTicket) -> bool {
        self.version += 1;
        let (version, key, at) = (self.version, open.key, self.at.clone());
        let size = [20, 200, 3000][self.below(3)];
        let mut value = format!("{key}:{version}:").into_bytes();
        value.resize(value.len() + size, b'.');
        let answer = Answer { packets: &value, warning_packets: &[], about: About::default() };
        let newer = self.stored.get(&key).filter(|s| s.asked > open.asked);
        let (newer, newer_may_be_gone) =
            (newer.is_some(), newer.is_some_and(|s| self.dead(s)) || !self.mode.roomy);
        match open.ticket.fill(&answer, self.now) {
            Fill::Stored(_) => {
                assert!(!open.wiped, "{at}: it was wiped");
                assert!(self.now - open.asked < open.terms.ttl, "{at}: too late");
                assert!(!newer || newer_may_be_gone, "{at}: there is a newer one");
                self.stored.insert(key, Stored { version, asked: open.asked, terms: open.terms });
                true
            }
            Fill::Dropped(DropReason::Superseded) => {
                assert!(newer, "{at}: there is no newer one");
                true
            }
            Fill::Dropped(DropReason::Wiped) => {
                assert!(open.wiped || open.key_wiped, "{at}: nothing was wiped");
                false
            }
            Fill::Dropped(DropReason::Outlived) => {
                assert!(self.now - open.asked >= open.terms.ttl, "{at}: in time");
                true
            }
            Fill::Dropped(other) => panic!("{at}: dropped as {}", other.as_str()),
        }
    }

    fn poll(&mut self) {
        let mut at = 0;
        while at < self.waits.len() {
            if !self.waits[at].task.woken() {
                at += 1;
                continue;
            }
            let mut wait = self.waits.remove(at);
            match wait.task.poll() {
                None => panic!("{}: woken for nothing", self.at),
                Some(Waited::RunYourself) => {}
                Some(Waited::Hit(entry)) => {
                    let stored = self.stored.get(&wait.key);
                    let stored = stored.unwrap_or_else(|| panic!("{}: wiped while told", self.at));
                    assert_eq!(version(&entry, wait.key), stored.version, "{}", self.at);
                    assert!(wait.floor.is_none_or(|f| stored.asked > f), "{}", self.at);
                    assert!(self.now - stored.asked < wait.terms.ttl.min(stored.terms.ttl), "{}", self.at);
                }
                Some(Waited::Miss(mut ticket)) => {
                    ticket.asked(self.now);
                    let (key, terms, asked) = (wait.key, wait.terms, self.now);
                    let (wiped, key_wiped) = (false, false);
                    self.tickets.push(OpenTicket { ticket, key, asked, terms, wiped, key_wiped });
                }
            }
            // What was polled may have let others go on.
            at = 0;
        }
    }

    fn end(mut self) {
        self.tickets.clear();
        for _ in 0..KEYS {
            self.poll();
            self.tickets.clear();
        }
        assert!(self.waits.is_empty(), "{}: somebody waits for nobody", self.at);
        self.cache.wipe(&Selector::all());
        let stats = self.cache.stats();
        assert_eq!((stats.entries, stats.flights), (0, 0));
        assert!(stats.rules.iter().all(|r| (r.entries, r.bytes) == (0, 0)), "{stats:?}");
        // The log of wipes, the empty tables of flights, the parts themselves.
        assert!(stats.used < 400 * 1024, "{} bytes for nothing", stats.used);
    }
}

fn bytes(key: usize) -> Vec<u8> {
    format!("SELECT {key}").into_bytes()
}

fn version(entry: &Entry, key: usize) -> u64 {
    let text = text(entry);
    let mut parts = text.split(':');
    assert_eq!(parts.next(), Some(key.to_string().as_str()), "another key's answer");
    parts.next().unwrap().parse().unwrap()
}
