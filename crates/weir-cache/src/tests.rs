//! What the cache does as a whole. Each file is one question; this one holds what they share.

mod answers;
mod flights;
mod gather;
mod model;
mod threads;
mod users;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::*;

/// A cache with one rule and a clock that moves when it is told to.
struct World {
    cache: Cache,
    scope: Arc<Scope>,
    terms: Terms,
    floor: Option<Instant>,
    now: Instant,
}

const SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(60);

impl World {
    fn new() -> Self {
        Self::with(CacheLimits { memory: 1 << 20, max_entry: 1 << 16, user_memory: None, shards: 4 })
    }

    fn with(limits: CacheLimits) -> Self {
        let cache = Cache::new(limits, 42);
        let scope = Arc::new(Scope::new(cache.rule("stories"), 1, "wp"));
        Self { cache, scope, terms: Terms::ttl(TTL), floor: None, now: Instant::now() }
    }

    fn lookup(&self, key: &str) -> Lookup {
        let key = self.cache.key(key.as_bytes());
        let ask = Ask { key, scope: &self.scope, terms: self.terms, floor: self.floor };
        self.cache.lookup(&ask, self.now)
    }

    fn stale(&self, key: &str) -> Option<Arc<Entry>> {
        let key = self.cache.key(key.as_bytes());
        let ask = Ask { key, scope: &self.scope, terms: self.terms, floor: self.floor };
        self.cache.stale_if_error(&ask, self.now)
    }

    fn miss(&self, key: &str) -> Ticket {
        match self.lookup(key) {
            Lookup::Miss(ticket) => ticket,
            other => panic!("a miss was expected, not {other:?}"),
        }
    }

    fn refresh(&self, key: &str) -> Ticket {
        match self.lookup(key) {
            Lookup::Refresh(_, ticket) => ticket,
            other => panic!("a refresh was expected, not {other:?}"),
        }
    }

    fn wait(&self, key: &str) -> Task {
        match self.lookup(key) {
            Lookup::Wait(waiting) => Task::new(waiting),
            other => panic!("waiting was expected, not {other:?}"),
        }
    }

    fn hit(&self, key: &str) -> Option<String> {
        match self.lookup(key) {
            Lookup::Hit(entry) => Some(text(&entry)),
            _ => None,
        }
    }

    /// Asks the server and stores what it says.
    fn put(&self, key: &str, value: &str) -> Arc<Entry> {
        self.fill(self.miss(key), value)
    }

    fn fill(&self, ticket: Ticket, value: &str) -> Arc<Entry> {
        match ticket.fill(&answer(value), self.now) {
            Fill::Stored(entry) => entry,
            dropped => panic!("nothing was stored: {dropped:?}"),
        }
    }

    fn dropped(&self, ticket: Ticket) -> DropReason {
        match ticket.fill(&answer("unwanted"), self.now) {
            Fill::Dropped(reason) => reason,
            stored => panic!("it was stored: {stored:?}"),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn stats(&self) -> RuleStats {
        self.cache.rule("stories").stats()
    }

    fn drops(&self, reason: DropReason) -> u64 {
        self.stats().dropped.iter().find(|(r, _)| *r == reason).unwrap().1
    }
}

fn answer(value: &str) -> Answer<'_> {
    let about = About { server_time: Duration::from_micros(300), ..About::default() };
    Answer { packets: value.as_bytes(), warning_packets: &[], about }
}

fn text(entry: &Entry) -> String {
    let mut packets = Vec::new();
    entry.packets().append_to(&mut packets);
    String::from_utf8(packets).unwrap()
}

/// A future with a waker that counts.
struct Task {
    waiting: Pin<Box<Waiting>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Task {
    /// Polled once, so that its waker is known.
    fn new(waiting: Waiting) -> Self {
        let mut task = Self { waiting: Box::pin(waiting), woken: Arc::default() };
        assert!(task.poll().is_none());
        task
    }

    fn poll(&mut self) -> Option<Waited> {
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(waited) => Some(waited),
            Poll::Pending => None,
        }
    }

    fn lose_patience(self) {
        Pin::into_inner(self.waiting).lose_patience();
    }

    fn woken(&self) -> bool {
        self.woken.0.load(std::sync::atomic::Ordering::SeqCst) > 0
    }

    /// What it was woken for, in one word.
    fn told(&mut self) -> String {
        if !self.woken() {
            assert!(self.poll().is_none(), "there was something, but nobody was woken");
            return "waits".to_owned();
        }
        match self.poll() {
            Some(Waited::Hit(entry)) => text(&entry),
            Some(Waited::Miss(ticket)) => {
                ticket.give_up(DropReason::Error);
                "led".to_owned()
            }
            Some(Waited::RunYourself) => "runs".to_owned(),
            None => panic!("woken for nothing"),
        }
    }
}
