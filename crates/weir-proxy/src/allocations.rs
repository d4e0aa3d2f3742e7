//! A statement that was met before is found again without an allocation, wherever a worker looks for it.
//!
//! The allocator counts for each thread by itself: what other unit tests do beside these is not counted.

use crate::analytics::{Digests, here};
use crate::doing::Doing;
use crate::judged::Judgements;
use crate::settings::AnalyticsSettings;
use crate::texts::Texts;
use std::sync::Arc;
use weir_model::ServerFamily;
use weir_model::rule::RuleCommand;
use weir_sql::{Facts, LexMode, StatementKind};
use weir_stats::digests::Origin;
use weir_testkit::allocations::{Counting, counted};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MODES: fn() -> [LexMode; 2] =
    || [LexMode::new(ServerFamily::MySql, 90_704), LexMode::new(ServerFamily::MariaDb, 101_119)];

/// A statement, and one that differs from it in numbers alone.
const NUMBERS: [[&str; 2]; 5] = [
    ["SELECT c FROM sbtest1 WHERE id=5023", "SELECT c FROM sbtest1 WHERE id=7"],
    [
        "SELECT c FROM t WHERE id BETWEEN 5000 AND 5099 ORDER BY c",
        "SELECT c FROM t WHERE id BETWEEN 7 AND 9 ORDER BY c",
    ],
    ["SELECT a, b FROM t JOIN u USING (id) WHERE t.n=10", "SELECT a, b FROM t JOIN u USING (id) WHERE t.n=0"],
    ["INSERT INTO t VALUES (1, 20, 300)", "INSERT INTO t VALUES (4, 5, 6)"],
    ["UPDATE t SET a=a+10 WHERE id=100", "UPDATE t SET a=a+1 WHERE id=2"],
];

/// The same where strings differ too, and texts that are known as they are.
const OTHERS: [[&str; 2]; 4] = [
    ["SELECT c FROM t WHERE v='long ago' AND n=55", "SELECT c FROM t WHERE v='now' AND n=6"],
    ["DELETE FROM t WHERE v='long ago' LIMIT 10", "DELETE FROM t WHERE v='' LIMIT 1"],
    ["SELECT /* page */ c FROM t", "SELECT /* page */ c FROM t"],
    ["SELECT c FROM t WHERE v='it\\'s'", "SELECT c FROM t WHERE v='it\\'s'"],
];

/// `ask` knows the second because it has met the first, and allocates nothing for it.
fn check(mode: LexMode, texts: &[[&str; 2]], mut ask: impl FnMut(&[u8]) -> bool) {
    for [first, second] in texts {
        let (known, learning) = counted(|| ask(first.as_bytes()));
        assert!(!known && learning > 0, "{mode:?} {first}: {learning} allocations");
        for again in [second, first, second] {
            let (known, count) = counted(|| ask(again.as_bytes()));
            assert!(known, "{mode:?} {again}: it is not known");
            assert_eq!(count, 0, "{mode:?} {again}");
        }
    }
}

/// Whether it is there already; else it is added. There is room.
fn is_there<T: PartialEq>(all: &mut Vec<T>, one: T) -> bool {
    let found = all.contains(&one);
    if !found {
        all.push(one);
    }
    found
}

#[test]
fn where_its_digest_is_counted() {
    for mode in MODES() {
        let digests = Digests::new(1, AnalyticsSettings { enabled: true, digests: 100, samples: false }, 7);
        digests.count_here(0, 7);
        let [user, schema] = [b"app".as_slice(), b"shop"].map(Into::into);
        let origin = Origin { user, schema, server: "db1".into() };
        let sender = here(|analytics| analytics.sender(origin, 0, None)).expect("this thread counts");
        let mut slots = Vec::with_capacity(100);
        check(mode, &[&NUMBERS[..], &OTHERS].concat(), |sql| {
            let (slot, ..) =
                here(|analytics| analytics.find(sql, mode, &sender)).expect("this thread counts");
            is_there(&mut slots, slot)
        });
    }
}

#[test]
fn what_it_does_to_its_session() {
    for mode in MODES() {
        let mut texts = Texts::new(7);
        check(mode, &NUMBERS, |sql| {
            let found = texts.find(sql, mode).is_some();
            if !found {
                let facts = Facts::of(sql, mode, true);
                let doing = Doing::of_text(sql, facts.clone());
                texts.keep(&facts, &doing, mode);
            }
            found
        });
    }
}

#[test]
fn what_the_cache_and_the_rules_see_in_it() {
    for mode in MODES() {
        let mut judgements = Judgements::new(7);
        // Each is kept, so that no other takes its place in memory.
        let (mut all, mut places) = (Vec::with_capacity(100), Vec::with_capacity(100));
        check(mode, &[&NUMBERS[..], &OTHERS[2..]].concat(), |sql| {
            let found = judgements.of(sql, None, mode, (|| StatementKind::Read, RuleCommand::Query));
            let is_there = is_there(&mut places, Arc::as_ptr(&found.judged));
            all.push(found);
            is_there
        });
    }
}
