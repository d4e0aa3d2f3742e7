use super::*;
use std::collections::HashSet;

#[test]
fn no_nonce_is_handed_out_twice_and_none_is_kept() {
    let mut randomness = Randomness { bytes: [0; RANDOMNESS], left: 0 };
    let drawn: HashSet<_> = (0..1000).map(|_| randomness.next().unwrap()).collect();
    assert_eq!(drawn.len(), 1000);
    assert!(!drawn.contains(&[0; NONCE_LEN]));
    assert!(randomness.bytes[randomness.left..].iter().all(|byte| *byte == 0));
}
