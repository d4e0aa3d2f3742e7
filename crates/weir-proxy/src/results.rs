//! Short numbers for what answers depend on of a session's state, so that keys need not hold all of it.

use parking_lot::Mutex;
use std::collections::HashMap;

/// States that are told apart; who comes with another one is not cached. Programs have a few.
const STATES_MAX: usize = 1 << 14;
/// Bytes of one of them. They have some 3,000, most of it the words of `optimizer_switch`.
const STATE_MAX: usize = 16 * 1024;
/// Bytes of all of them, for there are variables that a client may set to any text.
const BYTES_MAX: usize = 16 << 20;

/// A number for each different state. A number never comes to mean another.
#[derive(Debug, Default)]
pub(crate) struct ResultsKeys(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Box<[u8]>, u64, foldhash::quality::RandomState>,
    bytes: usize,
}

impl ResultsKeys {
    /// The number of a state as `weir_session::State::put_results_key` writes it. `None` where there are too many.
    pub fn number(&self, bytes: &[u8]) -> Option<u64> {
        if bytes.len() > STATE_MAX {
            return None;
        }
        let mut known = self.0.lock();
        if let Some(number) = known.numbers.get(bytes) {
            return Some(*number);
        }
        let number = known.numbers.len() as u64;
        let has_room = known.numbers.len() < STATES_MAX && known.bytes + bytes.len() <= BYTES_MAX;
        has_room.then(|| {
            known.bytes += bytes.len();
            known.numbers.insert(bytes.into(), number);
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
        for (length, room) in [(4, STATES_MAX), (STATE_MAX, BYTES_MAX / STATE_MAX)] {
            let keys = ResultsKeys::default();
            let state = |n: usize| {
                let mut bytes = vec![0; length];
                bytes[..4].copy_from_slice(&(n as u32).to_le_bytes());
                bytes
            };
            for n in 0..room {
                assert!(keys.number(&state(n)).is_some());
            }
            assert_eq!(keys.number(&state(room)), None);
            assert_eq!(keys.number(&state(0)), Some(0));
        }
    }
}
