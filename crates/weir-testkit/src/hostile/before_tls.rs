//! Bytes sent in clear behind an SSLRequest (trap P12): they must never count as part of the encrypted session.

use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::half_open::{LATE, judge_ages};
use super::raw::{Answer, Dice, connect, greeting, packet, source, until_closed};
use super::stage::{Field, Findings, Late};
use crate::client::caps::Capabilities;
use crate::client::{Client, ConnectOptions, PacketStream, Tls};

const INSERT: &[u8] = b"\x03INSERT INTO hostile.injected VALUES (1)";

/// Each kind of injection some times over; then the table that they write to must be empty.
pub async fn run(field: Field, times: usize) -> Result<Findings> {
    let cases = cases(&mut Dice(field.seed));
    let count = cases.len() * times;
    let mut findings = Findings { strangers: count as u64, ..Findings::default() };
    let mut tasks = JoinSet::new();
    for i in 0..count {
        let (name, bytes) = cases[i % cases.len()].clone();
        tasks.spawn(async move {
            let mut stream = connect(field.weir, source(i)).await?;
            let began = Instant::now();
            let greeted = greeting(&mut stream, field.login_timeout).await?;
            // In one write, so that they arrive in one segment.
            let _ = stream.write_all(&bytes).await;
            let mut said = until_closed(&mut stream, began + field.login_timeout + LATE).await;
            said.bytes.splice(..0, packet(0, &greeted));
            anyhow::Ok((name, said, began.elapsed()))
        });
    }
    let mut ages = Vec::new();
    for outcome in tasks.join_all().await {
        let (name, said, age) = outcome?;
        findings.check(!said.logged_in(), || format!("{name}: was logged in"));
        ages.push(said.closed.then_some(age));
    }
    findings.note(format!("{count} injections of {} kinds", cases.len()));
    judge_ages(&mut findings, field.login_timeout, &ages, false);
    let began = Instant::now();
    if let Err(error) = inside_tls(field).await {
        let error = Late::mark(error, began, field.login_timeout);
        let list = if Late::is(&error) { &mut findings.slow } else { &mut findings.faults };
        list.push(format!("a login over TLS after all that: {error:#}"));
    }
    let mut direct = ConnectOptions::tcp(field.server, "app", "app-pw").connect().await?;
    let rows = direct.scalar("SELECT COUNT(*) FROM hostile.injected").await?;
    findings.check(rows.as_deref() == Some("0"), || {
        format!("{rows:?} statements sent in clear were carried out")
    });
    Ok(findings)
}

/// An account without a password: nothing but the order of bytes keeps these out.
fn cases(dice: &mut Dice) -> Vec<(&'static str, Vec<u8>)> {
    let mut login = Answer::wrong("nopw");
    login.proof.clear();
    login.capabilities = login.capabilities | Capabilities::SSL;
    let request = packet(1, &login.head());
    let answer = packet(2, &login.payload());
    let mut plain = login.clone();
    plain.capabilities = plain.capabilities.minus(Capabilities::SSL);
    let join = |parts: &[&[u8]]| [&request[..], &parts.concat()].concat();
    let noise = dice.bytes(2000);
    vec![
        ("a statement", join(&[&packet(0, INSERT)])),
        ("a login", join(&[&answer])),
        ("a login and a statement", join(&[&answer, &packet(0, INSERT)])),
        ("a plain login and a statement", join(&[&packet(2, &plain.payload()), &packet(0, INSERT)])),
        ("a second SSLRequest and a login", join(&[&packet(2, &login.head()), &packet(3, &login.payload())])),
        ("noise", join(&[&noise])),
        (
            "the beginning of a TLS record",
            join(&[&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3], &noise[..100]]),
        ),
        ("a TLS alert and a login", join(&[&[21, 3, 1, 0, 2, 2, 40], &answer])),
        ("a TLS record of 64 KB", join(&[&[22, 3, 3, 0xff, 0xff], &noise])),
        ("an SSLRequest and silence", request.clone()),
        ("an SSLRequest that is too short", packet(1, &login.head()[..20])),
    ]
}

/// What the injections pretended to be still works.
async fn inside_tls(field: Field) -> Result<()> {
    let options = ConnectOptions::tcp(field.weir, "nopw", "").tls(Tls::Unverified);
    let stream = connect(field.weir, source(1)).await?;
    let stream = PacketStream::new(Box::new(stream), Duration::from_secs(30));
    let mut client = Client::log_in(stream, &options).await?;
    client.run("SELECT 1").await?;
    client.quit().await
}
