use super::*;

#[test]
fn ready_means_accepting_and_reachable() {
    let readiness = Readiness::default();
    assert!(readiness.check().unwrap_err().starts_with("starting"));
    readiness.accepting();
    assert_eq!(readiness.check().unwrap_err(), "the server was not tried yet");
    readiness.server_unreachable("db1: connection\nrefused");
    assert_eq!(readiness.check().unwrap_err(), "the server cannot be reached: db1: connection refused");
    readiness.server_reachable();
    assert_eq!(readiness.check(), Ok(()));
    readiness.server_unreachable("db1: timed out");
    assert_eq!(readiness.check().unwrap_err(), "the server cannot be reached: db1: timed out");
}

#[test]
fn draining_is_for_good() {
    let readiness = Readiness::default();
    readiness.server_reachable();
    readiness.draining();
    readiness.accepting();
    assert!(readiness.is_draining());
    assert!(readiness.check().unwrap_err().starts_with("draining"));
}
