//! Statements that were seen before, but for their numbers: they need not be read again.

use crate::analytics::Spot;
use crate::doing::Doing;
use crate::passing::Passing;
use crate::sets::Sets;
use std::hash::BuildHasher;
use std::sync::Arc;
use weir_sql::{Facts, LexMode, StatementKind, without_numbers};

/// How many are kept by one worker.
const PLACES: usize = 1024;

/// What is known of a text. Numbers change nothing of it.
#[derive(Debug)]
pub(crate) struct Text {
    /// The text without its numbers, and how it was read.
    key: Box<[u8]>,
    pub mode: LexMode,
    pub kind: StatementKind,
    pub doing: Doing,
    /// Its digest, where that is known and does not depend on the numbers.
    pub spot: Option<Spot>,
    /// Its like are seldom asked of the cache again.
    pub passing: Option<Arc<Passing>>,
}

/// The texts of one worker.
#[derive(Debug)]
pub(crate) struct Texts {
    sets: Sets<Text>,
    hasher: foldhash::fast::FixedState,
    /// The text that was looked for last, and where it is, if it is known.
    wanted: Vec<u8>,
    last: Option<usize>,
}

impl Texts {
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(seed: u64) -> Self {
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        Self { sets: Sets::new(PLACES), hasher, wanted: Vec::new(), last: None }
    }

    pub fn find(&mut self, sql: &[u8], mode: LexMode) -> Option<&mut Text> {
        self.wanted.clear();
        self.last = None;
        if !without_numbers(sql, &mut self.wanted) {
            self.wanted.clear();
            return None;
        }
        let (hash, wanted) = (self.hash(), &*self.wanted);
        self.last = self.sets.find(hash, |text| *text.key == *wanted && text.mode == mode);
        self.last_known()
    }

    /// The text that was looked for last, if it is known.
    pub fn last_known(&mut self) -> Option<&mut Text> {
        self.sets.get_mut(self.last?)
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        self.sets.iter_mut()
    }

    /// The text that was looked for last, without its numbers; `None` where they may count.
    pub fn last(&self) -> Option<&[u8]> {
        (!self.wanted.is_empty()).then_some(&*self.wanted)
    }

    /// Keeps what the text is that was looked for last and not found, if its numbers cannot matter.
    pub fn keep(&mut self, facts: &Facts, doing: &Doing, mode: LexMode) {
        let kind = facts.kind();
        let plain = matches!(kind, StatementKind::Read | StatementKind::Write)
            && facts.pins.is_empty()
            && !facts.has_effects()
            && !facts.classified.local_infile
            && !self.wanted.is_empty();
        if let (true, Some(doing)) = (plain, doing.plain()) {
            let key = self.wanted.as_slice().into();
            let text = Text { key, mode, kind, doing, spot: None, passing: None };
            self.last = Some(self.sets.keep(self.hash(), text));
        }
    }

    fn hash(&self) -> u64 {
        self.hasher.hash_one(&self.wanted)
    }
}

#[cfg(test)]
mod tests;
