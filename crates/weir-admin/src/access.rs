//! Who may ask what: tokens, roles, and a line in the log for every change.

mod failures;
mod needs;
mod peer;
mod refusals;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use weir_auth::token_hash;
use weir_model::{Role, Token};

use crate::error::{ApiError, Code};
use failures::Failures;
pub(crate) use needs::{Need, need};
pub use peer::{FromPeer, Peer};
use refusals::Refusals;

/// The target of the lines in the log about changes. They are let through at every level, and no line is dropped.
pub const AUDIT: &str = "audit";

/// The target of the lines about requests that were not let in. They are let through at every level.
pub const REFUSED: &str = "refused";

/// Changes that may be under way, or wait with their lines for a place in the log. Each that waits keeps a thread.
const CHANGES: usize = 32;
/// How long a change waits to begin where there are so many, and its answer for its line.
const LOG_WAIT: Duration = Duration::from_secs(5);

/// Who is let in, with what role.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Caller {
    /// The name of a token, or `uid:0` over a unix socket.
    name: String,
    role: Role,
}

/// The tokens in force, and what was refused lately.
#[derive(Debug)]
pub struct Access {
    tokens: ArcSwap<Vec<Token>>,
    own_uid: u32,
    failures: Mutex<Failures>,
    refusals: Refusals,
    changes: Arc<Semaphore>,
}

impl Access {
    pub fn new(tokens: Vec<Token>) -> Arc<Self> {
        let own_uid = rustix::process::geteuid().as_raw();
        let (failures, refusals) = (Mutex::default(), Refusals::default());
        let changes = Arc::new(Semaphore::new(CHANGES));
        Arc::new(Self { tokens: ArcSwap::from_pointee(tokens), own_uid, failures, refusals, changes })
    }

    /// Requests that were refused since the start, by the word of the reason.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.refusals.counts()
    }

    /// From now on these are accepted, and no others.
    pub fn set(&self, tokens: Vec<Token>) {
        self.tokens.store(Arc::new(tokens));
    }

    /// A token counts also where none is needed, so that a role can be tried out.
    fn caller(&self, peer: &Peer, headers: &HeaderMap, now: Instant) -> Result<Caller, ApiError> {
        if let Some(given) = headers.get(AUTHORIZATION) {
            let token = given
                .as_bytes()
                .split_at_checked(7)
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
            let hash = token.map(|(_, token)| token_hash(token.trim_ascii()));
            let tokens = self.tokens.load();
            // What is compared is a hash of 256 random bits: how far two agree tells nothing of use.
            return match tokens.iter().find(|token| Some(token.hash) == hash) {
                Some(token) => Ok(Caller { name: token.name.clone(), role: token.role }),
                None => Err(self.unknown(now)),
            };
        }
        match peer {
            Peer::Unix(Some(uid)) if *uid == self.own_uid || *uid == 0 => {
                Ok(Caller { name: format!("uid:{uid}"), role: Role::Admin })
            }
            _ => Err(ApiError::new(
                Code::TokenNeeded,
                "a token is needed here: make one with `weir token add NAME --role read|operate|admin -c weir.toml`, and \
                 send it as `Authorization: Bearer TOKEN`; the command line takes it from the variable WEIR_TOKEN or \
                 with --token-file. On a unix socket (`admin = \"unix:...\"` in [listen]) the user that Weir runs as needs none",
            )),
        }
    }

    fn unknown(&self, now: Instant) -> ApiError {
        if self.failures.lock().one_more(now) {
            ApiError::new(
                Code::UnknownToken,
                "this token is not accepted: `weir token list -c weir.toml` shows which are",
            )
        } else {
            ApiError::new(
                Code::TooManyFailures,
                "too many unknown tokens were sent lately: wait, then send one that is accepted",
            )
        }
    }
}

