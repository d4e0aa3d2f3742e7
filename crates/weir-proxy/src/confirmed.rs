//! Logins that the server has confirmed lately. While `auth.revalidate` allows, a client that shares connections and proves the
//! same password for the same login begins as the last one did, without a connection.

use crate::backend::Backend;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use weir_auth::Secret;
use weir_pool::LoginRequest;
use weir_session::State;
use weir_wire::caps::Caps;

/// Confirmations kept at most; beyond this an arbitrary one is forgotten. Each is some 500 bytes.
const KEPT_MAX: usize = 10_000;

/// What of a login decides how its session begins.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Login {
    user: Vec<u8>,
    database: Option<Vec<u8>>,
    charset: u8,
    agreed: Caps,
}

/// How a session began that the server let in.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// What was agreed, without a connection.
    pub server: Backend,
    pub status: u16,
    /// The server's OK.
    pub ok: Vec<u8>,
    pub state: State,
}

impl Beginning {
    fn again(&self) -> Self {
        Self {
            server: self.server.away(),
            status: self.status,
            ok: self.ok.clone(),
            state: self.state.clone(),
        }
    }
}

#[derive(Debug)]
struct Confirmation {
    secret: Secret,
    at: Instant,
    beginning: Beginning,
}

/// The confirmations by login.
#[derive(Debug, Default)]
pub(crate) struct Confirmed {
    by_login: Mutex<HashMap<Login, Confirmation>>,
}

impl Confirmed {
    /// How a session of this login begins, if the server has confirmed its password no longer ago than `revalidate`.
    pub fn get(&self, request: &LoginRequest, agreed: Caps, revalidate: Duration) -> Option<Beginning> {
        if revalidate.is_zero() {
            return None;
        }
        let by_login = self.by_login.lock();
        let found = by_login.get(&login(request, agreed))?;
        let holds = found.secret == request.secret && found.at.elapsed() < revalidate;
        holds.then(|| found.beginning.again())
    }

    /// The server has let this login in.
    pub fn note(&self, request: &LoginRequest, agreed: Caps, beginning: &Beginning) {
        let mut by_login = self.by_login.lock();
        let login = login(request, agreed);
        if by_login.len() >= KEPT_MAX
            && !by_login.contains_key(&login)
            && let Some(first) = by_login.keys().next()
        {
            let victim = Login { user: first.user.clone(), database: first.database.clone(), ..*first };
            by_login.remove(&victim);
        }
        let confirmation =
            Confirmation { secret: request.secret.clone(), at: Instant::now(), beginning: beginning.again() };
        by_login.insert(login, confirmation);
    }

    /// The server no longer takes this password of the user's.
    pub fn forget(&self, user: &[u8], secret: &Secret) {
        self.by_login.lock().retain(|login, found| login.user != user || found.secret != *secret);
    }
}

fn login(request: &LoginRequest, agreed: Caps) -> Login {
    Login { user: request.user.clone(), database: request.database.clone(), charset: request.charset, agreed }
}
