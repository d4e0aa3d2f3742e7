//! A world of clients, workers and a server around the pool's machine, in which time is a number.
//!
//! Events happen in the order of their times. One that belongs to a worker waits until that worker has done what it
//! is at, and none happens while the whole machine stands still: what fell due meanwhile comes all at once. After
//! each event the world compares what it knows with what the machine says.

use super::super::super::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What is simulated.
#[derive(Debug, Clone)]
pub struct Plan {
    pub limits: PoolLimits,
    pub workers: usize,
    pub clients: usize,
    /// The first this many clients are all of the first worker.
    pub crowd: usize,
    /// Clients have this many accounts in turn.
    pub accounts: u8,
    /// A client waits for this long after an answer.
    pub pause: Pause,
    /// The mean time of a statement on an idle server.
    pub service: Duration,
    /// Statements that run at the same time without hindering each other.
    pub cores: u32,
    /// The mean time to open a connection.
    pub dial: Duration,
    /// What one event costs the worker.
    pub cost: Duration,
    /// How long a client waits in the queue before it gives up.
    pub patience: Duration,
    /// Out of a thousand statements, so many take 100 times as long.
    pub long: u64,
    /// Out of a thousand, so many begin a transaction.
    pub pins: u64,
    /// Out of a thousand, so many keep their connection without having said so beforehand.
    pub surprises: u64,
    /// Out of a thousand attempts to open a connection, so many fail.
    pub failing: u64,
    /// Out of a thousand statements, so many end with the connection.
    pub breaking: u64,
    /// The machine stands still for the second time, at intervals of the first on average.
    pub stalls: Option<(Duration, Duration)>,
    /// How long a connection may be idle, on average.
    pub lives: Duration,
    /// The limits change now and then.
    pub reloads: bool,
    pub time: Duration,
}

/// How long a client pauses.
#[derive(Debug, Clone, Copy)]
pub enum Pause {
    /// Always as long as this, from the moment it began to ask; the clients begin at different times.
    Steady(Duration),
    /// At random, this on average.
    Random(Duration),
}

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub answers: u64,
    pub dials: u64,
    pub most_open: u32,
    pub gave_up: u64,
    pub refused: u64,
    pub lost: u64,
    /// By worker: statements that waited, their waiting together, and the longest.
    pub waits: Vec<(u64, Duration, Duration)>,
    /// By worker.
    pub by_worker: Vec<u64>,
    /// The longest time that somebody waited while a connection of the same account was idle.
    pub beside_idle: Duration,
    /// The longest time that somebody waited while there was room for a connection and none was being opened.
    pub beside_room: Duration,
    /// Connections in use, times the time.
    pub in_use: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ask(usize),
    /// What a waiter was granted has reached its worker.
    Reached(usize),
    Look,
    GiveUp(usize, Ticket),
    Opened(usize),
    Answer(usize),
    /// The next statement of a session that has kept its connection.
    Again(usize),
    /// A worker has done what it was at.
    Turn(usize),
    Sweep,
    Reload,
}

#[derive(Debug)]
enum Phase {
    Pausing,
    Waiting {
        ticket: Ticket,
        since: Instant,
    },
    /// A grant is on its way.
    Served(Grant<u32>),
    /// `true` where it replaces one that was open.
    Opening(bool),
    Using {
        connection: u32,
        left: u64,
    },
}

#[derive(Debug)]
struct Client {
    account: u8,
    worker: usize,
    phase: Phase,
    need: Need,
    /// It has one of the places of those that keep a connection.
    pinned: bool,
    asked: Instant,
}

pub struct World {
    plan: Plan,
    limits: PoolLimits,
    seed: u64,
    state: State<u8, u32, usize>,
    begun: Instant,
    now: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    order: u64,
    /// Until when each worker is busy, and what it will do then.
    busy: Vec<Instant>,
    inboxes: Vec<VecDeque<Event>>,
    stall: (Instant, Instant),
    clients: Vec<Client>,
    /// The queue in the order of arrival.
    queue: VecDeque<usize>,
    /// What the pool keeps: the account of each connection, and until when it may be used.
    kept: BTreeMap<u32, (u8, Instant)>,
    next_connection: u32,
    /// Connections in use, opening, or on their way to a waiter.
    held: u32,
    opening: u32,
    pinned: u32,
    running: u32,
    /// Since when somebody has waited, by account, while a connection was idle; or while there was room for one more.
    idle_since: Vec<Instant>,
    room_since: Instant,
    most_allowed: u32,
    pub seen: Seen,
}

