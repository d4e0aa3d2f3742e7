//! What no single value can tell: checks across keys.

use std::collections::BTreeSet;
use std::ops::Range;

use weir_model::TokenHash;

use crate::types::TlsMode;
use crate::walk::{Entry, Finding, Found, Value};
use crate::{Address, units};

pub(crate) fn all(root: &Found, findings: &mut Vec<Finding>) {
    listeners(root, findings);
    if let Some(tls) = root.table("tls") {
        pair(tls, findings);
    }
    servers(root, findings);
    users(root, findings);
    auth(root, findings);
    tokens(root, findings);
    rules::all(root, findings);
    if let Some(limits) = root.table("limits") {
        auth_failure_delay(limits, findings);
    }
}

fn listeners(root: &Found, findings: &mut Vec<Finding>) {
    let Some(listen) = root.table("listen") else { return };
    let mut taken: Vec<&Address> = Vec::new();
    for (address, span) in listen.listeners() {
        if let Some(other) = taken.iter().find(|other| other.overlaps(address)) {
            let message = format!("{address} is already taken by {other}");
            findings.push(Finding::new(span, message, "each address can be listened on once"));
        }
        taken.push(address);
    }
    if let Some(Entry { value: Value::Address(address), span }) = listen.entry("admin")
        && !address.is_local()
    {
        let message = format!("`admin` would answer on {address}, and does not encrypt");
        let hint = "tokens would be read on their way: use \"127.0.0.1:6034\" or \"unix:/run/weir/admin.sock\", with a \
                    proxy that speaks TLS before it where others must reach it";
        findings.push(Finding::new(span.clone(), message, hint));
    }
    if let Some(Entry { value: Value::Addresses(addresses), span, .. }) = listen.entry("mysql")
        && addresses.is_empty()
        && !findings.iter().any(|finding| finding.is_within(span))
    {
        findings.push(Finding::new(
            span.clone(),
            "`mysql` has no address",
            "clients need one address at least",
        ));
    }
}

fn servers(root: &Found, findings: &mut Vec<Finding>) {
    let servers = root.tables("server");
    if let Some(Entry { span, value: Value::Tables(_), .. }) = root.entry("server")
        && servers.is_empty()
        && !findings.iter().any(|finding| finding.is_within(span))
    {
        let hint = "add `[[server]]` with `name` and `address`";
        findings.push(Finding { missing: true, ..Finding::new(span.clone(), "there is no server", hint) });
    }
    for second in servers.iter().skip(1) {
        findings.push(Finding::new(
            second.span.clone(),
            "pools of servers are not supported by this version of Weir",
            "keep one `[[server]]`",
        ));
    }
    duplicates("server", servers, findings);
    for server in servers {
        plain_name("server", server, findings);
        itself(root, server, findings);
        if let Some(tls) = server.table("tls") {
            pair(tls, findings);
            verification(server, tls, findings);
        }
    }
}

/// Whether a text may be a name that becomes a label of metrics, or stands in the log: letters, digits, `.`, `_` and `-`.
pub fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn plain_name(what: &str, table: &Found, findings: &mut Vec<Finding>) {
    let Some((name, span)) = table.text("name") else { return };
    if !is_plain_name(name) {
        let hint = "use letters, digits, `.`, `_` and `-`: it becomes a label of metrics";
        findings.push(Finding::new(span, format!("this is not a name for a {what}"), hint));
    }
}

fn itself(root: &Found, server: &Found, findings: &mut Vec<Finding>) {
    let Some(Entry { value: Value::Address(address), span, .. }) = server.entry("address") else { return };
    let loops = |(listener, _): (&Address, Range<usize>)| listener == address;
    if root.table("listen").is_some_and(|listen| listen.listeners().into_iter().any(loops)) {
        let hint = "give the address of the server; Weir listens on this one";
        findings.push(Finding::new(span.clone(), "Weir would connect to itself", hint));
    }
}

fn pair(tls: &Found, findings: &mut Vec<Finding>) {
    for (present, absent) in [("cert", "key"), ("key", "cert")] {
        if let Some(entry) = tls.entry(present)
            && !tls.has(absent)
            && !tls.broken(absent)
        {
            let message = format!("`{present}` without `{absent}`");
            let hint = "a certificate and its private key go together: give both or neither";
            findings.push(Finding { missing: true, ..Finding::new(entry.span.clone(), message, hint) });
        }
    }
}

