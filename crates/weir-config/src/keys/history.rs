//! `[history]`: what is kept of statistics over time.

use std::time::Duration;

use super::{Default, Kind, Section, fixed, key};

const ONCE: &str = "the file is opened once, at the start: restart Weir to change it";
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

pub(super) static HISTORY: Section = Section {
    header: "[history]",
    doc: "The history of statistics, in one SQLite file: see docs/analytics.md. Whatever is wrong with the file, clients are \
          served all the same.",
    keys: &[
        fixed(
            key("enabled", Kind::Flag, Default::Is("true"), "Keep a history, where there is a file for it."),
            ONCE,
        ),
        fixed(
            key(
                "file",
                Kind::File,
                Default::Unset(
                    "`weir-history.db` in the state directory of the service (`StateDirectory=` of systemd, which sets \
                     STATE_DIRECTORY), and no history where there is none",
                ),
                "The file. It is made with the mode 0600 if it does not exist, with `-wal`, `-shm` and `-lock` beside it while \
                 Weir runs; its folder must exist. Each Weir needs one of its own. A relative path is taken from the folder of \
                 this file.",
            ),
            ONCE,
        ),
        key(
            "seconds",
            Kind::Duration { min: Duration::from_secs(60), max: Duration::from_secs(DAY), zero: None },
            Default::Is("\"1h\""),
            "How long totals are kept for each second.",
        ),
        key(
            "minutes",
            Kind::Duration {
                min: Duration::from_secs(HOUR),
                max: Duration::from_secs(400 * DAY),
                zero: None,
            },
            Default::Is("\"30d\""),
            "How long totals are kept for each minute, and what was counted of digests in each minute.",
        ),
        key(
            "digests",
            Kind::Count { min: 10, max: 2_000 },
            Default::Is("100"),
            "Digests of each minute, by user, schema and server: those that took most of the clients' time. The others \
             are kept as one sum. A row takes some 170 bytes in the file, so 100 a minute take about 700 MiB in 30 days.",
        ),
        key(
            "max_size",
            Kind::Size { min: 32 << 20, max: 1 << 40 },
            Default::Is("\"1GiB\""),
            "Bytes of the file at most; up to 8 MiB beside it come on top. When four fifths are full, the oldest minutes and \
             seconds make room.",
        ),
    ],
};
