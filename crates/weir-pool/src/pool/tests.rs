use super::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const LIMITS: PoolLimits = PoolLimits {
    max: 2,
    min_idle: 0,
    idle_timeout: Duration::from_secs(60),
    max_waiting: 1000,
    max_pinned: 1,
};

fn until(now: Instant) -> Instant {
    now + Duration::from_secs(600)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn a_waiter_that_leaves_with_a_connection_on_its_way_gives_it_to_the_next() {
    let (pool, now) = (Pool::<u8, u32>::new(PoolLimits { max: 1, ..LIMITS }, 1), Instant::now());
    let Found::Now(Grant::Open) = pool.checkout(&1, Need::Statement, 0, now) else { panic!() };
    let Found::Queued(first) = pool.checkout(&1, Need::Statement, 0, now) else { panic!() };
    let Found::Queued(second) = pool.checkout(&1, Need::Statement, 0, now) else { panic!() };
    assert_eq!(pool.checkin(&1, 7, 0, now, until(now)), None);
    // It was sent to the first, which never looked.
    drop(first);
    assert_eq!(runtime().block_on(second), Grant::Idle(7));
    assert_eq!(pool.usage(), Usage { open: 1, idle: 0, waiting: 0, pinned: 0 });
}

#[test]
fn a_place_to_pin_goes_back_with_a_waiter_that_leaves() {
    let (pool, now) = (Pool::<u8, u32>::new(LIMITS, 1), Instant::now());
    let Found::Now(Grant::Open) = pool.checkout(&1, Need::Pin, 0, now) else { panic!() };
    let Found::Queued(first) = pool.checkout(&1, Need::Pin, 0, now) else { panic!() };
    pool.unpinned(now);
    // It is granted now: the right to open a second one, and the place.
    assert_eq!(pool.usage(), Usage { open: 2, idle: 0, waiting: 0, pinned: 1 });
    drop(first);
    assert_eq!(pool.usage(), Usage { open: 1, idle: 0, waiting: 0, pinned: 0 });
}

#[test]
fn when_the_last_room_is_taken_the_others_have_what_is_idle_of_another_account() {
    let limits = PoolLimits { max: FEW + 1, ..LIMITS };
    let (pool, now) = (Pool::<u8, u32>::new(limits, 1), Instant::now());
    for _ in 0..FEW {
        let Found::Now(Grant::Open) = pool.checkout(&1, Need::Statement, 0, now) else { panic!() };
        pool.opened(now);
    }
    let Found::Queued(first) = pool.checkout(&2, Need::Statement, 0, now) else { panic!() };
    let Found::Queued(second) = pool.checkout(&2, Need::Statement, 0, now) else { panic!() };
    assert_eq!(pool.checkin(&1, 7, 0, now, until(now)), None);
    let runtime = runtime();
    assert_eq!((runtime.block_on(first), runtime.block_on(second)), (Grant::Open, Grant::Replace(7)));
}

/// Many tasks on four workers use two connections; some give up at random moments.
#[test]
fn no_connection_is_used_twice_at_a_time_and_none_is_lost() {
    let pool = Pool::<u8, Arc<AtomicU32>>::new(LIMITS, 4);
    let made = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (pool, made) = (&pool, &made);
            scope.spawn(move || {
                let tasks = (0..16).map(|task| statements(pool, made, worker * 16 + task));
                runtime().block_on(join_all(tasks));
            });
        }
    });
    let usage = pool.usage();
    assert_eq!((usage.waiting, usage.pinned), (0, 0));
    assert_eq!(usage.open, usage.idle);
    assert!(usage.open <= 2 && made.load(Ordering::Relaxed) >= 2);
}

/// The statements of one task.
async fn statements(pool: &Arc<Pool<u8, Arc<AtomicU32>>>, made: &AtomicU32, task: usize) {
    let mut seed = task as u64 + 1;
    for _ in 0..500 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        one(pool, made, task, seed >> 33).await;
    }
}

/// Polls all of them until the last has ended.
async fn join_all(tasks: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut tasks: Vec<_> = tasks.map(|task| Some(Box::pin(task))).collect();
    std::future::poll_fn(|cx| {
        for task in &mut tasks {
            if task.as_mut().is_some_and(|running| running.as_mut().poll(cx).is_ready()) {
                *task = None;
            }
        }
        if tasks.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// One statement of a task. `chance` decides whether it gives up, pins, or loses its connection.
async fn one(pool: &Arc<Pool<u8, Arc<AtomicU32>>>, made: &AtomicU32, task: usize, chance: u64) {
    let key = (task % 2) as u8;
    let need = if chance.is_multiple_of(5) { Need::Pin } else { Need::Statement };
    let grant = match pool.checkout(&key, need, task % 4, Instant::now()) {
        Found::Now(grant) => grant,
        Found::Queued(waiting) if chance.is_multiple_of(3) => {
            // Gives up after a few turns of the others.
            let turns = async {
                for _ in 0..chance % 7 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                grant = waiting => grant,
                () = turns => return,
            }
        }
        Found::Queued(waiting) => waiting.await,
        Found::Full => panic!("the queue has room for all"),
    };
    let connection = match grant {
        Grant::Idle(connection) => connection,
        grant => {
            if matches!(grant, Grant::Open) {
                pool.opened(Instant::now());
            }
            made.fetch_add(1, Ordering::Relaxed);
            Arc::new(AtomicU32::new(0))
        }
    };
    assert_eq!(connection.fetch_add(1, Ordering::SeqCst), 0, "two statements on one connection");
    tokio::task::yield_now().await;
    assert_eq!(connection.fetch_sub(1, Ordering::SeqCst), 1);
    let now = Instant::now();
    if need == Need::Pin {
        pool.unpinned(now);
    }
    if chance.is_multiple_of(11) {
        drop(connection);
        pool.closed(now);
    } else {
        assert!(pool.checkin(&key, connection, task % 4, now, until(now)).is_none());
    }
}
