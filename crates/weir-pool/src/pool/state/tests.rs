use super::*;
use proptest::prelude::*;

mod ahead;
mod simulation;

type S = State<u8, u32, u32>;

const MINUTE: Duration = Duration::from_secs(60);

fn limits(max: u32) -> PoolLimits {
    PoolLimits { max, min_idle: 0, idle_timeout: MINUTE, max_waiting: 4, max_pinned: max.saturating_sub(1) }
}

fn out(state: &mut S, key: u8, worker: usize, now: Instant) -> Checkout<u32> {
    state.checkout(&key, Need::Statement, worker, now, || 0)
}

fn back(state: &mut S, key: u8, connection: u32, worker: usize, now: Instant) -> Option<Wake<u8, u32, u32>> {
    let returned = state.checkin(&key, connection, worker, now, now + 10 * MINUTE);
    assert_eq!(returned.close, None);
    returned.wake
}

#[test]
fn the_last_one_used_by_the_worker_is_used_again() {
    let (mut state, now) = (S::new(limits(8), 2), Instant::now());
    for connection in 0..4 {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
        assert_eq!(state.open(), connection + 1);
    }
    for (connection, worker) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        assert!(back(&mut state, 1, connection, worker, now).is_none());
    }
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Idle(1));
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Idle(0));
    // Then one of the other worker's, before one more is opened.
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Idle(3));
    assert_eq!(out(&mut state, 1, 1, now), Checkout::Idle(2));
    assert_eq!(state.opened(now), None);
    assert_eq!(out(&mut state, 1, 1, now), Checkout::Open);
}

/// Time goes on by ticks, with one connection coming back in each and taken again; what is given to whom waits.
fn ticks(state: &mut S, now: &mut Instant, n: u32, returns: bool) -> Vec<u32> {
    let mut given = Vec::new();
    for _ in 0..n {
        *now += LOOK_EVERY;
        let wake = match returns {
            true => back(state, 1, 7, 0, *now),
            false => None,
        };
        if returns && wake.is_none() {
            assert_eq!(out(state, 1, 0, *now), Checkout::Idle(7));
        }
        let mut next = state.tick(*now);
        while let Some(Wake { waiter: who, grant, .. }) = next {
            assert_eq!(grant, Grant::Open);
            given.push(who);
            next = state.opened(*now);
        }
    }
    given
}

/// Who was served, and with what.
fn told(wake: Option<Wake<u8, u32, u32>>) -> Option<(u32, Grant<u32>)> {
    wake.map(|wake| (wake.waiter, wake.grant))
}

/// A pool with a few connections in use, and `waiting` statements behind them.
fn busy(waiting: u32) -> (S, Instant) {
    let (mut state, now) = (S::new(PoolLimits { max_waiting: 1000, ..limits(100) }, 1), Instant::now());
    for _ in 0..FEW {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
        assert_eq!(state.opened(now), None);
    }
    for who in 0..waiting {
        assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || who), Checkout::Wait(_)));
    }
    (state, now)
}

#[test]
fn a_few_connections_are_opened_at_once_and_more_only_where_statements_wait() {
    let (mut state, mut now) = busy(1);
    // One waiter, served by a connection that comes back.
    assert_eq!(ticks(&mut state, &mut now, 100, true), [0u32; 0]);
    assert_eq!((state.open(), state.waiting()), (FEW, 0));
}

#[test]
fn where_nothing_comes_back_more_are_opened_though_not_after_a_single_look() {
    let (mut state, mut now) = busy(3);
    assert_eq!(ticks(&mut state, &mut now, 1, false), [0u32; 0]);
    assert_eq!(ticks(&mut state, &mut now, 1, false), [0, 1, 2]);
}

#[test]
fn who_is_kept_back_long_opens_a_connection_all_the_same() {
    // One statement that is always there, and a connection that comes back in every tick.
    let (mut state, mut now) = busy(1);
    let mut opened = 0;
    for who in 1..60 {
        assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || who), Checkout::Wait(_)));
        opened += ticks(&mut state, &mut now, 1, true).len();
    }
    assert_eq!(opened, 0, "each waits 2 ms");
    let (mut state, mut now) = busy(20);
    for who in 20..80 {
        assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || who), Checkout::Wait(_)));
        opened += ticks(&mut state, &mut now, 1, true).len();
    }
    assert!((4..=9).contains(&opened), "{opened}");
}

