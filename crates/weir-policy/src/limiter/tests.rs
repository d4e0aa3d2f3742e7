use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

fn limit(concurrency: Option<u32>, rate: Option<&str>) -> LimitRule {
    let rate = rate.map(|rate| Rate::parse(rate).unwrap());
    LimitRule { concurrency, rate, queue: Duration::from_secs(1) }
}

fn ms(start: Instant, millis: u64) -> Instant {
    start + Duration::from_millis(millis)
}

#[test]
fn a_bucket_is_full_at_first_and_fills_evenly() {
    let start = Instant::now();
    for (rate, at_once, interval) in [("10/s", 10, 100), ("3/m", 3, 20_000), ("2/h", 2, 1_800_000)] {
        let mut limiter = Limiter::<()>::new(&limit(None, Some(rate)), start);
        for n in 0..at_once {
            assert!(limiter.take(Turn::Rate, start), "{rate} {n}");
        }
        assert!(!limiter.take(Turn::Rate, start), "{rate}");
        let ticket = limiter.wait(Turn::Rate, ());
        assert_eq!(limiter.poll(Turn::Rate, ticket, start), Waited::Until(ms(start, interval)));
        assert_eq!(limiter.poll(Turn::Rate, ticket, ms(start, interval)), Waited::Granted);
        assert!(!limiter.take(Turn::Rate, ms(start, interval)), "{rate}");
        // However long nobody comes, it holds no more than the count.
        let late = ms(start, interval * 1000);
        assert_eq!((0..100).filter(|_| limiter.take(Turn::Rate, late)).count(), at_once, "{rate}");
    }
}

#[test]
fn places_are_given_in_order_and_nobody_overtakes() {
    let now = Instant::now();
    let mut limiter = Limiter::new(&limit(Some(1), None), now);
    assert!(limiter.take(Turn::Place, now));
    let (a, b) = (limiter.wait(Turn::Place, 'a'), limiter.wait(Turn::Place, 'b'));
    assert_eq!(limiter.poll(Turn::Place, a, now), Waited::OnOthers);
    limiter.release();
    assert_eq!(limiter.first(Turn::Place), Some(&'a'));
    assert!(!limiter.take(Turn::Place, now), "somebody waits");
    assert_eq!(limiter.poll(Turn::Place, b, now), Waited::OnOthers);
    assert_eq!(limiter.poll(Turn::Place, a, now), Waited::Granted);
    assert!(limiter.leave(Turn::Place, b) && !limiter.leave(Turn::Place, a));
    assert_eq!((limiter.running(), limiter.waiting()), (1, 0));
}

#[test]
fn other_terms_hold_from_now_on_and_those_who_run_go_on() {
    let now = Instant::now();
    let mut limiter = Limiter::new(&limit(Some(3), Some("2/s")), now);
    assert!((0..3).all(|_| limiter.take(Turn::Place, now)));
    assert!(limiter.take(Turn::Rate, now) && limiter.take(Turn::Rate, now));
    limiter.configure(&limit(Some(1), Some("2/s")), now);
    assert!(!limiter.take(Turn::Rate, now), "the bucket is as empty as it was");
    let ticket = limiter.wait(Turn::Place, ());
    for _ in 0..2 {
        limiter.release();
        assert_eq!(limiter.poll(Turn::Place, ticket, now), Waited::OnOthers);
    }
    limiter.configure(&limit(None, None), now);
    assert_eq!(limiter.poll(Turn::Place, ticket, now), Waited::Granted);
    assert!(limiter.take(Turn::Rate, now));
}

#[derive(Debug, Clone)]
enum Op {
    Ask(Turn),
    Release,
    Leave(usize),
    Pass(u64),
    Concurrency(Option<u32>),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop_oneof![Just(Turn::Rate), Just(Turn::Place)].prop_map(Op::Ask),
        3 => Just(Op::Release),
        1 => any::<usize>().prop_map(Op::Leave),
        3 => (0u64..400).prop_map(Op::Pass),
        1 => proptest::option::of(1u32..4).prop_map(Op::Concurrency),
    ]
}

/// Lets all who can go, as a session does that is woken: each change wakes the first.
fn settle(
    limiter: &mut Limiter<usize>,
    waiting: &mut [VecDeque<(usize, Ticket)>; 2],
    now: Instant,
) -> [u32; 2] {
    let mut granted = [0, 0];
    for turn in [Turn::Rate, Turn::Place] {
        while let Some((who, ticket)) = waiting[turn as usize].front().copied() {
            assert_eq!(limiter.first(turn), Some(&who), "first in, first out");
            if limiter.poll(turn, ticket, now) != Waited::Granted {
                break;
            }
            waiting[turn as usize].pop_front();
            granted[turn as usize] += 1;
        }
    }
    granted
}

proptest! {
    #[test]
    fn no_more_run_than_may_and_nobody_is_forgotten(ops in proptest::collection::vec(any_op(), 1..200)) {
        let start = Instant::now();
        let (count, mut now, mut concurrency) = (5u64, start, Some(2));
        let mut limiter = Limiter::new(&limit(concurrency, Some("5/s")), start);
        let mut waiting: [VecDeque<(usize, Ticket)>; 2] = Default::default();
        let (mut running, mut passed, mut who) = (0u32, 0u64, 0);
        for op in ops {
            match op {
                Op::Ask(turn) => {
                    who += 1;
                    let others = !waiting[turn as usize].is_empty();
                    if limiter.take(turn, now) {
                        prop_assert!(!others, "it has overtaken");
                        match turn {
                            Turn::Rate => passed += 1,
                            Turn::Place => running += 1,
                        }
                    } else {
                        let ticket = limiter.wait(turn, who);
                        waiting[turn as usize].push_back((who, ticket));
                    }
                }
                Op::Release if running > 0 => {
                    running -= 1;
                    limiter.release();
                }
                Op::Release => {}
                Op::Leave(n) => {
                    for turn in [Turn::Rate, Turn::Place] {
                        let queue = &mut waiting[turn as usize];
                        if !queue.is_empty() {
                            let (_, ticket) = queue.remove(n % queue.len()).unwrap();
                            prop_assert!(limiter.leave(turn, ticket));
                        }
                    }
                }
                Op::Pass(millis) => now += Duration::from_millis(millis),
                Op::Concurrency(most) => {
                    concurrency = most;
                    limiter.configure(&limit(concurrency, Some("5/s")), now);
                }
            }
            let before = running;
            let [rate, place] = settle(&mut limiter, &mut waiting, now);
            passed += u64::from(rate);
            running += place;
            prop_assert_eq!(limiter.running(), running);
            if place > 0 {
                prop_assert!(concurrency.is_none_or(|most| running <= most));
            }
            prop_assert!(before <= running);
            // Whoever still waits for a place does so because all are taken.
            if !waiting[1].is_empty() {
                prop_assert!(concurrency.is_some_and(|most| running >= most));
            }
            let elapsed = u64::try_from((now - start).as_millis()).unwrap();
            prop_assert!(passed * 1000 <= count * 1000 + count * elapsed, "{passed} in {elapsed} ms");
            prop_assert_eq!(limiter.waiting(), waiting[0].len() + waiting[1].len());
        }
    }
}
