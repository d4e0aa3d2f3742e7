use std::sync::Arc;

use super::row::{DigestText, Origin, Row};
use super::sums::Sums;
use super::table::Table;

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

/// The rows of some tables at one moment, whose lines are read one by one: a line takes some KiB of memory, and there may be tens of
/// thousands. What is counted meanwhile is told; what makes room meanwhile stays here.
#[derive(Debug)]
pub struct Rows {
    /// Those of one digest and origin stand together.
    rows: Vec<Arc<Row>>,
    /// Where each line ends in them.
    ends: Vec<usize>,
    other: Sums,
}

impl Rows {
    pub fn of(tables: &[Arc<Table>]) -> Self {
        let mut other = Sums::default();
        let mut rows = Vec::new();
        for table in tables {
            let (read, gone) = table.read();
            other.merge(&gone);
            rows.extend(read);
        }
        rows.sort_by_cached_key(|row| (row.digest.id, Arc::clone(&row.origin)));
        let same = |a: &Arc<Row>, b: &Arc<Row>| {
            a.digest.id == b.digest.id && a.origin == b.origin && a.digest.text == b.digest.text
        };
        let ends = rows.chunk_by(same).scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        Self { ends: ends.collect(), rows, other }
    }

    /// What rows had counted that had gone by then.
    pub fn other(&self) -> &Sums {
        &self.other
    }

    /// Each line with its number.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Line)> {
        // The first statement of a row may be under way.
        let begun = |(_, line): &(usize, Line)| line.sums.calls > 0;
        (0..self.ends.len()).filter_map(|at| Some((at, self.line(at)?))).filter(begun)
    }

    /// The line with this number.
    pub fn line(&self, at: usize) -> Option<Line> {
        let begin = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        Line::of(self.rows.get(begin..*self.ends.get(at)?)?)
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
    /// Adds up the tables of all workers. All of it is in memory then: who needs one line after the other takes [`Rows`].
    pub fn of(tables: &[Arc<Table>]) -> Self {
        let rows = Rows::of(tables);
        Self { lines: rows.lines().map(|(_, line)| line).collect(), other: rows.other }
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
