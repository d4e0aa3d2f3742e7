//! Requests to Weir's admin address.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::PATIENCE;
use crate::cachemodel::generate::Wipe;
use crate::weir::AUTHORIZATION;

/// What the cache has counted, as JSON; `None` where there is no API.
///
/// # Errors
/// When nobody answers.
pub async fn cache(admin: SocketAddr) -> Result<Option<String>> {
    let (status, body) = request(admin, "GET", "/api/v1/cache", "").await?;
    Ok((status == 200).then_some(body))
}

/// Wipes. That nothing has such a name is no error here.
///
/// # Errors
/// When it is refused.
pub async fn wipe(admin: SocketAddr, wipe: &Wipe) -> Result<()> {
    let body = match wipe {
        Wipe::All => "{\"all\": true}".to_owned(),
        Wipe::Table(name) => format!("{{\"table\": \"{name}\"}}"),
        Wipe::Rule(name) => format!("{{\"rule\": \"{name}\"}}"),
        Wipe::User(name) => format!("{{\"user\": \"{name}\"}}"),
        Wipe::Tag(name) => format!("{{\"tag\": \"{name}\"}}"),
        Wipe::Schema(name) => format!("{{\"schema\": \"{name}\"}}"),
        Wipe::Digest(statement) => format!("{{\"digest\": \"{statement}\"}}"),
    };
    let (status, answer) = request(admin, "POST", "/api/v1/cache/wipe", &body).await?;
    ensure!(matches!(status, 200 | 404), "{status} for the wipe of {body}: {answer}");
    Ok(())
}

async fn request(admin: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let asked = async {
        let mut stream = TcpStream::connect(admin).await?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {admin}\r\n{AUTHORIZATION}Content-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        anyhow::Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = timeout(PATIENCE, asked).await.context("the admin address does not answer")??;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an answer of HTTP")?;
    let status = head.split(' ').nth(1).context("an answer without a status")?;
    Ok((status.parse()?, body.to_owned()))
}
