//! `[analytics]`: what is counted of statements.

use super::{Default, Kind, Section, fixed, key};

const ONCE: &str = "tables are made once, at the start: restart Weir to change it";

pub(super) static ANALYTICS: Section = Section {
    header: "[analytics]",
    doc: "What is counted of the statements that pass, by digest, user, schema and server: see docs/analytics.md.",
    keys: &[
        fixed(
            key(
                "enabled",
                Kind::Flag,
                Default::Is("true"),
                "Count statements by their digest. It costs up to some per cent of Weir's CPU time.",
            ),
            ONCE,
        ),
        fixed(
            key(
                "digests",
                Kind::Count { min: 100, max: 1_000_000 },
                Default::Is("10000"),
                "Rows of each worker's table, one for each digest, user, schema and server. A row takes 1 to 2 KiB as a \
                 rule, 10 KiB at most. Where more are met, those that are used least make room, and what they have counted \
                 is shown in one row for all others.",
            ),
            ONCE,
        ),
        fixed(
            key(
                "samples",
                Kind::Flag,
                Default::Is("false"),
                "Keep one statement of each row as its client sent it, up to 1 KiB, and show it to whoever reaches the admin \
                 address. It may hold what nobody should see; without it the text of the digest is shown, which has no \
                 literals.",
            ),
            ONCE,
        ),
    ],
};
