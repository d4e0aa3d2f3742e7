//! Finds the numbers that stand for a column in ORDER BY, GROUP BY and PARTITION BY. The server shows them, for a
//! statement sorted by another column is another statement.

use super::words::Role;

/// What is known of the lists that are open, one bit for each level of parentheses.
#[derive(Debug, Default)]
pub(super) struct Ordinals {
    /// Whether a list of ORDER BY or the like is open, at this level in the lowest bit. Levels beyond 64 are forgotten.
    lists: u64,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Other,
    /// ORDER, GROUP or PARTITION was the last token.
    Sorts,
    /// An item of a list begins.
    Item,
    /// The item begins with this number; the next token tells whether it is all of it.
    Number(u32),
}

impl Ordinals {
    /// Takes a word of the server.
    pub(super) fn word(&mut self, role: Role) {
        match role {
            Role::By if self.state == State::Sorts => {
                self.lists |= 1;
                self.state = State::Item;
                return;
            }
            Role::Ends | Role::EndsAndPrecedes => self.lists &= !1,
            _ => {}
        }
        self.state = if role == Role::Sorts { State::Sorts } else { State::Other };
    }

    pub(super) fn open(&mut self) {
        self.lists <<= 1;
        self.state = State::Other;
    }

    pub(super) fn close(&mut self) {
        self.lists >>= 1;
        self.state = State::Other;
    }

    pub(super) fn comma(&mut self) {
        self.state = if self.lists & 1 == 1 { State::Item } else { State::Other };
    }

    pub(super) fn semicolon(&mut self) {
        self.lists = 0;
        self.state = State::Other;
    }

    /// Takes a number, if it is an integer of 32 bits; others are no ordinals.
    pub(super) fn number(&mut self, text: &[u8]) {
        self.state = match self.state {
            State::Item => int(text).map_or(State::Other, State::Number),
            _ => State::Other,
        };
    }

    /// Takes anything else.
    pub(super) fn other(&mut self) {
        self.state = State::Other;
    }

    /// The number of which an item consists, if the token before this one was it and the next ends the item.
    pub(super) fn pending(&self) -> Option<u32> {
        match self.state {
            State::Number(number) => Some(number),
            _ => None,
        }
    }
}

fn int(text: &[u8]) -> Option<u32> {
    let digits = text.get(text.iter().take_while(|digit| **digit == b'0').count()..)?;
    if digits.len() > 10 {
        return None;
    }
    let number = digits.iter().try_fold(0u64, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })?;
    u32::try_from(number).ok()
}
