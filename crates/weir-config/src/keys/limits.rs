//! `[limits]`: a key for each field of `weir_model::Limits`, whose documentation gives the same reasons.

use std::time::Duration;

use super::{Default, Key, Kind, Section, key};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const DAYS: u64 = 24 * 3600 * 1000;

const fn count(name: &'static str, min: u64, max: u64, default: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Count { min, max }, Default::Is(default), doc)
}

const fn size(name: &'static str, min: u64, max: u64, default: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Size { min, max }, Default::Is(default), doc)
}

/// From `min` to `max` milliseconds.
const fn time(name: &'static str, min: u64, max: u64, default: &'static str, doc: &'static str) -> Key {
    let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
    key(name, Kind::Duration { min, max, zero: None }, Default::Is(default), doc)
}

/// From a second to `max` milliseconds, or 0, which means `zero`.
const fn time_or(
    name: &'static str,
    max: u64,
    zero: &'static str,
    default: &'static str,
    doc: &'static str,
) -> Key {
    let (min, max) = (Duration::from_secs(1), Duration::from_millis(max));
    key(name, Kind::Duration { min, max, zero: Some(zero) }, Default::Is(default), doc)
}

pub(super) static LIMITS: Section = Section {
    header: "[limits]",
    doc: "Every limit of Weir. A change holds for what begins after it.",
    keys: &[
        count(
            "max_clients",
            1,
            1_000_000,
            "10000",
            "Clients logged in at once. With a server connection for each, 10,000 clients are 20,000 descriptors.",
        ),
        count(
            "max_pending_logins",
            1,
            1_000_000,
            "4096",
            "Clients that have connected and not yet logged in. When it is reached the oldest is cut, so that a \
             flood of half-open connections does not lock out a healthy client, which needs milliseconds.",
        ),
        time(
            "login_timeout",
            200,
            3600 * 1000,
            "\"10s\"",
            "From the connection of a client to the end of its login, the server's part included. 10 s is the \
             servers' `connect_timeout`.",
        ),
        size(
            "login_bytes",
            4 * KIB,
            16 * MIB,
            "\"32KiB\"",
            "Bytes held for a client that has not logged in. A login with all its attributes is below 2 KiB; the \
             server itself stops at 16 KiB.",
        ),
        time(
            "auth_failure_delay",
            1,
            10_000,
            "\"100ms\"",
            "A refused login is answered at this age or the next multiple of it, whoever the user is. It is above \
             what a server needs to refuse, so that the time tells nothing, and slow enough to tire guessing. \
             It must be below `login_timeout`.",
        ),
        time(
            "server_connect_timeout",
            10,
            300_000,
            "\"5s\"",
            "To reach the server and log in to it. 5 s is below the 10 s after which most clients give up, so they \
             see Weir's error instead of their own timeout.",
        ),
        time_or(
            "client_idle_timeout",
            365 * DAYS,
            "no limit",
            "\"0s\"",
            "Silence of a client between statements. 0 leaves it to the server's `wait_timeout`, \
             which does not end a client that shares connections and has none at the time, unless its session has set a `wait_timeout` of its own.",
        ),
        time_or(
            "idle_transaction_timeout",
            365 * DAYS,
            "no limit",
            "\"0s\"",
            "Silence of a client that has a transaction open, as the server's last answer said, and so keeps its connection and its locks: error 4031, \
             and the server rolls back. What keeps a connection without a transaction (LOCK TABLES, GET_LOCK(), a temporary table) is not meant; \
             `client_idle_timeout` is for all. 0 leaves it to the server's `wait_timeout`, and is the default because no server ends \
             a transaction by itself, and who debugs one or thinks about its COMMIT would lose it. Where connections are shared, a few minutes keep forgotten \
             ones from taking the pool's `pinned_share`.",
        ),
        time(
            "client_read_timeout",
            1_000,
            DAYS,
            "\"30s\"",
            "Silence of a client in the middle of a command that Weir holds to see it whole, or its beginning. 30 s is the servers' `net_read_timeout`, \
             which bounds all other silence amid what a client sends, the file of a LOAD DATA LOCAL too.",
        ),
        time_or(
            "client_write_timeout",
            365 * DAYS,
            "no limit",
            "\"60s\"",
            "A client that takes nothing of an answer that waits for it. 60 s is the servers' `net_write_timeout`.",
        ),
        time_or(
            "server_read_timeout",
            365 * DAYS,
            "no limit",
            "\"0s\"",
            "A server that owes an answer and sends nothing. No limit, for statements may run for hours.",
        ),
        time(
            "drain_timeout",
            0,
            DAYS,
            "\"30s\"",
            "What still runs after SIGTERM is given this long; at 0 it is cut at once. 30 s is below the 90 s after which systemd kills.",
        ),
        size(
            "statement_bytes",
            KIB,
            8 * MIB,
            "\"1MiB\"",
            "Bytes of a statement that Weir looks at. A longer one is forwarded unread past its first 64 KiB. So is one beyond 64 KiB of a \
             client that shares no connections, as long as no rule does more than cache, for nothing depends on the rest.",
        ),
        size(
            "statement_memory",
            0,
            64 * 1024 * MIB,
            "\"64MiB\"",
            "Bytes of statements beyond 64 KiB that are held at once until they have come whole, of all clients. One that finds no room is \
             treated as one that is too long.",
        ),
        time_or(
            "tcp_keepalive",
            // TCP_KEEPIDLE of Linux ends at 32,767 s; nine hours is the round number below.
            9 * 3600 * 1000,
            "off",
            "\"60s\"",
            "Silence before the first TCP keep-alive probe, towards both sides. 60 s keeps most firewalls from \
             forgetting a quiet connection.",
        ),
        count(
            "max_kills",
            1,
            1024,
            "8",
            "KILL connections made at once by one worker, for clients that vanished. A burst of aborts must not \
             take the connections of the living.",
        ),
        count(
            "max_statements",
            1,
            4_194_304,
            "16382",
            "Prepared statements of one client that Weir keeps track of. 16,382 is the servers' default of \
             `max_prepared_stmt_count`.",
        ),
    ],
};
