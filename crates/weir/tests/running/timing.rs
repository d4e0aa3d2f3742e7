//! P18: a refused login takes the same time whether the user exists or not.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crate::kit::*;

/// Attempts for each of the two kinds. Chance alone moves the result by 0.02 (one standard deviation).
const ATTEMPTS: usize = 400;
/// Pairs under way at once: one known and one unknown user each, so that both meet the same load.
const AT_ONCE: usize = 40;
/// Of an answer to a refused login. Far more than the work of `AT_ONCE` pairs on a busy machine: where that takes as long, it moves the answer
/// by whole delays.
const DELAY: Duration = Duration::from_secs(1);
/// What counts as equally long.
const EQUAL: RangeInclusive<f64> = 0.45..=0.55;
/// A machine so busy that the work of a login shows beside the delay may spoil a round. What tells users apart shows in
/// every one.
const ROUNDS: usize = 3;

#[tokio::test]
async fn p18_known_and_unknown_users_take_equally_long() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir_with(&server, &format!("[limits]\nauth_failure_delay = \"{DELAY:?}\"\n"));
        // Known to the server and remembered by Weir.
        app(weir.addr()).connect().await.unwrap();
        let mut shares = Vec::new();
        while shares.len() < ROUNDS && !shares.last().is_some_and(|share| EQUAL.contains(share)) {
            shares.push(round(weir.addr()).await);
        }
        assert!(
            shares.last().is_some_and(|share| EQUAL.contains(share)),
            "{flavor:?}: a known user is the slower one with probability {shares:?}"
        );
    }
}

/// The probability that a known user is the slower one.
async fn round(addr: SocketAddr) -> f64 {
    let lanes: Vec<_> = (0..AT_ONCE).map(|lane| tokio::spawn(attempts(addr, lane))).collect();
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for lane in lanes {
        let (k, u) = lane.await.unwrap();
        known.extend(k);
        unknown.extend(u);
    }
    assert_eq!(known.len() + unknown.len(), 2 * ATTEMPTS);
    slower(&known, &unknown)
}

async fn attempts(addr: SocketAddr, lane: usize) -> (Vec<Duration>, Vec<Duration>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    // Not all at the same moment of each delay.
    tokio::time::sleep(DELAY * lane as u32 / AT_ONCE as u32).await;
    for i in 0..ATTEMPTS / AT_ONCE {
        let mut pair = [("app", &mut known), ("nobody", &mut unknown)];
        // Neither kind is always the first of its pair.
        if (i + lane) % 2 == 1 {
            pair.reverse();
        }
        for (user, times) in pair {
            let options = ConnectOptions::tcp(addr, user, "wrong");
            let start = Instant::now();
            let err = refusal(options.connect().await);
            times.push(start.elapsed());
            assert_eq!(err.code, 1045);
        }
    }
    (known, unknown)
}

/// The probability that a random one of `a` is above a random one of `b`; ties count half.
fn slower(a: &[Duration], b: &[Duration]) -> f64 {
    let above: f64 = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| (x, y)))
        .map(|(x, y)| match x.cmp(y) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    above / (a.len() * b.len()) as f64
}
