//! What it takes to tell digest and facts of a statement that was never seen before.

use std::hint::black_box;
use std::time::{Duration, Instant};

use weir_model::ServerFamily;
use weir_sql::{LexMode, Tokens};

/// The statements of sysbench's `oltp_read_write`, in their shares of a transaction.
pub const ROW: &str = "digest + facts, unseen statement of sysbench";
/// One statement.
pub const ROW_INSERT: &str = "digest + facts, INSERT of 100 kB";

/// So often everything is done, and the fastest time counts: what else the machine does only makes it slower.
const PASSES: u32 = 40;
/// Transactions, each with other numbers, so that the processor does not learn a statement by heart.
const TRANSACTIONS: u32 = 64;
const INSERT_LEN: usize = 100_000;

/// A column of 119 characters, as sysbench fills it.
const C: &str = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-\
                 41238978918-19503783441";
const PAD: &str = "22195207048-70116052123-74140395089-76317954521-98694025897";

/// Nanoseconds for a statement.
#[must_use]
pub fn statement() -> f64 {
    let statements: Vec<String> = (0..TRANSACTIONS).flat_map(transaction).collect();
    fastest(&statements).as_nanos() as f64 / statements.len() as f64
}

/// MB (1,000,000 bytes) in a second.
#[must_use]
pub fn insert() -> f64 {
    let statements: Vec<String> = (0..8).map(long_insert).collect();
    let bytes: usize = statements.iter().map(String::len).sum();
    bytes as f64 / 1e6 / fastest(&statements).as_secs_f64()
}

fn fastest(statements: &[String]) -> Duration {
    let mut tokens = Tokens::default();
    let mut digest = Vec::with_capacity(4096);
    let mode = LexMode::new(ServerFamily::MariaDb, 101_119);
    let mut pass = || {
        let start = Instant::now();
        for sql in statements {
            let text = tokens.read(black_box(sql.as_bytes()), mode);
            black_box(text.digest(&mut digest));
            black_box(text.facts(true));
        }
        start.elapsed()
    };
    (0..PASSES).map(|_| pass()).min().unwrap_or_default()
}

/// The statements of a transaction but BEGIN and COMMIT.
pub(crate) fn transaction(number: u32) -> Vec<String> {
    let table = 1 + number % 16;
    // Numbers of different lengths, as sysbench draws them out of a table's size.
    let id = |step: u32| 1 + (number * 7919 + step * 104_729) % 100_000;
    let range = |step: u32| format!("BETWEEN {} AND {}", id(step), id(step) + 99);
    let mut all: Vec<String> =
        (0..10).map(|step| format!("SELECT c FROM sbtest{table} WHERE id={}", id(step))).collect();
    all.extend([
        format!("SELECT c FROM sbtest{table} WHERE id {}", range(10)),
        format!("SELECT SUM(k) FROM sbtest{table} WHERE id {}", range(11)),
        format!("SELECT c FROM sbtest{table} WHERE id {} ORDER BY c", range(12)),
        format!("SELECT DISTINCT c FROM sbtest{table} WHERE id {} ORDER BY c", range(13)),
        format!("UPDATE sbtest{table} SET k=k+1 WHERE id={}", id(14)),
        format!("UPDATE sbtest{table} SET c='{C}' WHERE id={}", id(15)),
        format!("DELETE FROM sbtest{table} WHERE id={}", id(16)),
        format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({}, {}, '{C}', '{PAD}')", id(16), id(17)),
    ]);
    all
}

/// As `sysbench prepare` fills a table.
fn long_insert(number: u32) -> String {
    let mut sql = format!("INSERT INTO sbtest{number}(k, c, pad) VALUES");
    let mut id = number;
    while sql.len() < INSERT_LEN {
        id += 7919;
        let comma = if id == number + 7919 { "" } else { ", " };
        sql.push_str(&format!("{comma}({}, '{C}', '{PAD}')", id % 100_000));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_what_sysbench_sends() {
        let all = transaction(3);
        assert_eq!(all.len(), 18);
        assert_eq!(all[0], "SELECT c FROM sbtest4 WHERE id=23758");
        assert!((INSERT_LEN..INSERT_LEN + 300).contains(&long_insert(1).len()));
        assert_ne!(transaction(1), transaction(2));
    }

    #[test]
    fn both_are_measured() {
        assert!(statement() > 0.0 && insert() > 0.0);
    }
}
