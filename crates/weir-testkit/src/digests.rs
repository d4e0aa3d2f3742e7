//! The digests of Weir beside those of a real MySQL: every statement that the server can parse goes through both.

use anyhow::{Context, Result, bail};
use weir_model::{ServerFamily, version_number};
use weir_sql::{LexMode, digest_within};

use crate::Client;

pub mod gather;

/// A statement of which the server says another digest than Weir.
#[derive(Debug, Clone)]
pub struct Difference {
    pub sql: Vec<u8>,
    pub server: String,
    pub weir: String,
    pub reason: Reason,
}

/// Why digests differ, as `docs/digests.md` lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The server shows a name of more than 64 bytes as `...`, and none with a character beyond U+FFFF.
    LongName,
    /// A NULL that the server's grammar does not take for a literal where Weir does.
    Null,
    /// The server's fold of the clause loses a token.
    JsonDuality,
    Unknown,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LongName => "long or supplementary name",
            Self::Null => "NULL that is no literal",
            Self::JsonDuality => "JSON duality view",
            Self::Unknown => "unknown",
        }
    }
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// Statements that the server could parse.
    pub compared: usize,
    /// Those that it could not: syntax of other servers, names that do not exist.
    pub refused: usize,
    pub differences: Vec<Difference>,
}

/// Compares the statements on a connection to a MySQL with a UTF-8 client and the default `sql_mode`.
///
/// # Errors
/// When the connection fails, or the server is too old to have digests.
pub async fn compare(client: &mut Client, statements: &[Vec<u8>]) -> Result<Report> {
    let limit = number(client, "SELECT @@max_digest_length").await?;
    let version = client.scalar("SELECT VERSION()").await?.context("the server has no version")?;
    let mode = LexMode::new(ServerFamily::MySql, version_number(version.as_bytes()));
    let mut report = Report::default();
    let mut text = Vec::new();
    for sql in statements {
        let Some(server) = of_server(client, sql).await? else {
            report.refused += 1;
            continue;
        };
        report.compared += 1;
        digest_within(sql, mode, limit, &mut text);
        let weir = String::from_utf8_lossy(&text).into_owned();
        if weir != server {
            let reason = reason(sql, &server, &weir);
            report.differences.push(Difference { sql: sql.clone(), server, weir, reason });
        }
    }
    Ok(report)
}

/// The server's digest of a statement; `None` if it cannot parse it.
///
/// # Errors
/// When the connection fails.
pub async fn of_server(client: &mut Client, sql: &[u8]) -> Result<Option<String>> {
    let mut query = b"SELECT STATEMENT_DIGEST_TEXT('".to_vec();
    for &byte in sql {
        if matches!(byte, b'\'' | b'\\') {
            query.push(b'\\');
        }
        query.push(byte);
    }
    query.extend_from_slice(b"')");
    let response = client.query(&query).await?;
    if response.err().is_some() {
        return Ok(None);
    }
    if response.closed {
        bail!("the server closed the connection at `{}`", String::from_utf8_lossy(sql));
    }
    let Some(row) = response.rows().next() else { return Ok(None) };
    let value = crate::client::bytes::text_row(row)?.into_iter().next().flatten();
    Ok(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

async fn number(client: &mut Client, sql: &str) -> Result<usize> {
    let text = client.scalar(sql).await?.with_context(|| format!("`{sql}` has no answer"))?;
    text.parse().with_context(|| format!("`{sql}` is no number: {text}"))
}

fn reason(sql: &[u8], server: &str, weir: &str) -> Reason {
    let has = |word: &str| server.contains(word);
    // Every other piece stands between backticks.
    let is_long = weir.split('`').skip(1).step_by(2).any(|name| name.len() > 64);
    if is_long || weir.chars().any(|letter| letter > '\u{FFFF}') {
        Reason::LongName
    } else if has("ON NULL") || has("= NULL") {
        Reason::Null
    } else if String::from_utf8_lossy(sql).to_ascii_uppercase().contains("JSON_DUALITY_OBJECT") {
        Reason::JsonDuality
    } else {
        Reason::Unknown
    }
}
