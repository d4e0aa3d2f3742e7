use std::sync::atomic::{AtomicU32, Ordering};

use crate::counter::Counter;

/// How many different error codes a worker counts one by one. MySQL has some 2,000 codes of which a site
/// meets a few dozen; a peer that makes codes up must not grow our memory or the scrape.
pub(crate) const DISTINCT: usize = 256;

/// Counts by MySQL error code, in a fixed amount of memory (3 KiB). One writer, any readers.
#[derive(Debug)]
pub(crate) struct ErrorTable {
    /// Open addressing with linear probing; 0 is a free slot, else the code plus one.
    keys: [AtomicU32; DISTINCT],
    counts: [Counter; DISTINCT],
    /// Codes that found the table full.
    other: Counter,
}

impl Default for ErrorTable {
    fn default() -> Self {
        Self {
            keys: std::array::from_fn(|_| AtomicU32::new(0)),
            counts: std::array::from_fn(|_| Counter::default()),
            other: Counter::default(),
        }
    }
}

impl ErrorTable {
    pub(crate) fn inc(&self, code: u16) {
        let key = u32::from(code) + 1;
        for step in 0..DISTINCT {
            let slot = (usize::from(code) + step) % DISTINCT;
            match self.keys[slot].load(Ordering::Relaxed) {
                0 => {
                    self.counts[slot].inc();
                    // Release: a reader that sees the key sees the count that belongs to it.
                    self.keys[slot].store(key, Ordering::Release);
                    return;
                }
                found if found == key => return self.counts[slot].inc(),
                _ => {}
            }
        }
        self.other.inc();
    }

    /// The codes counted so far with their counts, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.keys.iter().zip(&self.counts).filter_map(|(key, count)| {
            let code = key.load(Ordering::Acquire).checked_sub(1)?;
            Some((u16::try_from(code).ok()?, count.get()))
        })
    }

    pub(crate) fn other(&self) -> u64 {
        self.other.get()
    }
}

#[cfg(test)]
mod tests;
