//! SET in all its forms.

use super::bits::Pin;
use super::draft::Draft;
use super::effect::{Effect, Literal, LiteralKind, Scope, Span, Value};
use super::transaction::{Transaction, TransactionScope, characteristics};
use super::value::{of, value};
use super::walk::Walk;
use crate::{Keyword, Token, TokenKind};
use weir_model::ServerFamily;

/// The rest of SET; `None` where it is not understood, after the effects that were.
pub(super) fn set(walk: &mut Walk<'_>, draft: &mut Draft) -> Option<()> {
    let mut list = List { walk, draft, carried: Scope::Session, until_for: false };
    if list.takes_transaction() {
        return list.characteristics(TransactionScope::Next);
    }
    list.items()
}

/// MariaDB's `SET STATEMENT x = value, ... FOR`, from behind STATEMENT to behind FOR.
pub(super) fn set_statement(walk: &mut Walk<'_>, draft: &mut Draft) -> Option<()> {
    // What stands behind FOR may be any statement.
    walk.scan.others = true;
    let mut list = List { walk, draft, carried: Scope::Statement, until_for: true };
    loop {
        let target = list.walk.next_target()?;
        list.assignment(target, Scope::Statement)?;
        if !list.walk.take_operator(b",") {
            return list.walk.take(Keyword::For).then_some(());
        }
    }
}

/// A list of assignments.
struct List<'w, 'a> {
    walk: &'w mut Walk<'a>,
    draft: &'w mut Draft,
    /// Of the last GLOBAL, SESSION, LOCAL or PERSIST that stood before a name.
    carried: Scope,
    until_for: bool,
}

impl List<'_, '_> {
    fn items(&mut self) -> Option<()> {
        let mut first = true;
        loop {
            self.item(first)?;
            if !self.walk.take_operator(b",") {
                return self.walk.is_at_end().then_some(());
            }
            first = false;
        }
    }

    fn item(&mut self, first: bool) -> Option<()> {
        let target = self.walk.next_target()?;
        match target.kind {
            TokenKind::UserVar => self.user_variable(target),
            TokenKind::SysVar => self.system_variable(target),
            TokenKind::QuotedIdent => self.assignment(target, self.carried),
            TokenKind::Word => self.word(target, first),
            _ => None,
        }
    }

    fn word(&mut self, target: Token, first: bool) -> Option<()> {
        let is = |word: &[u8], walk: &Walk<'_>| walk.text(target).eq_ignore_ascii_case(word);
        if is(b"password", self.walk) {
            return self.account_matter(Pin::Password, Effect::Password);
        }
        if self.is_assigned() || self.walk.is_operator(b".") {
            return self.assignment(target, self.carried);
        }
        if let Some(scope) = self.scope(self.walk.text(target)) {
            return self.scoped(scope, first);
        }
        if is(b"names", self.walk) {
            return self.names();
        }
        let is_charset = is(b"charset", self.walk)
            || ((is(b"character", self.walk) || is(b"char", self.walk)) && self.walk.take(Keyword::Set));
        if is_charset {
            let charset = self.charset()?;
            self.draft.push(Effect::CharacterSet(charset));
            return Some(());
        }
        if is(b"role", self.walk) {
            return self.account_matter(Pin::Role, Effect::Role);
        }
        if is(b"default", self.walk) && self.walk.take_word(b"role") {
            self.draft.transaction = self.draft.transaction.and(Transaction::ImplicitCommit);
            return self.account_matter(Pin::Role, Effect::DefaultRole);
        }
        if is(b"resource", self.walk) && self.walk.take_word(b"group") {
            return self.account_matter(Pin::ResourceGroup, Effect::ResourceGroup);
        }
        None
    }

