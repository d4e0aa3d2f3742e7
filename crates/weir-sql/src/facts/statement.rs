//! One statement, by its first words.

use super::bits::{Leftover, LeftoverSet, Pin, PinSet};
use super::draft::{Draft, USUAL};
use super::effect::Effect;
use super::found::{Does, RowsFound, shown};
use super::scan::Declares;
use super::transaction::{self, Transaction, XaVerb};
use super::walk::Walk;
use super::{body, listed, set};
use crate::{Keyword, TokenKind};
use weir_model::ServerFamily;

/// Takes one statement, its `;` included; true if a `;` ended it.
pub(super) fn statement(walk: &mut Walk<'_>, draft: &mut Draft, multi_statements: bool) -> bool {
    walk.scan.begin_statement();
    let mut one = One { kept: USUAL, ..One::default() };
    let ended = if walk.is_at_end() {
        one.kept = LeftoverSet::all();
        None
    } else {
        lead(walk, draft, &mut one, multi_statements)
    };
    let more = ended.unwrap_or_else(|| walk.end());
    if walk.scan.uses_table && one.is_query {
        one.cleared_by_table = true;
    }
    let is_mariadb = walk.cursor.mode().family == ServerFamily::MariaDb;
    if is_mariadb && !one.cleared_by_table {
        // MariaDB clears the diagnostics only where a table is used.
        one.kept.insert(Leftover::Diagnostics);
    }
    draft.unknown |= one.unknown || walk.cursor.is_doubtful();
    draft.modifies |= one.modifies;
    draft.transaction = draft.transaction.and(one.transaction);
    let found = if one.unknown { RowsFound::Unknown } else { one.does.after(walk) };
    draft.found(found);
    draft.keep(if one.unknown { LeftoverSet::all() } else { one.kept });
    draft.finish(std::mem::take(&mut walk.scan.pins).union(one.pins), one.ends);
    more
}

/// What is known of a statement beside its effects and what the scan found.
#[derive(Default)]
struct One {
    transaction: Transaction,
    pins: PinSet,
    ends: PinSet,
    kept: LeftoverSet,
    /// SELECT, TABLE, VALUES, WITH.
    is_query: bool,
    does: Does,
    cleared_by_table: bool,
    modifies: bool,
    unknown: bool,
}

impl One {
    fn pin(&mut self, pin: Pin) {
        self.pins.insert(pin);
    }

    fn is(&mut self, transaction: Option<Transaction>) {
        match transaction {
            Some(found) => {
                self.transaction = found;
                self.does = Does::Keep;
            }
            None => self.unknown = true,
        }
    }

    /// An account, a table's upkeep, or another matter that commits first.
    fn commits(&mut self) {
        self.transaction = Transaction::ImplicitCommit;
    }
}

/// `Some` if it took the statement to its end itself: whether a `;` was there.
fn lead(walk: &mut Walk<'_>, draft: &mut Draft, one: &mut One, multi_statements: bool) -> Option<bool> {
    let nested = walk.is_operator(b"(");
    while walk.take_operator(b"(") {}
    let mut prefixed = false;
    while is_set_statement(walk) {
        prefixed = true;
        walk.next();
        walk.next();
        if set::set_statement(walk, draft).is_none() {
            one.unknown = true;
            return None;
        }
    }
    let Some(keyword) = walk.keyword() else { return unkeyworded(walk, draft, one, multi_statements) };
    // Parentheses stand before queries only.
    one.unknown |= nested && !is_query(keyword);
    let ended = keyworded(walk, draft, one, keyword, multi_statements);
    if nested || prefixed {
        one.does = Does::Other;
    }
    ended
}

fn is_query(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::Select | Keyword::With | Keyword::Table | Keyword::Values)
}

