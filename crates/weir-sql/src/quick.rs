use crate::classify::Cursor;
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
    let leading = plain_first_word(sql).map_or_else(|| lexed(sql, mode), |word| known(word, sql, mode));
    let needs_full = leading.needs_full || (multi_statements && has_inner_semicolon(sql, mode));
    Quick { needs_full, ..leading }
}

/// The first word if the text begins with it and ends it in a way that means the same in every mode.
fn plain_first_word(sql: &[u8]) -> Option<&[u8]> {
    let start = sql.iter().position(|b| !b.is_ascii_whitespace())?;
    let text = sql.get(start..)?;
    let len = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    let ends = matches!(text.get(len), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b';' | b'('));
    if len > 0 && ends { text.get(..len) } else { None }
}

fn known(word: &[u8], sql: &[u8], mode: LexMode) -> Quick {
    match Keyword::of(word) {
        Some(keyword) if is_ordinary(keyword) => Quick { leading: Some(keyword), needs_full: false },
        _ => lexed(sql, mode),
    }
}

/// Reads the first two words with the lexer.
fn lexed(sql: &[u8], mode: LexMode) -> Quick {
    let mut cursor = Cursor::new(sql, mode);
    let Some(token) = cursor.next() else { return Quick { leading: None, needs_full: false } };
    let leading = cursor.keyword(token);
    let needs_full = match leading {
        Some(Keyword::Show) => cursor.next_keyword() == Some(Keyword::Weir),
        Some(Keyword::Set) => {
            mode.family == ServerFamily::MariaDb && cursor.next_keyword() == Some(Keyword::Statement)
        }
        Some(Keyword::Execute) => cursor.next_keyword() == Some(Keyword::Immediate),
        Some(keyword) => !is_ordinary(keyword),
        None => false,
    };
    Quick { leading, needs_full }
}

/// Whether a statement that begins so is never one of those that `needs_full` is about.
fn is_ordinary(keyword: Keyword) -> bool {
    use Keyword as K;
    !matches!(keyword, K::Show | K::Set | K::Execute | K::Load | K::Kill)
}

fn has_inner_semicolon(sql: &[u8], mode: LexMode) -> bool {
    let Some(at) = memchr(b';', sql) else { return false };
    let rest = sql.get(at..).unwrap_or_default();
    !rest.iter().all(|&b| b == b';' || mode.charset.is_blank(b))
}

#[cfg(test)]
mod tests;