impl World {
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let now = Instant::now();
        let client = |at: usize| Client {
            account: (at % usize::from(plan.accounts)) as u8,
            worker: if at < plan.crowd { 0 } else { at % plan.workers },
            phase: Phase::Pausing,
            need: Need::Statement,
            pinned: false,
            asked: now,
        };
        let mut world = Self {
            limits: plan.limits,
            seed,
            state: State::new(plan.limits, plan.workers),
            begun: now,
            now,
            events: BinaryHeap::new(),
            order: 0,
            busy: vec![now; plan.workers],
            inboxes: vec![VecDeque::new(); plan.workers],
            stall: (now, now),
            clients: (0..plan.clients).map(client).collect(),
            queue: VecDeque::new(),
            kept: BTreeMap::new(),
            next_connection: 0,
            held: 0,
            opening: 0,
            pinned: 0,
            running: 0,
            idle_since: vec![now; usize::from(plan.accounts)],
            room_since: now,
            most_allowed: plan.limits.max,
            seen: Seen {
                waits: vec![Default::default(); plan.workers],
                by_worker: vec![0; plan.workers],
                ..Seen::default()
            },
            plan: plan.clone(),
        };
        for client in 0..plan.clients {
            let first = match plan.pause {
                Pause::Steady(every) => every.mul_f64(client as f64 * 0.617 % 1.0),
                Pause::Random(mean) => world.random(mean),
            };
            world.at(first, Event::Ask(client));
        }
        world.at(Duration::from_secs(1), Event::Sweep);
        world.at(LOOK_EVERY, Event::Look);
        if plan.reloads {
            world.at(Duration::from_millis(100), Event::Reload);
        }
        world.next_stall();
        world
    }

    /// Lets everything happen for the time of the plan, waits until the last client has its answer, and looks whether all
    /// has come back.
    pub fn run(mut self) -> Seen {
        let last = self.begun + self.plan.time;
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            let Some(event) = self.due(at, event) else { continue };
            self.pass(at);
            let ends = at >= last && matches!(event, Event::Ask(_) | Event::Sweep | Event::Reload);
            if !ends {
                self.happen(event);
            }
            self.check();
        }
        assert!(self.clients.iter().all(|client| matches!(client.phase, Phase::Pausing)));
        assert_eq!((self.held, self.state.pins(), self.state.waiting()), (0, 0, 0));
        assert_eq!(self.state.open(), self.state.idle());
        let mut left = self.state.clear();
        left.sort_unstable();
        assert_eq!(left, self.kept.keys().copied().collect::<Vec<_>>());
        assert_eq!(self.state.open(), 0);
        self.seen
    }

    /// What happens now. Nothing does while the machine stands still, and a worker does one thing at a time.
    fn due(&mut self, at: Instant, event: Event) -> Option<Event> {
        while self.plan.stalls.is_some() && at >= self.stall.1 {
            self.next_stall();
        }
        if at >= self.stall.0 && at < self.stall.1 {
            self.push(self.stall.1, event);
            return None;
        }
        let (worker, event) = match event {
            Event::Turn(worker) => (worker, self.inboxes[worker].pop_front()?),
            Event::Look | Event::Sweep | Event::Reload => return Some(event),
            Event::Ask(client)
            | Event::Reached(client)
            | Event::GiveUp(client, _)
            | Event::Opened(client)
            | Event::Answer(client)
            | Event::Again(client) => {
                let worker = self.clients[client].worker;
                if at < self.busy[worker] || !self.inboxes[worker].is_empty() {
                    self.inboxes[worker].push_back(event);
                    if self.inboxes[worker].len() == 1 {
                        self.push(self.busy[worker], Event::Turn(worker));
                    }
                    return None;
                }
                (worker, event)
            }
        };
        self.busy[worker] = at + self.plan.cost;
        if !self.inboxes[worker].is_empty() {
            self.push(self.busy[worker], Event::Turn(worker));
        }
        Some(event)
    }

    fn next_stall(&mut self) {
        if let Some((every, lasts)) = self.plan.stalls {
            let begins = self.stall.1 + self.random(every);
            self.stall = (begins, begins + lasts);
        }
    }

    /// Time passes until `at`.
    fn pass(&mut self, at: Instant) {
        self.seen.in_use += at.duration_since(self.now) * self.held;
        let idle = |account: u8| self.kept.values().any(|kept| kept.0 == account && kept.1 > self.now);
        for account in 0..self.plan.accounts {
            let waits = |client: &&usize| {
                let client = &self.clients[**client];
                client.account == account && client.need == Need::Statement
            };
            let first = self.queue.iter().find(waits).filter(|_| idle(account));
            let since = &mut self.idle_since[usize::from(account)];
            let Some(&first) = first else {
                *since = at;
                continue;
            };
            let beside = at.duration_since(self.clients[first].since().max(*since));
            self.seen.beside_idle = self.seen.beside_idle.max(beside);
        }
        let first = self.queue.iter().find(|client| self.clients[**client].need == Need::Statement);
        match first {
            Some(&first) if self.opening == 0 && self.state.open() < self.limits.max => {
                let beside = at.duration_since(self.clients[first].since().max(self.room_since));
                self.seen.beside_room = self.seen.beside_room.max(beside);
            }
            _ => self.room_since = at,
        }
        self.now = at;
    }

    /// Whether a waiter is not kept waiting by the bound on pins.
    fn may(&self, client: usize) -> bool {
        self.clients[client].need == Need::Statement || self.state.pins() < self.limits.max_pinned
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ask(client) => self.ask(client),
            Event::Reached(client) => self.reached(client),
            Event::Look => self.look(),
            Event::GiveUp(client, ticket) => self.give_up(client, ticket),
            Event::Opened(client) => self.opened(client),
            Event::Answer(client) => self.answered(client),
            Event::Again(client) => self.runs(client),
            Event::Turn(_) => {}
            Event::Sweep => self.sweep(),
            Event::Reload => self.reload(),
        }
    }

    fn ask(&mut self, at: usize) {
        let pin = self.happens(self.plan.pins);
        let need = if pin { Need::Pin } else { Need::Statement };
        (self.clients[at].need, self.clients[at].asked) = (need, self.now);
        let (account, worker) = (self.clients[at].account, self.clients[at].worker);
        let ticket = match self.state.checkout(&account, need, worker, self.now, || at) {
            Checkout::Idle(connection) => return self.take(at, Grant::Idle(connection)),
            Checkout::Open => return self.take(at, Grant::Open),
            Checkout::Replace(connection) => return self.take(at, Grant::Replace(connection)),
            Checkout::Wait(ticket) => ticket,
            Checkout::Refused => {
                assert_eq!(self.queue.len(), self.limits.max_waiting);
                self.seen.refused += 1;
                return self.pauses(at);
            }
        };
        self.clients[at].phase = Phase::Waiting { ticket, since: self.now };
        self.queue.push_back(at);
        self.at(self.plan.patience, Event::GiveUp(at, ticket));
    }

    /// A waiter is out of the queue.
    fn waits_no_longer(&mut self, at: usize) {
        let since = self.clients[at].since();
        let place = self.queue.iter().position(|&waits| waits == at).expect("is in the queue");
        self.queue.remove(place);
        let waits = &mut self.seen.waits[self.clients[at].worker];
        let waited = self.now.duration_since(since);
        *waits = (waits.0 + 1, waits.1 + waited, waits.2.max(waited));
        // The deadline is kept but for what the machine stood still, and what the worker was busy with.
        assert!(waited <= self.plan.patience + Duration::from_millis(100), "{waited:?}");
    }

    /// Notes that the pool has given something away, and judges it.
    fn given(&mut self, at: usize, grant: &Grant<u32>) {
        self.held += 1;
        let client = &mut self.clients[at];
        client.pinned = client.need == Need::Pin;
        self.pinned += u32::from(client.pinned);
        assert!(!client.pinned || self.state.pins() <= self.limits.max_pinned, "too many pins");
        match grant {
            Grant::Idle(connection) => {
                let (account, until) = self.kept.remove(connection).expect("was not given away twice");
                assert_eq!(account, client.account);
                assert!(until > self.now, "too old to be used");
            }
            Grant::Replace(connection) => {
                self.kept.remove(connection).expect("was not given away twice");
                assert!(self.state.open() >= self.limits.max, "there was room for another");
            }
            Grant::Open => {}
        }
    }

    /// A client that did not wait.
    fn take(&mut self, at: usize, grant: Grant<u32>) {
        self.given(at, &grant);
        self.clients[at].phase = Phase::Served(grant);
        self.reached(at);
    }

    /// Those who waited, as the machine names them.
    fn serve(&mut self, first: Option<Wake<u8, u32, usize>>) {
        let mut wake = first;
        while let Some(Wake { waiter: at, grant, .. }) = wake {
            self.in_order(at);
            self.waits_no_longer(at);
            self.given(at, &grant);
            self.clients[at].phase = Phase::Served(grant);
            self.at(Duration::ZERO, Event::Reached(at));
            wake = self.state.next(self.now);
        }
    }

    /// Nobody of the same account is passed but who has waited hardly any longer, or waits for a place to pin.
    fn in_order(&self, at: usize) {
        let since = |at: usize| self.clients[at].since();
        let passed = self.queue.iter().take_while(|&&waits| waits != at);
        for &other in passed {
            let pin = self.clients[other].need == Need::Pin && self.clients[at].need == Need::Statement;
            // It may not open one yet.
            let elsewhere = self.clients[other].account != self.clients[at].account;
            assert!(pin || elsewhere || since(at) <= since(other) + OWN_FIRST, "{at} passed {other}");
        }
    }

    fn reached(&mut self, at: usize) {
        let Phase::Served(grant) = std::mem::replace(&mut self.clients[at].phase, Phase::Pausing) else {
            return;
        };
        let replaces = match grant {
            Grant::Idle(connection) => {
                let left = if self.clients[at].need == Need::Pin { 1 + self.draw() % 4 } else { 0 };
                self.clients[at].phase = Phase::Using { connection, left };
                return self.runs(at);
            }
            Grant::Open => false,
            Grant::Replace(_) => true,
        };
        self.seen.dials += u64::from(!replaces);
        self.clients[at].phase = Phase::Opening(replaces);
        self.opening += u32::from(!replaces);
        let dial = self.random(self.plan.dial);
        self.at(dial, Event::Opened(at));
    }

    fn opened(&mut self, at: usize) {
        if let Phase::Opening(false) = self.clients[at].phase {
            self.opening -= 1;
            let wake = self.state.opened(self.now);
            self.serve(wake);
        }
        if self.happens(self.plan.failing) {
            self.seen.lost += 1;
            return self.ends(at);
        }
        self.next_connection += 1;
        self.clients[at].phase = Phase::Served(Grant::Idle(self.next_connection));
        self.reached(at);
    }

    /// A statement begins to run.
    fn runs(&mut self, at: usize) {
        self.running += 1;
        let long = if self.happens(self.plan.long) { 100 } else { 1 };
        let crowded = f64::from(self.running.max(self.plan.cores)) / f64::from(self.plan.cores);
        let service = self.random(self.plan.service * long).mul_f64(crowded);
        self.at(service, Event::Answer(at));
    }

    fn answered(&mut self, at: usize) {
        self.running -= 1;
        self.seen.answers += 1;
        self.seen.by_worker[self.clients[at].worker] += 1;
        if self.happens(self.plan.breaking) {
            self.seen.lost += 1;
            return self.ends(at);
        }
        let surprise = self.happens(self.plan.surprises);
        let Phase::Using { connection, left } = &mut self.clients[at].phase else {
            panic!("{at} uses nothing")
        };
        if surprise && *left == 0 {
            *left = 2;
        }
        if *left > 0 {
            *left -= 1;
            if !std::mem::replace(&mut self.clients[at].pinned, true) {
                self.pinned += 1;
                self.state.pinned();
            }
            let pause = self.random(self.plan.service * 4);
            return self.at(pause, Event::Again(at));
        }
        let connection = *connection;
        self.unpin(at);
        let lives = self.random(self.plan.lives);
        self.put_back(at, connection, self.now + lives);
        self.pauses(at);
    }

    fn put_back(&mut self, at: usize, connection: u32, until: Instant) {
        let (account, worker) = (self.clients[at].account, self.clients[at].worker);
        self.held -= 1;
        self.kept.insert(connection, (account, until));
        let returned = self.state.checkin(&account, connection, worker, self.now, until);
        if let Some(connection) = returned.close {
            self.kept.remove(&connection).expect("was there");
        }
        self.serve(returned.wake);
    }

    fn unpin(&mut self, at: usize) {
        if std::mem::take(&mut self.clients[at].pinned) {
            self.pinned -= 1;
            let wake = self.state.unpinned(self.now);
            self.serve(wake);
        }
    }

    /// A connection ends under a client, or cannot be made.
    fn ends(&mut self, at: usize) {
        self.unpin(at);
        self.held -= 1;
        let wake = self.state.closed(self.now);
        self.serve(wake);
        self.pauses(at);
    }

    fn pauses(&mut self, at: usize) {
        self.clients[at].phase = Phase::Pausing;
        let pause = match self.plan.pause {
            Pause::Steady(every) => every.saturating_sub(self.now.duration_since(self.clients[at].asked)),
            Pause::Random(mean) => self.random(mean),
        };
        self.at(pause, Event::Ask(at));
    }

    fn waits_with(&self, at: usize, ticket: Ticket) -> bool {
        matches!(self.clients[at].phase, Phase::Waiting { ticket: own, .. } if own == ticket)
    }

    /// Whoever looks after the queue.
    fn look(&mut self) {
        let wake = self.state.tick(self.now);
        self.serve(wake);
        // After what was missed while the machine stood still there is one look, and the next in time.
        if self.now < self.begun + self.plan.time || !self.queue.is_empty() {
            self.at(LOOK_EVERY, Event::Look);
        }
    }

    fn give_up(&mut self, at: usize, ticket: Ticket) {
        let waits = self.waits_with(at, ticket);
        assert_eq!(self.state.leave(ticket), waits);
        if waits {
            self.waits_no_longer(at);
            self.seen.gave_up += 1;
            self.pauses(at);
        }
    }

    fn sweep(&mut self) {
        for connection in self.state.sweep(&[], self.now) {
            self.kept.remove(&connection).expect("was there");
        }
        let wake = self.state.next(self.now);
        self.serve(wake);
        self.at(Duration::from_secs(1), Event::Sweep);
    }

    fn reload(&mut self) {
        let max = 1 + self.draw() as u32 % self.plan.limits.max;
        self.limits = PoolLimits { max, max_pinned: max - max / 5, ..self.plan.limits };
        self.state.set_limits(self.limits);
        let wake = self.state.next(self.now);
        self.serve(wake);
        self.at(Duration::from_millis(200), Event::Reload);
    }

    fn check(&mut self) {
        let state = &self.state;
        assert_eq!(state.idle() as usize, self.kept.len());
        assert_eq!(state.open(), state.idle() + self.held);
        assert_eq!(state.waiting(), self.queue.len());
        assert_eq!(state.pins(), self.pinned);
        // A lowered limit is reached as connections come back, and not before; none is opened above it.
        self.most_allowed = self.limits.max.max(self.most_allowed.min(state.open()));
        assert!(state.open() <= self.most_allowed, "{} open", state.open());
        self.seen.most_open = self.seen.most_open.max(state.open());
        if state.open() >= self.limits.max && state.idle() > 0 {
            assert!(!self.queue.iter().any(|&at| self.may(at)), "somebody waits while a connection is idle");
        }
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.push(self.now + after, event);
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// Sebastiano Vigna's SplitMix64.
    fn draw(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn happens(&mut self, in_a_thousand: u64) -> bool {
        self.draw() % 1000 < in_a_thousand
    }

    /// Exponentially distributed.
    fn random(&mut self, mean: Duration) -> Duration {
        let uniform = (self.draw() >> 11) as f64 / (1u64 << 53) as f64;
        mean.mul_f64(-(1.0 - uniform).ln())
    }
}

impl Client {
    /// Since when it waits.
    fn since(&self) -> Instant {
        let Phase::Waiting { since, .. } = self.phase else { panic!("does not wait: {self:?}") };
        since
    }
}