fn keyworded(
    walk: &mut Walk<'_>,
    draft: &mut Draft,
    one: &mut One,
    keyword: Keyword,
    multi_statements: bool,
) -> Option<bool> {
    use Keyword as K;
    if matches!(keyword, K::Create | K::Alter) {
        let made = body::made(walk.cursor.clone());
        if made == body::Made::Program {
            one.commits();
            draft.explained = true;
            one.does = Does::Define { is_view: false };
            return Some(program(walk, one, multi_statements));
        }
        let runs_query = keyword == K::Create && made == body::Made::Other;
        walk.scan.declares = if runs_query { Declares::UntilQuery } else { Declares::All };
        one.does = Does::Define { is_view: made == body::Made::View };
    }
    walk.next();
    match keyword {
        K::Set => {
            one.does = Does::Keep;
            one.unknown |= set::set(walk, draft).is_none();
        }
        K::Use => schema(walk, draft, one),
        K::Begin => match transaction::begin(walk) {
            Some(found) => one.is(Some(found)),
            None => return Some(compound(walk, one)),
        },
        K::Do => query(walk, draft, one, keyword),
        _ if is_query(keyword) => query(walk, draft, one, keyword),
        K::Insert | K::Replace | K::Update | K::Delete => modify(walk, one, keyword),
        K::Show => show(walk, one),
        K::Explain | K::Describe | K::Desc => explain(walk, one),
        K::Analyze => analyze(walk, one),
        _ => other(walk, one, keyword),
    }
    None
}

fn other(walk: &mut Walk<'_>, one: &mut One, keyword: Keyword) {
    use Keyword as K;
    match keyword {
        K::Start if walk.take(K::Transaction) => one.is(transaction::start(walk)),
        K::Commit => one.is(transaction::completion(walk).map(Transaction::Commit)),
        K::Rollback => one.is(transaction::rollback(walk)),
        K::Savepoint => one.is(Some(Transaction::Savepoint)),
        K::Release => one.is(Some(Transaction::ReleaseSavepoint)),
        K::Xa => xa(walk, one),
        K::Lock | K::Unlock => lock(walk, one, keyword),
        K::Backup => backup(walk, one),
        K::Prepare | K::Execute | K::Deallocate => prepared(walk, one),
        K::Drop if walk.is_word(b"prepare") => prepared(walk, one),
        K::Create | K::Alter => define(walk, one),
        K::Drop | K::Rename | K::Truncate | K::Import => {
            walk.scan.declares = Declares::All;
            if keyword != K::Import {
                one.does = Does::Define { is_view: false };
            }
            define(walk, one);
        }
        K::Grant | K::Revoke => {
            walk.scan.declares = Declares::All;
            one.commits();
        }
        K::Call => {
            walk.scan.writes_variables = true;
            walk.scan.declares = Declares::All;
            one.pin(Pin::Call);
            one.kept.insert(Leftover::Diagnostics);
        }
        K::Load => load(walk, one),
        K::Kill => one.pin(Pin::Kill),
        K::Help => {}
        K::Check | K::Optimize | K::Repair => {
            walk.scan.declares = Declares::All;
            one.commits();
        }
        K::Checksum => {}
        K::Flush => flush(walk, one),
        K::Start | K::Stop | K::Change | K::Reset | K::Purge | K::Cache | K::Install | K::Uninstall => {
            admin(one)
        }
        K::Shutdown | K::Restart | K::Clone => admin(one),
        K::Binlog => one.pin(Pin::Admin),
        _ => one.unknown = true,
    }
}

/// Statements whose first word is in no table of keywords.
fn unkeyworded(
    walk: &mut Walk<'_>,
    draft: &mut Draft,
    one: &mut One,
    multi_statements: bool,
) -> Option<bool> {
    draft.explained = true;
    if walk.take_word(b"handler") {
        one.pin(Pin::Handler);
    } else if walk.take_word(b"get") {
        walk.scan.writes_variables = true;
        walk.scan.reads.insert(Leftover::Diagnostics);
        one.kept = LeftoverSet::all();
    } else if walk.take_word(b"signal") || walk.take_word(b"resignal") {
        walk.scan.reads.insert(Leftover::Signal);
        one.kept.insert(Leftover::Diagnostics);
    } else {
        const BLOCKS: [&[u8]; 7] = [b"if", b"case", b"loop", b"while", b"repeat", b"for", b"declare"];
        let is_block = BLOCKS.iter().any(|word| walk.is_word(word));
        // Without multi-statements a `;` ends nothing, and with them nothing tells a block's from another.
        one.unknown = true;
        if is_block && multi_statements {
            return Some(compound(walk, one));
        }
    }
    None
}

