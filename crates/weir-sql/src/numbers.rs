//! Texts that differ in numbers alone say the same.

/// The longest text that is looked at, in bytes: longer ones seldom come again with other numbers only.
const LEN_MAX: usize = 1024;

/// Appends `sql` with each whole number that stands alone written as `0`: `WHERE id=5023` becomes `WHERE id=0`. Two texts of
/// which the same is left have the same [`Facts`](crate::Facts), if these have no effects and no pins: numbers decide what SET and KILL do, and which
/// version a comment is for. Inside strings and quoted names they decide nothing.
///
/// False, with `out` in any state: the text has a comment of the kind whose number counts, or is too long.
pub fn without_numbers(sql: &[u8], out: &mut Vec<u8>) -> bool {
    numbers_as(b'0', sql, out)
}

/// The same with another digit. Where a digest shows one of the numbers, as a column's place or in a quoted name, it differs.
pub fn numbers_as(digit: u8, sql: &[u8], out: &mut Vec<u8>) -> bool {
    if sql.len() > LEN_MAX {
        return false;
    }
    // What is not yet appended begins at `kept`.
    let (mut at, mut kept) = (0, 0);
    while let Some(next) = sql[at..].iter().position(|b| b.is_ascii_digit() || *b == b'*') {
        let from = at + next;
        let before = if from == 0 { b' ' } else { sql[from - 1] };
        if sql[from] == b'*' {
            if before == b'/' {
                return false;
            }
            at = from + 1;
            continue;
        }
        at = from + sql[from..].iter().position(|b| !b.is_ascii_digit()).unwrap_or(sql.len() - from);
        if !is_word(before) && sql.get(at).is_none_or(|b| !is_word(*b)) {
            out.extend_from_slice(&sql[kept..from]);
            out.push(digit);
            kept = at;
        }
    }
    out.extend_from_slice(&sql[kept..]);
    true
}

/// Whether a number beside this byte may be a part of something else: a name, `1.5`, `1e5`, `@1`, a character of several
/// bytes.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || !b.is_ascii() || matches!(b, b'_' | b'$' | b'.' | b'@' | b'\\')
}

#[cfg(test)]
mod tests;
