//! The part of the configuration that the data plane reads, as one value that a reload exchanges.

use crate::link::PoolSettings;
use crate::users::Users;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use weir_cache::{Admission, CacheLimits};
use weir_config::{HintsFrom, IpNet, Sharing};
use weir_model::Limits;

/// What holds for connections that begin now.
#[derive(Debug)]
pub struct Settings {
    pub limits: Arc<Limits>,
    pub users: Users,
    pub cache: CacheSettings,
    pub analytics: AnalyticsSettings,
    /// Who shares server connections, and how.
    pub pool: PoolSettings,
    pub passthrough: bool,
    /// How old the server's confirmation of a login may be.
    pub revalidate: Duration,
    /// Pass-through users that may use replication commands.
    pub replication_users: HashSet<Vec<u8>>,
    /// Sources that may send a PROXY header.
    pub proxy_protocol: Vec<IpNet>,
    /// TLS towards clients.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// `tls` is of a certificate that Weir made, with nothing from files in it.
    pub self_signed: bool,
    pub require_tls: bool,
}

impl Settings {
    /// Whether anybody shares server connections.
    pub fn shares(&self) -> bool {
        self.pool.sharing == Sharing::Transaction || self.users.share()
    }
}

/// What is counted of statements' digests. Only a start takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalyticsSettings {
    pub enabled: bool,
    /// Rows of each worker, at most.
    pub digests: usize,
    /// Statements are kept as they came.
    pub samples: bool,
}

/// What the result cache may hold, and whose hints are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    pub limits: CacheLimits,
    /// Bits of the hashes by which entries are found, from 1; 64 but in tests. Only a start takes it.
    pub hash_bits: u32,
    pub admission: Admission,
    pub hints: HintsFrom,
    /// Those of [`HintsFrom::Listed`].
    pub hint_users: Vec<String>,
}

impl CacheSettings {
    /// Whether the hints in this user's statements are followed.
    pub fn follows_hints(&self, user: &[u8]) -> bool {
        match self.hints {
            HintsFrom::All => true,
            HintsFrom::Off => false,
            HintsFrom::Listed => self.hint_users.iter().any(|name| name.as_bytes() == user),
        }
    }
}
