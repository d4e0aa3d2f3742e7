//! What of a leftover SHOW VARIABLES can list, by the pattern or the names that it asks for.
//!
//! Drivers and tools begin a session with `SHOW VARIABLES LIKE 'sql_mode'` and its like, so it matters that this is not
//! taken for a look at `@@pseudo_thread_id`.
//!
//! Measured on MariaDB 10.11.19 and MySQL 9.7.4:
//!
//! * Behind LIKE stands one string and nothing else: an introducer, `N'...'`, a second string or an ESCAPE is an error.
//! * Both servers ignore the case of letters, whatever `collation_connection` is. MySQL ignores accents and the width of
//!   letters too, and each server ignores a NUL byte somewhere, so only letters, digits, `_`, `%`, `.` and `-` are judged. They
//!   are the same in every client character set (swe7 has an É in the place of `@`).
//! * MariaDB takes the backslash in the pattern for an escape even under NO_BACKSLASH_ESCAPES, where MySQL takes it for a
//!   character that no name has. It counts as an escape in every mode, which lists no less than the server does.
//! * `LIKE ''` lists everything on MariaDB, and nothing on MySQL.
//! * MariaDB ignores blanks at the end of a name behind `=`.

use super::bits::{Leftover, LeftoverSet};
use super::scan::SHOWN_BY_VARIABLES;
use crate::classify::Cursor;
use crate::{Token, TokenKind};

/// The variables whose values belong to the connection or to its last statement. Of all others that a session has, the
/// value is set by the client (which pins the session, or is moved with it), by the login, or by the server for all.
///
/// | not here | because |
/// |---|---|
/// | `timestamp`, `statement_id` | the server's clock and its counter of statements: new with each look |
/// | `in_transaction` | a session in a transaction keeps its connection; elsewhere it is 0 |
/// | `external_user`, `proxy_user` | follow from the account, and connections are shared within one |
/// | `gtid_executed`, `gtid_binlog_pos`, `gtid_binlog_state`, `gtid_current_pos`, `gtid_slave_pos` | the server's |
/// | `gtid_owned` | empty for the session unless `gtid_next` is set, which pins |
/// | `gtid_next`, `gtid_seq_no`, `wsrep_gtid_seq_no`, `sql_log_bin`, `default_master_connection` | a SET pins |
/// | `pseudo_slave_mode`, `pseudo_replica_mode`, `skip_replication`, `skip_parallel_replication` | a SET pins |
/// | `original_commit_timestamp`, `original_server_version`, `immediate_server_version` | a SET pins |
/// | `require_row_format`, `resultset_metadata`, `transaction_allow_batching` | a SET pins |
/// | `use_secondary_engine`, `show_create_table_skip_secondary_engine` | a SET pins |
const REVEALING: [(&[u8], LeftoverSet); 9] = [
    (b"last_insert_id", LeftoverSet::of(&[Leftover::LastInsertId])),
    (b"identity", LeftoverSet::of(&[Leftover::LastInsertId])),
    (b"insert_id", LeftoverSet::of(&[Leftover::LastInsertId])),
    (b"warning_count", LeftoverSet::of(&[Leftover::Diagnostics])),
    (b"error_count", LeftoverSet::of(&[Leftover::Diagnostics])),
    (b"pseudo_thread_id", LeftoverSet::of(&[Leftover::ConnectionId])),
    // MariaDB shows the state of the connection's RAND(), which a client may mean to set again later. MySQL shows 0.
    (b"rand_seed1", LeftoverSet::of(&[Leftover::ConnectionId])),
    (b"rand_seed2", LeftoverSet::of(&[Leftover::ConnectionId])),
    // MariaDB's, of the connection's last transaction in the binary log: nothing makes it anew elsewhere.
    (b"last_gtid", SHOWN_BY_VARIABLES),
];

/// What of a leftover `@@name` shows.
pub(super) fn read_by_name(name: &[u8]) -> LeftoverSet {
    revealed(|known| name.eq_ignore_ascii_case(known))
}

/// What `[SESSION | LOCAL] VARIABLES ...` lists. The cursor stands before VARIABLES.
pub(super) fn shown_by_variables(mut cursor: Cursor<'_>) -> LeftoverSet {
    filtered(&mut cursor).unwrap_or(SHOWN_BY_VARIABLES)
}

/// `None` if there is no filter, or one that only the server can judge.
fn filtered(cursor: &mut Cursor<'_>) -> Option<LeftoverSet> {
    cursor.next()?;
    let filter = cursor.next()?;
    let found = if is_word(cursor, filter, b"like") {
        let found = like(plain(cursor)?)?;
        is_end(cursor.next()).then_some(found)?
    } else if is_word(cursor, filter, b"where") {
        condition(cursor)?
    } else {
        return None;
    };
    (!cursor.is_doubtful()).then_some(found)
}

