//! Digests that are named by their ids, or by how these begin.

use std::collections::BTreeSet;
use weir_admin::{ApiError, Code};
use weir_model::DigestId;
use weir_proxy::Shared;

/// Digits of an id, and of the shortest beginning of one: four are typed in a moment, and one in 65,536 others begins alike.
const DIGITS: usize = 16;
const LEAST: usize = 4;
/// Of one by which something is changed: the one that is meant may be forgotten, and another begin alike.
const LEAST_FOR_A_CHANGE: usize = 8;
/// Ids that are listed at most where a beginning is that of several.
const LISTED: usize = 10;

/// What is meant by a text in which an id is wanted.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    Id(DigestId),
    /// How an id begins.
    Begins(String),
    /// No digits of an id, or too few of them.
    Else,
}

impl Named {
    pub fn of(text: &str) -> Self {
        let digits = text.trim();
        let are_digits = digits.bytes().all(|b| b.is_ascii_hexdigit());
        match digits.len() {
            DIGITS if are_digits => {
                u64::from_str_radix(digits, 16).map_or(Self::Else, |id| Self::Id(DigestId(id)))
            }
            LEAST..DIGITS if are_digits => Self::Begins(digits.to_ascii_lowercase()),
            _ => Self::Else,
        }
    }

    /// The same where nothing but an id can be meant.
    ///
    /// # Errors
    /// When it is told by too few digits.
    pub fn to_look(text: &str) -> Result<Self, ApiError> {
        Self::of_at_least(LEAST, text, "")
    }

    /// The same where something is changed by it.
    ///
    /// # Errors
    /// When it is told by too few digits for that.
    pub fn to_change(text: &str) -> Result<Self, ApiError> {
        Self::of_at_least(LEAST_FOR_A_CHANGE, text, " by which something is changed")
    }

    fn of_at_least(least: usize, text: &str, what_for: &str) -> Result<Self, ApiError> {
        let digits = text.trim();
        if (1..least).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            let text = format!(
                "`{digits}` is too short for a digest's id{what_for}: give {least} digits of it or more"
            );
            return Err(ApiError::new(Code::DigestTooShort, text));
        }
        Ok(Self::of(text))
    }

    /// The one among `known` that begins so; `None` where none does.
    ///
    /// # Errors
    /// When several do.
    pub fn among(self, known: impl Iterator<Item = DigestId>) -> Result<Option<DigestId>, ApiError> {
        let digits = match self {
            Self::Id(id) => return Ok(Some(id)),
            Self::Else => return Ok(None),
            Self::Begins(digits) => digits,
        };
        let begins = |id: &DigestId| id.to_string().starts_with(&digits);
        let found: BTreeSet<u64> = known.filter(begins).map(|id| id.0).collect();
        if found.len() <= 1 {
            return Ok(found.first().copied().map(DigestId));
        }
        let listed: Vec<String> = found.iter().take(LISTED).map(|id| DigestId(*id).to_string()).collect();
        let more = match found.len() - listed.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let text = format!(
            "{} digests begin with `{digits}`: give more digits of the one that is meant: {}{more}",
            found.len(),
            listed.join(", ")
        );
        Err(ApiError::new(Code::AmbiguousDigest, text))
    }
}

/// Those that were counted.
pub fn counted(shared: &Shared) -> Vec<DigestId> {
    let rows = shared.digests.as_ref().map(|digests| digests.rows());
    rows.iter().flat_map(|rows| rows.lines()).map(|(_, line)| line.digest.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_how_it_begins_where_no_other_does() {
        let known =
            [0x3f1c_0000_0000_0001, 0x3f1c_0000_0000_0001, 0x3f1d_0000_0000_0002, 0x00ab_0000_0000_0003];
        let meant = |text: &str| Named::of(text).among(known.iter().map(|id| DigestId(*id)));
        for (text, id) in [
            ("3f1c", known[0]),
            ("3F1C0", known[0]),
            (" 3f1d ", known[2]),
            ("00ab", known[3]),
            ("3f1c000000000001", known[0]),
            // A whole one need not be known.
            ("ffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(meant(text).unwrap(), Some(DigestId(id)), "{text}");
        }
        for text in ["", "3f1", "3f1e", "+3f1c", "3f1g", "SELECT 1", "3f1c0000000000010"] {
            assert_eq!(meant(text).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn so_few_digits_are_no_id() {
        for few in ["0", "0ec", " 0EC "] {
            assert_eq!(Named::to_look(few).unwrap_err().code, Code::DigestTooShort, "{few}");
        }
        for text in ["", "xyz", "3f1c", "3f1c000000000001", "SELECT 1"] {
            assert_eq!(Named::to_look(text).unwrap(), Named::of(text), "{text}");
        }
    }

    #[test]
    fn a_few_digits_change_nothing() {
        for few in ["3f1c", "3F1C000", "3f1"] {
            let error = Named::to_change(few).unwrap_err();
            assert!(error.code == Code::DigestTooShort && error.message.contains("8 digits"), "{error}");
        }
        for text in ["3f1c0000", "3f1c000000000001", "SELECT 1"] {
            assert_eq!(Named::to_change(text).unwrap(), Named::of(text));
        }
    }

    #[test]
    fn where_several_begin_so_they_are_listed() {
        let ids = |count: u64| (0..count).map(|n| DigestId(0xbeef_0000_0000_0000 + n));
        let error = Named::of("BEEF").among(ids(2)).unwrap_err();
        assert_eq!(error.code, Code::AmbiguousDigest);
        assert!(error.message.contains("beef000000000000, beef000000000001"), "{error}");
        let error = Named::of("beef").among(ids(13)).unwrap_err();
        assert!(error.message.contains("13 digests") && error.message.ends_with(", and 3 more"), "{error}");
    }
}
