//! Texts that were seen before, so that the digest of each is taken but once.

use super::Spot;
use crate::sets::Sets;
use std::hash::BuildHasher;
use std::sync::Arc;
use weir_sql::{LexMode, StatementKind, digest, digest_showing, read_facts, without_literals};
use weir_stats::digests::DigestText;

/// Texts that one worker remembers.
const PLACES: usize = 4096;
/// Texts longer than this are not remembered, in bytes.
const KEPT_MAX: usize = 4096;

/// What is told of a statement to a session that need not know more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain {
    pub kind: StatementKind,
    /// Its traces go with the session.
    pub forgettable: bool,
}

/// A text.
#[derive(Debug)]
pub(super) struct Known {
    /// Without its literals, where these do not show in the digest.
    key: Box<[u8]>,
    pub exact: bool,
    mode: LexMode,
    pub spot: Spot,
    pub plain: Option<Plain>,
}

#[derive(Debug)]
pub(super) struct Memo {
    sets: Sets<Box<Known>>,
    hasher: foldhash::fast::FixedState,
    /// The text that was looked for last, without its literals.
    wanted: Vec<u8>,
    /// Where that is.
    last: Option<usize>,
}

impl Memo {
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(seed: u64) -> Self {
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        Self { sets: Sets::new(PLACES), hasher, wanted: Vec::new(), last: None }
    }

    /// What is known of a text; its digest, where it cannot be remembered.
    pub fn find(&mut self, sql: &[u8], mode: LexMode) -> Result<&mut Known, Arc<DigestText>> {
        self.wanted.clear();
        let is_general = without_literals(sql, mode, &mut self.wanted);
        self.last = match is_general {
            true => {
                let wanted = std::mem::take(&mut self.wanted);
                let at = self.place(&wanted, mode, false);
                self.wanted = wanted;
                at.or_else(|| self.place(sql, mode, true))
            }
            false => self.place(sql, mode, true),
        };
        let at = match self.last {
            Some(at) => at,
            None => self.learn(sql, mode, is_general)?,
        };
        self.last = Some(at);
        // It was found, or put there just now.
        match self.sets.get_mut(at) {
            Some(known) => Ok(known),
            None => Err(digest_of(sql, mode)),
        }
    }

    /// A text was met that is not looked for.
    pub fn forgets_last(&mut self) {
        self.last = None;
    }

    /// The text that was looked for last.
    pub fn last(&mut self) -> Option<&mut Known> {
        self.sets.get_mut(self.last?).map(Box::as_mut)
    }

    #[inline]
    fn place(&mut self, key: &[u8], mode: LexMode, exact: bool) -> Option<usize> {
        self.sets.find(self.hash(key, exact), |known| {
            *known.key == *key && (known.mode, known.exact) == (mode, exact)
        })
    }

    #[inline]
    fn hash(&self, key: &[u8], exact: bool) -> u64 {
        self.hasher.hash_one(key) ^ u64::from(exact)
    }

    fn learn(&mut self, sql: &[u8], mode: LexMode, is_general: bool) -> Result<usize, Arc<DigestText>> {
        let mut text = Vec::new();
        let general = match is_general {
            true => Some(digest_showing(&self.wanted, mode, &mut text)),
            false => None,
        };
        let (digest, key, exact) = match general {
            Some((id, false)) => (DigestText::new(id, &text, is_cacheable(sql, mode)), &*self.wanted, false),
            _ => (digest_of(sql, mode), sql, true),
        };
        if key.len() > KEPT_MAX {
            return Err(digest);
        }
        let hash = self.hash(key, exact);
        let spot = Spot { digest, place: None };
        let known = Box::new(Known { key: key.into(), exact, mode, spot, plain: None });
        Ok(self.sets.keep(hash, known))
    }
}

fn digest_of(sql: &[u8], mode: LexMode) -> Arc<DigestText> {
    let mut text = Vec::new();
    let id = digest(sql, mode, &mut text);
    DigestText::new(id, &text, is_cacheable(sql, mode))
}

/// Whether nothing in a text speaks against caching its answers.
fn is_cacheable(sql: &[u8], mode: LexMode) -> bool {
    let facts = read_facts(sql, mode);
    facts.verdict.is_ok() && !facts.needs_resolving()
}

#[cfg(test)]
mod tests;
