//! Texts that differ in literals alone have the same digest.

use crate::{CharsetClass, LexMode};

/// The longest text that is looked at, in bytes: longer ones seldom come again with other literals only.
const LEN_MAX: usize = 4096;

/// What has to be looked at: digits, what begins a string or a name, what may begin a comment, and backslashes.
static NOTABLE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b'0';
    while byte <= b'9' {
        table[byte as usize] = true;
        byte += 1;
    }
    let others = b"'\"`-#*\\$";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
};

/// Appends `sql` with each plain number written as `0` and each plain string as `''`: `WHERE id=5023 AND name='x'` becomes
/// `WHERE id=0 AND name=''`. Two texts of which the same is left are the same tokens but for these, so they have the same digest,
/// unless that shows numbers ([`digest_showing`](crate::digest_showing)).
///
/// False, with `out` in any state: the text has comments, escapes or other things that would have to be read with more care, or
/// is too long.
pub fn without_literals(sql: &[u8], mode: LexMode, out: &mut Vec<u8>) -> bool {
    use CharsetClass as C;
    // Where a character may end in a byte of ASCII, bytes cannot be read one by one.
    if sql.len() > LEN_MAX || !matches!(mode.charset, C::AsciiSafe | C::BlankA0 | C::BlankFf) {
        return false;
    }
    // What is not yet appended begins at `kept`.
    let (mut at, mut kept) = (0, 0);
    while let Some(next) = sql[at..].iter().position(|b| NOTABLE[usize::from(*b)]) {
        let from = at + next;
        let before = if from == 0 { b' ' } else { sql[from - 1] };
        let byte = sql[from];
        let end = match byte {
            b'\'' => match string_end(sql, from) {
                Some(end) if is_apart(before) => {
                    out.extend_from_slice(&sql[kept..from]);
                    out.extend_from_slice(b"''");
                    kept = end;
                    end
                }
                Some(end) => end,
                None => return false,
            },
            b'"' | b'`' => match closed(sql, from) {
                Some(end) => end,
                None => return false,
            },
            b'*' if before == b'/' => return false,
            b'-' if before == b'-' => return false,
            b'#' | b'\\' | b'$' => return false,
            b'*' | b'-' => from + 1,
            _ => {
                let end = number_end(sql, from);
                if is_apart(before) && sql.get(end).is_none_or(|b| is_behind(*b)) {
                    out.extend_from_slice(&sql[kept..from]);
                    out.push(b'0');
                    kept = end;
                }
                end
            }
        };
        at = end;
    }
    out.extend_from_slice(&sql[kept..]);
    true
}

/// Where a plain string ends that begins there: one without escapes and doubled quotes, which is not continued.
fn string_end(sql: &[u8], from: usize) -> Option<usize> {
    let inside = sql.get(from + 1..)?;
    let len = inside.iter().position(|b| matches!(b, b'\'' | b'\\'))?;
    let end = from + 1 + len + 1;
    (inside.get(len) == Some(&b'\'') && sql.get(end) != Some(&b'\'')).then_some(end)
}

/// Where a name or a string in these quotes ends that begins there.
fn closed(sql: &[u8], from: usize) -> Option<usize> {
    let quote = *sql.get(from)?;
    let inside = sql.get(from + 1..)?;
    let len = inside.iter().position(|b| *b == quote || *b == b'\\')?;
    (inside.get(len) == Some(&quote)).then_some(from + 1 + len + 1)
}

/// Where digits end, with one point among them or none.
fn number_end(sql: &[u8], from: usize) -> usize {
    let digits = |from: usize| {
        let rest = sql.get(from..).unwrap_or_default();
        from + rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len())
    };
    let end = digits(from);
    let more = sql.get(end) == Some(&b'.') && sql.get(end + 1).is_some_and(u8::is_ascii_digit);
    if more { digits(end + 1) } else { end }
}

/// Whether a literal begins behind this byte, and nothing else that it would be a part of.
fn is_apart(before: u8) -> bool {
    matches!(
        before,
        b' ' | b'\t' | b'\n' | b'\r' | b'(' | b',' | b'=' | b'<' | b'>' | b'+' | b'-' | b'*' | b'%'
    )
}

/// Whether a number ends before this byte.
fn is_behind(b: u8) -> bool {
    matches!(
        b,
        b' ' | b'\t'
            | b'\n'
            | b'\r'
            | b')'
            | b','
            | b'='
            | b'<'
            | b'>'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b';'
    )
}

#[cfg(test)]
mod tests;
