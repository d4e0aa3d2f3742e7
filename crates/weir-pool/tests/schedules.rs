//! The pool under schedules that chance draws, thousands of them: threads that check out, return, lose, keep and replace
//! connections, leave the queue, look at it, lower the limits, sweep and open connections ahead.
//!
//! Where a wake-up is lost, all threads are blocked in the end, and the scheduler says so; it then prints the
//! schedule, which `shuttle::replay` runs again. With `cargo test -p weir-pool --features shuttle --test schedules`.

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use weir_pool::sync::{begin, now, pass};
use weir_pool::{Found, Grant, LOOK_EVERY, Need, Pool, PoolLimits, Usage, Waiting};

/// What threads do beside using a connection and returning it.
#[derive(Debug, Clone, Copy)]
struct Habits {
    limits: PoolLimits,
    threads: u32,
    statements: u32,
    workers: usize,
    accounts: u8,
    /// In a hundred: statements that keep their connection, and those of them that have not said so beforehand.
    pins: u32,
    surprises: u32,
    /// In a hundred: connections that cannot be made, and those that end under a statement.
    failing: u32,
    breaking: u32,
    /// In a hundred of those who wait: those who leave, and those who have the queue looked at.
    leaving: u32,
    looking: u32,
    /// One more thread sweeps, clears, opens ahead, and changes the limits.
    housekeeping: bool,
}

const PLAIN: Habits = Habits {
    limits: PoolLimits {
        max: 2,
        min_idle: 1,
        idle_timeout: Duration::from_secs(60),
        max_waiting: 100,
        max_pinned: 1,
    },
    threads: 4,
    statements: 3,
    workers: 2,
    accounts: 2,
    pins: 0,
    surprises: 0,
    failing: 0,
    breaking: 0,
    leaving: 0,
    looking: 0,
    housekeeping: false,
};

/// A server connection: its number, and whose it is. Dropped, it is closed.
#[derive(Debug)]
struct Connection {
    number: u32,
    account: u8,
    ledger: Arc<Mutex<Ledger>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Ok(mut ledger) = self.ledger.lock() {
            ledger.alive.remove(&self.number);
        }
    }
}

/// What the threads know together. Its lock is not one of those that are scheduled: it is never held where another may run.
#[derive(Debug, Default)]
struct Ledger {
    made: u32,
    /// Connections that live: in use, and with the pool.
    alive: BTreeSet<u32>,
    /// Those that somebody uses.
    used: BTreeSet<u32>,
    /// Rights to a connection that somebody holds, and places to pin.
    held: u32,
    pinned: u32,
    /// Those who wait, in the order in which they came, and how many have.
    queue: Vec<u32>,
    came: u32,
}

impl Ledger {
    fn queues(&mut self) -> u32 {
        self.came += 1;
        self.queue.push(self.came);
        self.came
    }

    fn leaves(&mut self, ticket: u32) {
        self.queue.retain(|waits| *waits != ticket);
    }
}

#[derive(Clone)]
struct World {
    pool: Arc<Pool<u8, Connection>>,
    ledger: Arc<Mutex<Ledger>>,
    habits: Habits,
}

impl World {
    fn new(habits: Habits) -> Self {
        begin();
        Self { pool: Pool::new(habits.limits, habits.workers), ledger: Arc::default(), habits }
    }

    fn run(&self) {
        let clients = (0..self.habits.threads).map(|number| {
            let world = self.clone();
            thread::spawn(move || {
                for _ in 0..world.habits.statements {
                    world.statement(number);
                }
            })
        });
        let mut threads: Vec<_> = clients.collect();
        if self.habits.housekeeping {
            let world = self.clone();
            threads.push(thread::spawn(move || world.keep_house()));
        }
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        self.all_is_back();
    }

