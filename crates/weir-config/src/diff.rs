use std::collections::BTreeMap;

use crate::keys::{self, ROOT};
use crate::units::{duration_text, size_text};
use crate::{Config, SecretString, Server, Token, User};

/// What a reload would change, each as the key and a sentence about it, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Applied by a reload.
    pub reloadable: Vec<(String, String)>,
    /// Not applied while Weir runs, with the reason. If there is one, the whole reload is refused.
    pub refused: Vec<(String, String)>,
}

impl Changes {
    /// Whether the two configurations are the same. Files that they name may have changed nevertheless, such as
    /// a renewed certificate.
    pub fn is_empty(&self) -> bool {
        self.reloadable.is_empty() && self.refused.is_empty()
    }
}

/// Tells `new` from `old`, the configuration in force.
pub fn diff(old: &Config, new: &Config) -> Changes {
    let mut changes = Changes::default();
    for (before, after) in settings(old).into_iter().zip(settings(new)) {
        if before.value == after.value {
            continue;
        }
        match fixed(before.table, before.name) {
            Some(reason) => {
                changes.refused.push((before.key(), format!("{}; {reason}", change(&before, &after))))
            }
            None => changes.reloadable.push((before.key(), change(&before, &after))),
        }
    }
    users(&old.users, &new.users, &mut changes);
    tokens(&old.tokens, &new.tokens, &mut changes);
    rules::diff(&old.rules, &new.rules, &mut changes);
    changes
}

/// One setting of one configuration. All configurations have the same ones in the same order.
struct Setting<'a> {
    table: &'static str,
    name: &'static str,
    value: Value<'a>,
}

#[derive(PartialEq)]
enum Value<'a> {
    Shown(String),
    Hidden(Option<&'a SecretString>),
}

impl Setting<'_> {
    fn key(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }
}

fn settings(config: &Config) -> Vec<Setting<'_>> {
    let mut all = plain(config);
    all.extend(pool(config));
    all.extend(cache(config));
    all.extend(analytics(config));
    all.extend(history(config));
    all.extend(query_log(config));
    all.extend(limits(config));
    // A configuration has one server; when there are more they must be matched by name, as users are.
    all.extend(config.servers.iter().flat_map(server));
    all
}

fn shown(table: &'static str, name: &'static str, value: impl ToString) -> Setting<'static> {
    Setting { table, name, value: Value::Shown(value.to_string()) }
}

fn list<T: ToString>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

fn optional<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "not set".to_owned(), text)
}

fn path(path: &Option<std::path::PathBuf>) -> String {
    optional(path.as_ref(), |path| path.display().to_string())
}

fn plain(config: &Config) -> Vec<Setting<'static>> {
    let Config { listen, tls, auth, log, .. } = config;
    vec![
        shown("listen", "mysql", list(&listen.mysql)),
        shown("listen", "admin", optional(listen.admin.as_ref(), ToString::to_string)),
        shown("listen", "proxy_protocol", list(&listen.proxy_protocol)),
        shown("tls", "cert", path(&tls.cert)),
        shown("tls", "key", path(&tls.key)),
        shown("tls", "client_ca", path(&tls.client_ca)),
        shown("tls", "require", tls.require),
        shown("auth", "passthrough", auth.passthrough),
        shown("auth", "revalidate", duration_text(auth.revalidate)),
        shown("auth", "replication_users", list(&auth.replication_users)),
        shown("log", "format", log.format.as_str()),
        shown("log", "level", log.level.as_str()),
        shown("runtime", "workers", config.workers),
        shown("runtime", "io", config.io.as_str()),
        shown("runtime", "watch", config.watch),
    ]
}

fn pool(config: &Config) -> Vec<Setting<'static>> {
    let pool = &config.pool;
    vec![
        shown("pool", "sharing", pool.sharing.as_str()),
        shown("pool", "min_idle", pool.min_idle),
        shown("pool", "warm_up", pool.warm_up),
        shown("pool", "idle_timeout", duration_text(pool.idle_timeout)),
        shown("pool", "max_lifetime", duration_text(pool.max_lifetime)),
        shown("pool", "queue_timeout", duration_text(pool.queue_timeout)),
        shown("pool", "max_waiting", pool.max_waiting),
        shown("pool", "pinned_share", pool.pinned_share),
        shown("pool", "server_statements", pool.server_statements),
        shown("pool", "reuse_timeout", duration_text(pool.reuse_timeout)),
    ]
}

fn cache(config: &Config) -> Vec<Setting<'static>> {
    let cache = &config.cache;
    vec![
        shown("cache", "memory", bytes(cache.memory)),
        shown("cache", "max_entry", bytes(cache.max_entry)),
        shown("cache", "user_memory", cache.user_memory.map_or_else(|| "no limit".to_owned(), bytes)),
        shown("cache", "admission", cache.admission.as_str()),
        shown("cache", "hints", cache.hints.as_str()),
        shown("cache", "hint_users", list(&cache.hint_users)),
    ]
}

fn analytics(config: &Config) -> Vec<Setting<'static>> {
    let analytics = &config.analytics;
    vec![
        shown("analytics", "enabled", analytics.enabled),
        shown("analytics", "digests", analytics.digests),
        shown("analytics", "samples", analytics.samples),
    ]
}

fn history(config: &Config) -> Vec<Setting<'static>> {
    let history = &config.history;
    vec![
        shown("history", "enabled", history.enabled),
        shown("history", "file", path(&history.file)),
        shown("history", "seconds", duration_text(history.seconds)),
        shown("history", "minutes", duration_text(history.minutes)),
        shown("history", "digests", history.digests),
        shown("history", "max_size", bytes(history.max_size)),
    ]
}