#[test]
fn an_account_without_connections_waits_for_nobody_where_others_are_idle() {
    let (mut state, now) = busy(0);
    assert_eq!(back(&mut state, 1, 7, 0, now), None);
    assert_eq!(out(&mut state, 2, 0, now), Checkout::Open);
}

#[test]
fn few_connections_are_opened_at_the_same_time() {
    let mut state = S::new(PoolLimits { max_waiting: 100, ..limits(100) }, 1);
    let now = Instant::now();
    for _ in 0..OPENING_MAX {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    }
    let Checkout::Wait(_) = state.checkout(&1, Need::Statement, 0, now, || 100) else { panic!() };
    assert_eq!(state.longest_wait(now + MINUTE), Some(MINUTE));
    assert_eq!(state.tick(now + MINUTE), None);
    assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || 101), Checkout::Wait(_)));
    assert_eq!(told(state.opened(now)), Some((100, Grant::Open)));
    // It could not be made.
    assert_eq!(told(state.opened(now)), Some((101, Grant::Open)));
    assert_eq!(state.closed(now), None);
    assert_eq!(state.open(), OPENING_MAX + 1);
}

#[test]
fn who_waits_until_one_may_be_opened_stands_in_no_other_accounts_way() {
    let (mut state, now) = (S::new(limits(100), 1), Instant::now());
    for key in [1, 1, 1, 1, 1, 1, 1, 2] {
        assert_eq!(out(&mut state, key, 0, now), Checkout::Open);
        assert_eq!(state.opened(now), None);
    }
    assert_eq!(back(&mut state, 1, 10, 0, now), None);
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Idle(10));
    assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || 100), Checkout::Wait(_)));
    // A newcomer and a waiter.
    assert_eq!(back(&mut state, 2, 20, 0, now), None);
    assert_eq!(out(&mut state, 2, 0, now), Checkout::Idle(20));
    assert!(matches!(state.checkout(&2, Need::Statement, 0, now, || 200), Checkout::Wait(_)));
    assert_eq!(told(back(&mut state, 2, 20, 0, now)), Some((200, Grant::Idle(20))));
    assert_eq!(told(back(&mut state, 1, 10, 0, now)), Some((100, Grant::Idle(10))));
}

#[test]
fn what_is_kept_by_sessions_is_not_among_the_few() {
    let (mut state, now) = (S::new(limits(100), 1), Instant::now());
    for _ in 0..FEW {
        assert_eq!(state.checkout(&1, Need::Pin, 0, now, || 9), Checkout::Open);
        assert_eq!(state.opened(now), None);
    }
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
}

#[test]
fn at_the_limit_the_longest_idle_one_of_another_account_is_replaced() {
    let (mut state, now) = (S::new(limits(2), 1), Instant::now());
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    assert_eq!(out(&mut state, 2, 0, now), Checkout::Open);
    assert!(back(&mut state, 1, 10, 0, now).is_none());
    assert!(back(&mut state, 2, 20, 0, now + MINUTE / 2).is_none());
    assert_eq!(out(&mut state, 3, 0, now + MINUTE), Checkout::Replace(10));
    assert_eq!(out(&mut state, 3, 0, now + MINUTE), Checkout::Replace(20));
    assert_eq!((state.open(), state.idle()), (2, 0));
}

#[test]
fn who_waits_is_served_in_order_over_all_workers() {
    let (mut state, now) = (S::new(limits(1), 2), Instant::now());
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    let wait = |state: &mut S, key, worker, wake| {
        let Checkout::Wait(ticket) = state.checkout(&key, Need::Statement, worker, now, || wake) else {
            panic!("something was free")
        };
        ticket
    };
    let first = wait(&mut state, 1, 1, 100);
    let second = wait(&mut state, 1, 0, 101);
    wait(&mut state, 2, 0, 102);
    assert!(first < second);
    // The first leaves, and the second is next.
    assert!(state.leave(first));
    assert!(!state.leave(first));
    assert_eq!(told(back(&mut state, 1, 7, 0, now)), Some((101, Grant::Idle(7))));
    // The third has another account.
    assert_eq!(told(back(&mut state, 1, 7, 0, now)), Some((102, Grant::Replace(7))));
    assert_eq!(state.closed(now), None);
    assert_eq!((state.open(), state.waiting()), (0, 0));
}

