//! What is known of the state of a session with a connection of its own, for the cache advisor: nobody follows its variables
//! before there is a rule. The texts of its SET statements stand for them; what else changes a session is a reason not to ask
//! what the cache would do with it until it is reset.

use std::hash::{DefaultHasher, Hasher};
use weir_sql::StatementKind;

/// Texts of SET that are remembered of a session. Drivers and pools send a handful.
const MOST: usize = 16;

/// Why it is not known what a session's answers depend on. docs/analytics.md lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfollowed {
    /// CREATE TEMPORARY TABLE: a name may stand for the session's own table.
    TemporaryTable,
    /// CALL: a procedure may set variables and make temporary tables.
    Procedure,
    /// PREPARE and EXECUTE as text: so may what they run.
    TextPrepared,
    /// LOCK TABLES and the like.
    Lock,
    /// A SET that was prepared: its values are not in its text.
    BoundSet,
    /// More than [`MOST`] different SET statements.
    ManySets,
    /// A statement that Weir does not know, several in one packet, or one that is too long to be read.
    Unknown,
}

#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Hashes of the texts, in the order in which they came last.
    sets: Vec<u64>,
    unknown: Option<Unfollowed>,
}

impl Followed {
    /// A statement is sent as text.
    #[inline]
    pub fn takes(&mut self, kind: StatementKind, sql: &[u8]) {
        use StatementKind as K;
        match kind {
            K::Read | K::Write | K::Use | K::TransactionControl | K::Kill | K::Load | K::Admin | K::Xa => {}
            K::Set => self.sets(sql),
            K::Ddl if !makes_temporary(sql) => {}
            kind => self.loses(kind),
        }
    }

    /// One is executed that was prepared.
    #[inline]
    pub fn executes(&mut self, kind: StatementKind) {
        use StatementKind as K;
        match kind {
            K::Read | K::Write | K::Use | K::TransactionControl | K::Kill | K::Load | K::Admin | K::Xa => {}
            kind => self.loses(kind),
        }
    }

    /// The session is as after its login.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// A number for its state; 0 for one that nothing has changed. The reason if that is not known.
    pub fn state(&self) -> Result<u64, Unfollowed> {
        if let Some(reason) = self.unknown {
            return Err(reason);
        }
        if self.sets.is_empty() {
            return Ok(0);
        }
        let mut hasher = DefaultHasher::new();
        self.sets.iter().for_each(|set| hasher.write_u64(*set));
        Ok(hasher.finish() | 1)
    }

    #[cold]
    fn sets(&mut self, sql: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(sql);
        let hash = hasher.finish();
        // One that says all by itself says the same again; another may build upon what was there.
        if !sql.iter().any(|byte| matches!(byte, b'@' | b'(' | b'/' | b'#')) {
            self.sets.retain(|known| *known != hash);
        }
        match self.sets.len() < MOST {
            true => self.sets.push(hash),
            false => self.unknown = Some(Unfollowed::ManySets),
        }
    }

    #[cold]
    fn loses(&mut self, kind: StatementKind) {
        use StatementKind as K;
        let reason = match kind {
            K::Set => Unfollowed::BoundSet,
            K::Ddl => Unfollowed::TemporaryTable,
            K::Call => Unfollowed::Procedure,
            K::PrepareText => Unfollowed::TextPrepared,
            K::Lock => Unfollowed::Lock,
            _ => Unfollowed::Unknown,
        };
        self.unknown.get_or_insert(reason);
    }
}

/// Whether the text may make a temporary table: in doubt it does.
fn makes_temporary(sql: &[u8]) -> bool {
    const WORD: &[u8] = b"TEMPORARY";
    sql.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

    use super::*;

    fn after(sets: &[&str]) -> u64 {
        let mut followed = Followed::default();
        sets.iter().for_each(|sql| followed.takes(StatementKind::Set, sql.as_bytes()));
        followed.state().unwrap()
    }

    #[test]
    fn equal_settings_have_equal_numbers_however_often_they_are_said() {
        let (a, b, c) = ("SET sql_mode = ''", "SET sql_mode = 'ANSI'", "SET @v = 1");
        assert_eq!(after(&[]), 0);
        assert_eq!(after(&[a, a, a]), after(&[a]));
        assert_eq!(after(&[a, b, a]), after(&[b, a]));
        assert_ne!(after(&[a]), 0);
        for (one, other) in [(&[a, b][..], &[b, a][..]), (&[a], &[b]), (&[a], &[a, c]), (&[c], &[c, c])] {
            assert_ne!(after(one), after(other), "{one:?} {other:?}");
        }
        // Each builds upon the one before.
        let more = "SET sql_mode = CONCAT(@@sql_mode, ',ANSI')";
        assert_ne!(after(&[a, more]), after(&[a, more, more]));
    }

    #[test]
    fn what_cannot_be_followed_is_said_until_a_reset() {
        use StatementKind as K;
        for (kind, sql, expected) in [
            (K::Read, "SELECT 1", None),
            (K::Write, "INSERT INTO temporary VALUES (1)", None),
            (K::Ddl, "CREATE TABLE t (a INT)", None),
            (K::Ddl, "create temporary table t (a INT)", Some(Unfollowed::TemporaryTable)),
            (K::Call, "CALL p()", Some(Unfollowed::Procedure)),
            (K::PrepareText, "EXECUTE s", Some(Unfollowed::TextPrepared)),
            (K::Lock, "LOCK TABLES t READ", Some(Unfollowed::Lock)),
            (K::Other, "WHATEVER", Some(Unfollowed::Unknown)),
        ] {
            let mut followed = Followed::default();
            followed.takes(kind, sql.as_bytes());
            followed.takes(K::Set, b"SET NAMES utf8mb4");
            assert_eq!(followed.state().err(), expected, "{sql}");
            followed.reset();
            assert_eq!(followed.state(), Ok(0));
        }
        let mut followed = Followed::default();
        followed.executes(K::Read);
        assert_eq!(followed.state(), Ok(0));
        followed.executes(K::Set);
        assert_eq!(followed.state(), Err(Unfollowed::BoundSet));
        let mut followed = Followed::default();
        (0..MOST).for_each(|n| followed.takes(K::Set, format!("SET @v = {n}").as_bytes()));
        assert!(followed.state().is_ok());
        followed.takes(K::Set, b"SET @w = 1");
        assert_eq!(followed.state(), Err(Unfollowed::ManySets));
    }
}
