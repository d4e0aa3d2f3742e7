//! PROXY headers: lies of those who may not send one, and nonsense of those who may (trap P13).

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::half_open::{LATE, judge_ages};
use super::raw::{Said, connect, source, until_closed};
use super::stage::{Field, Findings, Late};
use crate::client::{Client, ConnectOptions, PacketStream};

/// The source that may send a header in these tests.
pub const TRUSTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);

const SPOOFED: &str = "203.0.113.7";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Each lie some times over.
pub async fn run(field: Field, times: usize) -> Result<Findings> {
    let cases = [lies(), nonsense()].concat();
    let count = cases.len() * times;
    let mut findings = Findings { strangers: count as u64, ..Findings::default() };
    let mut tasks = JoinSet::new();
    for i in 0..count {
        let (name, from, bytes) = cases[i % cases.len()].clone();
        tasks.spawn(async move {
            let mut stream = connect(field.weir, from.unwrap_or(source(i))).await?;
            let began = Instant::now();
            // Weir may have closed already.
            let _ = stream.write_all(&bytes).await;
            let said = until_closed(&mut stream, began + field.login_timeout + LATE).await;
            anyhow::Ok((name, from, said, began.elapsed()))
        });
    }
    let mut ages = Vec::new();
    for outcome in tasks.join_all().await {
        let (name, from, said, age) = outcome?;
        ages.push(said.closed.then_some(age));
        // Who was cut may have come too late to be greeted.
        judge_words(&mut findings, name, from.is_some(), age >= field.login_timeout, &said);
    }
    findings.note(format!("{count} headers that lie or make no sense"));
    judge_ages(&mut findings, field.login_timeout, &ages, false);
    for (name, header, host) in truths() {
        let began = Instant::now();
        match host_of(field, &header).await {
            Ok(seen) => findings.check(seen == host, || format!("{name}: client_host is {seen}, not {host}")),
            Err(error) => {
                let error = Late::mark(error, began, field.login_timeout);
                let list = if Late::is(&error) { &mut findings.slow } else { &mut findings.faults };
                list.push(format!("{name}: {error:#}"));
            }
        }
    }
    Ok(findings)
}

/// Who may not send a header is greeted like anybody; whose header makes no sense never is.
fn judge_words(findings: &mut Findings, name: &str, trusted: bool, late: bool, said: &Said) {
    findings.check(!said.logged_in(), || format!("{name}: was logged in"));
    let greeted = said.packets().first().is_some_and(|packet| packet.first() == Some(&10));
    let told = || format!("{name}: greeted: {greeted}");
    match late && !greeted {
        true => findings.check_in_time(greeted != trusted, told),
        false => findings.check(greeted != trusted, told),
    }
    let quoted = String::from_utf8_lossy(&said.bytes).contains(SPOOFED);
    findings.check(!quoted, || format!("{name}: the made-up address is in the answer"));
}

type Case = (&'static str, Option<Ipv4Addr>, Vec<u8>);

/// Well-formed headers of sources that may not send one.
fn lies() -> Vec<Case> {
    let v1 = format!("PROXY TCP4 {SPOOFED} 127.0.0.1 1234 3306\r\n").into_bytes();
    let unknown = format!("PROXY UNKNOWN {SPOOFED} 127.0.0.1 1 2\r\n").into_bytes();
    vec![
        ("v1 of a stranger", None, v1),
        ("v1 UNKNOWN of a stranger", None, unknown),
        ("v2 of a stranger", None, v2(0x21, 0x11, 12, &[203, 0, 113, 7, 127, 0, 0, 1, 0, 1, 0, 2])),
        ("v2 LOCAL of a stranger", None, v2(0x20, 0, 0, b"")),
    ]
}

/// From the source that may send one.
fn nonsense() -> Vec<Case> {
    let of = |name, bytes: &[u8]| (name, Some(TRUSTED), bytes.to_vec());
    vec![
        of("no header", &super::raw::packet(1, &super::raw::Answer::wrong("nopw").payload())),
        of("silence", b""),
        of("half a v1 header", b"PROXY TCP4 203.0.1"),
        of("v1 without an end", &[b"PROXY TCP4 ".to_vec(), vec![b'9'; 5000]].concat()),
        of("v1 with an impossible address", b"PROXY TCP4 203.0.113.777 127.0.0.1 1 2\r\n"),
        of("v1 with an impossible port", b"PROXY TCP4 203.0.113.7 127.0.0.1 99999 2\r\n"),
        of("v1 with a line feed alone", b"PROXY TCP4 203.0.113.7 127.0.0.1 1 2\n"),
        of("v1 of another family", b"PROXY TCP9 203.0.113.7 127.0.0.1 1 2\r\n"),
        of("half a v2 header", &V2[..11]),
        of("v2 of version 3", &v2(0x31, 0x11, 12, &[0; 12])),
        of("v2 with an unknown command", &v2(0x2f, 0x11, 12, &[0; 12])),
        of("v2 shorter than its addresses", &v2(0x21, 0x11, 4, &[0; 4])),
        of("v2 of 64 KB", &v2(0x21, 0x11, 65_535, &[0; 65_535])),
        of("v2 that claims 64 KB", &v2(0x21, 0x11, 65_535, &[0; 100])),
    ]
}

fn v2(command: u8, family: u8, length: u16, body: &[u8]) -> Vec<u8> {
    [V2, &[command, family], &length.to_be_bytes(), body].concat()
}

/// Headers that are believed, in pieces, and the client's host that follows from each.
fn truths() -> Vec<(&'static str, Vec<u8>, String)> {
    let own = TRUSTED.to_string();
    vec![
        ("v1", format!("PROXY TCP4 {SPOOFED} 127.0.0.1 1234 3306\r\n").into_bytes(), SPOOFED.to_owned()),
        // An address beside UNKNOWN is not to be believed (CVE-2026-48772 elsewhere).
        ("v1 UNKNOWN", format!("PROXY UNKNOWN {SPOOFED} 127.0.0.1 1 2\r\n").into_bytes(), own.clone()),
        ("v2", v2(0x21, 0x11, 12, &[203, 0, 113, 7, 127, 0, 0, 1, 0, 1, 0, 2]), SPOOFED.to_owned()),
        ("v2 LOCAL", v2(0x20, 0x11, 12, &[203, 0, 113, 7, 127, 0, 0, 1, 0, 1, 0, 2]), own),
    ]
}

/// The host that a session has whose connection begins with this header.
async fn host_of(field: Field, header: &[u8]) -> Result<String> {
    let mut stream = connect(field.weir, TRUSTED).await?;
    for part in header.chunks(5) {
        stream.write_all(part).await?;
        // Long enough for Weir to see the pieces apart; nothing depends on it.
        sleep(Duration::from_millis(2)).await;
    }
    let options = ConnectOptions::tcp(field.weir, "app", "app-pw");
    let stream = PacketStream::new(Box::new(stream), Duration::from_secs(30));
    let mut client = Client::log_in(stream, &options).await?;
    let response = client.run("SHOW WEIR SESSION").await?;
    let mut host = None;
    for row in response.rows() {
        let values = crate::client::bytes::text_row(row)?;
        let text =
            |i: usize| values.get(i).cloned().flatten().map(|v| String::from_utf8_lossy(&v).into_owned());
        if text(0).as_deref() == Some("client_host") {
            host = text(1);
        }
    }
    client.quit().await?;
    ensure!(host.is_some(), "no client_host in SHOW WEIR SESSION");
    host.context("client_host is NULL")
}
