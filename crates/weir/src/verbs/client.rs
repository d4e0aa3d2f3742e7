//! One request to the API of a running Weir.

use anyhow::{Context, Result, anyhow, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::Method;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, IF_MATCH};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use weir_admin::{ApiError, ErrorBody};
use weir_config::Address;
use zeroize::Zeroizing;

/// How long an answer may take. 60 s: Weir itself cuts a connection of that age.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of an answer at most. 64 MiB: 10,000 rules with all their counters are some 20.
const ANSWER_BYTES: usize = 64 << 20;

/// Where Weir answers.
pub struct Client {
    address: Address,
    token: Option<Zeroizing<String>>,
    patience: Duration,
}

/// What is asked.
pub struct Request {
    method: Method,
    path: String,
    body: Option<String>,
    if_match: Option<String>,
}

/// What Weir has refused.
#[derive(Debug)]
pub struct Refused(pub ApiError);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message.trim_start_matches("error: "))
    }
}

impl std::error::Error for Refused {}

/// Nobody was there to be asked.
#[derive(Debug)]
pub struct Unreached(String);

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreached {}

impl Request {
    /// Of the API: `path` is what stands behind `/api/v1`.
    pub fn api(method: Method, path: &str) -> Self {
        Self::page(method, &format!("/api/v1{path}"))
    }

    pub fn page(method: Method, path: &str) -> Self {
        Self { method, path: path.to_owned(), body: None, if_match: None }
    }

    /// # Errors
    /// When it is nothing that JSON can say.
    pub fn json(self, body: &impl Serialize) -> Result<Self> {
        Ok(Self { body: Some(serde_json::to_string(body)?), ..self })
    }

    /// Refused where the rules are not those of this version any more.
    pub fn only_for(self, version: String) -> Self {
        Self { if_match: Some(version), ..self }
    }
}

impl Client {
    pub fn new(address: Address, token: Option<Zeroizing<String>>) -> Self {
        Self { address, token, patience: PATIENCE }
    }

    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Asks and returns the body of the answer.
    ///
    /// # Errors
    /// When nobody answers, and whatever Weir refuses, in its words.
    pub fn send(&self, request: Request) -> Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let asked = async { timeout(self.patience, self.connect_and_ask(request)).await };
        match runtime.block_on(asked) {
            Ok(answer) => answer,
            Err(_) => bail!("Weir at {} does not answer in {} s", self.address, self.patience.as_secs()),
        }
    }

    async fn connect_and_ask(&self, asked: Request) -> Result<String> {
        let mut request =
            hyper::Request::builder().method(asked.method).uri(asked.path).header(HOST, "localhost");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.as_str()));
        }
        if let Some(version) = &asked.if_match {
            request = request.header(IF_MATCH, format!("\"{version}\""));
        }
        let request = match asked.body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(Full::from(body)),
            None => request.body(Full::default()),
        }?;
        match &self.address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(|e| self.nobody(&e))?;
                self.ask_over(stream, request).await
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|e| self.nobody(&e))?;
                self.ask_over(stream, request).await
            }
        }
    }

    fn nobody(&self, error: &std::io::Error) -> anyhow::Error {
        let hint = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "only the user and the group that Weir runs as may connect there"
            }
            _ => "is it running, and is this the `admin` of its [listen]?",
        };
        Unreached(format!("no Weir answers at {}: {error}; {hint}", self.address)).into()
    }

    async fn ask_over<S>(&self, stream: S, request: hyper::Request<Full<Bytes>>) -> Result<String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let other = || format!("what answers at {} is not the API of Weir", self.address);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.with_context(other)?;
        // It ends with the answer; an error shows there too.
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request).await.with_context(other)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES).collect().await;
        let body = body.map_err(|e| anyhow!("{e}")).with_context(other)?.to_bytes();
        connection.abort();
        let text = String::from_utf8(body.into()).with_context(other)?;
        if status.is_success() {
            return Ok(text);
        }
        match serde_json::from_str::<ErrorBody>(&text) {
            Ok(body) => Err(Refused(body.error).into()),
            Err(_) => Err(anyhow!("it answers {status}").context(other())),
        }
    }
}
