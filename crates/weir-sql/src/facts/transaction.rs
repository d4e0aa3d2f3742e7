//! Transaction control.

use super::walk::Walk;
use crate::Keyword;

/// What a packet does to transactions, as far as its text shows. `SET autocommit = 1` commits too where it was 0:
/// it is among the effects, not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Transaction {
    /// Nothing.
    #[default]
    None,
    /// BEGIN, START TRANSACTION; it commits the transaction before.
    Begin {
        access: Option<Access>,
        consistent_snapshot: bool,
    },
    Commit(Completion),
    Rollback(Completion),
    Savepoint,
    RollbackToSavepoint,
    ReleaseSavepoint,
    /// A statement that commits an open transaction on one of the families at least: most DDL (unless the table it
    /// names turns out to be a temporary one), accounts, maintenance of tables, LOCK TABLES; UNLOCK TABLES if
    /// tables were locked. The manual: "Statements That Cause an Implicit Commit"; measured on both servers.
    ImplicitCommit,
    Xa(XaVerb),
    SetTransaction(SetTransaction),
    /// More than one statement of the packet is about transactions.
    Several,
}

/// How a COMMIT or ROLLBACK ends; `None` where the words do not stand, and `completion_type` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Completion {
    /// AND CHAIN, AND NO CHAIN: whether another transaction begins at once.
    pub chain: Option<bool>,
    /// RELEASE, NO RELEASE: whether the server ends the connection.
    pub release: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XaVerb {
    /// XA START, XA BEGIN.
    Start,
    End,
    Prepare,
    Commit,
    Rollback,
    Recover,
}

/// SET TRANSACTION: at least one of the two is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SetTransaction {
    pub scope: TransactionScope,
    pub isolation: Option<Isolation>,
    pub access: Option<Access>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionScope {
    /// Without a word: the next transaction only.
    Next,
    Session,
    Global,
}

impl Transaction {
    /// Of a packet that holds both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            _ => Self::Several,
        }
    }
}

/// The rest of BEGIN; `None` if more follows, which is a compound statement.
pub(super) fn begin(walk: &mut Walk<'_>) -> Option<Transaction> {
    walk.take(Keyword::Work);
    walk.is_at_end().then_some(Transaction::Begin { access: None, consistent_snapshot: false })
}

/// The rest of START TRANSACTION; `None` if it is none.
pub(super) fn start(walk: &mut Walk<'_>) -> Option<Transaction> {
    let mut access = None;
    let mut consistent_snapshot = false;
    while !walk.is_at_end() {
        if walk.take(Keyword::With) {
            consistent_snapshot = walk.take_word(b"consistent") && walk.take_word(b"snapshot");
            if !consistent_snapshot {
                return None;
            }
        } else {
            access = Some(self::access(walk)?);
        }
        if !walk.is_at_end() && !walk.take_operator(b",") {
            return None;
        }
    }
    Some(Transaction::Begin { access, consistent_snapshot })
}

/// The rest of COMMIT or ROLLBACK.
pub(super) fn completion(walk: &mut Walk<'_>) -> Option<Completion> {
    walk.take(Keyword::Work);
    let mut found = Completion::default();
    if walk.take_word(b"and") {
        found.chain = Some(!walk.take_word(b"no"));
        if !walk.take_word(b"chain") {
            return None;
        }
    }
    if walk.take_word(b"no") {
        found.release = Some(false);
        if !walk.take(Keyword::Release) {
            return None;
        }
    } else if walk.take(Keyword::Release) {
        found.release = Some(true);
    }
    walk.is_at_end().then_some(found)
}

/// The rest of ROLLBACK.
pub(super) fn rollback(walk: &mut Walk<'_>) -> Option<Transaction> {
    walk.take(Keyword::Work);
    if walk.take_word(b"to") {
        return Some(Transaction::RollbackToSavepoint);
    }
    completion(walk).map(Transaction::Rollback)
}

/// The rest of XA.
pub(super) fn xa(walk: &mut Walk<'_>) -> Option<Transaction> {
    const VERBS: [(&[u8], XaVerb); 7] = [
        (b"start", XaVerb::Start),
        (b"begin", XaVerb::Start),
        (b"end", XaVerb::End),
        (b"prepare", XaVerb::Prepare),
        (b"commit", XaVerb::Commit),
        (b"rollback", XaVerb::Rollback),
        (b"recover", XaVerb::Recover),
    ];
    VERBS.iter().find(|(word, _)| walk.take_word(word)).map(|(_, verb)| Transaction::Xa(*verb))
}

/// What follows SET [scope] TRANSACTION.
pub(super) fn characteristics(walk: &mut Walk<'_>, scope: TransactionScope) -> Option<SetTransaction> {
    let mut set = SetTransaction { scope, isolation: None, access: None };
    loop {
        if walk.take_word(b"isolation") {
            if !walk.take_word(b"level") {
                return None;
            }
            set.isolation = Some(isolation(walk)?);
        } else {
            set.access = Some(access(walk)?);
        }
        if !walk.take_operator(b",") {
            return walk.is_at_end().then_some(set);
        }
    }
}

fn isolation(walk: &mut Walk<'_>) -> Option<Isolation> {
    if walk.take_word(b"serializable") {
        return Some(Isolation::Serializable);
    }
    if walk.take_word(b"repeatable") {
        return walk.take_word(b"read").then_some(Isolation::RepeatableRead);
    }
    if !walk.take_word(b"read") {
        return None;
    }
    if walk.take_word(b"committed") {
        return Some(Isolation::ReadCommitted);
    }
    walk.take_word(b"uncommitted").then_some(Isolation::ReadUncommitted)
}

fn access(walk: &mut Walk<'_>) -> Option<Access> {
    if !walk.take_word(b"read") {
        return None;
    }
    if walk.take_word(b"only") {
        return Some(Access::ReadOnly);
    }
    walk.take_word(b"write").then_some(Access::ReadWrite)
}