/// CREATE PROCEDURE and its like run nothing of what they hold.
fn program(walk: &mut Walk<'_>, one: &mut One, multi_statements: bool) -> bool {
    match body::skip(&mut walk.cursor, multi_statements) {
        body::End::Text => false,
        body::End::Semicolon => true,
        body::End::Unclear => {
            one.unknown = true;
            false
        }
    }
}

/// A compound statement, taken with all that is behind it: its parts cannot be told from what follows.
fn compound(walk: &mut Walk<'_>, one: &mut One) -> bool {
    one.pin(Pin::Compound);
    one.kept = LeftoverSet::all();
    walk.scan.writes_variables = true;
    while let Some(token) = walk.cursor.next() {
        walk.scan.see(&mut walk.cursor, token);
    }
    false
}

/// Whether MariaDB's `SET STATEMENT` comes; `SET STATEMENT = 1` is about a variable of that name.
fn is_set_statement(walk: &mut Walk<'_>) -> bool {
    if walk.cursor.mode().family != ServerFamily::MariaDb || walk.keyword() != Some(Keyword::Set) {
        return false;
    }
    let mut ahead = walk.cursor.clone();
    ahead.next();
    ahead.take(Keyword::Statement) && !ahead.peek().is_some_and(|t| matches!(ahead.text(t), b"=" | b":="))
}

fn schema(walk: &mut Walk<'_>, draft: &mut Draft, one: &mut One) {
    let name = walk.next_target().filter(|t| matches!(t.kind, TokenKind::Word | TokenKind::QuotedIdent));
    match name {
        Some(token) if walk.is_at_end() => {
            one.does = Does::Keep;
            draft.push(Effect::Schema(walk.name(token, token)));
        }
        _ => one.unknown = true,
    }
}

fn query(walk: &mut Walk<'_>, draft: &mut Draft, one: &mut One, keyword: Keyword) {
    if walk.is_word(b"release_all_locks") && walk.is_all(&[b"release_all_locks", b"(", b")"]) {
        one.ends.insert(Pin::UserLock);
        draft.explained = true;
        while walk.next_target().is_some() {}
    }
    one.is_query = keyword != Keyword::Do;
    if matches!(keyword, Keyword::Select | Keyword::With) {
        one.does = Does::Query;
    }
    // WITH may introduce an UPDATE or DELETE, and MariaDB's VALUES leaves FOUND_ROWS() as it was.
    if keyword == Keyword::Select {
        one.kept = one.kept.without(LeftoverSet::of(&[Leftover::FoundRows]));
    }
}

/// INSERT, REPLACE, UPDATE, DELETE.
fn modify(walk: &mut Walk<'_>, one: &mut One, keyword: Keyword) {
    one.modifies = true;
    one.cleared_by_table = true;
    if !matches!(keyword, Keyword::Insert | Keyword::Replace) {
        return;
    }
    one.does = Does::Insert;
    const OPTIONS: [&[u8]; 5] = [b"low_priority", b"delayed", b"high_priority", b"ignore", b"into"];
    while OPTIONS.iter().any(|option| walk.take_word(option)) {}
    // The list of columns behind the table's name calls nothing.
    walk.next_target();
    if walk.is_operator(b".") {
        walk.next_target();
        walk.next_target();
    }
    if walk.is_operator(b"(") {
        walk.next_target();
    }
}

fn show(walk: &mut Walk<'_>, one: &mut One) {
    let is_global = walk.take_word(b"global");
    let _scoped = is_global || walk.take_word(b"session") || walk.take_word(b"local");
    if walk.is_word(b"warnings")
        || walk.is_word(b"errors")
        || walk.is_word(b"profile")
        || walk.is_word(b"profiles")
    {
        walk.scan.reads.insert(Leftover::Diagnostics);
        one.kept.insert(Leftover::Diagnostics);
    } else if walk.is_word(b"count") {
        walk.scan.reads.insert(Leftover::Diagnostics);
        one.kept = LeftoverSet::of(&[Leftover::Diagnostics, Leftover::LastInsertId, Leftover::ConnectionId]);
    } else if walk.is_word(b"variables") && !is_global {
        walk.scan.reads = walk.scan.reads.union(listed::shown_by_variables(walk.cursor.clone()));
    } else if walk.is_word(b"status") && !is_global {
        walk.scan.reads.insert(Leftover::Status);
    }
    if walk.is_word(b"create") || walk.is_word(b"grants") {
        walk.scan.declares = Declares::All;
    }
    one.does = shown(walk);
}

