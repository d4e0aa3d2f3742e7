use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::code::{decode_sums, encode_sums};
use crate::digests::{DigestText, Line, Origin, Report, Rows, Sums, Table};

/// What was counted of digests since it was looked last.
#[derive(Debug, Clone, Default)]
pub struct Minute {
    /// Those that took most of the clients' time.
    pub lines: Vec<Line>,
    /// All others, and what had to make room meanwhile.
    pub other: Sums,
}

impl Minute {
    /// Adds what was counted later in the same minute.
    pub fn merge(&mut self, later: Self, most: usize) {
        self.other.merge(&later.other);
        for line in later.lines {
            let same = |held: &&mut Line| is_same(&held.digest, &line.digest) && held.origin == line.origin;
            match self.lines.iter_mut().find(same) {
                Some(held) => held.sums.merge(&line.sums),
                None => self.lines.push(line),
            }
        }
        self.lines.sort_by_key(|line| (Reverse(line.sums.total.sum_ns()), line.digest.id));
        for line in self.lines.drain(most.min(self.lines.len())..) {
            self.other.merge(&line.sums);
        }
    }
}

/// Knows what tables had counted when it was looked last, in some 200 bytes for each row.
#[derive(Debug, Default)]
pub struct Ledger {
    before: HashMap<Key, Box<[u8]>>,
    /// Of all rows, and those that have gone.
    all: Sums,
    /// How often the tables had been emptied.
    resets: u64,
}

/// By its bytes: two texts may share an id by chance. What else is known of a digest may differ between the tables, and with it
/// what is told of their sum.
#[derive(Debug)]
struct Key {
    digest: Arc<DigestText>,
    origin: Arc<Origin>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.digest, &other.digest) && self.origin == other.origin
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest.id.0);
        self.origin.hash(state);
    }
}

impl Ledger {
    /// What was counted since the last call: of at most `most` digests and origins, and of all others together. The sum of
    /// all is exact.
    ///
    /// Where a row had to make room and has come again, what it has counted meanwhile is told with the others.
    pub fn take(&mut self, tables: &[Arc<Table>], most: usize) -> Minute {
        let mut read = self.read(tables, most);
        // Once more if the tables were emptied between two looks; what happens again and again is not worth more.
        for _ in 0..3 {
            if read.resets == Report::resets(tables) {
                break;
            }
            read = self.read(tables, most);
        }
        if read.resets != self.resets {
            self.all = Sums::default();
        }
        let mut lines = read.lines;
        keep_greatest(&mut lines, most);
        let mut told = Sums::default();
        lines.iter().for_each(|line| told.merge(&line.sums));
        let other = read.all.beyond(&self.all).beyond(&told);
        *self = Self { before: read.seen, all: read.all, resets: read.resets };
        Minute { lines, other }
    }

    fn read(&self, tables: &[Arc<Table>], most: usize) -> Read {
        let resets = Report::resets(tables);
        let mut all = Sums::default();
        let (mut seen, mut lines) = (HashMap::with_capacity(self.before.len()), Vec::new());
        let rows = Rows::of(tables);
        for (_, line) in rows.lines() {
            all.merge(&line.sums);
            let key = Key { digest: Arc::clone(&line.digest), origin: Arc::clone(&line.origin) };
            let bytes = encode_sums(&line.sums).into_boxed_slice();
            let before = self.before.get(&key).filter(|_| resets == self.resets);
            let since = match before {
                None => line.sums.since(&Sums::default()),
                Some(before) if *before == bytes => None,
                Some(before) => decode_sums(before).and_then(|before| line.sums.since(&before)),
            };
            seen.insert(key, bytes);
            if let Some(sums) = since {
                lines.push(Line { sums, sample: Box::default(), ..line });
                if lines.len() > 2 * most + 100 {
                    keep_greatest(&mut lines, most);
                }
            }
        }
        all.merge(rows.other());
        Read { resets, all, seen, lines }
    }
}

fn is_same(a: &DigestText, b: &DigestText) -> bool {
    a.id == b.id && a.text == b.text
}

/// Those that took most time, in that order.
fn keep_greatest(lines: &mut Vec<Line>, most: usize) {
    lines.sort_by_key(|line| (Reverse(line.sums.total.sum_ns()), line.digest.id));
    lines.truncate(most);
}

/// One look at the tables.
struct Read {
    resets: u64,
    all: Sums,
    seen: HashMap<Key, Box<[u8]>>,
    lines: Vec<Line>,
}
