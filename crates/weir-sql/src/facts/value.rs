//! The right side of an assignment: a literal, or something only the server can tell.

use super::effect::{LiteralKind, Span, Value};
use super::walk::{Walk, span};
use crate::{Keyword, Token, TokenKind};

/// Takes a value up to the `,` outside of parentheses, or with `until_for` the FOR. `None` if there is none.
pub(super) fn value(walk: &mut Walk<'_>, until_for: bool) -> Option<Value<Span>> {
    let mut shape = Shape::Empty;
    let mut depth = 0usize;
    while let Some(token) = walk.peek() {
        let text = walk.text(token);
        let is_for = until_for && walk.keyword() == Some(Keyword::For);
        if depth == 0 && (is_for || text == b",") {
            break;
        }
        match text {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        walk.next();
        shape = shape.and(walk, token);
    }
    match shape {
        Shape::Empty => None,
        Shape::Literal(kind, text) => Some(Value::Literal(walk.literal(kind, text))),
        Shape::Introducer(word) => Some(Value::Literal(walk.literal(LiteralKind::Word, of(word)))),
        Shape::Minus(_) | Shape::Other => Some(Value::Expression),
    }
}

/// What the tokens of a value make so far.
enum Shape {
    Empty,
    Minus(Token),
    /// A word that begins with `_`: a character set, if a string follows.
    Introducer(Token),
    Literal(LiteralKind, Span),
    Other,
}

impl Shape {
    fn and(self, walk: &Walk<'_>, token: Token) -> Self {
        match self {
            Self::Empty if token.kind == TokenKind::Operator && walk.text(token) == b"-" => {
                Self::Minus(token)
            }
            Self::Empty if token.kind == TokenKind::Word && walk.text(token).starts_with(b"_") => {
                Self::Introducer(token)
            }
            Self::Empty => literal(walk, token).map_or(Self::Other, |kind| Self::Literal(kind, of(token))),
            Self::Minus(minus) => match literal(walk, token) {
                Some(kind @ (LiteralKind::Integer | LiteralKind::Decimal | LiteralKind::Float)) => {
                    joined(walk, kind, minus, token)
                }
                _ => Self::Other,
            },
            Self::Introducer(word) => match literal(walk, token) {
                Some(kind @ (LiteralKind::String | LiteralKind::Hex | LiteralKind::Bit)) => {
                    joined(walk, kind, word, token)
                }
                _ => Self::Other,
            },
            Self::Literal(..) | Self::Other => Self::Other,
        }
    }
}

/// Both as one literal, unless a comment stands between them, which may mean something else elsewhere.
fn joined(walk: &Walk<'_>, kind: LiteralKind, first: Token, last: Token) -> Shape {
    let between = walk.sql().get(first.end as usize..last.start as usize).unwrap_or_default();
    if between.iter().all(u8::is_ascii_whitespace) {
        Shape::Literal(kind, span(first.start, last.end))
    } else {
        Shape::Other
    }
}

fn literal(walk: &Walk<'_>, token: Token) -> Option<LiteralKind> {
    let text = walk.text(token);
    match token.kind {
        TokenKind::Number if text.iter().any(|b| matches!(b, b'e' | b'E')) => Some(LiteralKind::Float),
        TokenKind::Number if text.contains(&b'.') => Some(LiteralKind::Decimal),
        TokenKind::Number => Some(LiteralKind::Integer),
        TokenKind::String => Some(LiteralKind::String),
        TokenKind::HexLiteral => Some(LiteralKind::Hex),
        TokenKind::BitLiteral => Some(LiteralKind::Bit),
        TokenKind::QuotedIdent => Some(LiteralKind::Word),
        TokenKind::Word => Some(word(text)),
        _ => None,
    }
}

fn word(text: &[u8]) -> LiteralKind {
    const NAMED: [(&[u8], LiteralKind); 4] = [
        (b"null", LiteralKind::Null),
        (b"true", LiteralKind::True),
        (b"false", LiteralKind::False),
        (b"default", LiteralKind::Default),
    ];
    let named = NAMED.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
    named.map_or(LiteralKind::Word, |(_, kind)| *kind)
}

/// The token itself.
pub(super) fn of(token: Token) -> Span {
    span(token.start, token.end)
}