    fn all_is_back(&self) {
        let usage = self.pool.usage();
        assert_eq!(usage, Usage { open: usage.idle, idle: usage.idle, waiting: 0, pinned: 0 });
        let left = self.pool.clear(now());
        let ledger = self.ledger();
        let numbers: BTreeSet<u32> = left.iter().map(|idle| idle.number).collect();
        assert_eq!(numbers, ledger.alive, "connections were lost");
        assert!(ledger.used.is_empty() && ledger.held == 0 && ledger.pinned == 0, "{ledger:?}");
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn statement(&self, thread: u32) {
        let account = thread_rng().gen_range(0..self.habits.accounts);
        let worker = thread as usize % self.habits.workers;
        let need = if chance(self.habits.pins) { Need::Pin } else { Need::Statement };
        pass(LOOK_EVERY * thread_rng().gen_range(0..3) / 2);
        let before = self.ledger().queue.clone();
        let grant = match self.pool.checkout(&account, need, worker, now()) {
            Found::Now(grant) => grant,
            Found::Queued(waiting) => {
                let ticket = self.ledger().queues();
                let grant = self.wait(waiting, ticket);
                self.ledger().leaves(ticket);
                let Some(grant) = grant else { return };
                grant
            }
            Found::Full => return,
        };
        self.in_order(&before);
        let mut pinned = need == Need::Pin;
        self.granted(pinned);
        if let Some(connection) = self.connection(account, grant) {
            if !pinned && chance(self.habits.surprises) {
                pinned = true;
                self.ledger().pinned += 1;
                self.pool.pinned();
            }
            self.give_back(connection, worker, pinned);
        } else {
            self.end(pinned);
        }
    }

    fn wait(&self, waiting: Waiting<u8, Connection>, ticket: u32) -> Option<Grant<Connection>> {
        if chance(self.habits.leaving) {
            self.ledger().leaves(ticket);
            // Some look before they leave.
            let mut waiting = pin!(waiting);
            let looks = thread_rng().gen_range(0..3);
            return (0..looks).find_map(|_| look(waiting.as_mut()));
        }
        if chance(self.habits.looking) {
            pass(LOOK_EVERY);
            self.pool.tick(now());
        }
        Some(shuttle::future::block_on(waiting))
    }

    /// With one connection, who uses it has been served before all that still wait.
    fn in_order(&self, before: &[u32]) {
        if self.habits.limits.max == 1 && self.habits.workers == 1 {
            let ledger = self.ledger();
            let passed = before.iter().find(|ticket| ledger.queue.contains(ticket));
            assert_eq!(passed, None, "who came later was served first");
        }
    }

    fn granted(&self, pinned: bool) {
        let usage = self.pool.usage();
        let mut ledger = self.ledger();
        ledger.held += 1;
        ledger.pinned += u32::from(pinned);
        let limits = &self.habits.limits;
        assert!(ledger.held <= limits.max && usage.open <= limits.max, "{ledger:?}, {usage:?}");
        let sudden = if self.habits.surprises > 0 { self.habits.threads } else { 0 };
        assert!(ledger.pinned <= limits.max_pinned + sudden, "{ledger:?}");
        assert!(usage.pinned <= limits.max_pinned + sudden, "{usage:?}");
    }

    /// The connection that was granted, or one that is made.
    fn connection(&self, account: u8, grant: Grant<Connection>) -> Option<Connection> {
        let opens = match grant {
            Grant::Idle(connection) => {
                assert_eq!(connection.account, account);
                let mut ledger = self.ledger();
                assert!(ledger.used.insert(connection.number), "{} was given twice", connection.number);
                drop(ledger);
                return Some(connection);
            }
            Grant::Open => true,
            Grant::Replace(_) => false,
        };
        let fails = chance(self.habits.failing);
        if opens {
            self.pool.opened(now());
        }
        if fails {
            return None;
        }
        let mut ledger = self.ledger();
        ledger.made += 1;
        let number = ledger.made;
        ledger.alive.insert(number);
        ledger.used.insert(number);
        Some(Connection { number, account, ledger: Arc::clone(&self.ledger) })
    }

    fn give_back(&self, connection: Connection, worker: usize, pinned: bool) {
        assert!(self.ledger().used.remove(&connection.number));
        if chance(self.habits.breaking) {
            drop(connection);
            return self.end(pinned);
        }
        self.unpin(pinned);
        self.ledger().held -= 1;
        let (now, lives) = (now(), LOOK_EVERY * thread_rng().gen_range(1..100));
        drop(self.pool.checkin(&connection.account.clone(), connection, worker, now, now + lives));
    }

    fn end(&self, pinned: bool) {
        self.unpin(pinned);
        self.ledger().held -= 1;
        self.pool.closed(now());
    }

    fn unpin(&self, pinned: bool) {
        if pinned {
            self.ledger().pinned -= 1;
            self.pool.unpinned(now());
        }
    }

    fn open_ahead(&self) {
        let Some(account) = self.pool.open_ahead(&[&0, &1], now()) else { return };
        self.granted(false);
        match self.connection(account as u8, Grant::Open) {
            Some(connection) => self.give_back(connection, 0, false),
            None => self.end(false),
        }
    }

    fn keep_house(&self) {
        let few = PoolLimits { max: 1, max_pinned: 1, ..self.habits.limits };
        for _ in 0..self.habits.statements {
            drop(match thread_rng().gen_range(0..6) {
                0 => self.pool.sweep(&[], now()),
                1 => self.pool.clear(now()),
                4 => self.pool.lost(now(), |connection| connection.number % 2 == 0),
                5 => {
                    self.open_ahead();
                    Vec::new()
                }
                2 => {
                    self.pool.set_limits(few, now());
                    self.pool.sweep(&[], now())
                }
                _ => {
                    self.pool.set_limits(self.habits.limits, now());
                    Vec::new()
                }
            });
        }
        self.pool.set_limits(self.habits.limits, now());
    }
}

fn chance(in_a_hundred: u32) -> bool {
    thread_rng().gen_range(0..100) < in_a_hundred
}

/// What a waiter has by now.
fn look(mut waiting: std::pin::Pin<&mut Waiting<u8, Connection>>) -> Option<Grant<Connection>> {
    let looked = std::future::poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx)));
    match shuttle::future::block_on(looked) {
        Poll::Ready(grant) => Some(grant),
        Poll::Pending => None,
    }
}

