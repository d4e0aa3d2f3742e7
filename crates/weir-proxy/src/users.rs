//! Who is known: users of the configuration, and the passwords that pass-through users have proven.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use weir_auth::{Secret, Verifier};
use weir_config::Sharing;

/// Pass-through users remembered at most. Their secrets are some 200 bytes each; beyond this an arbitrary one is
/// forgotten and proves its password in full again.
const REMEMBERED_MAX: usize = 10_000;

/// A password and what checks it.
#[derive(Debug, Clone)]
pub struct Known {
    pub secret: Secret,
    pub verifier: Arc<Verifier>,
}

impl Known {
    pub fn new(secret: Secret) -> Self {
        let verifier = Arc::new(Verifier::new(&secret));
        Self { secret, verifier }
    }
}

/// A user of the configuration.
#[derive(Debug, Clone)]
pub struct ListedUser {
    /// The current password, then the previous one while a password is rotated.
    pub passwords: Vec<Known>,
    /// May use replication commands.
    pub replication: bool,
    /// Overrides that of the pool.
    pub sharing: Option<Sharing>,
}

/// The users of the configuration, by name.
#[derive(Debug, Default)]
pub struct Users {
    by_name: HashMap<Vec<u8>, Arc<ListedUser>>,
}

impl Users {
    pub fn new(users: impl IntoIterator<Item = (Vec<u8>, ListedUser)>) -> Self {
        let by_name = users.into_iter().map(|(name, user)| (name, Arc::new(user))).collect();
        Self { by_name }
    }

    pub fn get(&self, name: &[u8]) -> Option<Arc<ListedUser>> {
        self.by_name.get(name).cloned()
    }

    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.by_name.keys().map(Vec::as_slice)
    }

    /// Whether one of them shares server connections.
    pub fn share(&self) -> bool {
        self.by_name.values().any(|user| user.sharing == Some(Sharing::Transaction))
    }
}

/// Passwords of pass-through users that the server has accepted; in memory only, wiped when forgotten.
#[derive(Debug, Default)]
pub struct Remembered {
    by_name: Mutex<HashMap<Vec<u8>, Arc<Known>>>,
}

impl Remembered {
    pub fn get(&self, user: &[u8]) -> Option<Arc<Known>> {
        self.by_name.lock().get(user).cloned()
    }

    /// The server accepted this password.
    pub fn remember(&self, user: &[u8], secret: &Secret) {
        let mut by_name = self.by_name.lock();
        if by_name.get(user).is_some_and(|known| known.secret == *secret) {
            return;
        }
        if by_name.len() >= REMEMBERED_MAX
            && let Some(victim) = by_name.keys().next().cloned()
        {
            by_name.remove(&victim);
        }
        by_name.insert(user.to_vec(), Arc::new(Known::new(secret.clone())));
    }

    /// The server no longer accepts this password.
    pub fn forget(&self, user: &[u8], secret: &Secret) {
        let mut by_name = self.by_name.lock();
        if by_name.get(user).is_some_and(|known| known.secret == *secret) {
            by_name.remove(user);
        }
    }
}
