//! The differential against itself: a server equals its twin, also behind a relay that cuts every write into
//! pieces, and a single wrong byte is found.

use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_testkit::differential::generate::Manner;
use weir_testkit::differential::run::{Failure, Plan, Side, offered, run, session_plans};
use weir_testkit::differential::sharing::Sharing;
use weir_testkit::differential::{report, shrink};
use weir_testkit::{Direction, Flavor, Relay, Server};

mod fake;

fn plan(flavor: Flavor, direct: &Server, other: std::net::SocketAddr) -> Plan {
    let side = |addr| Side { addr, prefix: "rx_".to_owned() };
    Plan {
        flavor,
        direct: side(direct.addr()),
        weir: side(other),
        sessions: 4,
        statements: 400,
        seed: 1,
        concurrency: 4,
        without: Vec::new(),
        only: None,
        manner: Manner::default(),
        sharing: None,
        patience: Duration::from_secs(30),
    }
}

#[tokio::test]
async fn twins_are_identical_and_a_wrong_byte_is_found() {
    for flavor in Flavor::BOTH {
        let (one, twin) = (Server::start(flavor).unwrap(), Server::start(flavor).unwrap());
        let relay = Relay::start(twin.addr()).await.unwrap();
        relay.faults(Direction::ToClient, |faults| faults.slice = 1000);
        relay.faults(Direction::ToServer, |faults| faults.slice = 7);
        let mut plan = plan(flavor, &one, relay.addr());
        let good = run(&plan).await.unwrap();
        assert!(good.failures.is_empty(), "{:#?}", good.failures);
        assert!(good.statements >= 390, "{}", good.statements);
        // Behind the login, which takes less than a kilobyte, one byte too many.
        relay.faults(Direction::ToClient, |faults| faults.garbage_at = Some((3000, vec![0xee])));
        // The rest of a stream out of step may look like a packet that never ends.
        plan.patience = Duration::from_secs(2);
        let bad = run(&plan).await.unwrap();
        assert_eq!(bad.failures.len(), plan.sessions, "{:#?}", bad.failures);
    }
}

#[tokio::test]
async fn sessions_that_share_take_turns_and_never_hold_more_than_they_may() {
    let (one, twin) = (Server::start(Flavor::MySql).unwrap(), Server::start(Flavor::MySql).unwrap());
    let (weir, held) = fake::start(twin.addr()).await.unwrap();
    let mut plan = plan(Flavor::MySql, &one, weir);
    plan.manner = Manner { one_dialect: true, fresh: true, ..Manner::default() };
    plan.sharing = Some(Sharing { pinned: 2, ask: true, everybody: false });
    (plan.sessions, plan.concurrency, plan.statements) = (6, 6, 360);
    let summary = run(&plan).await.unwrap();
    assert!(summary.failures.is_empty(), "{:#?}", summary.failures);
    assert_eq!(held.most.load(Ordering::SeqCst), 2);
    let text = report::summary("in turns", &summary);
    assert!(text.contains("cursor") && !report::nothing_shared(&summary), "{text}");
    let pins = summary.pins.unwrap();
    assert_eq!(pins.free + pins.pinned + pins.gone, summary.statements);
    assert_eq!(
        pins.reasons,
        [("cursor".to_owned(), pins.pinned), ("transaction".to_owned(), pins.pinned)].into()
    );
    // Five of eight answers were so.
    assert!(pins.pinned > pins.free && pins.free > summary.statements / 4, "{pins:?}");
    assert_eq!(pins.connections, [7].into());
    // What another session's doing was does not come again alone, and the report says so.
    let both = session_plans(&plan, 1, offered(&plan).await.unwrap().0);
    let failure = Failure { session: 1, step: 35, statement: String::new(), what: "a difference".to_owned() };
    let shrunk = shrink::shrink(&plan, &both, &failure, Duration::from_secs(60)).await;
    assert!(!shrunk.again && shrunk.plan.steps.len() == 36, "{shrunk:?}");
    let text = report::script(&plan, failure.step, &shrunk);
    assert!(text.contains("other sessions") && text.contains("a difference"), "{text}");
    // A server itself does not share.
    plan.weir.addr = twin.addr();
    let refused = run(&plan).await.unwrap_err();
    assert!(format!("{refused:#}").contains("SHOW WEIR SESSION"), "{refused:#}");
}