/// Every request but those for health comes by here.
pub(crate) async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let need = need(request.method(), request.uri().path());
    if need == Need::Nothing {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::Unknown);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let caller = match access.caller(&peer, request.headers(), Instant::now()) {
        Ok(caller) => caller,
        Err(error) => {
            if let Some(unsaid) = access.refusals.one_more(error.code, Instant::now()) {
                tracing::warn!(target: REFUSED, event = "admin_refused", code = error.code.as_str(), peer = %peer, method = %method,
                    path = %cut(&path, SHOWN_REFUSED), unsaid, "a request to the admin address was refused");
            }
            return refused(error);
        }
    };
    let Need::Role { role, changes } = need else { return next.run(request).await };
    if !caller.role.allows(role) {
        if let Some(unsaid) = access.refusals.one_more(Code::RoleTooLow, Instant::now()) {
            tracing::warn!(target: REFUSED, event = "admin_refused", code = Code::RoleTooLow.as_str(), caller = %caller.name,
                role = caller.role.as_str(), needed = role.as_str(), peer = %peer, method = %method,
                path = %cut(&path, SHOWN_REFUSED), unsaid, "a request to the admin address was refused");
        }
        let message = format!(
            "the token `{}` has the role `{}`; this needs `{}`",
            caller.name,
            caller.role.as_str(),
            role.as_str()
        );
        return refused(ApiError::new(Code::RoleTooLow, message));
    }
    if !changes {
        return next.run(request).await;
    }
    let Ok(Ok(change)) = timeout(LOG_WAIT, Arc::clone(&access.changes).acquire_owned()).await else {
        let why = "nothing was changed: Weir's log takes no line about it, for nobody reads standard error, or its disk hangs";
        return refused(ApiError::new(Code::LogFull, why));
    };
    // In a task of its own: who hangs up meanwhile takes back neither the change nor its line in the log.
    let done = tokio::spawn(async move {
        // What panics has its line too.
        let (said, response) = match tokio::spawn(heard(next.run(request))).await {
            Ok(done) => done,
            Err(_) => (String::new(), a_bug()),
        };
        let answered = Answered::of(&response);
        // It waits where the log is full, and nobody else may wait with it, nor the answer for ever: the change is in force.
        let line = move || {
            audit(&caller, &peer, (&method, &path), &said, answered);
            drop(change);
        };
        let _ = timeout(LOG_WAIT, tokio::task::spawn_blocking(line)).await;
        response
    });
    done.await.unwrap_or_else(|_| a_bug())
}

fn a_bug() -> Response {
    ApiError::new(Code::Internal, "a bug of Weir: please report it, with the log").into_response()
}

/// What the log tells of an answer.
#[derive(Debug, Clone, Copy)]
struct Answered {
    status: StatusCode,
    code: &'static str,
}

impl Answered {
    fn of(response: &Response) -> Self {
        let code = response.extensions().get::<Code>().map_or("refused", |code| code.as_str());
        Self { status: response.status(), code }
    }
}

/// The line in the log about what was asked for, and what came of it. A refusal stands there by its word: its sentence may repeat what
/// was asked, with literals.
fn audit(caller: &Caller, peer: &Peer, (method, path): (&Method, &str), said: &str, answered: Answered) {
    let (role, path, Answered { status, code }) = (caller.role.as_str(), shown(path), answered);
    macro_rules! line {
        ($level:ident, $outcome:literal, $($code:tt)*) => {
            tracing::$level!(target: AUDIT, event = "audit", outcome = $outcome, $($code)* caller = %caller.name, role, peer = %peer, method = %method,
                path = %path, said = %said, status = status.as_u16(), "the admin address was asked for a change")
        };
    }
    match status {
        status if status.is_server_error() => line!(error, "failed", code,),
        status if status.is_client_error() => line!(warn, "refused", code,),
        _ => line!(info, "done",),
    }
}

fn refused(error: ApiError) -> Response {
    let mut response = error.into_response();
    let (name, value) = match response.status() {
        StatusCode::UNAUTHORIZED => (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"weir\"")),
        StatusCode::TOO_MANY_REQUESTS => (RETRY_AFTER, HeaderValue::from(Failures::WINDOW.as_secs())),
        _ => return response,
    };
    response.headers_mut().insert(name, value);
    response
}

/// Characters of a path, or of what is asked for, that stand in the log.
const SHOWN: usize = 2000;

/// The same of a path that was refused, whoever has made it up.
const SHOWN_REFUSED: usize = 200;

fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    cut(text, SHOWN)
}

fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}...", &text[..end]).into(),
    }
}

tokio::task_local! {
    /// What the request that is carried out asks for, for the log.
    static SAID: std::cell::RefCell<String>;
}

/// Runs a handler, and tells what it has noted.
async fn heard(handler: impl Future<Output = Response>) -> (String, Response) {
    SAID.scope(std::cell::RefCell::default(), async {
        let response = handler.await;
        (SAID.with(std::cell::RefCell::take), response)
    })
    .await
}

fn is_plain(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// Notes what a request asks for, in words that hold no literal of a statement.
pub(crate) fn note(said: &impl serde::Serialize) {
    let said = serde_json::to_string(said).unwrap_or_default();
    // JSON leaves some characters as they are that move a terminal's cursor or turn its text around.
    let said: String = match said.chars().all(is_plain) {
        true => said,
        false => said
            .chars()
            .flat_map(|c| if is_plain(c) { vec![c] } else { c.escape_default().collect() })
            .collect(),
    };
    // Nobody listens where nothing is changed.
    let _ = SAID.try_with(|noted| *noted.borrow_mut() = shown(&said).into_owned());
}

#[cfg(test)]
mod tests;
