use crate::classify::Cursor;
use crate::{Keyword, LexMode, TokenKind};
use std::ops::Range;
use weir_model::ServerFamily;

/// A KILL whose target is a number that stands in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill {
    pub target: KillTarget,
    /// MariaDB's HARD or SOFT, where it is written.
    pub strength: Option<KillStrength>,
    pub id: u64,
    /// Where the number stands in the text, in bytes, so that another can be put in its place.
    pub id_span: Range<usize>,
}

impl Kill {
    /// What to put at [`Self::id_span`] for another id. The blank keeps it apart from a `/*!` in front, which would take its first
    /// digits for a version.
    pub fn other_id(id: u64) -> String {
        format!(" {id}")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillTarget {
    /// KILL and KILL CONNECTION.
    Connection,
    /// KILL QUERY.
    Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillStrength {
    Hard,
    Soft,
}

/// Reads `KILL [HARD | SOFT] [CONNECTION | QUERY] <decimal number>`, with comments and a `;` behind it (HARD
/// and SOFT on MariaDB only). `None` for everything else: other statements, a second statement in the packet,
/// `KILL USER`, `KILL QUERY ID`, and ids that are expressions, which the servers allow (`KILL 0x10`,
/// `KILL '5'`, `KILL (5)`, `KILL @id`) or that do not fit 64 bits.
pub fn parse_kill(sql: &[u8], mode: LexMode) -> Option<Kill> {
    let mut cursor = Cursor::new(sql, mode);
    if cursor.next_keyword() != Some(Keyword::Kill) {
        return None;
    }
    let mut token = cursor.next()?;
    let strength = match cursor.keyword(token) {
        Some(Keyword::Hard) if mode.family == ServerFamily::MariaDb => Some(KillStrength::Hard),
        Some(Keyword::Soft) if mode.family == ServerFamily::MariaDb => Some(KillStrength::Soft),
        _ => None,
    };
    if strength.is_some() {
        token = cursor.next()?;
    }
    let named = match cursor.keyword(token) {
        Some(Keyword::Connection) => Some(KillTarget::Connection),
        Some(Keyword::Query) => Some(KillTarget::Query),
        _ => None,
    };
    if named.is_some() {
        token = cursor.next()?;
    }
    if token.kind != TokenKind::Number || !cursor.only_end_follows() {
        return None;
    }
    let id = decimal(token.text(sql))?;
    let target = named.unwrap_or(KillTarget::Connection);
    Some(Kill { target, strength, id, id_span: token.span() })
}

fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |n, b| match b {
        b'0'..=b'9' => n.checked_mul(10)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
