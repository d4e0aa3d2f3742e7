//! Short numbers for what answers depend on of a session's state, so that keys need not hold all of it.

use parking_lot::Mutex;
use std::collections::HashMap;

/// States that are told apart, and sets of variables; who comes with another one is not cached. Programs have a few.
const STATES_MAX: usize = 1 << 14;
/// Bytes of one set of variables. They have some 3,000, most of it the words of `optimizer_switch`.
const STATE_MAX: usize = 16 * 1024;
/// Bytes of all of them, for there are variables that a client may set to any text.
const BYTES_MAX: usize = 16 << 20;

/// A number for each different state. A number never comes to mean another.
#[derive(Debug, Default)]
pub(crate) struct ResultsKeys(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Of all variables together: most sessions have the same, in whichever schema they are.
    variables: Numbers,
    /// Of the rest and the number of the variables.
    states: Numbers,
}

#[derive(Debug, Default)]
struct Numbers {
    numbers: HashMap<Box<[u8]>, u64, foldhash::quality::RandomState>,
    bytes: usize,
}

impl ResultsKeys {
    /// The number of a state as `weir_session::State::put_results_key` writes it: its variables, and what stands before them. `None` where
    /// there are too many.
    pub fn number(&self, (rest, variables): (&[u8], &[u8])) -> Option<u64> {
        let mut known = self.0.lock();
        let variables = known.variables.number(variables)?;
        let state = [rest, &variables.to_le_bytes()].concat();
        known.states.number(&state)
    }
}

impl Numbers {
    fn number(&mut self, bytes: &[u8]) -> Option<u64> {
        if let Some(number) = self.numbers.get(bytes) {
            return Some(*number);
        }
        let has_room = self.numbers.len() < STATES_MAX && self.bytes + bytes.len() <= BYTES_MAX;
        if bytes.len() > STATE_MAX || !has_room {
            return None;
        }
        let number = self.numbers.len() as u64;
        self.bytes += bytes.len();
        self.numbers.insert(bytes.into(), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_have_one_number_and_others_another() {
        let keys = ResultsKeys::default();
        let states: [(&[u8], &[u8]); 4] = [(b"a", b"x"), (b"b", b"x"), (b"a", b"y"), (b"", b"ax")];
        let numbers = states.map(|state| keys.number(state).unwrap());
        for (at, number) in numbers.iter().enumerate() {
            assert!(!numbers[..at].contains(number), "{numbers:?}");
        }
        assert_eq!(states.map(|state| keys.number(state).unwrap()), numbers);
        assert_eq!(keys.number((b"a", &vec![0; STATE_MAX + 1])), None);
        assert_eq!(keys.number((&vec![0; STATE_MAX], b"x")), None);
    }

    #[test]
    fn what_is_too_many_gets_none_and_the_others_keep_theirs() {
        for (length, room) in [(4, STATES_MAX), (STATE_MAX, BYTES_MAX / STATE_MAX)] {
            let keys = ResultsKeys::default();
            let variables = |n: usize| {
                let mut bytes = vec![0; length];
                bytes[..4].copy_from_slice(&(n as u32).to_le_bytes());
                bytes
            };
            for n in 0..room {
                assert!(keys.number((b"s", &variables(n))).is_some());
            }
            assert_eq!(keys.number((b"s", &variables(room))), None);
            assert_eq!(keys.number((b"s", &variables(0))), Some(0));
        }
    }

    #[test]
    fn as_many_schemas_have_room_with_long_variables() {
        let (keys, variables) = (ResultsKeys::default(), vec![7; 3_000]);
        let schema = |n: usize| format!("tenant_{n}").into_bytes();
        for n in 0..STATES_MAX {
            assert!(keys.number((&schema(n), &variables)).is_some(), "{n}");
        }
        assert_eq!(keys.number((&schema(STATES_MAX), &variables)), None);
    }
}
