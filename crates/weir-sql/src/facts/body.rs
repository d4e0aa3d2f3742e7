//! Where the statement ends that makes a stored program: a `;` in its body ends nothing.

use crate::classify::Cursor;
use crate::{Token, TokenKind};

/// What a CREATE or ALTER is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A procedure, function, trigger, event, package, or a loadable function.
    Program,
    View,
    Other,
}

/// Looks ahead from the CREATE or ALTER.
pub(super) fn made(mut ahead: Cursor<'_>) -> Made {
    const PROGRAMS: [&[u8]; 5] = [b"procedure", b"function", b"trigger", b"event", b"package"];
    const OTHERS: [&[u8]; 7] = [b"table", b"database", b"schema", b"index", b"user", b"temporary", b"server"];
    // `CREATE OR REPLACE DEFINER = 'u' @ 'h' SQL SECURITY DEFINER VIEW` is about the longest.
    for _ in 0..16 {
        let Some(token) = ahead.next().filter(|t| t.kind != TokenKind::Semicolon) else { break };
        let is = |words: &[&[u8]]| words.iter().any(|w| ahead.text(token).eq_ignore_ascii_case(w));
        if token.kind != TokenKind::Word {
            continue;
        } else if is(&PROGRAMS) {
            return Made::Program;
        } else if is(&[b"view"]) {
            return Made::View;
        } else if is(&OTHERS) {
            break;
        }
    }
    Made::Other
}

/// How the body ended.
pub(super) enum End {
    /// With the text.
    Text,
    /// With a `;` behind which another statement may follow.
    Semicolon,
    /// With the text, and its blocks do not fit together: it may hold more than the program.
    Unclear,
}

/// Takes the program. Without multi-statements, it is the whole text.
pub(super) fn skip(cursor: &mut Cursor<'_>, multi_statements: bool) -> End {
    let mut depth = 0i32;
    let mut begins = false;
    while let Some(token) = cursor.next() {
        if token.kind == TokenKind::Semicolon {
            if multi_statements && depth == 0 {
                return End::Semicolon;
            }
            begins = true;
            continue;
        }
        let starts = std::mem::replace(&mut begins, false);
        match Word::of(cursor, token) {
            Word::End => {
                depth -= 1;
                let closes = cursor
                    .peek()
                    .is_some_and(|next| matches!(Word::of(cursor, next), Word::Opens { .. } | Word::Case));
                if closes {
                    cursor.next();
                }
            }
            Word::Begin => {
                depth += 1;
                begins = true;
            }
            Word::Case => depth += 1,
            Word::Opens { leads } if starts => {
                depth += 1;
                begins = leads;
            }
            Word::Leads => begins = true,
            Word::Opens { .. } | Word::Other => {}
        }
    }
    if multi_statements && depth != 0 { End::Unclear } else { End::Text }
}

/// What a word is to the blocks of a body.
#[derive(Clone, Copy)]
enum Word {
    Begin,
    /// A statement and an expression alike.
    Case,
    End,
    /// IF, WHILE, FOR, or with `leads` LOOP, REPEAT: a block, where a statement begins.
    Opens {
        leads: bool,
    },
    /// A statement may begin behind it.
    Leads,
    Other,
}

impl Word {
    fn of(cursor: &Cursor<'_>, token: Token) -> Self {
        const WORDS: [(&[u8], Word); 13] = [
            (b"begin", Word::Begin),
            (b"case", Word::Case),
            (b"end", Word::End),
            (b"if", Word::Opens { leads: false }),
            (b"loop", Word::Opens { leads: true }),
            (b"repeat", Word::Opens { leads: true }),
            (b"while", Word::Opens { leads: false }),
            (b"for", Word::Opens { leads: false }),
            (b"then", Word::Leads),
            (b"else", Word::Leads),
            (b"do", Word::Leads),
            (b"row", Word::Leads),
            (b":", Word::Leads),
        ];
        if !matches!(token.kind, TokenKind::Word | TokenKind::Operator) {
            return Self::Other;
        }
        let text = cursor.text(token);
        let found = WORDS.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        found.map_or(Self::Other, |(_, word)| *word)
    }
}
