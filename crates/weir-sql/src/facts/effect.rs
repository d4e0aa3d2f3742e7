//! What a statement does to the state of its session, as far as its text shows.

use super::transaction::SetTransaction;
use crate::CharsetClass;
use std::borrow::Cow;

/// A stretch of the statement's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The bytes out of the text it was made from; empty if it is of another text.
    pub fn of(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// One effect. `T` is the text: [`Span`] where effects are stored, `&[u8]` where they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect<T> {
    /// USE.
    Schema(Name<T>),
    /// An assignment to a system variable, or to what can only be one.
    Variable { name: Name<T>, scope: Scope, value: Value<T> },
    /// An assignment to a user variable; the name comes without its `@`. One outside of SET (`:=`, INTO) is here only where
    /// [`super::UserVariables::named`] says so.
    UserVariable { name: Name<T>, value: Value<T> },
    /// SET NAMES. The character set is `DEFAULT` or a name; `None` for the collation where no COLLATE stands.
    Names { charset: Literal<T>, collation: Option<Literal<T>> },
    /// SET CHARACTER SET, SET CHARSET: `DEFAULT` or a name. Not the same as SET NAMES: `character_set_connection`
    /// and its collation become those of the schema.
    CharacterSet(Literal<T>),
    /// SET TRANSACTION.
    Transaction(SetTransaction),
    /// SET PASSWORD.
    Password,
    /// SET ROLE.
    Role,
    /// SET DEFAULT ROLE.
    DefaultRole,
    /// SET RESOURCE GROUP.
    ResourceGroup,
}

/// Which value of a system variable an assignment changes. A keyword (`GLOBAL x = 1`) counts for the variables
/// after it that have neither keyword nor `@@`, however much stands between; `@@global.x` counts for itself only.
/// Measured on both servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// `SET x`, `SET SESSION x`, `SET LOCAL x`, `SET @@session.x`, `SET @@local.x`.
    Session,
    /// `SET @@x`: as `Session`, but MySQL's `transaction_isolation` and `transaction_read_only` (`tx_...` elsewhere)
    /// change for the next transaction only.
    Unnamed,
    /// `SET GLOBAL x`, `SET @@global.x`: not the session's.
    Global,
    /// MySQL's PERSIST: the global value, and the server's file.
    Persist,
    /// MySQL's PERSIST_ONLY: the server's file only.
    PersistOnly,
    /// MariaDB's SET STATEMENT: for this statement only.
    Statement,
}

/// A name as it stands in the text, quotes and all. The bytes are of the client's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name<T> {
    pub text: T,
    pub(super) charset: CharsetClass,
}

/// What is assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value<T> {
    Literal(Literal<T>),
    /// Anything that only the server can tell, a parameter marker included.
    Expression,
}

/// A literal as it stands in the text: with quotes, introducer and minus. It can be sent again as it is to a
/// connection with the same `sql_mode` and character sets; see [`Literal::is_portable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal<T> {
    pub kind: LiteralKind,
    pub text: T,
    pub(super) charset: CharsetClass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    /// `12`, `-12`.
    Integer,
    /// `1.5`.
    Decimal,
    /// `1e5`.
    Float,
    /// `'a'`, `_utf8mb4'a'`, `N'a'`, `"a"` without `ANSI_QUOTES`.
    String,
    /// `0x1F`, `x'1F'`, `_latin1 x'41'`.
    Hex,
    /// `0b1`, `b'1'`.
    Bit,
    Null,
    True,
    False,
    Default,
    /// A bare word or a quoted identifier, which the servers take for a string: `ON`, `utf8mb4`, `` `ansi` ``.
    Word,
}

/// What a statement makes of `character_set_client`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientCharset {
    Named(CharsetClass),
    /// The server's default.
    Default,
    /// Only the server can tell: an expression, or a number.
    Unknown,
}

impl Effect<&[u8]> {
    /// What this makes of `character_set_client` of the session; `None` where it leaves it alone.
    pub fn client_charset(&self) -> Option<ClientCharset> {
        let of = |literal: &Literal<&[u8]>| match (literal.kind, literal.plain()) {
            (LiteralKind::Default, _) => ClientCharset::Default,
            (_, Some(name)) => ClientCharset::Named(CharsetClass::from_name(&name)),
            _ => ClientCharset::Unknown,
        };
        match self {
            Self::Names { charset, .. } | Self::CharacterSet(charset) => Some(of(charset)),
            Self::Variable { name, scope: Scope::Session | Scope::Unnamed, value }
                if name.is("character_set_client") =>
            {
                Some(match value {
                    Value::Literal(literal) => of(literal),
                    Value::Expression => ClientCharset::Unknown,
                })
            }
            _ => None,
        }
    }
}

