//! One statement, by its first words.

use super::{Cursor, read};
use crate::{Keyword, StatementKind, Token, TokenKind};
use weir_model::ServerFamily;

pub(super) struct One {
    pub(super) kind: StatementKind,
    pub(super) local_infile: bool,
    /// A `;` ended it, so another may follow.
    pub(super) more: bool,
}

/// Takes one statement, its `;` included.
pub(super) fn classify(cursor: &mut Cursor<'_>) -> One {
    let mut seen = Lead { kind: StatementKind::Read, local_infile: false };
    match cursor.peek() {
        None => {}
        Some(first) if first.kind == TokenKind::Semicolon => {}
        Some(_) => seen = lead(cursor),
    }
    let more = skip_to_end(cursor);
    let kind = if cursor.is_doubtful() { StatementKind::Other } else { seen.kind };
    One { kind, local_infile: seen.local_infile, more }
}

struct Lead {
    kind: StatementKind,
    local_infile: bool,
}

impl From<StatementKind> for Lead {
    fn from(kind: StatementKind) -> Self {
        Self { kind, local_infile: false }
    }
}

/// Takes as many words as it needs to know the kind. Never takes a `;`.
fn lead(cursor: &mut Cursor<'_>) -> Lead {
    loop {
        let Some(keyword) = leading_keyword(cursor) else { return StatementKind::Other.into() };
        // MariaDB's SET STATEMENT var = value, ... FOR statement.
        if keyword == Keyword::Set && is_set_statement(cursor) {
            if !skip_to_for(cursor) {
                return StatementKind::Other.into();
            }
            continue;
        }
        return match keyword {
            Keyword::Load => load(cursor),
            Keyword::Execute => execute(cursor),
            _ => kind(cursor, keyword).into(),
        };
    }
}

/// The first word. Parentheses may stand before a query, and only there.
fn leading_keyword(cursor: &mut Cursor<'_>) -> Option<Keyword> {
    let mut nested = false;
    while cursor.peek().is_some_and(|t| t.is(b'(')) {
        cursor.next();
        nested = true;
    }
    let keyword = cursor.peek_keyword()?;
    let is_query = matches!(keyword, Keyword::Select | Keyword::With | Keyword::Table | Keyword::Values);
    if nested && !is_query {
        return None;
    }
    cursor.next();
    Some(keyword)
}

fn kind(cursor: &mut Cursor<'_>, keyword: Keyword) -> StatementKind {
    use Keyword as K;
    use StatementKind as S;
    match keyword {
        K::Select | K::With | K::Table | K::Values | K::Do => read::query(cursor),
        K::Show | K::Help => read::show(cursor),
        K::Explain | K::Describe | K::Desc => read::explain(cursor),
        K::Analyze => analyze(cursor),
        K::Insert | K::Update | K::Delete | K::Replace => S::Write,
        K::Use => S::Use,
        K::Set => set(cursor),
        K::Begin => begin(cursor),
        K::Start if cursor.peek_keyword() == Some(K::Transaction) => S::TransactionControl,
        K::Commit | K::Rollback | K::Savepoint | K::Release => S::TransactionControl,
        K::Kill => S::Kill,
        K::Lock | K::Unlock | K::Backup => S::Lock,
        K::Drop if cursor.peek_keyword() == Some(K::Prepare) => S::PrepareText,
        K::Create | K::Alter | K::Drop | K::Rename | K::Truncate | K::Import => S::Ddl,
        K::Call => S::Call,
        K::Prepare | K::Execute | K::Deallocate => S::PrepareText,
        K::Xa => S::Xa,
        K::Start | K::Stop | K::Change | K::Reset | K::Purge | K::Flush | K::Cache | K::Binlog => S::Admin,
        K::Grant | K::Revoke | K::Install | K::Uninstall | K::Shutdown | K::Restart | K::Clone => S::Admin,
        K::Check | K::Checksum | K::Optimize | K::Repair => S::Admin,
        _ => S::Other,
    }
}

