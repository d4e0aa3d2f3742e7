//! What rules are matched against.

use std::net::IpAddr;

use weir_model::rule::{RuleCommand, RuleKind};
use weir_sql::StatementKind;

/// A statement, as far as rules look at it. Everything is told by its text and by the command that brought it.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// Finds the rules with a digest; `digest_text` decides.
    pub digest: u64,
    pub digest_text: &'a [u8],
    /// The statement without plain comments, for patterns. Blanks around it are ignored.
    pub text: &'a [u8],
    /// The tables that it names. A table that is missing here is one that no rule with `table` sees.
    pub tables: &'a [TableRef<'a>],
    pub kind: RuleKind,
    pub command: RuleCommand,
}

/// A table as a statement names it, without quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRef<'a> {
    /// `None` is the session's current schema.
    pub schema: Option<&'a [u8]>,
    pub name: &'a [u8],
}

/// A client's session, as far as rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The user name of the login.
    pub user: &'a [u8],
    /// The current schema; `None` where there is none, or where nobody knows.
    pub schema: Option<&'a [u8]>,
    /// `None` for a unix socket.
    pub client_ip: Option<IpAddr>,
}

/// The rules' word for a kind.
pub const fn rule_kind(kind: StatementKind) -> RuleKind {
    match kind {
        StatementKind::Read => RuleKind::Read,
        StatementKind::Use => RuleKind::Use,
        StatementKind::Set => RuleKind::Set,
        StatementKind::TransactionControl => RuleKind::TransactionControl,
        StatementKind::Lock => RuleKind::Lock,
        StatementKind::Kill => RuleKind::Kill,
        StatementKind::Write => RuleKind::Write,
        StatementKind::Load => RuleKind::Load,
        StatementKind::Ddl => RuleKind::Ddl,
        StatementKind::Admin => RuleKind::Admin,
        StatementKind::Call => RuleKind::Call,
        StatementKind::PrepareText => RuleKind::PrepareText,
        StatementKind::Xa => RuleKind::Xa,
        StatementKind::Other => RuleKind::Other,
    }
}

#[cfg(test)]
mod tests;