/// Half of the schedules are drawn at random, and the others from those with few changes of thread at the worst moments.
fn check(habits: Habits) {
    let run = move || World::new(habits).run();
    under(RandomScheduler::new_from_seed(SEED, SCHEDULES), run);
    under(PctScheduler::new_from_seed(SEED, 3, SCHEDULES), run);
}

const SEED: u64 = 1;
const SCHEDULES: usize = 400;

fn under(scheduler: impl Scheduler + 'static, run: impl Fn() + Send + Sync + 'static) {
    Runner::new(scheduler, Config::new()).run(run);
}

#[test]
fn nobody_waits_for_ever() {
    check(PLAIN);
}

#[test]
fn who_comes_first_is_served_first() {
    let limits = PoolLimits { max: 1, ..PLAIN.limits };
    check(Habits { limits, workers: 1, failing: 20, breaking: 20, leaving: 20, ..PLAIN });
}

#[test]
fn what_is_on_its_way_to_a_waiter_that_leaves_is_not_lost() {
    check(Habits { leaving: 50, pins: 30, ..PLAIN });
}

#[test]
fn connections_that_fail_or_end_are_made_again() {
    check(Habits { failing: 30, breaking: 30, looking: 30, ..PLAIN });
}

#[test]
fn no_more_sessions_keep_a_connection_than_may() {
    check(Habits { pins: 60, leaving: 20, looking: 30, ..PLAIN });
}

#[test]
fn limits_may_change_at_any_moment() {
    let limits = PoolLimits { max: 3, max_pinned: 2, max_waiting: 2, ..PLAIN.limits };
    let habits = Habits { limits, housekeeping: true, leaving: 20, looking: 20, ..PLAIN };
    check(Habits { pins: 20, surprises: 10, failing: 10, breaking: 10, ..habits });
}
