//! The machine in simulated time: hours of clients in seconds, each run the same for its seed.

mod world;

use super::super::*;
use world::{Pause, Plan, Seen, World};

const MS: Duration = Duration::from_millis(1);

/// A thousand clients, two workers, and a server with two cores, where nothing goes wrong.
fn quiet() -> Plan {
    Plan {
        limits: PoolLimits {
            max: 100,
            min_idle: 0,
            idle_timeout: Duration::from_secs(60),
            max_waiting: 10_000,
            max_pinned: 80,
        },
        workers: 2,
        clients: 1000,
        crowd: 0,
        accounts: 1,
        pause: Pause::Steady(100 * MS),
        service: MS / 10,
        cores: 2,
        dial: 2 * MS,
        cost: MS / 100,
        patience: Duration::from_secs(10),
        long: 0,
        pins: 0,
        surprises: 0,
        failing: 0,
        breaking: 0,
        stalls: None,
        lives: Duration::from_secs(600),
        reloads: false,
        time: Duration::from_secs(4),
    }
}

fn run(name: &str, plan: &Plan, seed: u64) -> Seen {
    println!("{name}, seed {seed}");
    let seen = World::new(plan, seed).run();
    println!(
        "  at most {} open ({} dialled, {:.1} in use), {} answers, {} gave up, {} refused; waits {:?}; beside idle {:?}, \
         beside room {:?}",
        seen.most_open,
        seen.dials,
        seen.in_use.as_secs_f64() / plan.time.as_secs_f64(),
        seen.answers,
        seen.gave_up,
        seen.refused,
        seen.waits,
        seen.beside_idle,
        seen.beside_room
    );
    seen
}

/// The row of the benchmark: 10,000 short statements a second, which one or two connections can do.
#[test]
fn a_thousand_clients_that_ask_now_and_then_share_few_connections() {
    let stalled = Plan { stalls: Some((200 * MS, 20 * MS)), ..quiet() };
    let random = |plan: &Plan| Plan { pause: Pause::Random(100 * MS), ..plan.clone() };
    // The most that each may open.
    let plans = [
        ("steady", quiet(), 10),
        ("steady, stalls", stalled.clone(), 40),
        ("random", random(&quiet()), 10),
        ("random, stalls", random(&stalled), 16),
    ];
    for (name, plan, most) in plans {
        let seen = run(name, &plan, 1);
        assert!(seen.answers > 35_000);
        assert!(seen.most_open <= most, "{} connections", seen.most_open);
    }
}

/// Everything that can go wrong does, and the machine's account of it stays true: that is judged after each event.
#[test]
fn nothing_is_lost_in_a_storm() {
    for seed in 0..6 {
        let plan = Plan {
            limits: PoolLimits { max: 12, min_idle: 2, max_waiting: 60, max_pinned: 9, ..quiet().limits },
            workers: 3,
            clients: 100,
            accounts: 3,
            pause: Pause::Random(30 * MS),
            service: MS,
            patience: 50 * MS,
            long: 5,
            pins: 100,
            surprises: 20,
            failing: 200,
            breaking: 20,
            stalls: Some((300 * MS, 20 * MS)),
            lives: Duration::from_secs(1),
            reloads: true,
            ..quiet()
        };
        let seen = run("storm", &plan, seed);
        assert!(seen.beside_room < 100 * LOOK_EVERY, "{seen:?}");
        assert!(seen.answers > 2_000 && seen.gave_up > 0 && seen.refused > 0 && seen.lost > 0, "{seen:?}");
    }
}

/// Twice as many clients as can be served, nine of ten of them on the first worker: those of the second wait no longer than
/// those of the first.
#[test]
fn no_worker_starves_another() {
    for (seed, crowd) in [(1, 0), (2, 0), (3, 160), (4, 160)] {
        let plan = Plan {
            limits: PoolLimits { max: 8, ..quiet().limits },
            clients: 200,
            crowd,
            pause: Pause::Random(5 * MS),
            service: MS,
            cores: 8,
            ..quiet()
        };
        let seen = run("crowded", &plan, seed);
        let mean = |at: usize| seen.waits[at].1 / u32::try_from(seen.waits[at].0).unwrap();
        let (least, most) = (mean(0).min(mean(1)), mean(0).max(mean(1)));
        assert!(most < least * 5 / 4, "{least:?} and {most:?} on average");
        let longest = seen.waits[0].2.max(seen.waits[1].2);
        assert!(longest < 3 * most, "{longest:?} at most, {most:?} on average");
    }
}
