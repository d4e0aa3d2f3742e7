//! `[query_log]`: the slow log, and a share of the other statements.

use std::time::Duration;

use super::{Default, Kind, Section, key};

pub(super) static QUERY_LOG: Section = Section {
    header: "[query_log]",
    doc: "A file with a line of JSON for each slow statement and for a share of the others: see docs/analytics.md. It needs \
          `analytics.enabled`.",
    keys: &[
        key(
            "file",
            Kind::File,
            Default::Unset("no such log"),
            "Where the lines go. It is made with mode 0640, and opened anew at each reload.",
        ),
        key(
            "slow",
            Kind::Duration {
                min: Duration::from_millis(1),
                max: Duration::from_secs(24 * 3600),
                zero: Some("none is slow"),
            },
            Default::Is("\"1s\""),
            "A statement that took so long, waiting included, is written. 1 s: what people notice.",
        ),
        key(
            "sample",
            Kind::Ratio,
            Default::Is("\"0%\""),
            "The share of the other statements that are written, chosen at random.",
        ),
        key(
            "literals",
            Kind::Flag,
            Default::Is("false"),
            "Write also the text of a COM_QUERY as it came, up to 4 KiB. It may hold what nobody should see; without it the text of the \
             digest is written, which has no literals.",
        ),
        key(
            "max_size",
            Kind::Size { min: 64 * 1024, max: 1 << 40 },
            Default::Is("\"100MiB\""),
            "How large the file becomes before it is renamed to `FILE.1` and a new one is begun.",
        ),
        key(
            "files",
            Kind::Count { min: 0, max: 1000 },
            Default::Is("5"),
            "Older files that are kept: `FILE.1` is the newest of them.",
        ),
    ],
};
