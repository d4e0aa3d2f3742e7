//! From checked values to the types that the rest of Weir uses. Nothing is checked here any more: this runs only
//! when nothing was wrong, so an absent value is one whose absence has a meaning.

use std::path::PathBuf;
use std::time::Duration;

use weir_model::rule::Ratio;
use weir_model::{Limits, Role, Token, TokenHash};

use crate::types::{
    Admission, Analytics, Auth, Cache, ClientTls, Config, HintsFrom, History, Listen, Log, Pool, QueryLog,
    Server, ServerTls, User,
};
use crate::types::{Compression, Io, LogFormat, LogLevel, Sharing, TlsMode};
use crate::walk::{Found, Value};
use crate::{Address, SecretString};

/// `None` when a required value is absent, which the walk has reported.
pub(crate) fn config(root: &Found) -> Option<Config> {
    let runtime = root.table("runtime")?;
    Some(Config {
        listen: listen(root.table("listen")?),
        tls: client_tls(root.table("tls")?),
        servers: root.tables("server").iter().map(server).collect::<Option<_>>()?,
        users: root.tables("user").iter().map(user).collect::<Option<_>>()?,
        auth: auth(root.table("auth")?),
        pool: pool(root.table("pool")?)?,
        limits: limits(root.table("limits")?),
        cache: cache(root.table("cache")?)?,
        analytics: analytics(root.table("analytics")?),
        history: history(root.table("history")?),
        rules: root.tables("rule").iter().map(rules::rule).collect::<Option<_>>()?,
        tokens: root.tables("token").iter().map(token).collect::<Option<_>>()?,
        log: log(root.table("log")?)?,
        query_log: query_log(root.table("query_log")?),
        workers: size(runtime, "workers"),
        io: Io::from_word(runtime.text("io")?.0)?,
        watch: flag(runtime, "watch"),
    })
}

fn listen(found: &Found) -> Listen {
    let value = |name| found.entry(name).map(|entry| &entry.value);
    Listen {
        mysql: match value("mysql") {
            Some(Value::Addresses(addresses)) => {
                addresses.iter().map(|(address, _)| address.clone()).collect()
            }
            _ => Vec::new(),
        },
        admin: address(found, "admin"),
        proxy_protocol: match value("proxy_protocol") {
            Some(Value::Networks(networks)) => networks.clone(),
            _ => Vec::new(),
        },
    }
}

fn client_tls(found: &Found) -> ClientTls {
    ClientTls {
        cert: path(found, "cert"),
        key: path(found, "key"),
        client_ca: path(found, "client_ca"),
        require: flag(found, "require"),
    }
}

fn server(found: &Found) -> Option<Server> {
    let tls = found.table("tls")?;
    Some(Server {
        name: found.text("name")?.0.to_owned(),
        address: address(found, "address")?,
        max_connections: number(found, "max_connections"),
        tls: ServerTls {
            mode: TlsMode::from_word(tls.text("mode")?.0)?,
            ca: path(tls, "ca"),
            cert: path(tls, "cert"),
            key: path(tls, "key"),
        },
        compression: Compression::from_word(found.text("compression")?.0)?,
    })
}

fn user(found: &Found) -> Option<User> {
    Some(User {
        name: found.text("name")?.0.to_owned(),
        password: secret(found, "password")?,
        previous: secret(found, "previous"),
        replication: flag(found, "replication"),
        sharing: found.text("sharing").and_then(|(word, _)| Sharing::from_word(word)),
    })
}

fn token(found: &Found) -> Option<Token> {
    Some(Token {
        name: found.text("name")?.0.to_owned(),
        role: Role::from_word(found.text("role")?.0)?,
        hash: TokenHash::parse(found.text("hash")?.0)?,
    })
}

fn auth(found: &Found) -> Auth {
    Auth {
        passthrough: flag(found, "passthrough"),
        revalidate: duration(found, "revalidate"),
        replication_users: found.texts("replication_users").iter().map(|(name, _)| name.clone()).collect(),
    }
}

fn pool(found: &Found) -> Option<Pool> {
    Some(Pool {
        sharing: Sharing::from_word(found.text("sharing")?.0)?,
        min_idle: number(found, "min_idle"),
        warm_up: flag(found, "warm_up"),
        idle_timeout: duration(found, "idle_timeout"),
        max_lifetime: duration(found, "max_lifetime"),
        queue_timeout: duration(found, "queue_timeout"),
        max_waiting: number(found, "max_waiting"),
        pinned_share: number(found, "pinned_share"),
        server_statements: number(found, "server_statements"),
        reuse_timeout: duration(found, "reuse_timeout"),
    })
}

