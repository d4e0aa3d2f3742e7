//! Answers to the greeting that are none: made by hand and by dice. None may log in, none may stay.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::half_open::{LATE, judge_ages};
use super::raw::{Answer, Dice, Said, claiming, connect, greeting, packet, source, until_closed};
use super::stage::{Field, Findings};
use crate::client::caps::Capabilities;

/// Connections at once.
const AT_ONCE: usize = 200;

/// What is sent after the greeting, and whether the sending side is closed after it.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    bytes: Vec<u8>,
    close: bool,
}

/// Every case is one connection.
pub async fn run(field: Field, random: usize) -> Result<Findings> {
    let mut findings = Findings { strangers: AT_ONCE as u64, ..Findings::default() };
    let mut cases = by_hand();
    let mut dice = Dice(field.seed);
    let by_hand = cases.len();
    cases.extend((0..random).map(|i| by_dice(&mut dice, i)));
    findings.note(format!("{by_hand} made by hand, {random} by dice"));
    let gate = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for (i, case) in cases.into_iter().enumerate() {
        let gate = Arc::clone(&gate);
        tasks.spawn(async move {
            let _permit = gate.acquire().await;
            let outcome = send(field, i, &case).await;
            (case.name, outcome)
        });
    }
    let (mut ages, mut told) = (Vec::new(), 0);
    for (name, outcome) in tasks.join_all().await {
        let (said, age) = outcome.with_context(|| name.clone())?;
        findings.check(!said.logged_in(), || format!("{name}: was logged in"));
        told += usize::from(said.error().is_some());
        ages.push(said.closed.then_some(age));
    }
    findings.note(format!("{told} told an error"));
    judge_ages(&mut findings, field.login_timeout, &ages, false);
    Ok(findings)
}

async fn send(field: Field, i: usize, case: &Case) -> Result<(Said, Duration)> {
    let mut stream = connect(field.weir, source(i)).await?;
    let began = Instant::now();
    let greeted = greeting(&mut stream, field.login_timeout).await?;
    // Weir may close before it has everything.
    let _ = stream.write_all(&case.bytes).await;
    if case.close {
        let _ = stream.shutdown().await;
    }
    let mut said = until_closed(&mut stream, began + field.login_timeout + LATE).await;
    said.bytes.splice(..0, packet(0, &greeted));
    Ok((said, began.elapsed()))
}

fn by_hand() -> Vec<Case> {
    let good = Answer::wrong("app");
    let payload = good.payload();
    let mut cases = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| {
        for close in [false, true] {
            let name = format!("{name}{}", if close { ", then the end" } else { "" });
            cases.push(Case { name, bytes: bytes.clone(), close });
        }
    };
    add("nothing", Vec::new());
    for length in [1, 3, 4, 5, 31, 32, 33, 36, 37, 60, payload.len() - 1] {
        add(&format!("cut at {length}"), packet(1, &payload)[..length].to_vec());
        add(&format!("a payload of {length} bytes"), packet(1, &payload[..length]));
    }
    for seq in [0, 2, 3, 128, 255] {
        add(&format!("sequence number {seq}"), packet(seq, &payload));
    }
    add("an empty packet", packet(1, b""));
    add("a thousand empty packets", packet(1, b"").repeat(1000));
    add("a length of 16 MiB - 1", claiming(0xff_ffff, 1, &payload));
    add("a length of 32 KiB", claiming(32 * 1024, 1, &payload));
    add("a length that is one too long", claiming(payload.len() + 1, 1, &payload));
    add("a length that is one too short", claiming(payload.len() - 1, 1, &payload));
    add("HTTP", b"GET / HTTP/1.1\r\nHost: weir\r\n\r\n".to_vec());
    add(
        "a TLS ClientHello without SSLRequest",
        [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3], &[9; 500][..]].concat(),
    );
    add("SSH", b"SSH-2.0-OpenSSH_9.9\r\n".to_vec());
    add("zeros", vec![0; 4096]);
    add("0xFF", vec![0xff; 4096]);
    add("a command instead", packet(0, b"\x03SELECT 1"));
    add(
        "a command behind half an answer",
        [&packet(1, &payload)[..50], &packet(0, b"\x03SELECT 1")[..]].concat(),
    );
    add(
        "commands behind a wrong login",
        [packet(1, &payload), packet(0, b"\x03SELECT 1").repeat(100)].concat(),
    );
    for (name, bytes) in fields_that_lie(&good) {
        add(name, packet(1, &bytes));
    }
    cases
}