#[test]
fn who_waits_on_the_connections_own_worker_passes_those_who_came_a_little_earlier() {
    let (mut state, now) = (S::new(limits(1), 2), Instant::now());
    let wait = |state: &mut S, worker, wake, at| {
        assert!(matches!(state.checkout(&1, Need::Statement, worker, at, || wake), Checkout::Wait(_)));
    };
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    wait(&mut state, 1, 100, now);
    wait(&mut state, 0, 101, now + OWN_FIRST);
    wait(&mut state, 0, 102, now + 2 * OWN_FIRST);
    assert_eq!(told(back(&mut state, 1, 7, 0, now + 3 * OWN_FIRST)), Some((101, Grant::Idle(7))));
    // No more than a little: the other worker is never passed for long.
    assert_eq!(told(back(&mut state, 1, 7, 0, now + 3 * OWN_FIRST)), Some((100, Grant::Idle(7))));
    assert_eq!(told(back(&mut state, 1, 7, 1, now + 3 * OWN_FIRST)), Some((102, Grant::Idle(7))));
}

#[test]
fn a_connection_that_ends_lets_the_first_who_waits_open_another() {
    let (mut state, now) = (S::new(limits(1), 1), Instant::now());
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    assert!(matches!(out(&mut state, 1, 0, now), Checkout::Wait(_)));
    assert_eq!(told(state.closed(now)), Some((0, Grant::Open)));
    assert_eq!(state.open(), 1);
}

#[test]
fn a_full_queue_refuses() {
    let (mut state, now) = (S::new(limits(0), 1), Instant::now());
    for _ in 0..4 {
        assert!(matches!(out(&mut state, 1, 0, now), Checkout::Wait(_)));
    }
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Refused);
}

#[test]
fn sessions_that_keep_a_connection_leave_one_to_the_others() {
    let (mut state, now) = (S::new(limits(3), 1), Instant::now());
    let pin = |state: &mut S| state.checkout(&1, Need::Pin, 0, now, || 9);
    assert_eq!(pin(&mut state), Checkout::Open);
    assert_eq!(pin(&mut state), Checkout::Open);
    assert!(matches!(pin(&mut state), Checkout::Wait(_)));
    // A statement passes who waits for a place to pin.
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    assert_eq!(back(&mut state, 1, 5, 0, now), None);
    assert_eq!(told(state.unpinned(now)), Some((9, Grant::Idle(5))));
    assert_eq!(state.pins(), 2);
}

#[test]
fn what_is_too_old_or_not_needed_is_swept() {
    let mut state = S::new(PoolLimits { min_idle: 1, ..limits(8) }, 1);
    let now = Instant::now();
    for _ in 0..3 {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    }
    for connection in 0..3 {
        assert!(back(&mut state, 1, connection, 0, now).is_none());
    }
    assert_eq!(state.sweep(&[], now + MINUTE / 2), [0u32; 0]);
    // One stays, the one used last.
    assert_eq!(state.sweep(&[], now + MINUTE), [0, 1]);
    assert_eq!((state.open(), state.idle()), (1, 1));
    assert_eq!(state.sweep(&[], now + 10 * MINUTE), [2]);
    assert_eq!((state.open(), state.idle()), (0, 0));
    // One that must not be used any longer is not put back at all.
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    assert_eq!(state.checkin(&1, 3, 0, now, now).close, Some(3));
    assert_eq!(state.open(), 0);
}

