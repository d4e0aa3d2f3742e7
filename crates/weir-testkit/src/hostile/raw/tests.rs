use super::*;

const GREETING: &[u8] = b"\x0a9.7.4\0";

fn said(packets: &[Vec<u8>]) -> Said {
    Said { bytes: packets.concat(), closed: true }
}

#[test]
fn what_a_server_says_is_understood() {
    let greeting = packet(0, GREETING);
    let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    let err = packet(2, b"\xff\x15\x04#28000Access denied");
    for (packets, logged_in, error) in [
        (vec![], false, None),
        (vec![greeting.clone()], false, None),
        (vec![greeting.clone(), ok.clone()], true, None),
        (vec![greeting.clone(), packet(2, b"\x01\x03"), ok.clone()], true, None),
        (vec![greeting.clone(), err.clone()], false, Some(1045)),
        (vec![greeting.clone(), ok.clone(), err], true, Some(1045)),
        (vec![greeting, ok[..6].to_vec()], false, None),
    ] {
        let said = said(&packets);
        assert_eq!((said.logged_in(), said.error()), (logged_in, error), "{said:?}");
    }
}

#[test]
fn dice_repeat_themselves_and_differ_by_seed() {
    let throw = |seed| Dice(seed).bytes(32);
    assert_eq!(throw(1), throw(1));
    assert_ne!(throw(1), throw(2));
    let mut dice = Dice(3);
    assert!((0..1000).all(|_| dice.below(7) < 7));
}

#[test]
fn sources_include_the_healthy_clients_own() {
    assert_eq!(source(0), Ipv4Addr::LOCALHOST);
    assert_eq!(source(SOURCES), source(0));
    assert_ne!(source(1), source(0));
}
