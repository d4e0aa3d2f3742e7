use std::sync::Arc;

use super::row::{DigestText, Origin, Row};
use super::sums::Sums;
use super::table::{self, Table};

/// One digest from one origin, summed over all workers.
#[derive(Debug, Clone)]
pub struct Line {
    pub digest: Arc<DigestText>,
    pub origin: Arc<Origin>,
    /// A statement with this digest, or the beginning of one, with its literals; empty where none is kept.
    pub sample: Box<[u8]>,
    pub sums: Sums,
}

impl Line {
    pub(super) fn of(rows: &[Arc<Row>]) -> Option<Self> {
        let first = rows.first()?;
        let mut sums = Sums::default();
        rows.iter().for_each(|row| row.add_to(&mut sums));
        Some(Self {
            digest: Arc::clone(&first.digest),
            origin: Arc::clone(&first.origin),
            sample: first.sample.clone(),
            sums,
        })
    }
}

/// What some tables have counted.
#[derive(Debug, Clone)]
pub struct Report {
    pub lines: Vec<Line>,
    /// What rows had counted that have gone.
    pub other: Sums,
}

impl Report {
    /// Adds up the tables of all workers.
    pub fn of(tables: &[Arc<Table>]) -> Self {
        let (lines, other) = table::collect(tables);
        Self { lines, other }
    }

    /// Shows each line, one after the other, and returns the sums of what rows had counted that have gone.
    pub(crate) fn walk(tables: &[Arc<Table>], show: impl FnMut(Line)) -> Sums {
        table::walk(tables, show)
    }

    /// How often what some tables held was forgotten.
    pub(crate) fn resets(tables: &[Arc<Table>]) -> u64 {
        tables.iter().map(|table| table.emptied.load(std::sync::atomic::Ordering::Relaxed)).sum()
    }

    /// The sums over all lines and the others.
    pub fn all(&self) -> Sums {
        let mut all = self.other.clone();
        self.lines.iter().for_each(|line| all.merge(&line.sums));
        all
    }
}

/// How full tables are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub rows: usize,
    /// Rows that have made room for others.
    pub evicted: u64,
    /// Memory of the rows.
    pub bytes: usize,
}

impl Usage {
    /// Of all workers together.
    pub fn of(tables: &[Arc<Table>]) -> Self {
        tables.iter().map(|table| table.usage()).fold(Self::default(), |sum, usage| Self {
            rows: sum.rows + usage.rows,
            evicted: sum.evicted + usage.evicted,
            bytes: sum.bytes + usage.bytes,
        })
    }
}
