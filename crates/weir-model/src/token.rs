//! Tokens of the admin address, as the configuration keeps them.

use std::fmt;

use crate::words;

words! {
    /// What the holder of a token may do; each role may also do what those before it may.
    Role {
        /// Look: rules, statistics, metrics; and ask what would be done with a statement.
        #[default]
        Read = "read",
        /// Act on what runs: wipe the cache.
        Operate = "operate",
        /// Change the configuration: the rules.
        Admin = "admin",
    }
}

impl Role {
    /// Whether this role may do what asks for `needed`.
    pub fn allows(self, needed: Self) -> bool {
        self as u8 >= needed as u8
    }
}

/// Someone who may use the admin address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    pub role: Role,
    pub hash: TokenHash,
}

/// The SHA-256 of a token. The token itself, 256 random bits, is kept nowhere, and a hash of so much needs no salt.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    const PREFIX: &str = "sha256:";

    /// Reads `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_role_may_do_what_those_before_it_may() {
        for (place, role) in Role::ALL.iter().enumerate() {
            for (needed_place, needed) in Role::ALL.iter().enumerate() {
                assert_eq!(role.allows(*needed), place >= needed_place, "{role:?} {needed:?}");
            }
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = TokenHash(std::array::from_fn(|at| at as u8 * 7));
        assert_eq!(TokenHash::parse(&hash.to_string()), Some(hash));
        let text = hash.to_string();
        for bad in ["", "sha256:", &text[7..], &text[..70], &format!("{text}0"), &text.replace('0', "g")] {
            assert_eq!(TokenHash::parse(bad), None, "{bad}");
        }
        assert!(!format!("{hash:?}").contains("07"));
    }
}
