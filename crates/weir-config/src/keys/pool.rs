//! `[pool]`: who shares server connections, and how many there are.

use std::time::Duration;

use super::{DAY, Default, Key, Kind, SECOND, Section, key};
use crate::types::Sharing;

pub(super) static POOL: Section = Section {
    header: "[pool]",
    doc: "How clients share server connections. A change holds for clients that log in after it, and for connections \
          from their next use on.",
    keys: &[
        key(
            "sharing",
            Kind::Word(Sharing::WORDS),
            Default::Is("\"session\""),
            "`session`: each client keeps a server connection of its own until it leaves. `transaction`: a client has \
             a server connection for a statement or a transaction, or as long as something pins it there (a temporary \
             table, a lock, a prepared statement, ...; `docs/compatibility.md` lists the reasons), so thousands of \
             clients need few.",
        ),
        count(
            "min_idle",
            0,
            100_000,
            "1",
            "Idle connections that are kept however long nobody needs them, so that the first statement after a quiet \
             time does not wait for a login. That many are opened ahead only with `warm_up`.",
        ),
        key(
            "warm_up",
            Kind::Flag,
            Default::Is("false"),
            "Opens connections ahead, so that `min_idle` of them are idle: after the start, and again when some were closed (`max_lifetime`, \
             a server that has restarted, KILL). Only for users that share connections and whose password stands in `[[user]]`, with the client flags that \
             their clients have lately used; before the first client, with those of libmysqlclient. One at a time, never while a statement \
             waits, and not while the server cannot be reached. Off, for each is a login that no client has asked for.",
        ),
        key(
            "idle_timeout",
            Kind::Duration { min: SECOND, max: DAY, zero: None },
            Default::Is("\"60s\""),
            "An idle connection above `min_idle` is closed when nobody has needed it for this long. A minute outlasts \
             the pauses of regular work.",
        ),
        key(
            "max_lifetime",
            Kind::Duration { min: SECOND, max: DAY, zero: Some("no limit") },
            Default::Is("\"30m\""),
            "A connection older than this is closed when it comes back; each at an age of its own, up to a tenth \
             earlier, so that they do not all go at once. It bounds what a server keeps for a connection, and lets \
             a changed address or `SET GLOBAL` take hold.",
        ),
        key(
            "queue_timeout",
            Kind::Duration { min: Duration::from_millis(10), max: DAY, zero: None },
            Default::Is("\"10s\""),
            "How long a statement or a login waits for a server connection when all are in use. Then it is refused with \
             error 1040. Most clients give up after ten seconds or later.",
        ),
        count(
            "max_waiting",
            0,
            1_000_000,
            "10000",
            "Statements and logins that wait at most; one more is refused at once with error 1040. As many as clients \
             may be logged in.",
        ),
        key(
            "pinned_share",
            Kind::Count { min: 1, max: 100 },
            Default::Is("80"),
            "Percent of the server's connections that sessions may ask to keep beyond one statement (transactions, locks). \
             The rest is left to single statements, so that open transactions never stop all other work.",
        ),
        count(
            "server_statements",
            1,
            4_194_304,
            "12000",
            "Prepared statements that all shared connections keep on the server together; each keeps one at least and 1,000 at \
             most. The server's `max_prepared_stmt_count` is for everybody who uses it, and 16,382 by default: several Weirs in \
             front of it, and programs that do not go through Weir, need parts of their own.",
        ),
        key(
            "reuse_timeout",
            Kind::Duration {
                min: Duration::from_millis(10),
                max: DAY,
                zero: Some("each client gets a new one"),
            },
            Default::Is("\"2s\""),
            "With `session`: how long the connection of a client that has left may wait for the next client. The server \
             forgets the session at once (COM_RESET_CONNECTION) and judges the next client's password itself \
             (COM_CHANGE_USER), for less than half of what a new connection costs. Long enough where clients come and go \
             all the time; `docs/compatibility.md` says which sessions are left out.",
        ),
    ],
};

const fn count(name: &'static str, min: u64, max: u64, default: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Count { min, max }, Default::Is(default), doc)
}