fn verification(server: &Found, tls: &Found, findings: &mut Vec<Finding>) {
    let Some((word, span)) = tls.text("mode") else { return };
    let mode = TlsMode::from_word(word).unwrap_or_default();
    if matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity) && !tls.has("ca") && !tls.broken("ca") {
        let message = format!("mode \"{word}\" needs `ca`");
        let hint = "the system's list of authorities is not used: give the CA that signs the server's certificate, \
                    which the servers' own setup leaves in their data folder as ca.pem";
        findings.push(Finding { missing: true, ..Finding::new(span.clone(), message, hint) });
    }
    let socket =
        matches!(server.entry("address"), Some(Entry { value: Value::Address(Address::Unix(_)), .. }));
    if mode == TlsMode::VerifyIdentity && socket {
        let hint = "use \"verify_ca\", or HOST:PORT as the address";
        findings.push(Finding::new(span, "a unix socket has no host name to verify", hint));
    }
}

fn users(root: &Found, findings: &mut Vec<Finding>) {
    let users = root.tables("user");
    duplicates("user", users, findings);
    let Some(auth) = root.table("auth") else { return };
    let listed: BTreeSet<&str> =
        users.iter().filter_map(|user| user.text("name")).map(|(name, _)| name).collect();
    for (name, span) in auth.texts("replication_users") {
        if listed.contains(name.as_str()) {
            findings.push(Finding::new(
                span.clone(),
                "this user is listed",
                "set `replication` in its `[[user]]` instead",
            ));
        }
    }
}

fn auth(root: &Found, findings: &mut Vec<Finding>) {
    let Some(auth) = root.table("auth") else { return };
    let Some(Entry { value: Value::Flag(false), span, .. }) = auth.entry("passthrough") else { return };
    if !root.has("user") && !root.broken("user") {
        let hint = "list users with `[[user]]`, or leave pass-through on";
        findings.push(Finding { missing: true, ..Finding::new(span.clone(), "nobody could log in", hint) });
    }
    if let Some((_, span)) = auth.texts("replication_users").first() {
        let hint = "set `replication` in their `[[user]]`, or leave pass-through on";
        findings.push(Finding::new(span.clone(), "pass-through is off, so these users cannot log in", hint));
    }
}

fn tokens(root: &Found, findings: &mut Vec<Finding>) {
    let tokens = root.tables("token");
    duplicates("token", tokens, findings);
    let mut seen = BTreeSet::new();
    for token in tokens {
        plain_name("token", token, findings);
        let Some((hash, span)) = token.text("hash") else { continue };
        let hint = "make a token with `weir token add`, which writes its hash";
        if TokenHash::parse(hash).is_none() {
            let message = "this is not `sha256:` and 64 hexadecimal digits";
            findings.push(Finding::new(span, message, hint));
        } else if !seen.insert(hash.to_ascii_lowercase()) {
            findings.push(Finding::new(span, "another token has the same hash", hint));
        }
    }
}

fn auth_failure_delay(limits: &Found, findings: &mut Vec<Finding>) {
    let (Some(delay), Some(timeout)) =
        (limits.duration("auth_failure_delay"), limits.duration("login_timeout"))
    else {
        return;
    };
    if delay.0 >= timeout.0 {
        let span = if delay.1 == limits.span { timeout.1 } else { delay.1 };
        let (delay, timeout) = (units::duration_text(delay.0), units::duration_text(timeout.0));
        let message = format!("`auth_failure_delay` ({delay}) is not below `login_timeout` ({timeout})");
        findings.push(Finding::new(span, message, "a refusal would never be sent in time"));
    }
}

/// Two tables of one name. Names are compared as the servers compare user names: exactly.
fn duplicates(what: &str, tables: &[Found], findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (name, span) in tables.iter().filter_map(|table| table.text("name")) {
        if !seen.insert(name) {
            let message = format!("there is already a {what} of this name");
            findings.push(Finding::new(span, message, "each name can be used once"));
        }
    }
}

pub(crate) use rules::rule;

mod rules;