/// EXPLAIN of anything but a query is refused where nothing may be written, though it writes nothing.
fn explain(walk: &mut Walk<'_>, one: &mut One) {
    // That of DESCRIBE, and of a statement that writes, stands behind no FROM.
    walk.scan.names_table = true;
    while let Some(token) = walk.peek() {
        if let Some(keyword) = walk.cursor.keyword(token) {
            use Keyword as K;
            match keyword {
                K::Insert | K::Replace | K::Update | K::Delete => {
                    walk.next();
                    modify(walk, one, keyword);
                    return one.does = Does::Other;
                }
                K::Select | K::With | K::Table | K::Values => return,
                _ => {}
            }
        }
        walk.next();
    }
}

/// ANALYZE TABLE, or MariaDB's ANALYZE of a statement.
fn analyze(walk: &mut Walk<'_>, one: &mut One) {
    use Keyword as K;
    if matches!(walk.keyword(), Some(K::Table | K::Local | K::NoWriteToBinlog)) {
        walk.scan.declares = Declares::All;
        one.commits();
    } else {
        explain(walk, one);
    }
}

fn xa(walk: &mut Walk<'_>, one: &mut One) {
    let verb = transaction::xa(walk);
    if verb != Some(Transaction::Xa(XaVerb::Recover)) {
        one.pin(Pin::Xa);
    }
    one.is(verb);
    one.does = Does::Other;
}

/// `LOCK INSTANCE FOR BACKUP`, `LOCK TABLES ...`, and their ends.
fn lock(walk: &mut Walk<'_>, one: &mut One, keyword: Keyword) {
    let pin = if walk.take_word(b"instance") {
        Pin::InstanceLock
    } else if walk.take(Keyword::Table) || walk.take_word(b"tables") {
        one.commits();
        Pin::TableLock
    } else {
        one.unknown = true;
        return;
    };
    if keyword == Keyword::Lock {
        one.pin(pin);
    } else if walk.is_at_end() {
        one.ends.insert(pin);
    } else {
        one.unknown = true;
    }
    one.does = Does::Keep;
}

fn backup(walk: &mut Walk<'_>, one: &mut One) {
    one.commits();
    if walk.take(Keyword::Unlock) && walk.is_at_end() {
        one.ends.insert(Pin::BackupLock);
    } else if walk.take_word(b"stage") {
        if walk.take_word(b"end") && walk.is_at_end() {
            one.ends.insert(Pin::BackupStage);
        } else {
            one.pin(Pin::BackupStage);
        }
    } else {
        one.pin(Pin::BackupLock);
    }
}

/// A parameter of a procedure that EXECUTE runs may be an OUT parameter.
fn prepared(walk: &mut Walk<'_>, one: &mut One) {
    walk.scan.writes_variables = true;
    one.pin(Pin::PreparedText);
    one.kept.insert(Leftover::Diagnostics);
}

fn define(walk: &mut Walk<'_>, one: &mut One) {
    if walk.take_word(b"or") {
        walk.take(Keyword::Replace);
    }
    if walk.is_word(b"temporary") {
        one.pin(Pin::TemporaryTable);
    } else {
        one.commits();
    }
}

fn load(walk: &mut Walk<'_>, one: &mut One) {
    walk.scan.declares = Declares::UntilSet;
    if walk.is_word(b"index") {
        return one.commits();
    }
    walk.scan.writes_variables = true;
    one.modifies = true;
    one.pin(Pin::LoadData);
}

fn flush(walk: &mut Walk<'_>, one: &mut One) {
    admin(one);
    while let Some(token) = walk.next() {
        let text = walk.text(token);
        if text.eq_ignore_ascii_case(b"lock") || text.eq_ignore_ascii_case(b"export") {
            one.pin(Pin::TableLock);
        }
    }
}

fn admin(one: &mut One) {
    one.pin(Pin::Admin);
    one.commits();
}
