//! A short cut for the rows of a long INSERT: a row like the one before it folds away without a trace.

use super::Scan;
use crate::TokenKind;

impl Scan<'_, '_> {
    /// Behind a `(`: passes a row of literals if it belongs to the list of rows in front of it. If not, nothing has
    /// happened, and its tokens are read as usual: no token is read more than twice.
    pub(super) fn passes_row(&mut self) -> bool {
        let Some(is_wide) = self.fold.expects_row() else { return false };
        let mut lexer = self.lexer.clone();
        let mut values = 0_usize;
        let mut is_value_next = true;
        let mut has_sign = false;
        loop {
            let Some(token) = lexer.next() else { return false };
            match token.kind {
                TokenKind::Blank => continue,
                TokenKind::Number | TokenKind::HexLiteral | TokenKind::BitLiteral if is_value_next => {}
                TokenKind::String | TokenKind::Param if is_value_next && !has_sign => {}
                TokenKind::Word if is_value_next && !has_sign => {
                    let is_null = token.text(self.sql).eq_ignore_ascii_case(b"null");
                    if !is_null || self.is_qualifier(token) {
                        return false;
                    }
                }
                TokenKind::Operator => {
                    match token.text(self.sql) {
                        b"," if !is_value_next => is_value_next = true,
                        b"-" | b"+" if is_value_next && !has_sign => has_sign = true,
                        b")" if !is_value_next => break,
                        _ => return false,
                    }
                    continue;
                }
                _ => return false,
            }
            values += 1;
            is_value_next = false;
            has_sign = false;
        }
        if (values > 1) != is_wide {
            return false;
        }
        self.lexer = lexer;
        self.fold.row();
        true
    }
}