#[test]
fn what_is_too_old_hides_nothing() {
    let (mut state, now) = (S::new(limits(8), 2), Instant::now());
    for _ in 0..3 {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    }
    assert!(back(&mut state, 1, 0, 1, now).is_none());
    assert!(back(&mut state, 1, 1, 0, now).is_none());
    assert_eq!(state.checkin(&1, 2, 0, now, now + LOOK_EVERY).close, None);
    assert_eq!(out(&mut state, 1, 0, now + LOOK_EVERY), Checkout::Idle(1));
    // What is left of this worker's is too old, and the other's is not.
    assert_eq!(out(&mut state, 1, 0, now + LOOK_EVERY), Checkout::Idle(0));
    assert_eq!(state.sweep(&[], now + LOOK_EVERY), [2]);
}

#[test]
fn a_lowered_limit_is_reached_as_connections_come_back() {
    let (mut state, now) = (S::new(limits(3), 1), Instant::now());
    for _ in 0..3 {
        assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    }
    assert!(back(&mut state, 1, 0, 0, now).is_none());
    state.set_limits(limits(1));
    assert_eq!(state.sweep(&[], now), [0]);
    assert_eq!(state.checkin(&1, 1, 0, now, now + MINUTE).close, Some(1));
    assert!(back(&mut state, 1, 2, 0, now).is_none());
    assert_eq!((state.open(), state.idle()), (1, 1));
    assert_eq!(state.clear(), [2]);
    assert_eq!(state.open(), 0);
}

/// What can happen to a pool.
#[derive(Debug, Clone)]
enum Step {
    Checkout { key: u8, worker: usize, pin: bool },
    Checkin(usize),
    Closed(usize),
    Leave(usize),
    Sweep,
    Later,
    Tick,
    Ahead,
    Lost(u32),
    Max(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3u8, 0..3usize, any::<bool>()).prop_map(|(key, worker, pin)| Step::Checkout { key, worker, pin }),
        4 => any::<usize>().prop_map(Step::Checkin),
        2 => any::<usize>().prop_map(Step::Closed),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => Just(Step::Sweep),
        1 => Just(Step::Later),
        3 => Just(Step::Tick),
        2 => Just(Step::Ahead),
        1 => (0..3u32).prop_map(Step::Lost),
        1 => (1..16u32).prop_map(Step::Max),
    ]
}

/// The pool and everything that it has given away.
struct World {
    state: S,
    now: Instant,
    max: u32,
    /// (key, connection, pinned) in use.
    used: Vec<(u8, u32, bool)>,
    /// Waiting: (ticket, wake, key, pinned, since), in order.
    queue: Vec<(Ticket, u32, u8, bool, Instant)>,
    next: u32,
}

impl World {
    fn given(&mut self, key: u8, grant: Grant<u32>, pin: bool) {
        let opens = grant == Grant::Open;
        let connection = match grant {
            Grant::Idle(connection) => connection,
            // A replaced connection is closed and another opened in its place.
            Grant::Open | Grant::Replace(_) => {
                self.next += 1;
                self.next
            }
        };
        self.used.push((key, connection, pin));
        if opens {
            let wake = self.state.opened(self.now);
            self.serve(wake);
        }
    }

