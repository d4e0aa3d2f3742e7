use std::time::Duration;

use tokio::time::timeout;

use super::*;
use crate::client::bytes::put_lenenc_bytes;
use crate::client::{ErrPacket, Outcome, ResultSet};

fn answer(rows: &[(&str, &str)]) -> Response {
    let row = |(name, value): &(&str, &str)| {
        let mut row = Vec::new();
        put_lenenc_bytes(&mut row, name.as_bytes());
        put_lenenc_bytes(&mut row, value.as_bytes());
        row
    };
    let rows = rows.iter().map(row).collect();
    let set = ResultSet { columns: Vec::new(), metadata: true, columns_end: None, rows, end: None };
    Response { outcomes: vec![Outcome::Rows(set)], ..Response::default() }
}

fn refused(state: &str) -> Response {
    let err = ErrPacket { code: 1064, state: state.into(), message: "no".into() };
    Response { outcomes: vec![Outcome::Err(err)], ..Response::default() }
}

#[test]
fn an_answer_says_how_a_session_stands() {
    let pinned = |reasons: &[&str], connection| {
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        Standing::Pinned { reasons, connection }
    };
    let cases = [
        (answer(&[("sharing", "transaction"), ("pinned", "no")]), Standing::Free),
        (answer(&[("pinned", "no"), ("server_connection_id", "0")]), Standing::Free),
        (answer(&[("pinned", "transaction")]), pinned(&["transaction"], None)),
        (
            answer(&[("pinned", "temporary_table, warnings"), ("server_connection_id", "17")]),
            pinned(&["temporary_table", "warnings"], Some(17)),
        ),
        (answer(&[("pinned", "cursor"), ("server_connection_id", "0")]), pinned(&["cursor"], None)),
        (refused("08S01"), Standing::Gone),
        (Response { closed: true, ..Response::default() }, Standing::Gone),
    ];
    for (reply, expected) in cases {
        assert_eq!(standing(&reply).unwrap(), expected, "{reply:?}");
    }
    for wrong in [
        refused("42000"),
        Response::default(),
        answer(&[("sharing", "transaction")]),
        answer(&[("pinned", "")]),
        answer(&[("pinned", "cursor"), ("server_connection_id", "none")]),
    ] {
        assert!(standing(&wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn every_reason_counts() {
    let pinned = |reasons: &[&str], id| Standing::Pinned {
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        connection: Some(id),
    };
    let (mut one, mut other) = (Pins::default(), Pins::default());
    one.count(&pinned(&["transaction", "warnings"], 7));
    one.count(&Standing::Free);
    other.count(&pinned(&["warnings"], 7));
    other.count(&Standing::Gone);
    (one.at_once, other.at_once) = (2, 5);
    one.add(other);
    assert_eq!(one.at_once, 5);
    assert_eq!((one.free, one.pinned, one.gone), (1, 2, 1));
    assert_eq!(one.reasons, [("transaction".to_owned(), 1), ("warnings".to_owned(), 2)].into());
    assert_eq!(one.connections, [7].into());
}

#[tokio::test]
async fn a_permit_goes_round() {
    let permits = Permits::new(Some(Sharing { pinned: 1, ask: false, everybody: false }));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut running = tokio::task::JoinSet::new();
    for session in 0..3 {
        let (mut turn, order) = (permits.turn(), Arc::clone(&order));
        running.spawn(async move {
            for _ in 0..3 {
                turn.take().await;
                order.lock().unwrap().push(session);
                // The statement: meanwhile the others come and wait.
                yield_now().await;
                turn.settle(None, &mut Pins::default()).await.unwrap();
            }
        });
    }
    running.join_all().await;
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[tokio::test]
async fn who_holds_a_permit_keeps_the_others_waiting() {
    let permits = Permits::new(Some(Sharing { pinned: 1, ask: false, everybody: false }));
    let (mut one, mut other) = (permits.turn(), permits.turn());
    one.take().await;
    // The second time it has one.
    one.take().await;
    assert!(timeout(Duration::from_millis(20), other.take()).await.is_err());
    drop(one);
    other.take().await;
    // Without sharing nobody waits for anybody.
    let permits = Permits::new(None);
    let (mut one, mut other) = (permits.turn(), permits.turn());
    one.take().await;
    other.take().await;
    assert!(!one.shares());
}

#[test]
fn those_who_are_pinned_at_once_are_counted() {
    let permits = Permits::new(None);
    let (mut one, mut other) = (permits.turn(), permits.turn());
    assert_eq!([one.level(true), one.level(true), other.level(true), one.level(false)], [1, 1, 2, 1]);
    drop((one, other));
    assert_eq!(permits.turn().level(true), 1);
}

#[test]
fn as_many_may_be_pinned_as_there_are_permits() {
    let addr = SocketAddr::from(([127, 0, 0, 1], 3306));
    for (connections, pinned, share) in [(8, 6, 80), (72, 64, 89), (8, 1, 80), (8, 8, 100)] {
        let text = config(addr, "transaction", connections, pinned);
        assert!(text.contains(&format!("pinned_share = {share}\n")), "{text}");
        assert!(connections * share / 100 >= pinned, "{connections} {pinned}");
    }
}