impl<T: Copy> Effect<T> {
    pub(super) fn map<U>(self, f: impl Fn(T) -> U) -> Effect<U> {
        let name = |n: Name<T>| Name { text: f(n.text), charset: n.charset };
        let literal = |l: Literal<T>| Literal { kind: l.kind, text: f(l.text), charset: l.charset };
        let value = |v: Value<T>| match v {
            Value::Literal(l) => Value::Literal(literal(l)),
            Value::Expression => Value::Expression,
        };
        match self {
            Self::Schema(n) => Effect::Schema(name(n)),
            Self::Variable { name: n, scope, value: v } => {
                Effect::Variable { name: name(n), scope, value: value(v) }
            }
            Self::UserVariable { name: n, value: v } => {
                Effect::UserVariable { name: name(n), value: value(v) }
            }
            Self::Names { charset, collation } => {
                Effect::Names { charset: literal(charset), collation: collation.map(literal) }
            }
            Self::CharacterSet(charset) => Effect::CharacterSet(literal(charset)),
            Self::Transaction(set) => Effect::Transaction(set),
            Self::Password => Effect::Password,
            Self::Role => Effect::Role,
            Self::DefaultRole => Effect::DefaultRole,
            Self::ResourceGroup => Effect::ResourceGroup,
        }
    }
}

impl<'a> Name<&'a [u8]> {
    /// The name itself: without quotes, and with doubled quotes taken for one.
    pub fn decoded(&self) -> Cow<'a, [u8]> {
        unquoted(self.text, self.charset)
    }

    /// Whether it is this name, in any case of its ASCII letters.
    pub fn is(&self, name: &str) -> bool {
        self.decoded().eq_ignore_ascii_case(name.as_bytes())
    }
}

impl<'a> Literal<&'a [u8]> {
    /// What a string or a word says, if it holds no escape and no introducer: `utf8mb4` for `utf8mb4`, `'utf8mb4'`
    /// and `` `utf8mb4` ``.
    pub fn plain(&self) -> Option<Cow<'a, [u8]>> {
        let is_text = matches!(self.kind, LiteralKind::Word | LiteralKind::String);
        let quoted = matches!(self.text.first(), Some(b'\'' | b'"' | b'`'));
        let fits = quoted || self.kind == LiteralKind::Word;
        (is_text && fits && !self.text.contains(&b'\\')).then(|| unquoted(self.text, self.charset))
    }

    /// The value of an integer that fits.
    pub fn integer(&self) -> Option<i128> {
        if self.kind != LiteralKind::Integer {
            return None;
        }
        let (negative, digits) = match self.text.strip_prefix(b"-") {
            Some(rest) => (true, rest.trim_ascii_start()),
            None => (false, self.text),
        };
        let number: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some(if negative { -number } else { number })
    }

    /// Whether the text means the same under every `sql_mode` and client character set: ASCII without backslashes and
    /// double quotes. A string without introducer still takes its collation from `collation_connection`.
    pub fn is_portable(&self) -> bool {
        self.text.iter().all(|b| b.is_ascii() && *b != b'\\' && *b != b'"')
    }
}

fn unquoted(text: &[u8], charset: CharsetClass) -> Cow<'_, [u8]> {
    let Some(&quote @ (b'\'' | b'"' | b'`')) = text.first() else { return Cow::Borrowed(text) };
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    if !inside.contains(&quote) {
        return Cow::Borrowed(inside);
    }
    let mut name = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(rest) = inside.get(at..).filter(|rest| !rest.is_empty()) {
        let len = if charset.is_multibyte() { charset.char_len(rest) } else { 1 };
        name.extend_from_slice(rest.get(..len).unwrap_or(rest));
        at += if rest.starts_with(&[quote, quote]) { 2 } else { len };
    }
    Cow::Owned(name)
}

/// Effects in the order of the text. Most statements have none, and most others one: neither allocates.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) enum Effects {
    #[default]
    None,
    One(Effect<Span>),
    Many(Vec<Effect<Span>>),
}

impl Effects {
    pub(super) fn as_slice(&self) -> &[Effect<Span>] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }

    pub(super) fn heap_size(&self) -> usize {
        match self {
            Self::Many(many) => many.capacity() * size_of::<Effect<Span>>(),
            Self::None | Self::One(_) => 0,
        }
    }

    pub(super) fn push(&mut self, effect: Effect<Span>) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(effect),
            Self::One(first) => Self::Many(vec![first, effect]),
            Self::Many(mut many) => {
                many.push(effect);
                Self::Many(many)
            }
        };
    }
}