/// Comparisons of the name, joined by OR.
fn condition(cursor: &mut Cursor<'_>) -> Option<LeftoverSet> {
    let mut all = LeftoverSet::EMPTY;
    loop {
        let column = cursor.next()?;
        if !is_column(cursor, column) {
            return None;
        }
        all = all.union(comparison(cursor)?);
        match cursor.next() {
            Some(token) if is_word(cursor, token, b"or") => {}
            end => return is_end(end).then_some(all),
        }
    }
}

/// `= 'name'`, `IN ('name', ...)`, `LIKE 'pattern'`.
fn comparison(cursor: &mut Cursor<'_>) -> Option<LeftoverSet> {
    let operator = cursor.next()?;
    if is_operator(cursor, operator, b"=") {
        return named(plain(cursor)?);
    }
    if is_word(cursor, operator, b"like") {
        // Here the pattern is of the connection's character set and mode, and so is its backslash.
        return like(plain(cursor).filter(|pattern| !pattern.contains(&b'\\'))?);
    }
    let open = if is_word(cursor, operator, b"in") { cursor.next()? } else { return None };
    let mut more = is_operator(cursor, open, b"(");
    let mut all = more.then_some(LeftoverSet::EMPTY)?;
    while more {
        all = all.union(named(plain(cursor)?)?);
        let next = cursor.next()?;
        more = is_operator(cursor, next, b",");
        if !more && !is_operator(cursor, next, b")") {
            return None;
        }
    }
    Some(all)
}

/// What lies between the quotes of the string that must come; that nothing is joined to it shows in what follows.
fn plain<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let token = cursor.next().filter(|token| token.kind == TokenKind::String)?;
    match cursor.text(token) {
        [b'\'', inside @ .., b'\''] | [b'"', inside @ .., b'"'] => Some(inside),
        _ => None,
    }
}

/// What a variable of this name reveals; `None` if that cannot be told.
fn named(name: &[u8]) -> Option<LeftoverSet> {
    let is_known = name.iter().all(|byte| is_of_names(*byte));
    is_known.then(|| revealed(|known| name.eq_ignore_ascii_case(known)))
}

/// What the variables that match a pattern reveal; `None` if that cannot be told.
fn like(pattern: &[u8]) -> Option<LeftoverSet> {
    let mut rest = pattern;
    while let [first, behind @ ..] = rest {
        rest = match (first, behind) {
            (b'\\', [b'_' | b'%', behind @ ..]) => behind,
            (b'%', _) => behind,
            (byte, _) if is_of_names(*byte) => behind,
            _ => return None,
        };
    }
    (!pattern.is_empty()).then(|| revealed(|name| matches(pattern, name)))
}

fn revealed(is_listed: impl Fn(&[u8]) -> bool) -> LeftoverSet {
    let listed = REVEALING.iter().filter(|(name, _)| is_listed(name));
    listed.fold(LeftoverSet::EMPTY, |all, (_, reveals)| all.union(*reveals))
}

/// Whether LIKE finds a name of at most 31 bytes, in any case of letters. Takes each byte of the pattern once.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let end = 1u32 << name.len();
    let equal = |byte: u8| {
        let same = name.iter().enumerate().filter(|(_, b)| b.eq_ignore_ascii_case(&byte));
        same.fold(0u32, |bits, (at, _)| bits | 1 << at)
    };
    // Bit n: what was taken of the pattern matches the first n bytes of the name.
    let mut matched = 1u32;
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        matched = match byte {
            // From the shortest on; nothing stays nothing.
            b'%' => matched | matched.wrapping_neg(),
            b'_' => matched << 1,
            b'\\' => (matched & equal(*rest.next().unwrap_or(byte))) << 1,
            _ => (matched & equal(*byte)) << 1,
        } & (end | (end - 1));
    }
    matched & end != 0
}

/// Whether names of variables are of such bytes, which mean themselves in every collation and character set.
fn is_of_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn is_column(cursor: &Cursor<'_>, token: Token) -> bool {
    match (token.kind, cursor.text(token)) {
        (TokenKind::Word, name)
        | (TokenKind::QuotedIdent, [b'`', name @ .., b'`'] | [b'"', name @ .., b'"']) => {
            name.eq_ignore_ascii_case(b"variable_name")
        }
        _ => false,
    }
}

fn is_word(cursor: &Cursor<'_>, token: Token, word: &[u8]) -> bool {
    token.kind == TokenKind::Word && cursor.text(token).eq_ignore_ascii_case(word)
}

fn is_operator(cursor: &Cursor<'_>, token: Token, text: &[u8]) -> bool {
    token.kind == TokenKind::Operator && cursor.text(token) == text
}

fn is_end(token: Option<Token>) -> bool {
    token.is_none_or(|token| token.kind == TokenKind::Semicolon)
}

#[cfg(test)]
mod tests;