fn query_log(config: &Config) -> Vec<Setting<'static>> {
    let log = &config.query_log;
    vec![
        shown("query_log", "file", path(&log.file)),
        shown("query_log", "slow", duration_text(log.slow)),
        shown("query_log", "sample", log.sample),
        shown("query_log", "literals", log.literals),
        shown("query_log", "max_size", size_text(log.max_size)),
        shown("query_log", "files", log.files),
    ]
}

fn bytes(size: usize) -> String {
    size_text(u64::try_from(size).unwrap_or(u64::MAX))
}

fn limits(config: &Config) -> Vec<Setting<'static>> {
    let limits = &config.limits;
    vec![
        shown("limits", "max_clients", limits.max_clients),
        shown("limits", "max_pending_logins", limits.max_pending_logins),
        shown("limits", "login_timeout", duration_text(limits.login_timeout)),
        shown("limits", "login_bytes", bytes(limits.login_bytes)),
        shown("limits", "auth_failure_delay", duration_text(limits.auth_failure_delay)),
        shown("limits", "server_connect_timeout", duration_text(limits.server_connect_timeout)),
        shown("limits", "client_idle_timeout", duration_text(limits.client_idle_timeout)),
        shown("limits", "idle_transaction_timeout", duration_text(limits.idle_transaction_timeout)),
        shown("limits", "client_read_timeout", duration_text(limits.client_read_timeout)),
        shown("limits", "client_write_timeout", duration_text(limits.client_write_timeout)),
        shown("limits", "server_read_timeout", duration_text(limits.server_read_timeout)),
        shown("limits", "drain_timeout", duration_text(limits.drain_timeout)),
        shown("limits", "statement_bytes", bytes(limits.statement_bytes)),
        shown("limits", "statement_memory", bytes(limits.statement_memory)),
        shown("limits", "tcp_keepalive", duration_text(limits.tcp_keepalive)),
        shown("limits", "max_kills", limits.max_kills),
        shown("limits", "max_statements", limits.max_statements),
    ]
}

fn server(server: &Server) -> Vec<Setting<'static>> {
    vec![
        shown("server", "name", &server.name),
        shown("server", "address", &server.address),
        shown("server", "max_connections", server.max_connections),
        shown("server", "compression", server.compression.as_str()),
        shown("server.tls", "mode", server.tls.mode.as_str()),
        shown("server.tls", "ca", path(&server.tls.ca)),
        shown("server.tls", "cert", path(&server.tls.cert)),
        shown("server.tls", "key", path(&server.tls.key)),
    ]
}

fn user(user: &User) -> Vec<Setting<'_>> {
    let hidden = |name, secret| Setting { table: "user", name, value: Value::Hidden(secret) };
    vec![
        hidden("password", Some(&user.password)),
        hidden("previous", user.previous.as_ref()),
        shown("user", "replication", user.replication),
        shown("user", "sharing", optional(user.sharing, |sharing| sharing.as_str().to_owned())),
    ]
}

/// Users are told by their names, whatever their order.
fn users(old: &[User], new: &[User], changes: &mut Changes) {
    let (old, new) = (by_name(old), by_name(new));
    for (name, before) in &old {
        let Some(after) = new.get(name) else {
            changes.reloadable.push((format!("user.{name}"), "removed".to_owned()));
            continue;
        };
        let pairs = user(before).into_iter().zip(user(after));
        for (was, is) in pairs.filter(|(was, is)| was.value != is.value) {
            changes.reloadable.push((format!("user.{name}.{}", was.name), change(&was, &is)));
        }
    }
    for name in new.keys().filter(|name| !old.contains_key(*name)) {
        changes.reloadable.push((format!("user.{name}"), "added".to_owned()));
    }
}

/// Tokens are told by their names, whatever their order.
fn tokens(old: &[Token], new: &[Token], changes: &mut Changes) {
    let find = |list: &[Token], name: &str| list.iter().find(|token| token.name == name).cloned();
    for before in old {
        let what = match find(new, &before.name) {
            None => "removed".to_owned(),
            Some(after) if after.hash != before.hash => "another token".to_owned(),
            Some(after) if after.role != before.role => {
                format!("{} -> {}", before.role.as_str(), after.role.as_str())
            }
            Some(_) => continue,
        };
        changes.reloadable.push((format!("token.{}", before.name), what));
    }
    for added in new.iter().filter(|token| find(old, &token.name).is_none()) {
        changes.reloadable.push((format!("token.{}", added.name), format!("added, {}", added.role.as_str())));
    }
}

fn by_name(users: &[User]) -> BTreeMap<&str, &User> {
    users.iter().map(|user| (user.name.as_str(), user)).collect()
}

fn change(before: &Setting<'_>, after: &Setting<'_>) -> String {
    match (&before.value, &after.value) {
        (Value::Shown(before), Value::Shown(after)) => format!("{before} -> {after}"),
        (Value::Hidden(None), _) => "set".to_owned(),
        (_, Value::Hidden(None)) => "removed".to_owned(),
        _ => "changed".to_owned(),
    }
}

/// Why the key cannot change at run time, from the table of settings.
fn fixed(table: &str, name: &str) -> Option<&'static str> {
    let mut section: &keys::Section = &ROOT;
    for part in table.split('.') {
        section = section.key(part)?.kind.section()?;
    }
    section.key(name).and_then(|key| key.fixed)
}

mod rules;
