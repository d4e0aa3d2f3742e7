//! The lexer of Weir and the facts that the proxy takes from a statement's text.
//!
//! A statement is bytes of a client, so nothing here fails or panics, and the time is linear in the length of the
//! text. What cannot be told gets the most careful answer ([`StatementKind::Other`], [`Pin::Unknown`]). [`Facts`]
//! are everything at once, in a value that can be stored beside the text; they allocate only for a packet with more
//! than one effect on the session's state, and [`read_facts`] for the names that it finds. Nothing else allocates. The
//! lexer splits text exactly as the server behind would: how it splits depends on `sql_mode`, on the client's character
//! set and on the server's family and version, which arrive together as a [`LexMode`].
//!
//! Who asks more than one question of a text reads it once, into [`Tokens`], and asks the [`Text`].
//!
//! This crate must not do I/O, keep state between statements, or decide anything: routing, caching and killing
//! are decided by those who call it. It does not parse SQL: it never claims that a statement is valid.

mod cacheable;
mod calls;
mod charset;
mod classify;
mod digest;
mod facts;
mod functions;
mod hint;
mod keyword;
mod kill;
mod kind;
mod lexer;
mod literals;
mod marks;
mod mode;
mod numbers;
mod quick;
mod secret;
mod text;
mod token;
mod words;

#[cfg(test)]
mod testing;

pub use cacheable::{
    FunctionName, LONGEST_JUDGED, ReadFacts, TableName, Uncacheable, Writes, is_system_schema, read_facts,
};
pub use charset::CharsetClass;
pub use classify::{Classified, Remainder, Statement, Statements, WeirCommand, weir_command};
pub use digest::{
    Digest, DigestId, MAX_DIGEST_LENGTH, as_called, digest, digest_showing, digest_within, strip_comments,
    trimmed_span,
};
pub use facts::{
    Access, ClientCharset, Completion, Effect, Facts, Isolation, Leftover, LeftoverSet, Literal, LiteralKind,
    Name, Pin, PinSet, RowsFound, Scope, SetTransaction, Span, Transaction, TransactionScope, UserVariables,
    Value, XaVerb,
};
pub use hint::{Hint, Hints, hints};
pub use keyword::Keyword;
pub use kill::{Kill, KillStrength, KillTarget, parse_kill};
pub use kind::{KindSet, StatementKind};
pub use lexer::Lexer;
pub use literals::without_literals;
pub use mode::LexMode;
pub use numbers::{numbers_as, without_numbers};
pub use quick::{Quick, quick};
pub use secret::may_carry_password;
pub use text::{Text, Tokens};
pub use token::{Token, TokenKind};