fn cache(found: &Found) -> Option<Cache> {
    Some(Cache {
        memory: size(found, "memory"),
        max_entry: size(found, "max_entry"),
        user_memory: found.entry("user_memory").map(|_| size(found, "user_memory")),
        admission: Admission::from_word(found.text("admission")?.0)?,
        hints: HintsFrom::from_word(found.text("hints")?.0)?,
        hint_users: found.texts("hint_users").iter().map(|(name, _)| name.clone()).collect(),
    })
}

fn analytics(found: &Found) -> Analytics {
    Analytics {
        enabled: flag(found, "enabled"),
        digests: size(found, "digests"),
        samples: flag(found, "samples"),
    }
}

fn history(found: &Found) -> History {
    History {
        enabled: flag(found, "enabled"),
        file: path(found, "file"),
        seconds: duration(found, "seconds"),
        minutes: duration(found, "minutes"),
        digests: size(found, "digests"),
        max_size: size(found, "max_size"),
    }
}

fn limits(found: &Found) -> Limits {
    Limits {
        max_clients: number(found, "max_clients"),
        max_pending_logins: number(found, "max_pending_logins"),
        login_timeout: duration(found, "login_timeout"),
        login_bytes: size(found, "login_bytes"),
        auth_failure_delay: duration(found, "auth_failure_delay"),
        server_connect_timeout: duration(found, "server_connect_timeout"),
        client_idle_timeout: duration(found, "client_idle_timeout"),
        idle_transaction_timeout: duration(found, "idle_transaction_timeout"),
        client_read_timeout: duration(found, "client_read_timeout"),
        client_write_timeout: duration(found, "client_write_timeout"),
        server_read_timeout: duration(found, "server_read_timeout"),
        drain_timeout: duration(found, "drain_timeout"),
        statement_bytes: size(found, "statement_bytes"),
        statement_memory: size(found, "statement_memory"),
        tcp_keepalive: duration(found, "tcp_keepalive"),
        max_kills: number(found, "max_kills"),
        max_statements: number(found, "max_statements"),
    }
}

fn log(found: &Found) -> Option<Log> {
    Some(Log {
        format: LogFormat::from_word(found.text("format")?.0)?,
        level: LogLevel::from_word(found.text("level")?.0)?,
    })
}

fn query_log(found: &Found) -> QueryLog {
    QueryLog {
        file: path(found, "file"),
        slow: duration(found, "slow"),
        sample: match found.entry("sample").map(|entry| &entry.value) {
            Some(Value::Ratio(ratio)) => *ratio,
            _ => Ratio::ZERO,
        },
        literals: flag(found, "literals"),
        max_size: size(found, "max_size") as u64,
        files: number(found, "files"),
    }
}

fn flag(found: &Found, name: &str) -> bool {
    matches!(found.entry(name).map(|entry| &entry.value), Some(Value::Flag(true)))
}

fn number(found: &Found, name: &str) -> u32 {
    u32::try_from(size(found, name)).unwrap_or(u32::MAX)
}

fn size(found: &Found, name: &str) -> usize {
    match found.entry(name).map(|entry| &entry.value) {
        Some(Value::Number(number)) => usize::try_from(*number).unwrap_or(usize::MAX),
        _ => 0,
    }
}

fn duration(found: &Found, name: &str) -> Duration {
    found.duration(name).map_or(Duration::ZERO, |(duration, _)| duration)
}

fn path(found: &Found, name: &str) -> Option<PathBuf> {
    match found.entry(name).map(|entry| &entry.value) {
        Some(Value::Path(path)) => Some(path.clone()),
        _ => None,
    }
}

fn address(found: &Found, name: &str) -> Option<Address> {
    match found.entry(name).map(|entry| &entry.value) {
        Some(Value::Address(address)) => Some(address.clone()),
        _ => None,
    }
}

fn secret(found: &Found, name: &str) -> Option<SecretString> {
    match found.entry(name).map(|entry| &entry.value) {
        Some(Value::Secret(secret)) => Some(secret.clone()),
        _ => None,
    }
}

pub(crate) use rules::rule;

mod rules;
