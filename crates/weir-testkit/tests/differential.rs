//! The differential against itself: a server equals its twin, also behind a relay that cuts every write into
//! pieces, and a single wrong byte is found.

use std::time::Duration;

use weir_testkit::differential::generate::Manner;
use weir_testkit::differential::run::{Plan, Side, run};
use weir_testkit::{Direction, Flavor, Relay, Server};

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
