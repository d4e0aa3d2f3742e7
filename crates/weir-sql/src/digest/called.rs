//! A digest's text as a statement.

use crate::functions::is_built_in_without_blank_only;
use crate::words::WordId;

/// The text of a digest with the parenthesis right behind the names of functions that need it there: with the blank that digests have
/// between the two, both servers take `SUM (` for the call of a stored function. Nothing else is changed.
pub fn as_called(digest: &[u8]) -> Vec<u8> {
    let mut quoted = false;
    let mut out = Vec::with_capacity(digest.len());
    for byte in digest {
        quoted ^= *byte == b'`';
        if *byte == b'(' && !quoted && names_function(&out) {
            out.pop();
        }
        out.push(*byte);
    }
    out
}

/// Whether it ends with such a name and a blank.
fn names_function(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let stands_in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let begins = before.iter().rposition(|byte| !stands_in_word(byte)).map_or(0, |at| at + 1);
    let word = before.get(begins..).unwrap_or_default();
    !word.is_empty() && is_built_in_without_blank_only(WordId::of(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::both;
    use crate::{Digest, Facts};

    #[test]
    fn names_of_functions_stand_at_their_parentheses() {
        let digest = "SELECT SUM ( `k sum ( l` ) , COUNT ( * ) , `sum` ( ? ) FROM ( SELECT ? ) `t` WHERE `a` IN ( ... ) VALUES (...)";
        let read = "SELECT SUM( `k sum ( l` ) , COUNT( * ) , `sum` ( ? ) FROM ( SELECT ? ) `t` WHERE `a` IN ( ... ) VALUES (...)";
        assert_eq!(String::from_utf8(as_called(digest.as_bytes())).unwrap(), read);
        assert_eq!(as_called(b"( SUM"), b"( SUM");
    }

    #[test]
    fn what_calls_aggregates_is_read_as_it_came() {
        for mode in both() {
            for sql in ["SELECT SUM(k), count(*) FROM t WHERE id IN (1, 2)", "SELECT NOW(), MAX(k) FROM t"] {
                let kind = |sql: &[u8]| Facts::of(sql, mode, true).kind();
                let digest = Digest::of(sql.as_bytes(), mode);
                assert_eq!(kind(&as_called(&digest.text)), kind(sql.as_bytes()), "{sql}");
                assert_ne!(kind(&digest.text), kind(sql.as_bytes()), "{sql}");
            }
        }
    }
}
