//! What rules are matched against.

use std::net::IpAddr;

use weir_model::DigestId;
use weir_model::rule::{Rule, RuleCommand, RuleKind, RuleMatch};
use weir_sql::{StatementKind, TableName};

/// A statement, as far as rules look at it. Everything is told by its text and by the command that brought it.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// Finds the rules with a digest; `digest_text` decides.
    pub digest: DigestId,
    pub digest_text: &'a [u8],
    /// The statement without plain comments (`weir_sql::strip_comments`), for patterns. Blanks around it are ignored.
    pub text: &'a [u8],
    /// The tables that it reads and those that it writes, as `weir_sql::read_facts` names them. A table that is missing
    /// here is one that no rule with `table` sees. One may be in both.
    pub reads: &'a [TableName],
    pub writes: &'a [TableName],
    pub kind: RuleKind,
    pub command: RuleCommand,
}

impl Statement<'_> {
    /// All tables that it names.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableName> {
        self.reads.iter().chain(self.writes)
    }
}

/// What the rules of a set look at, beside kind and command. The rest of a [`Statement`] may be left empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// `digest` and `digest_text`.
    pub digest: bool,
    pub text: bool,
    /// `reads` and `writes`.
    pub tables: bool,
}

impl Needs {
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let any = |asks: fn(&RuleMatch) -> bool| rules.iter().any(|rule| asks(&rule.matches));
        Self {
            digest: any(|wanted| wanted.digest.is_some()),
            text: any(|wanted| wanted.pattern.is_some()),
            tables: any(|wanted| wanted.table.is_some()),
        }
    }
}

/// A client's session, as far as rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The user name of the login.
    pub user: &'a [u8],
    /// The current schema; `None` where there is none, or where nobody knows.
    pub schema: Option<&'a [u8]>,
    /// Nobody knows: then a rule with `deny` takes it for its own, and no other rule does.
    pub schema_unknown: bool,
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
