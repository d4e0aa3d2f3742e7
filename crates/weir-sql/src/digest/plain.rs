//! A statement without the comments that mean nothing to the server.

use crate::{LexMode, Lexer, Token, TokenKind};
use memchr::{memchr, memchr2, memmem};
use std::ops::Range;

/// Writes the statement as a pattern of a rule sees it into `out`, in place of what was there: without plain
/// comments and Weir's hints, without the marks around code of a version comment and without version comments that
/// are no code to this server. Each comment is a blank if something stands on both sides of it, together with the
/// blanks around it. Optimizer hints and all other bytes stay as they are.
pub fn strip_comments(sql: &[u8], mode: LexMode, out: &mut Vec<u8>) {
    out.clear();
    if is_plain(sql, mode) {
        return out.extend_from_slice(sql);
    }
    strip_by_tokens(sql, mode, out);
}

/// As [`strip_comments`], whatever is in it. `out` is empty.
pub(crate) fn strip_by_tokens(sql: &[u8], mode: LexMode, out: &mut Vec<u8>) {
    let mut blanks: &[u8] = b"";
    for token in Lexer::new(sql, mode) {
        let text = token.text(sql);
        match token.kind {
            TokenKind::Blank if blanks.is_empty() => blanks = text,
            TokenKind::Blank
            | TokenKind::LineComment
            | TokenKind::BlockComment
            | TokenKind::VersionCommentStart
            | TokenKind::VersionCommentEnd
            | TokenKind::VersionCommentSkipped => blanks = b" ",
            _ => {
                if !out.is_empty() {
                    out.extend_from_slice(blanks);
                }
                out.extend_from_slice(text);
                blanks = b"";
            }
        }
    }
}

/// Whether there is nothing to leave out, as far as one look at the bytes tells: mostly there is nothing.
fn is_plain(sql: &[u8], mode: LexMode) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|byte| mode.charset.is_blank(*byte));
    // Every comment begins with one of these, and the end of a version comment follows on its beginning.
    !is_blank(sql.first())
        && !is_blank(sql.last())
        && memchr(b'#', sql).is_none()
        && memchr(b'/', sql).is_none_or(|at| memmem::find(&sql[at..], b"/*").is_none())
        && memchr(b'-', sql).is_none_or(|at| memmem::find(&sql[at..], b"--").is_none())
}

/// Where the statement proper stands: without the plain comments, Weir's hints and the blanks before and behind it.
/// Nothing inside is left out, for a blank or a comment there can change the name of a column. Version comments and
/// everything else stay. Empty, at the end, if there is nothing else.
pub fn trimmed_span(sql: &[u8], mode: LexMode) -> Range<usize> {
    // A word is no comment.
    if sql.first().is_some_and(u8::is_ascii_alphabetic) && !may_end_with_comment(sql, mode) {
        return 0..sql.len();
    }
    let is_left_out =
        |kind| matches!(kind, TokenKind::Blank | TokenKind::LineComment | TokenKind::BlockComment);
    let mut tokens = Lexer::new(sql, mode).filter(|token| !is_left_out(token.kind));
    let Some(first) = tokens.next() else { return sql.len()..sql.len() };
    let start = first.start as usize;
    if !may_end_with_comment(sql.get(start..).unwrap_or_default(), mode) {
        return start..sql.len();
    }
    let last = tokens.last().unwrap_or(first);
    let end = if is_closed(last, sql) { last.end as usize } else { sql.len() };
    start..end
}

/// Whether a token is the same if nothing follows. `--` is not: at the end of a text a comment begins there. No
/// statement that a server runs ends with one of the others.
fn is_closed(token: Token, sql: &[u8]) -> bool {
    match token.kind {
        TokenKind::Operator => matches!(token.text(sql), b")" | b"*"),
        TokenKind::VersionCommentStart | TokenKind::Dropped | TokenKind::Nul | TokenKind::Unterminated => {
            false
        }
        _ => true,
    }
}

/// Whether something that is left out may stand at the end. Asked first, because the answer is mostly no.
fn may_end_with_comment(sql: &[u8], mode: LexMode) -> bool {
    sql.last().is_some_and(|byte| mode.charset.is_blank(*byte))
        || sql.ends_with(b"*/")
        || memchr2(b'#', b'-', sql).is_some_and(|at| begins_comment(&sql[at..]))
}

#[cold]
fn begins_comment(sql: &[u8]) -> bool {
    memchr(b'#', sql).is_some() || memmem::find(sql, b"--").is_some()
}
