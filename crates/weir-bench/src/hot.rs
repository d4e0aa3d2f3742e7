//! The functions that every query goes through, each on the bytes of a usual query.

use std::hint::black_box;

use anyhow::{Context, Result, bail};
use weir_model::ServerFamily;
use weir_sql::{LexMode, Statement, Tokens, quick};
use weir_wire::caps;
use weir_wire::command::Shape;
use weir_wire::frame::put_packet;
use weir_wire::response::{Event, Walker};

use crate::unseen;

/// One function with its input.
pub struct Hot {
    /// The name of it in the list of expected counts.
    pub name: &'static str,
    /// Calls it the given number of times.
    pub run: fn(u32) -> Result<()>,
}

/// All of them.
pub static ALL: [Hot; 13] = [
    Hot { name: "walk_point_select", run: walk_point_select },
    Hot { name: "walk_100_rows", run: walk_100_rows },
    Hot { name: "put_packet", run: put_one_packet },
    Hot { name: "quick_point_select", run: quick_point_select },
    Hot { name: "quick_multi_statements", run: quick_multi_statements },
    Hot { name: "classify_load_data", run: classify_load_data },
    Hot { name: "analyse_point_select", run: |times| analyse(0, times) },
    Hot { name: "analyse_sum_range", run: |times| analyse(11, times) },
    Hot { name: "analyse_insert", run: |times| analyse(17, times) },
    Hot { name: "select_of_1_rule", run: |times| rules::select(1, times) },
    Hot { name: "select_of_1000_rules", run: |times| rules::select(1_000, times) },
    Hot { name: "decide_of_1_rule", run: |times| rules::decide(1, times) },
    Hot { name: "decide_of_1000_rules", run: |times| rules::decide(1_000, times) },
];

/// Finds one by its name.
///
/// # Errors
/// When there is none of that name.
pub fn find(name: &str) -> Result<&'static Hot> {
    ALL.iter().find(|hot| hot.name == name).with_context(|| format!("no hot function is called {name}"))
}

const POINT_SELECT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=12345";
const MODE: fn() -> LexMode = || LexMode::new(ServerFamily::MariaDb, 101_119);

fn walk_point_select(times: u32) -> Result<()> {
    walk(&answer(1), times)
}

fn walk_100_rows(times: u32) -> Result<()> {
    walk(&answer(100), times)
}

fn walk(answer: &[u8], times: u32) -> Result<()> {
    let mut walker = Walker::new(caps::PROTOCOL_41 | caps::TRANSACTIONS, 2);
    for _ in 0..times {
        walker.begin(Shape::Query);
        let (consumed, event) = walker.walk(black_box(answer))?;
        if event != Event::Done || consumed != answer.len() {
            bail!("the walker stopped at byte {consumed} of {} with {event:?}", answer.len());
        }
    }
    Ok(())
}

/// A result set as sysbench's `oltp` scripts get it: one column of 119 characters.
fn answer(rows: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut seq = put_packet(&mut bytes, 1, &[1]);
    let mut column = Vec::new();
    for text in ["def", "sbtest", "sbtest1", "sbtest1", "c", "c"] {
        column.push(text.len() as u8);
        column.extend_from_slice(text.as_bytes());
    }
    column.extend_from_slice(&[12, 45, 0, 224, 1, 0, 0, 254, 1, 0, 0, 0, 0]);
    seq = put_packet(&mut bytes, seq, &column);
    seq = put_packet(&mut bytes, seq, &[0xFE, 0, 0, 2, 0]);
    let mut row = vec![119];
    row.resize(120, b'7');
    for _ in 0..rows {
        seq = put_packet(&mut bytes, seq, &row);
    }
    put_packet(&mut bytes, seq, &[0xFE, 0, 0, 2, 0]);
    bytes
}

fn put_one_packet(times: u32) -> Result<()> {
    let mut out = Vec::with_capacity(256);
    for _ in 0..times {
        out.clear();
        put_packet(&mut out, 0, black_box(POINT_SELECT));
        black_box(&out);
    }
    Ok(())
}

fn quick_point_select(times: u32) -> Result<()> {
    for _ in 0..times {
        black_box(quick(black_box(POINT_SELECT), MODE(), false));
    }
    Ok(())
}

fn quick_multi_statements(times: u32) -> Result<()> {
    for _ in 0..times {
        black_box(quick(black_box(POINT_SELECT), MODE(), true));
    }
    Ok(())
}

fn classify_load_data(times: u32) -> Result<()> {
    let sql = b"LOAD DATA LOCAL INFILE '/tmp/people.csv' INTO TABLE people FIELDS TERMINATED BY ','";
    for _ in 0..times {
        black_box(Statement::classify(black_box(sql), MODE(), false));
    }
    Ok(())
}

/// Digest and facts of one of the statements of sysbench.
fn analyse(statement: usize, times: u32) -> Result<()> {
    let all = unseen::transaction(1);
    let sql = all.get(statement).context("a transaction has no so many statements")?.as_bytes();
    let (mut tokens, mut digest) = (Tokens::default(), Vec::with_capacity(1024));
    for _ in 0..times {
        let text = tokens.read(black_box(sql), MODE());
        black_box(text.digest(&mut digest));
        black_box(text.facts(true));
    }
    Ok(())
}

mod rules;

#[cfg(test)]
mod tests;
