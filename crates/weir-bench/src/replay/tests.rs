use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

#[test]
fn a_transaction_has_its_fourteen_statements() {
    let statements = read_only();
    assert_eq!(statements.len(), TRANSACTIONS as usize * 14);
    let (points, ranges) = statements[..14].split_at(10);
    assert!(points.iter().all(|sql| sql.starts_with("SELECT c FROM sbtest1 WHERE id=")));
    assert!(ranges.iter().all(|sql| sql.contains(" BETWEEN ")));
    assert!(ranges[1].starts_with("SELECT SUM(k)") && ranges[3].ends_with("ORDER BY c"));
}

#[test]
fn every_client_belongs_to_one_thread() {
    assert_eq!(shares(5, 2), [(2, 0), (3, 2)]);
    assert_eq!(shares(1, 2), [(0, 0), (1, 0)]);
}

/// A peer that answers each request of 5 bytes with `answer`.
fn peer(answer: &'static [u8]) -> (TcpStream2, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream2::connect(listener.local_addr().unwrap()).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 5];
        while stream.read_exact(&mut request).is_ok() && stream.write_all(answer).is_ok() {}
    });
    (client, thread)
}

type TcpStream2 = std::net::TcpStream;

#[test]
fn answers_are_counted_by_their_bytes() {
    let recording = |answer| Arc::new(Recording(vec![Exchange { request: vec![1, 0, 0, 0, 3], answer }]));
    let run = |answer: &'static [u8], expected| {
        let (client, thread) = peer(answer);
        let outcome = replay(&recording(expected), vec![client], 0, 1, Duration::from_millis(50));
        thread.join().unwrap();
        outcome
    };
    assert!(run(b"\x01\0\0\x01a", 5).unwrap() > 0);
    let error = run(b"\x01\0\0\x01ab", 5).unwrap_err();
    assert!(error.to_string().contains("larger"), "{error:#}");
    let error = run(b"\x0e\0\0\x01\xff\x15\x04#28000denied", 99).unwrap_err();
    assert!(error.to_string().contains("denied"), "{error:#}");
}