/// Payloads whose inner lengths or flags do not fit.
fn fields_that_lie(good: &Answer) -> Vec<(&'static str, Vec<u8>)> {
    let with = |change: &dyn Fn(&mut Answer)| {
        let mut answer = good.clone();
        change(&mut answer);
        answer.payload()
    };
    let head = |tail: &[u8]| [&good.head(), tail].concat();
    let no_flag =
        |flag: Capabilities| with(&move |answer| answer.capabilities = answer.capabilities.minus(flag));
    vec![
        ("a user without an end", head(&[b'u'; 300])),
        ("a user of 20 KB", with(&|answer| answer.user = vec![b'u'; 20_000])),
        ("a user that is no UTF-8", with(&|answer| answer.user = vec![0xff, 0xfe, 0x80])),
        ("a proof of 2^64 bytes", head(&[&b"app\0\xfe"[..], &[0xff; 8]].concat())),
        ("a proof of 16 MB", head(b"app\0\xfd\xff\xff\xff")),
        ("a proof length of NULL", head(b"app\0\xfb")),
        ("a proof length of 0xFF", head(b"app\0\xff")),
        ("a proof of 10 KB", with(&|answer| answer.proof = vec![1; 10_000])),
        ("a proof of one byte", with(&|answer| answer.proof = vec![1])),
        ("a plugin nobody knows", with(&|answer| answer.plugin = vec![b'p'; 5000])),
        ("a plugin path", with(&|answer| answer.plugin = b"../../../etc/passwd".to_vec())),
        ("attributes without an end", with(&|answer| answer.attributes = vec![0xfe, 0xff])),
        ("attributes of 30 KB", with(&|answer| answer.attributes = vec![5; 30_000])),
        ("a schema of 20 KB", with(&|answer| answer.database = vec![b'd'; 20_000])),
        ("all flags", with(&|answer| answer.capabilities = Capabilities(u64::MAX))),
        ("no flags", with(&|answer| answer.capabilities = Capabilities(0))),
        ("compression and nothing else", with(&|answer| answer.capabilities = Capabilities::COMPRESS)),
        ("zstd at level 0", with(&|answer| answer.capabilities = answer.capabilities | Capabilities::ZSTD)),
        ("the protocol before 4.1", no_flag(Capabilities::PROTOCOL_41)),
        ("no secure connection", no_flag(Capabilities::SECURE_CONNECTION)),
        ("no plugins", no_flag(Capabilities::PLUGIN_AUTH)),
        ("a long proof without its flag", no_flag(Capabilities::PLUGIN_AUTH_LENENC)),
        ("SSLRequest flag in a whole answer", with(&|a| a.capabilities = a.capabilities | Capabilities::SSL)),
    ]
}

/// A wrong login with a few bytes changed, cut or added, or nothing but noise.
fn by_dice(dice: &mut Dice, i: usize) -> Case {
    let mut bytes = packet(1, &Answer::wrong("app").payload());
    match dice.below(5) {
        0 => {
            let length = dice.below(600);
            bytes = dice.bytes(length);
        }
        1 => {
            let length = dice.below(2000);
            let noise = dice.bytes(length);
            bytes = packet(1, &noise);
        }
        _ => {
            for _ in 0..=dice.below(6) {
                spoil(dice, &mut bytes);
            }
        }
    }
    Case { name: format!("random case {i}"), bytes, close: dice.below(2) == 0 }
}

fn spoil(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.below(bytes.len().max(1));
    match dice.below(5) {
        0 => bytes.truncate(at),
        1 => {
            let length = dice.below(40);
            let noise = dice.bytes(length);
            bytes.splice(at.min(bytes.len())..at.min(bytes.len()), noise);
        }
        2 => bytes.extend(bytes.clone()),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = dice.roll() as u8;
            }
        }
    }
}
