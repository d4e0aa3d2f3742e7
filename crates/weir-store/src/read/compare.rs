use std::path::Path;
use std::sync::Arc;

use weir_stats::digests::{DigestText, Origin, Sums};
use weir_stats::series::{Comparison, Ranked, Spans};

use super::{Bound, Found, Names, covered_ms, gather, whole_minutes};
use crate::file;
use crate::trouble::Trouble;

/// Which periods are compared, each from the minute of one second to that of another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub now: (u64, u64),
    pub then: (u64, u64),
    /// Rows of each list at most, and how many are left out before them.
    pub rows: usize,
    pub offset: usize,
}

/// How two periods differ.
#[derive(Debug, Clone)]
pub struct Compared<T> {
    /// The first second of each, and the one behind its last.
    pub now: (u64, u64),
    pub then: (u64, u64),
    pub spans: Spans,
    pub new: Listed<T>,
    pub gone: Listed<T>,
    pub slower: Listed<T>,
    pub faster: Listed<T>,
    pub more_often: Listed<T>,
    pub less_often: Listed<T>,
    /// Rows that are in none of the lists.
    pub unchanged: u64,
    /// Statements that have no row.
    pub others_now: u64,
    pub others_then: u64,
}

/// One of the lists.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// How many rows there are.
    pub count: u64,
    /// The first of them.
    pub rows: Vec<T>,
}

/// One digest from one origin, in both periods.
#[derive(Debug)]
pub struct Row<'r> {
    pub digest: &'r Arc<DigestText>,
    pub origin: &'r Arc<Origin>,
    pub now: &'r Sums,
    pub then: &'r Sums,
}

/// A digest and an origin, by their numbers in the file.
type Pair = (i64, i64);

/// Compares two periods, of the origins that `is_wanted`; `show` makes of a row what is told of it.
///
/// While it does, both periods are held in the form of the file, and one row at a time in the large one: 200 bytes for each of
/// 100,000 digests and origins as a rule.
pub(crate) fn compare<T>(
    path: &Path,
    asked: Asked,
    is_wanted: impl Fn(&Origin) -> bool,
    mut show: impl FnMut(&Row<'_>, Spans) -> T,
) -> Result<Compared<T>, Trouble> {
    // Both are of one moment of the file.
    let mut connection = file::open_to_read(path)?;
    let connection = &*connection.transaction()?;
    let mut bound = Bound::new();
    let (now, then) = (whole_minutes(asked.now), whole_minutes(asked.then));
    let spans = Spans { now_ms: covered_ms(connection, now)?, then_ms: covered_ms(connection, then)? };
    let mut both = Both {
        now: gather(connection, now, &mut bound)?.shrunk(),
        then: gather(connection, then, &mut bound)?.shrunk(),
        names: Names::new(connection),
    };
    let found =
        both.compare(Comparison::new(spans, asked.offset.saturating_add(asked.rows)), is_wanted, &mut bound)?;
    let mut list = |ranked: Ranked<Pair>| -> Result<Listed<T>, Trouble> {
        let count = ranked.count();
        let mut rows = Vec::new();
        for pair in ranked.first(asked.offset) {
            let (sums_now, sums_then) = both.sums(pair)?;
            // It always has one, unless the file is damaged.
            if let Some((digest, origin)) = both.names.of(pair.0, pair.1)? {
                let row = Row { digest: &digest, origin: &origin, now: &sums_now, then: &sums_then };
                rows.push(show(&row, spans));
            }
        }
        Ok(Listed { count, rows })
    };
    Ok(Compared {
        now,
        then,
        spans,
        new: list(found.new)?,
        gone: list(found.gone)?,
        slower: list(found.slower)?,
        faster: list(found.faster)?,
        more_often: list(found.more_often)?,
        less_often: list(found.less_often)?,
        unchanged: found.unchanged,
        others_now: both.now.other.calls,
        others_then: both.then.other.calls,
    })
}

/// The two periods.
struct Both<'c> {
    now: Found,
    then: Found,
    names: Names<'c>,
}

impl Both<'_> {
    fn sums(&self, pair: Pair) -> Result<(Sums, Sums), Trouble> {
        let of = |found: &Found| found.apart.get(&pair).map(|gathered| gathered.sums()).transpose();
        Ok((of(&self.now)?.unwrap_or_default(), of(&self.then)?.unwrap_or_default()))
    }

    fn compare(
        &mut self,
        mut comparison: Comparison<Pair>,
        is_wanted: impl Fn(&Origin) -> bool,
        bound: &mut Bound,
    ) -> Result<Comparison<Pair>, Trouble> {
        let gone = self.then.apart.keys().filter(|pair| !self.now.apart.contains_key(*pair));
        let pairs: Vec<Pair> = self.now.apart.keys().chain(gone).copied().collect();
        for pair in pairs {
            bound.look()?;
            let (now, then) = self.sums(pair)?;
            match self.names.origin(pair.1)? {
                Some(origin) if is_wanted(&origin) => comparison.add(pair, &now, &then),
                Some(_) => {}
                None => {
                    self.now.other.merge(&now);
                    self.then.other.merge(&then);
                }
            }
        }
        Ok(comparison)
    }
}
