//! The one table of settings. The walk over a file, the JSON schema, the refusal of changes at run time and the
//! tables of `docs/configuration.md` are all driven by it: a key that is not here does not exist.

use std::time::Duration;

use weir_model::Role;

use crate::types::{Compression, Io, LogFormat, LogLevel, Sharing, TlsMode};

mod analytics;
mod history;
mod limits;
mod pool;
mod query_log;
mod rules;

use analytics::ANALYTICS;
use history::HISTORY;
use limits::LIMITS;
use pool::POOL;
use query_log::QUERY_LOG;
use rules::{CACHE, RULE, RULE_CACHE, RULE_LIMIT, RULE_MATCH, RULE_REWRITE};

/// A table of `weir.toml`.
#[derive(Debug)]
pub(crate) struct Section {
    /// As it is written; empty for the file itself.
    pub header: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Default,
    /// `None`: a reload applies a change. Otherwise why it cannot.
    pub fixed: Option<&'static str>,
    /// What it does and why its default is what it is, for a database administrator.
    pub doc: &'static str,
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Flag,
    Count {
        min: u64,
        max: u64,
    },
    /// `zero` says what 0 means where it is allowed besides the range.
    Duration {
        min: Duration,
        max: Duration,
        zero: Option<&'static str>,
    },
    /// Bytes.
    Size {
        min: u64,
        max: u64,
    },
    /// A name of at most so many characters.
    Name {
        max: usize,
    },
    Names {
        max: usize,
    },
    /// Any text of at most so many bytes, but not an empty one.
    Text {
        max: usize,
    },
    /// A regular expression over bytes.
    Pattern,
    TableName,
    Ratio,
    Rate,
    /// A readable file that holds this PEM label.
    Pem(&'static str),
    /// The path of a file that need not exist.
    File,
    Address,
    Addresses,
    Network,
    Networks,
    Word(&'static [&'static str]),
    Secret,
    Table(&'static Section),
    /// A table that is absent as a whole unless it is given.
    Optional(&'static Section),
    Tables(&'static Section),
}

/// What holds when the key is absent.
#[derive(Debug)]
pub(crate) enum Default {
    /// Nothing: the key must be there.
    Required,
    /// The feature is off, as these words say.
    Unset(&'static str),
    /// This value, as it would be written.
    Is(&'static str),
}

impl Kind {
    /// The keys of what is a table, or tables.
    pub(crate) fn section(&self) -> Option<&'static Section> {
        match self {
            Self::Table(section) | Self::Optional(section) | Self::Tables(section) => Some(section),
            _ => None,
        }
    }
}

impl Section {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// Sections with keys of their own, in the order of the documentation.
pub(crate) const SECTIONS: [&Section; 20] = [
    &LISTEN,
    &TLS,
    &SERVER,
    &SERVER_TLS,
    &USER,
    &AUTH,
    &POOL,
    &CACHE,
    &RULE,
    &RULE_MATCH,
    &RULE_CACHE,
    &RULE_REWRITE,
    &RULE_LIMIT,
    &ANALYTICS,
    &HISTORY,
    &LIMITS,
    &TOKEN,
    &LOG,
    &QUERY_LOG,
    &RUNTIME,
];

/// Why a listener keeps its address.
const BOUND: &str = "sockets are bound once, at the start: restart Weir to change it";

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key { name, kind, default, fixed: None, doc }
}

const fn fixed(key: Key, reason: &'static str) -> Key {
    Key { fixed: Some(reason), ..key }
}

const fn table(name: &'static str, section: &'static Section) -> Key {
    key(name, Kind::Table(section), Default::Unset("the defaults of its keys"), section.doc)
}

/// The keys of one `[[rule]]`.
pub(crate) fn rule() -> &'static Section {
    &RULE
}

/// A text with nothing but `[[rule]]`.
pub(crate) static RULES: Section = Section {
    header: "",
    doc: "Rules.",
    keys: &[key("rule", Kind::Tables(&RULE), Default::Unset("none"), RULE.doc)],
};

pub(crate) static ROOT: Section = Section {
    header: "",
    doc: "The configuration of Weir.",
    keys: &[
        table("listen", &LISTEN),
        table("tls", &TLS),
        key("server", Kind::Tables(&SERVER), Default::Required, SERVER.doc),
        key("user", Kind::Tables(&USER), Default::Unset("none"), USER.doc),
        table("auth", &AUTH),
        table("pool", &POOL),
        table("cache", &CACHE),
        key("rule", Kind::Tables(&RULE), Default::Unset("none"), RULE.doc),
        table("analytics", &ANALYTICS),
        table("history", &HISTORY),
        table("limits", &LIMITS),
        key("token", Kind::Tables(&TOKEN), Default::Unset("none"), TOKEN.doc),
        table("log", &LOG),
        table("query_log", &QUERY_LOG),
        table("runtime", &RUNTIME),
    ],
};

static LISTEN: Section = Section {
    header: "[listen]",
    doc: "Where Weir listens.",
    keys: &[
        fixed(
            key(
                "mysql",
                Kind::Addresses,
                Default::Is("[\"127.0.0.1:6033\"]"),
                "Addresses for clients. The default is reachable from this machine only; 6033 is the custom of \
                 MySQL proxies, and leaves 3306 to a server on the same machine.",
            ),
            BOUND,
        ),
        fixed(
            key(
                "admin",
                Kind::Address,
                Default::Unset("off"),
                "Address of the HTTP listener for `/healthz`, `/readyz`, `/metrics` and the API by which rules are \
                 changed and the cache is wiped. It must be of this machine only, for it does not encrypt: `127.0.0.1`, \
                 `[::1]`, `localhost` or a unix socket (mode 0660). On a unix socket the user that Weir runs as, and root, \
                 may do everything; everybody else, and everybody over TCP, needs a `[[token]]` for all but `/healthz` \
                 and `/readyz`.",
            ),
            BOUND,
        ),
        fixed(
            key(
                "proxy_protocol",
                Kind::Networks,
                Default::Is("[]"),
                "Networks whose connections may begin with a PROXY protocol header, version 1 or 2, which names \
                 the true client. Whoever is in them can claim any address, so list load balancers only.",
            ),
            "it belongs to the listeners, which are made once: restart Weir to change it",
        ),
    ],
};

static TLS: Section = Section {
    header: "[tls]",
    doc: "TLS towards clients, 1.2 and 1.3. Without a certificate Weir makes a self-signed one at each start, as \
          MariaDB does.",
    keys: &[
        key(
            "cert",
            Kind::Pem("CERTIFICATE"),
            Default::Unset("self-signed"),
            "Certificate chain in PEM form, Weir's own certificate first. Needs `key`.",
        ),
        key(
            "key",
            Kind::Pem("PRIVATE KEY"),
            Default::Unset("self-signed"),
            "Private key of the first certificate in `cert`, in PEM form, without a passphrase. Needs `cert`.",
        ),
        key(
            "client_ca",
            Kind::Pem("CERTIFICATE"),
            Default::Unset("no client certificate is asked for"),
            "Certificates, in PEM form, of the authorities that sign clients' certificates. Clients are then asked \
             for one: a client that shows none may go on, as with the servers' `ssl_ca`; one that shows a \
             certificate of another authority is refused.",
        ),
        key(
            "require",
            Kind::Flag,
            Default::Is("false"),
            "Refuse clients that do not use TLS, as the servers' `require_secure_transport` does. Connections over \
             a unix socket count as secure. Off, for the servers' own default is off.",
        ),
    ],
};

static SERVER: Section = Section {
    header: "[[server]]",
    doc: "The server behind. Exactly one: this version does not support pools of servers.",
    keys: &[
        key(
            "name",
            Kind::Name { max: 64 },
            Default::Required,
            "Its name in logs and metrics: letters, digits, `.`, `_` and `-`.",
        ),
        key(
            "address",
            Kind::Address,
            Default::Required,
            "`HOST:PORT`, `[IPV6]:PORT` or `unix:/path`. A name is looked up at each connection.",
        ),
        key(
            "max_connections",
            Kind::Count { min: 1, max: 100_000 },
            Default::Is("100"),
            "Connections that Weir opens to the server at most. 100 leaves room below 151, the servers' own default \
             of `max_connections`, for administrators and replicas. Raise both together.",
        ),
        table("tls", &SERVER_TLS),
        key(
            "compression",
            Kind::Word(Compression::WORDS),
            Default::Is("\"none\""),
            "Compression of the protocol towards the server, used if the server offers it (MariaDB has `zlib` \
             only). It trades processor time for network; on a local network it costs more than it saves.",
        ),
    ],
};

static SERVER_TLS: Section = Section {
    header: "[server.tls]",
    doc: "TLS towards the server.",
    keys: &[
        key(
            "mode",
            Kind::Word(TlsMode::WORDS),
            Default::Is("\"preferred\""),
            "As `--ssl-mode` of the MySQL clients: `preferred` encrypts if the server can, `required` refuses a \
             server that cannot, `verify_ca` checks that `ca` signed the server's certificate, `verify_identity` \
             also that it was issued for the host of `address`. The default is that of the clients.",
        ),
        key(
            "ca",
            Kind::Pem("CERTIFICATE"),
            Default::Unset("none"),
            "Certificates, in PEM form, of the authorities that sign the server's certificate. The modes \
             `verify_ca` and `verify_identity` need it (the system's own list is not used), the others do not \
             look at it.",
        ),
        key(
            "cert",
            Kind::Pem("CERTIFICATE"),
            Default::Unset("none"),
            "Certificate that Weir shows to the server, for accounts with `REQUIRE X509`. Needs `key`.",
        ),
        key("key", Kind::Pem("PRIVATE KEY"), Default::Unset("none"), "Private key of `cert`. Needs `cert`."),
    ],
};

static USER: Section = Section {
    header: "[[user]]",
    doc: "A user whose password Weir knows. Listed users log in without Weir having to learn their password first.",
    keys: &[
        key(
            "name",
            Kind::Name { max: 80 },
            Default::Required,
            "User name, as in `CREATE USER`, without the host. MySQL allows 32 characters, MariaDB 80.",
        ),
        key(
            "password",
            Kind::Secret,
            Default::Required,
            "The password, with which Weir also logs in to the server. Prefer `{ env = ... }` or `{ file = ... }`.",
        ),
        key(
            "previous",
            Kind::Secret,
            Default::Unset("none"),
            "A password that is accepted from clients besides `password`, while a password is rotated.",
        ),
        key(
            "replication",
            Kind::Flag,
            Default::Is("false"),
            "Whether the user may replicate (COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID, COM_REGISTER_SLAVE). A replica \
             reads every change of every table, so it is off unless you say so.",
        ),
        key(
            "sharing",
            Kind::Word(Sharing::WORDS),
            Default::Unset("that of `[pool]`"),
            "Whether the user's clients share server connections; see `sharing` of `[pool]`.",
        ),
    ],
};

static AUTH: Section = Section {
    header: "[auth]",
    doc: "How users that are not listed log in.",
    keys: &[
        key(
            "passthrough",
            Kind::Flag,
            Default::Is("true"),
            "Let users that are not listed log in with what the server accepts. Their passwords are kept in memory \
             only. With `false`, only listed users can log in.",
        ),
        key(
            "revalidate",
            Kind::Duration { min: SECOND, max: DAY, zero: Some("every login is confirmed") },
            Default::Is("\"0s\""),
            "How old the server's confirmation of a user's password may be at a login of a client that shares connections \
             (`pool.sharing`). Within this time a login with the same password, schema, character set and flags is let in \
             without asking the server, and its session begins as the confirmed one did: an account that is locked, dropped or \
             changed there, and a SET GLOBAL, show so much later. Clients with a connection of their own are always confirmed.",
        ),
        key(
            "replication_users",
            Kind::Names { max: 80 },
            Default::Is("[]"),
            "Users, not listed ones, that may replicate. For a listed user, set `replication` there.",
        ),
    ],
};

static TOKEN: Section = Section {
    header: "[[token]]",
    doc: "Who may use the admin address. `weir token add` makes a token, shows it once, and writes its hash here.",
    keys: &[
        key(
            "name",
            Kind::Name { max: 64 },
            Default::Required,
            "Whose it is, as it stands in the log for each change: letters, digits, `.`, `_` and `-`.",
        ),
        key(
            "role",
            Kind::Word(Role::WORDS),
            Default::Is("\"read\""),
            "`read`: look at rules, statistics and metrics, and ask what would be done with a statement. `operate`: also act \
             on what runs, such as wipe the cache. `admin`: also change the configuration, such as the rules.",
        ),
        key(
            "hash",
            Kind::Text { max: 71 },
            Default::Required,
            "`sha256:` and the SHA-256 of the token in 64 hexadecimal digits. The token itself is kept nowhere.",
        ),
    ],
};

static LOG: Section = Section {
    header: "[log]",
    doc: "The log, on standard error.",
    keys: &[
        fixed(
            key(
                "format",
                Kind::Word(LogFormat::WORDS),
                Default::Is("\"text\""),
                "`text` for people, `json` for collectors: one object a line.",
            ),
            "a collector that reads one form would meet the other: restart Weir to change it",
        ),
        key(
            "level",
            Kind::Word(LogLevel::WORDS),
            Default::Is("\"info\""),
            "The least severe messages to write. `info` has one line for each connection event; `debug` and \
             `trace` are for reporting a bug. Who has changed something, and who was not let in, stands there at every level.",
        ),
    ],
};

static RUNTIME: Section = Section {
    header: "[runtime]",
    doc: "The process.",
    keys: &[
        fixed(
            key(
                "workers",
                Kind::Count { min: 0, max: 1024 },
                Default::Is("0"),
                "Worker threads; 0 is one for each core. A connection stays on one worker.",
            ),
            "threads are started once: restart Weir to change it",
        ),
        fixed(
            key(
                "io",
                Kind::Word(Io::WORDS),
                Default::Is("\"auto\""),
                "How the bytes of plain TCP connections are moved, once a session has sent some commands. With many \
                 busy clients `io_uring` takes about a fifth less CPU time for each query than `epoll`, with a few \
                 somewhat more. `auto` uses it on workers with 16 connections or more, where the kernel allows it \
                 (Linux 6.1 or newer, no filter of system calls against it). Where it does not, Weir says so in its \
                 log and uses epoll. TLS and Unix sockets always use epoll.",
            ),
            "each worker makes its ring at its start: restart Weir to change it",
        ),
        key(
            "watch",
            Kind::Flag,
            Default::Is("false"),
            "Reload when this file changes. Off: a reload on SIGHUP happens when you decide, not in the middle of \
             an edit.",
        ),
    ],
};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests;
