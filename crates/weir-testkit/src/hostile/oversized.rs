//! Packets larger than anybody takes, before the login and after it. The memory of Weir is what is at stake.

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::half_open::{LATE, judge_ages};
use super::raw::{claiming, connect, greeting, packet, source, until_closed};
use super::stage::{Field, Findings};
use crate::client::{Client, ConnectOptions, command};

/// Connections at once before the login.
const STRANGERS: usize = 100;
/// What each of them sends, if it is let.
const STRANGER_BYTES: usize = 4 << 20;
/// Sessions that send too much at once.
const SESSIONS: usize = 8;
/// Above the server's `max_allowed_packet` of 4 MiB, and more than one packet of 16 MiB - 1.
const STATEMENT_BYTES: usize = 20 << 20;

/// Megabytes where a handshake response is due: cut at `limits.login_bytes`.
pub async fn before_login(field: Field) -> Result<Findings> {
    let mut findings = Findings { strangers: STRANGERS as u64, ..Findings::default() };
    let mut tasks = JoinSet::new();
    for i in 0..STRANGERS {
        tasks.spawn(async move {
            let mut stream = connect(field.weir, source(i)).await?;
            let began = Instant::now();
            greeting(&mut stream, field.login_timeout).await?;
            let header = match i % 4 {
                0 => claiming(0xff_ffff, 1, b""),
                1 => claiming(STRANGER_BYTES, 1, b""),
                // Many packets that are each of an allowed length.
                2 => claiming(30_000, 1, &[7; 30_000]).repeat(STRANGER_BYTES / 30_000),
                _ => claiming(32 * 1024 - 5, 1, b""),
            };
            let mut sent = 0;
            let chunk = [0x41; 64 * 1024];
            if stream.write_all(&header).await.is_ok() {
                while sent < STRANGER_BYTES && stream.write_all(&chunk).await.is_ok() {
                    sent += chunk.len();
                }
            }
            let said = until_closed(&mut stream, began + field.login_timeout + LATE).await;
            anyhow::Ok((said.closed.then(|| began.elapsed()), sent))
        });
    }
    let mut ages = Vec::new();
    let mut most = 0;
    for outcome in tasks.join_all().await {
        let (age, sent) = outcome?;
        ages.push(age);
        most = most.max(sent);
    }
    findings.note(format!("{STRANGERS} at once, {} KB written by one at most", most >> 10));
    judge_ages(&mut findings, field.login_timeout, &ages, false);
    Ok(findings)
}

/// Statements above `max_allowed_packet`: refused in the server's words or by a closed connection, and streamed.
pub async fn after_login(field: Field) -> Result<Findings> {
    let mut findings = Findings { sessions: 2 * SESSIONS as u64, ..Findings::default() };
    let mut tasks = JoinSet::new();
    for i in 0..SESSIONS {
        tasks.spawn(async move { (i, too_much(field, i).await) });
        tasks.spawn(async move { (i, never_complete(field).await) });
    }
    let (mut refused, mut closed) = (0, 0);
    for (i, outcome) in tasks.join_all().await {
        match outcome {
            Ok(Some(1153)) => refused += 1,
            // COM_CHANGE_USER is for Weir itself, which stops reading far below max_allowed_packet.
            Ok(Some(1043 | 1047)) if i % 4 == 3 => refused += 1,
            Ok(None) => closed += 1,
            Ok(Some(code)) => findings.faults.push(format!("session {i}: error {code} instead of 1153")),
            Err(error) => findings.faults.push(format!("session {i}: {error:#}")),
        }
    }
    let megabytes = STATEMENT_BYTES >> 20;
    findings.note(format!(
        "{} sessions with {megabytes} MB each: {refused} told so, {closed} closed",
        2 * SESSIONS
    ));
    Ok(findings)
}

/// A whole statement, parameter or packet of 20 MB. The code of the error, or `None` for a closed connection.
async fn too_much(field: Field, i: usize) -> Result<Option<u16>> {
    let mut client = ConnectOptions::tcp(field.weir, "app", "app-pw").connect().await?;
    let mut body = b"SELECT '".to_vec();
    body.resize(STATEMENT_BYTES, b'x');
    let code = match i % 4 {
        0 | 1 => command::QUERY,
        2 => command::STMT_PREPARE,
        _ => command::CHANGE_USER,
    };
    // The refusal may come before all is sent.
    let sent = client.send(code, &body).await;
    match client.receive(command::QUERY).await {
        Ok(response) if response.closed => Ok(response.err().map(|err| err.code)),
        Ok(response) => {
            let err = response.err().with_context(|| format!("the server took it: {sent:?}"))?;
            Ok(Some(err.code))
        }
        // A reset inside the answer is a closed connection as well.
        Err(_) => Ok(None),
    }
}

/// The head of a packet of 16 MiB - 1, some of it, and the end.
async fn never_complete(field: Field) -> Result<Option<u16>> {
    let mut client = ConnectOptions::tcp(field.weir, "app", "app-pw").connect().await?;
    let part = claiming(0xff_ffff, 0, &[&[command::QUERY][..], &[b'x'; 3 << 20]].concat());
    write(&mut client, &part).await;
    Ok(None)
}

async fn write(client: &mut Client, bytes: &[u8]) {
    // Weir or the server may close before all is sent, which is what is asked for.
    if client.stream().write_raw(bytes).await.is_ok() {
        let _ = client.stream().write_raw(&packet(0, b"\x0e")).await;
    }
}
