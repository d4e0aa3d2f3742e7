use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::Stats;

#[test]
fn reasons_index_their_own_counter() {
    for (i, reason) in CloseReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, i, "{reason:?}");
    }
    for (i, reason) in AuthFailure::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, i, "{reason:?}");
    }
}

#[test]
fn gauges_return_to_zero() {
    let worker = WorkerStats::default();
    worker.client_accepted();
    worker.login_started();
    assert_eq!((worker.clients_connected(), worker.logins_pending()), (1, 1));
    worker.login_ended();
    worker.client_closed(CloseReason::Quit);
    assert_eq!((worker.clients_connected(), worker.logins_pending()), (0, 0));
}

#[test]
fn commands_that_weir_answers_stay_out_of_the_servers_histogram() {
    let stats = Stats::new(1);
    stats.worker(0).command_done(3, 9_000, 7_000, 10, 100);
    stats.worker(0).command_done(3, 9_000, 0, 10, 100);
    stats.worker(0).command_unanswered(0x19, 9, 0);
    let totals = stats.totals();
    assert_eq!((totals.client_time.count(), totals.server_time.count()), (2, 1));
    assert_eq!((totals.bytes_from_clients, totals.bytes_to_clients), (29, 200));
    assert_eq!(Vec::from_iter(totals.commands()), [("query", 2), ("stmt_close", 1)]);
}

#[test]
fn workers_do_not_share_a_cache_line() {
    let stats = Stats::new(2);
    let (a, b) = (stats.worker(0), stats.worker(1));
    assert_eq!(std::ptr::from_ref(a) as usize % 128, 0);
    assert_eq!(std::ptr::from_ref(b) as usize % 128, 0);
    assert!(std::ptr::eq(stats.worker(2), a), "an index past the end is folded");
}

#[test]
fn a_reader_never_sees_a_count_fall_and_loses_none() {
    const PER_WORKER: u64 = 20_000;
    let stats = Stats::new(2);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|w| {
                let worker = stats.worker(w);
                scope.spawn(move || {
                    for i in 0..PER_WORKER {
                        worker.command_done(3, 1_000 + i, 900, 1, 2);
                        worker.server_error((i % 50) as u16);
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let now = stats.totals().client_time.count();
                assert!(now >= last, "{now} after {last}");
                last = now;
            }
        });
        writers.into_iter().for_each(|w| w.join().unwrap());
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
    let totals = stats.totals();
    assert_eq!(totals.client_time.count(), 2 * PER_WORKER);
    assert_eq!(totals.bytes_to_clients, 4 * PER_WORKER);
    assert_eq!(totals.errors.values().sum::<u64>(), 2 * PER_WORKER);
}