    /// Serves who can be served, and checks the order.
    fn serve(&mut self, first: Option<Wake<u8, u32, u32>>) {
        let mut wake = first;
        while let Some(Wake { waiter: who, grant, more, .. }) = wake {
            let at = self.queue.iter().position(|w| w.1 == who).expect("nobody waits by that name");
            let (_, _, key, pin, since) = self.queue.remove(at);
            let passed = &self.queue[..at];
            let may = |w: &(Ticket, u32, u8, bool, Instant)| {
                (w.3 && !pin) || w.2 != key || since <= w.4 + OWN_FIRST
            };
            assert!(passed.iter().all(may), "{who} passed {passed:?}");
            self.given(key, grant, pin);
            wake = self.state.next(self.now);
            assert!(more || wake.is_none(), "it was said that nobody else can be served");
        }
        assert_eq!(self.queue.len(), self.state.waiting());
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Checkout { key, worker, pin } => {
                self.next += 1;
                let who = self.next;
                let need = if pin { Need::Pin } else { Need::Statement };
                let free = self.is_free();
                match self.state.checkout(&key, need, worker, self.now, || who) {
                    Checkout::Idle(connection) => self.given(key, Grant::Idle(connection), pin),
                    Checkout::Open => self.given(key, Grant::Open, pin),
                    Checkout::Replace(connection) => self.given(key, Grant::Replace(connection), pin),
                    Checkout::Wait(ticket) => {
                        assert!(pin || !free, "waits though something is free");
                        self.queue.push((ticket, who, key, pin, self.now));
                    }
                    Checkout::Refused => assert_eq!(self.queue.len(), 4),
                }
            }
            Step::Checkin(which) if !self.used.is_empty() => {
                let (key, connection, pin) = self.used.swap_remove(which % self.used.len());
                if pin {
                    let wake = self.state.unpinned(self.now);
                    self.serve(wake);
                }
                let until = self.now + 3 * MINUTE;
                let returned = self.state.checkin(&key, connection, which % 3, self.now, until);
                self.serve(returned.wake);
            }
            Step::Closed(which) if !self.used.is_empty() => {
                let (.., pin) = self.used.swap_remove(which % self.used.len());
                if pin {
                    let wake = self.state.unpinned(self.now);
                    self.serve(wake);
                }
                let wake = self.state.closed(self.now);
                self.serve(wake);
            }
            Step::Leave(which) if !self.queue.is_empty() => {
                let (ticket, ..) = self.queue.remove(which % self.queue.len());
                assert!(self.state.leave(ticket));
            }
            Step::Sweep => {
                self.state.sweep(&[], self.now);
                let wake = self.state.next(self.now);
                self.serve(wake);
            }
            Step::Later => self.now += MINUTE,
            Step::Tick => {
                self.now += LOOK_EVERY;
                let wake = self.state.tick(self.now);
                self.serve(wake);
            }
            Step::Ahead => {
                let keys = [&0, &1, &2];
                let before = self.state.open();
                if let Some(at) = self.state.open_ahead(&keys, self.now) {
                    assert!(before < self.max && self.queue.is_empty(), "{before} are open");
                    self.given(*keys[at], Grant::Open, false);
                }
            }
            Step::Lost(which) => {
                self.state.lost(self.now, |connection| connection % 3 == which);
                let wake = self.state.next(self.now);
                self.serve(wake);
            }
            Step::Max(max) => {
                self.max = max;
                self.state.set_limits(PoolLimits { min_idle: 2, ..limits(max) });
                let wake = self.state.next(self.now);
                self.serve(wake);
            }
            _ => {}
        }
    }

    /// With enough ticks everybody is served, even if nothing comes back, as long as more may be opened.
    fn all_are_served(&mut self) {
        for _ in 0..20 {
            self.run(Step::Tick);
        }
        let may =
            |w: &&(Ticket, u32, u8, bool, Instant)| !w.3 || self.state.pins() < self.max.saturating_sub(1);
        let left = self.queue.iter().filter(may).count();
        assert!(
            left == 0 || self.state.open() >= self.max,
            "{:?} wait for ever: {:?}",
            self.queue,
            self.state
        );
    }

    /// Whether a statement must not be kept waiting.
    fn is_free(&self) -> bool {
        let state = &self.state;
        match state.open() < self.max {
            true => state.open() < state.pins() + FEW,
            false => state.idle() > 0,
        }
    }

    fn check(&self) {
        let (state, free) = (&self.state, self.is_free());
        assert_eq!(state.open(), state.idle() + self.used.len() as u32);
        assert_eq!(state.pins(), self.used.iter().filter(|used| used.2).count() as u32);
        let may = |pin: bool| !pin || state.pins() < self.max.saturating_sub(1);
        assert!(!free || !self.queue.iter().any(|w| may(w.3)), "{:?} wait while {state:?}", self.queue);
    }
}

proptest! {
    #[test]
    fn nobody_waits_for_nothing_and_nothing_is_lost(steps in prop::collection::vec(step(), 1..200)) {
        let state = S::new(PoolLimits { min_idle: 2, ..limits(3) }, 3);
        let now = Instant::now();
        let mut world = World { state, now, max: 3, used: Vec::new(), queue: Vec::new(), next: 0 };
        for step in steps {
            world.run(step);
            world.check();
        }
        world.all_are_served();
    }
}
