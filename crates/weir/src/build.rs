//! From the checked configuration to what the data plane works with.

use anyhow::{Context, Result};
use std::sync::Arc;
use weir_auth::Secret;
use weir_cache::{Admission, CacheLimits};
use weir_config::{Config, SecretString, TlsMode};
use weir_net::{
    ClientCertificate, ClientTlsMode, ClientTlsOptions, ServerTlsContext, ServerTlsOptions, TlsError,
    TlsVersions, client_config,
};
use weir_pool::{PoolLimits, Target};
use weir_proxy::{AnalyticsSettings, CacheSettings, Known, ListedUser, PoolSettings, Settings, Users};

/// What clients meet: limits, users, TLS. A self-signed certificate that is in use already (`old`) stays.
pub fn settings(config: &Config, old: Option<&Settings>) -> Result<Settings> {
    let tls = &config.tls;
    let options = ServerTlsOptions { client_ca: tls.client_ca.as_deref(), ..ServerTlsOptions::default() };
    let own = match (&tls.cert, &tls.key, &tls.client_ca) {
        (None, None, None) => Some(()),
        _ => None,
    };
    let kept = own.and(old).filter(|old| old.self_signed).and_then(|old| old.tls.clone());
    let made = |context: Result<ServerTlsContext, TlsError>| {
        context.map(|context| context.config()).context("[tls] towards clients")
    };
    let context = match (&tls.cert, &tls.key, kept) {
        (Some(cert), Some(key), _) => made(ServerTlsContext::from_pem_files(cert, key, &options))?,
        (_, _, Some(kept)) => kept,
        _ => made(ServerTlsContext::self_signed(&[], &options))?,
    };
    Ok(Settings {
        limits: Arc::new(config.limits.clone()),
        users: Users::new(config.users.iter().map(|user| {
            let passwords = std::iter::once(&user.password).chain(&user.previous).map(known).collect();
            let user_of = ListedUser { passwords, replication: user.replication, sharing: user.sharing };
            (user.name.clone().into_bytes(), user_of)
        })),
        cache: cache(&config.cache),
        analytics: analytics(&config.analytics),
        pool: pool(config)?,
        passthrough: config.auth.passthrough,
        revalidate: config.auth.revalidate,
        replication_users: config
            .auth
            .replication_users
            .iter()
            .map(|name| name.clone().into_bytes())
            .collect(),
        proxy_protocol: config.listen.proxy_protocol.clone(),
        tls: Some(context),
        self_signed: own.is_some(),
        require_tls: tls.require,
    })
}

fn cache(cache: &weir_config::Cache) -> CacheSettings {
    let limits = CacheLimits {
        memory: cache.memory,
        max_entry: cache.max_entry,
        user_memory: cache.user_memory,
        ..CacheLimits::default()
    };
    let admission = match cache.admission {
        weir_config::Admission::Adaptive => Admission::Adaptive,
        weir_config::Admission::Always => Admission::Always,
        weir_config::Admission::Second => Admission::Second,
    };
    let hint_users = cache.hint_users.clone();
    CacheSettings { limits, hash_bits: hash_bits(), admission, hints: cache.hints, hint_users }
}

fn analytics(analytics: &weir_config::Analytics) -> AnalyticsSettings {
    let weir_config::Analytics { enabled, digests, samples } = *analytics;
    AnalyticsSettings { enabled, digests, samples }
}

/// Bits of the cache's hashes. A build with assertions takes fewer from the environment, so that a test can see that bytes decide
/// where hashes are equal.
fn hash_bits() -> u32 {
    const ALL: u32 = 64;
    if !cfg!(debug_assertions) {
        return ALL;
    }
    let told = std::env::var("WEIR_CACHE_HASH_BITS").ok().and_then(|text| text.parse().ok());
    told.filter(|bits| (1..=ALL).contains(bits)).unwrap_or(ALL)
}

/// Who shares the server's connections.
fn pool(config: &Config) -> Result<PoolSettings> {
    let pool = &config.pool;
    let max = config.servers.first().context("no [[server]]")?.max_connections;
    let share = u64::from(max) * u64::from(pool.pinned_share) / 100;
    Ok(PoolSettings {
        sharing: pool.sharing,
        limits: PoolLimits {
            max,
            min_idle: pool.min_idle,
            idle_timeout: pool.idle_timeout,
            max_waiting: pool.max_waiting as usize,
            max_pinned: u32::try_from(share).unwrap_or(max).max(1),
        },
        warm_up: pool.warm_up,
        server_statements: pool.server_statements,
        max_lifetime: pool.max_lifetime,
        queue_timeout: pool.queue_timeout,
        reuse_timeout: pool.reuse_timeout,
    })
}

fn known(password: &SecretString) -> Known {
    Known::new(Secret::new(password.expose().as_bytes().to_vec()))
}

/// How the server is reached.
pub fn target(config: &Config) -> Result<Target> {
    let server = config.servers.first().context("no [[server]]")?;
    let tls = &server.tls;
    let client_cert = match (&tls.cert, &tls.key) {
        (Some(cert), Some(key)) => Some(ClientCertificate { cert, key }),
        _ => None,
    };
    let mode = match tls.mode {
        TlsMode::Disabled => ClientTlsMode::Disabled,
        TlsMode::Preferred => ClientTlsMode::Preferred,
        TlsMode::Required => ClientTlsMode::Required,
        TlsMode::VerifyCa => ClientTlsMode::VerifyCa,
        TlsMode::VerifyIdentity => ClientTlsMode::VerifyIdentity,
    };
    let options = ClientTlsOptions { mode, ca: tls.ca.as_deref(), client_cert, versions: TlsVersions::Both };
    let tls_config =
        client_config(&options).with_context(|| format!("tls of [[server]] {:?}", server.name))?;
    Ok(Target {
        name: server.name.clone(),
        address: server.address.clone(),
        max_connections: server.max_connections,
        tls_mode: tls.mode,
        tls: tls_config,
        compression: server.compression,
        connect_timeout: config.limits.server_connect_timeout,
        keepalive: config.limits.tcp_keepalive,
    })
}