/// `LOAD {DATA | XML} [LOW_PRIORITY | CONCURRENT] [FROM] [LOCAL] INFILE ...`, or `LOAD INDEX INTO CACHE`.
fn load(cursor: &mut Cursor<'_>) -> Lead {
    if !cursor.take(Keyword::Data) && !cursor.take(Keyword::Xml) {
        return StatementKind::Admin.into();
    }
    let _priority = cursor.take(Keyword::LowPriority) || cursor.take(Keyword::Concurrent);
    let _from = cursor.take(Keyword::From);
    Lead { kind: StatementKind::Load, local_infile: cursor.take(Keyword::Local) }
}

/// MariaDB runs the text of `EXECUTE IMMEDIATE '...'`, and that may be a LOAD DATA LOCAL. The literal is read
/// as it stands; one that hides its words behind escapes is not recognised.
fn execute(cursor: &mut Cursor<'_>) -> Lead {
    let mut found = Lead::from(StatementKind::PrepareText);
    if cursor.take(Keyword::Immediate)
        && let Some(literal) = cursor.peek()
        && literal.kind == TokenKind::String
    {
        let text = cursor.text(literal);
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let mut inner = Cursor::new(inside, cursor.mode());
        found.local_infile = inner.take(Keyword::Load) && load(&mut inner).local_infile;
    }
    found
}

/// BEGIN and BEGIN WORK. `BEGIN NOT ATOMIC`, and BEGIN with a statement under `sql_mode=ORACLE`, open a
/// compound statement.
fn begin(cursor: &mut Cursor<'_>) -> StatementKind {
    cursor.take(Keyword::Work);
    match cursor.peek() {
        None => StatementKind::TransactionControl,
        Some(token) if token.kind == TokenKind::Semicolon => StatementKind::TransactionControl,
        Some(_) => StatementKind::Other,
    }
}

/// SET PASSWORD and SET DEFAULT ROLE change accounts; a value may come from a function that writes.
fn set(cursor: &mut Cursor<'_>) -> StatementKind {
    match cursor.peek_keyword() {
        Some(Keyword::Password | Keyword::Default) => StatementKind::Admin,
        _ if read::calls_unknown(cursor) => StatementKind::Other,
        _ => StatementKind::Set,
    }
}

/// ANALYZE TABLE, or MariaDB's `ANALYZE [FORMAT = x] statement`, which runs the statement.
fn analyze(cursor: &mut Cursor<'_>) -> StatementKind {
    match cursor.peek_keyword() {
        Some(Keyword::Table | Keyword::Local | Keyword::NoWriteToBinlog) => StatementKind::Admin,
        _ => read::analyzed(cursor),
    }
}

fn is_set_statement(cursor: &mut Cursor<'_>) -> bool {
    cursor.mode().family == ServerFamily::MariaDb
        && cursor.peek_keyword() == Some(Keyword::Statement)
        && !is_assignment_of_next(cursor)
}

/// Whether `SET STATEMENT` goes on with `=`: then a variable of that name is meant.
fn is_assignment_of_next(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    ahead.next();
    ahead.peek().is_some_and(|t| is_op(&ahead, t, b"=") || is_op(&ahead, t, b":="))
}

/// Takes everything up to the FOR outside of parentheses; false if the statement ends before.
fn skip_to_for(cursor: &mut Cursor<'_>) -> bool {
    let mut depth = 0usize;
    while let Some(token) = cursor.peek() {
        match cursor.text(token) {
            b";" => return false,
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_for = depth == 0 && cursor.keyword(token) == Some(Keyword::For);
        cursor.next();
        if is_for {
            return true;
        }
    }
    false
}

/// Takes the rest of the statement; true if a `;` ended it.
fn skip_to_end(cursor: &mut Cursor<'_>) -> bool {
    while let Some(token) = cursor.next() {
        if token.kind == TokenKind::Semicolon {
            return true;
        }
    }
    false
}

pub(super) fn is_op(cursor: &Cursor<'_>, token: Token, text: &[u8]) -> bool {
    token.kind == TokenKind::Operator && cursor.text(token) == text
}
