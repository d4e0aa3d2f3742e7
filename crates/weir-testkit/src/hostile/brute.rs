//! Guessing passwords, in parallel, from the healthy clients' address too.

use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::raw::{connect, source};
use super::stage::{Field, Findings};
use crate::client::{Client, ConnectOptions, LoginRefused, PacketStream};

/// Guesses until the time is up: of a listed user, of ones that the server knows and of ones that nobody knows.
pub async fn run(field: Field, parallel: usize, time: Duration) -> Result<Findings> {
    let mut findings = Findings { strangers: parallel as u64, ..Findings::default() };
    let until = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for i in 0..parallel {
        tasks.spawn(guess(field, i, until));
    }
    let (mut guesses, mut refused, mut cut) = (0, 0, 0);
    for outcome in tasks.join_all().await {
        guesses += outcome.guesses;
        refused += outcome.refused;
        cut += outcome.cut;
        findings.faults.extend(outcome.fault);
    }
    let rate = f64::from(guesses) / time.as_secs_f64();
    findings.note(format!(
        "{parallel} at once, {guesses} guesses ({rate:.0}/s), {refused} refused with 1045, {cut} cut at login_timeout"
    ));
    findings.check_in_time(guesses >= parallel as u32, || "hardly a guess was answered".to_owned());
    Ok(findings)
}

#[derive(Default)]
struct Outcome {
    guesses: u32,
    refused: u32,
    cut: u32,
    fault: Option<String>,
}

async fn guess(field: Field, i: usize, until: Instant) -> Outcome {
    let mut outcome = Outcome::default();
    while Instant::now() < until {
        let user = match i % 4 {
            0 => "app".to_owned(),
            1 => "nopw".to_owned(),
            2 => "locked".to_owned(),
            _ => format!("nobody_{i}"),
        };
        let password = format!("guess-{}", outcome.guesses);
        let began = Instant::now();
        let error = match attempt(field, i, &user, &password).await {
            Ok(_) => {
                outcome.fault = Some(format!("{user} got in with a wrong password"));
                return outcome;
            }
            Err(error) => error,
        };
        outcome.guesses += 1;
        match error.downcast_ref::<LoginRefused>().map(|refused| refused.error.code) {
            Some(1045) => outcome.refused += 1,
            // Guesses wait for each other, some for too long.
            None if began.elapsed() >= field.login_timeout => outcome.cut += 1,
            _ => outcome.fault = Some(format!("{user}: {error:#}")),
        }
    }
    outcome
}

async fn attempt(field: Field, i: usize, user: &str, password: &str) -> Result<Client> {
    let patience = Duration::from_secs(30);
    let mut options = ConnectOptions::tcp(field.weir, user, password);
    options.patience = patience;
    let stream = connect(field.weir, source(i)).await?;
    Client::log_in(PacketStream::new(Box::new(stream), patience), &options).await
}