    /// What the word before a name says of its scope.
    fn scope(&self, word: &[u8]) -> Option<Scope> {
        const WORDS: [(&[u8], Scope); 5] = [
            (b"session", Scope::Session),
            (b"local", Scope::Session),
            (b"global", Scope::Global),
            (b"persist", Scope::Persist),
            (b"persist_only", Scope::PersistOnly),
        ];
        let known = WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))?.1;
        let is_mysql = self.walk.cursor.mode().family == ServerFamily::MySql;
        (is_mysql || !matches!(known, Scope::Persist | Scope::PersistOnly)).then_some(known)
    }

    /// Behind a word of scope.
    fn scoped(&mut self, scope: Scope, first: bool) -> Option<()> {
        let of_transaction = match scope {
            Scope::Session => Some(TransactionScope::Session),
            Scope::Global => Some(TransactionScope::Global),
            _ => None,
        };
        if let Some(of_transaction) = of_transaction.filter(|_| first)
            && self.takes_transaction()
        {
            return self.characteristics(of_transaction);
        }
        self.carried = scope;
        let target = self.walk.next_target()?;
        if !matches!(target.kind, TokenKind::Word | TokenKind::QuotedIdent) {
            return None;
        }
        self.assignment(target, scope)
    }

    /// Takes TRANSACTION, unless it is a variable of that name.
    fn takes_transaction(&mut self) -> bool {
        let mut ahead = self.walk.cursor.clone();
        ahead.next();
        let is_name = ahead.peek().is_some_and(|t| matches!(ahead.text(t), b"=" | b":="));
        !is_name && self.walk.take(Keyword::Transaction)
    }

    fn characteristics(&mut self, scope: TransactionScope) -> Option<()> {
        let set = characteristics(self.walk, scope)?;
        self.draft.transaction = self.draft.transaction.and(Transaction::SetTransaction(set));
        self.draft.push(Effect::Transaction(set));
        Some(())
    }

    /// `@@x`, `@@session.x`.
    fn system_variable(&mut self, target: Token) -> Option<()> {
        let is_scope = self.walk.is_operator(b".");
        let scope = self.scope(self.walk.text(target).get(2..)?).filter(|_| is_scope);
        let Some(scope) = scope else {
            // Without the `@@`.
            let name = Token { start: target.start + 2, ..target };
            return self.assignment(name, Scope::Unnamed);
        };
        self.walk.next_target();
        let name = self.walk.next_target()?;
        self.assignment(name, scope)
    }

    /// The rest of `name = value`, or of `part.name = value`: a variable of a component or a key cache.
    fn assignment(&mut self, first: Token, scope: Scope) -> Option<()> {
        let mut last = first;
        while self.walk.is_operator(b".") {
            self.walk.next_target();
            last = self.walk.next_target()?;
        }
        let value = self.value()?;
        // MariaDB runs the subqueries of SET STATEMENT, locks and all.
        self.draft.modifies |= scope == Scope::Statement && value == Value::Expression;
        let name = self.walk.name(first, last);
        self.draft.push(Effect::Variable { name, scope, value });
        Some(())
    }

    fn user_variable(&mut self, target: Token) -> Option<()> {
        let name = Token { start: target.start + 1, ..target };
        let value = match self.value()? {
            Value::Literal(Literal { kind: LiteralKind::Word | LiteralKind::Default, .. }) => {
                Value::Expression
            }
            value => value,
        };
        self.walk.scan.computes_variable |=
            value == Value::Expression || !is_comparable(self.walk.text(name));
        let name = self.walk.name(name, name);
        self.draft.push(Effect::UserVariable { name, value });
        Some(())
    }

    fn is_assigned(&mut self) -> bool {
        self.walk.is_operator(b"=") || self.walk.is_operator(b":=")
    }

    fn value(&mut self) -> Option<Value<Span>> {
        if !self.is_assigned() {
            return None;
        }
        self.walk.next_target();
        value(self.walk, self.until_for)
    }

    fn names(&mut self) -> Option<()> {
        let charset = self.charset()?;
        let mut collation = None;
        if self.walk.take_word(b"collate") {
            collation = Some(self.charset()?);
        }
        self.draft.push(Effect::Names { charset, collation });
        Some(())
    }

    /// A name of a character set or collation: a word, a string, or DEFAULT.
    fn charset(&mut self) -> Option<Literal<Span>> {
        let token = self.walk.next_target()?;
        let kind = match token.kind {
            TokenKind::String => LiteralKind::String,
            TokenKind::Word if self.walk.text(token).eq_ignore_ascii_case(b"default") => LiteralKind::Default,
            TokenKind::Word | TokenKind::QuotedIdent => LiteralKind::Word,
            _ => return None,
        };
        Some(self.walk.literal(kind, of(token)))
    }

    /// SET PASSWORD, ROLE, DEFAULT ROLE and RESOURCE GROUP. To MySQL each is a statement of its own, and its
    /// lists of roles have commas; to MariaDB an item of the list.
    fn account_matter(&mut self, pin: Pin, effect: Effect<Span>) -> Option<()> {
        if pin == Pin::Password {
            self.draft.transaction = self.draft.transaction.and(Transaction::ImplicitCommit);
        }
        self.walk.scan.pins.insert(pin);
        self.draft.push(effect);
        if self.walk.cursor.mode().family == ServerFamily::MySql {
            self.walk.rest();
        } else {
            value(self.walk, self.until_for);
        }
        Some(())
    }
}

/// Whether user variables with such names are the same if their names are, letter case aside: the servers
/// compare other names by a collation to which `@a`, `@á` and on MariaDB `` @`a ` `` are one.
fn is_comparable(name: &[u8]) -> bool {
    let inside = match name {
        [b'`' | b'"' | b'\'', inside @ .., _] => inside,
        _ => name,
    };
    !inside.is_empty() && inside.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'))
}
