use crate::classify::Cursor;
use crate::words::WordId;
use crate::{Keyword, LexMode};
use memchr::memchr;
use weir_model::ServerFamily;

/// What a look at the front of a statement tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quick {
    /// The statement's first word, if that is a keyword and no parenthesis stands before it.
    pub leading: Option<Keyword>,
    /// The statement may be a KILL, a command to Weir or a LOAD DATA LOCAL, alone or as one of several in its
    /// packet: [`Statement::classify`](crate::Statement::classify) has to say. If false, it is none of these.
    pub needs_full: bool,
}

/// Costs some ten nanoseconds for the usual statement: its first word is read, and with `multi_statements` the
/// text is searched for a `;`.
pub fn quick(sql: &[u8], mode: LexMode, multi_statements: bool) -> Quick {
    let front = plain(sql, mode).unwrap_or_else(|| lexed(sql, mode));
    Quick { needs_full: front.needs_full || (multi_statements && has_inner_semicolon(sql, mode)), ..front }
}

/// Reads the front without the lexer, if it begins with plain words.
fn plain(sql: &[u8], mode: LexMode) -> Option<Quick> {
    let (word, end) = plain_word(sql, 0)?;
    let leading = word.keyword()?;
    let needs_full = match special_second(leading, mode) {
        Some(second) => plain_word(sql, end)?.0.keyword() == Some(second),
        None => !is_ordinary(leading),
    };
    Some(Quick { leading: Some(leading), needs_full })
}

/// Reads the front with the lexer.
fn lexed(sql: &[u8], mode: LexMode) -> Quick {
    let mut cursor = Cursor::new(sql, mode);
    let Some(leading) = cursor.next_keyword() else { return Quick { leading: None, needs_full: false } };
    let needs_full = match special_second(leading, mode) {
        Some(second) => cursor.next_keyword() == Some(second),
        None => !is_ordinary(leading),
    };
    Quick { leading: Some(leading), needs_full }
}

/// The word behind the blanks that begin at `at`, and where it ends, if it means the same in every mode: it is of ASCII
/// letters, digits and `_`, and ends before another ASCII character.
fn plain_word(sql: &[u8], at: usize) -> Option<(WordId, usize)> {
    let blanks = sql.get(at..)?.iter().position(|b| !b.is_ascii_whitespace())?;
    let start = at + blanks;
    let (word, end) = WordId::read(sql, start);
    let ends = sql.get(end).is_none_or(|b| b.is_ascii() && *b != b'$');
    (end > start && ends).then_some((word, end))
}

/// The second word that makes a statement need the full look, where it hangs on that.
fn special_second(leading: Keyword, mode: LexMode) -> Option<Keyword> {
    match leading {
        Keyword::Show => Some(Keyword::Weir),
        Keyword::Execute => Some(Keyword::Immediate),
        Keyword::Set if mode.family == ServerFamily::MariaDb => Some(Keyword::Statement),
        _ => None,
    }
}

/// Whether a statement that begins so is never one of those that `needs_full` is about, whatever follows.
fn is_ordinary(keyword: Keyword) -> bool {
    !matches!(keyword, Keyword::Load | Keyword::Kill)
}

fn has_inner_semicolon(sql: &[u8], mode: LexMode) -> bool {
    let Some(at) = memchr(b';', sql) else { return false };
    let rest = sql.get(at..).unwrap_or_default();
    !rest.iter().all(|&b| b == b';' || mode.charset.is_blank(b))
}

#[cfg(test)]
mod tests;
