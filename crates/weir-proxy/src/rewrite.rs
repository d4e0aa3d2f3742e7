//! A rule's `rewrite`: the text that goes on in the place of the client's.
//!
//! Only what is understood as one statement is rewritten, and only into one. What cannot be done without harm is an error that
//! names the rule, never a text that nobody meant.

use crate::at_hand::AtHand;
use crate::session::Session;
use weir_model::rule::RuleCommand;
use weir_policy::{MAX_REWRITTEN, Rewritten, RuleIndex};
use weir_sql::{CharsetClass, LexMode, Lexer, TokenKind, strip_comments, trimmed_span};
use weir_wire::frame::put_packet;
use weir_wire::packet::ErrPacket;

/// ER_UNKNOWN_ERROR.
const CANNOT: u16 = 1105;

/// What must be known of a text's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Parameter markers.
    params: usize,
    /// Text stands behind a `;`.
    several: bool,
}

impl Session {
    /// The packet that is sent in place of the one with this payload, in which the statement begins at `offset`. `None`: it is not
    /// rewritten.
    pub(crate) fn rewritten(
        &self,
        at_hand: &AtHand,
        (rule, command): (RuleIndex, RuleCommand),
        (payload, offset): (&[u8], usize),
        mode: LexMode,
    ) -> Result<Option<Vec<u8>>, ErrPacket> {
        let sql = payload.get(offset..).unwrap_or_default();
        let Some(before) = shape(sql, mode).filter(|shape| !shape.several) else { return Ok(None) };
        let span = trimmed_span(sql, mode);
        let mut stripped = Vec::new();
        strip_comments(&sql[span.clone()], mode, &mut stripped);
        let new = self.worker.learned.lock().rules.set.rewrite(rule, &stripped);
        let name = at_hand.rules.rule(rule).map_or("", |rule| &rule.name);
        let cannot = |why: &str| {
            let text = format!("Rule `{name}` cannot rewrite this statement: {why} (weir; nothing was sent)");
            Err(ErrPacket::new(CANNOT, b"HY000", text))
        };
        let new = match new {
            Rewritten::Not => return Ok(None),
            Rewritten::TooLong => return cannot(&format!("it would be longer than {MAX_REWRITTEN} bytes")),
            Rewritten::Text(new) => new,
        };
        if !keeps_characters(&stripped, &new, mode.charset) {
            return cannot(
                "it would cut a character, or needs one that the client's character set may not have",
            );
        }
        let mut changed = payload[..offset + span.start].to_vec();
        changed.extend_from_slice(&new);
        changed.extend_from_slice(&sql[span.end..]);
        match shape(&changed[offset..], mode) {
            None | Some(Shape { several: true, .. }) => return cannot("it would be no longer one statement"),
            Some(after) if command == RuleCommand::Prepare && after.params != before.params => {
                let (before, after) = (before.params, after.params);
                return cannot(&format!(
                    "it would have {after} parameters (`?`), and the client binds {before}"
                ));
            }
            Some(_) => {}
        }
        let mut packet = Vec::with_capacity(changed.len() + weir_wire::HEADER);
        put_packet(&mut packet, 0, &changed);
        Ok(Some(packet))
    }
}

/// `None`: the server does not read all of it, or nobody knows how.
fn shape(sql: &[u8], mode: LexMode) -> Option<Shape> {
    let (mut shape, mut ended) = (Shape { params: 0, several: false }, false);
    for token in Lexer::new(sql, mode) {
        match token.kind {
            TokenKind::Unterminated | TokenKind::Nul | TokenKind::Dropped => return None,
            TokenKind::Semicolon => ended = true,
            kind if kind.is_trivia() => {}
            kind => {
                shape.several |= ended;
                shape.params += usize::from(kind == TokenKind::Param);
            }
        }
    }
    Some(shape)
}

/// Whether the characters of a text are whole after it was rewritten. A pattern sees bytes: in character sets whose characters
/// have ASCII bytes inside, and in what is no UTF-8, nobody can tell which of them belong together.
fn keeps_characters(old: &[u8], new: &[u8], charset: CharsetClass) -> bool {
    if old.is_ascii() && new.is_ascii() {
        return true;
    }
    match charset {
        CharsetClass::AsciiSafe if std::str::from_utf8(old).is_ok() => std::str::from_utf8(new).is_ok(),
        // Each byte is a character, or cannot be taken for ASCII: what is there stays, and nothing else comes in.
        CharsetClass::AsciiSafe | CharsetClass::BlankA0 | CharsetClass::BlankFf => {
            let beyond =
                |text: &[u8]| text.iter().copied().filter(|byte| !byte.is_ascii()).collect::<Vec<u8>>();
            beyond(old) == beyond(new)
        }
        CharsetClass::Big5 | CharsetClass::Gbk | CharsetClass::Gb18030 | CharsetClass::Sjis => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_model::ServerFamily;

    #[test]
    fn what_is_not_understood_as_one_statement_is_told() {
        let mode = LexMode::new(ServerFamily::MySql, 90_700);
        let known = |params, several| Some(Shape { params, several });
        for (sql, expected) in [
            ("SELECT ?, '?', `?` /* ? */ -- ?", known(1, false)),
            ("SELECT 1 ; -- x", known(0, false)),
            ("SELECT 1; SELECT ?", known(1, true)),
            ("SELECT 'a", None),
            ("SELECT 1 \0 SELECT 2", None),
        ] {
            assert_eq!(shape(sql.as_bytes(), mode), expected, "{sql}");
        }
    }

    #[test]
    fn characters_are_kept_whole() {
        use CharsetClass as C;
        for (old, new, charset, kept) in [
            (&b"a"[..], &b"b"[..], C::Sjis, true),
            ("'\u{e9}'".as_bytes(), "x'\u{e9}'".as_bytes(), C::AsciiSafe, true),
            ("'\u{e9}'".as_bytes(), b"'\xc3'", C::AsciiSafe, false),
            (b"'\xe9'", b"x '\xe9'", C::BlankA0, true),
            (b"'a'", "'\u{e9}'".as_bytes(), C::BlankA0, false),
            (b"'a'", "'\u{e9}'".as_bytes(), C::AsciiSafe, true),
            (b"'\xe9'", b"'\xe9\xe8'", C::AsciiSafe, false),
            (b"'\x83\x5c'", b"x'\x83\x5c'", C::Sjis, false),
        ] {
            assert_eq!(keeps_characters(old, new, charset), kept, "{old:?} {new:?} {charset:?}");
        }
    }
}
