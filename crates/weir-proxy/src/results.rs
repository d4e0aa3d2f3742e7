//! Short numbers for what answers depend on of a session's state, so that keys need not hold all of it.

use parking_lot::Mutex;
use std::collections::HashMap;

/// States that are told apart; who comes with another one is not cached. Programs have a few.
const STATES_MAX: usize = 1 << 14;
/// Bytes of one of them.
const STATE_MAX: usize = 16 * 1024;

/// A number for each different state. A number never comes to mean another.
#[derive(Debug, Default)]
pub(crate) struct ResultsKeys(Mutex<HashMap<Box<[u8]>, u64, foldhash::quality::RandomState>>);

impl ResultsKeys {
    /// The number of a state as `weir_session::State::put_results_key` writes it. `None` where there are too many.
    pub fn number(&self, bytes: &[u8]) -> Option<u64> {
        if bytes.len() > STATE_MAX {
            return None;
        }
        let mut known = self.0.lock();
        if let Some(number) = known.get(bytes) {
            return Some(*number);
        }
        let number = known.len() as u64;
        (known.len() < STATES_MAX).then(|| {
            known.insert(bytes.into(), number);
            number
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_have_one_number_and_others_another() {
        let keys = ResultsKeys::default();
        let (a, b) = (keys.number(b"a"), keys.number(b"b"));
        assert!(a.is_some() && b.is_some() && a != b);
        assert_eq!((keys.number(b"a"), keys.number(b"b")), (a, b));
        assert_eq!(keys.number(&vec![0; STATE_MAX + 1]), None);
    }

    #[test]
    fn what_is_too_many_gets_none_and_the_others_keep_theirs() {
        let keys = ResultsKeys::default();
        for n in 0..STATES_MAX as u32 {
            assert!(keys.number(&n.to_le_bytes()).is_some());
        }
        assert_eq!(keys.number(b"one more"), None);
        assert_eq!(keys.number(&0_u32.to_le_bytes()), Some(0));
    }
}
