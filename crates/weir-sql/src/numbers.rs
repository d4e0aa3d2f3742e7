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
    while let Some(from) = digit_or_star(sql, at) {
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

/// Where the next digit or `*` stands, from `at` on.
#[inline]
fn digit_or_star(sql: &[u8], mut at: usize) -> Option<usize> {
    while let Some(eight) = sql.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let found = digits_and_stars(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = sql.get(at..)?;
    if let Some(eight) = sql.last_chunk::<8>()
        && !rest.is_empty()
    {
        // With those before the rest shifted out.
        let found = digits_and_stars(u64::from_le_bytes(*eight) >> (64 - 8 * rest.len()));
        return (found != 0).then(|| at + found.trailing_zeros() as usize / 8);
    }
    let rest = rest.iter().position(|b| b.is_ascii_digit() || *b == b'*')?;
    Some(at + rest)
}

/// The highest bit of each byte that is a digit or a `*`.
fn digits_and_stars(bytes: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    // No byte carries into the next: each is below 0x80 before it is added to.
    let low = bytes & (EACH * 0x7f);
    let from_zero = low + EACH * u64::from(0x80 - b'0');
    let beyond_nine = low + EACH * u64::from(0x7f - b'9');
    let not_star = (low ^ (EACH * u64::from(b'*'))) + EACH * 0x7f;
    (from_zero & !beyond_nine | !not_star) & !bytes & (EACH * 0x80)
}

/// Whether a number beside this byte may be a part of something else: a name, `1.5`, `1e5`, `@1`, a character of several
/// bytes.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || !b.is_ascii() || matches!(b, b'_' | b'$' | b'.' | b'@' | b'\\')
}

#[cfg(test)]
mod tests;
