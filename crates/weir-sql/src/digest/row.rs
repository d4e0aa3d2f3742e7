//! A short cut for the rows of a long INSERT: a row like the one before it folds away without a trace.

use super::{Scan, Source};
use crate::Token;

impl Scan<'_, '_> {
    /// Behind a `(`: passes a row of literals if it belongs to the list of rows in front of it. If not, nothing has
    /// happened, and its tokens are read as usual: no token is read more than twice.
    pub(super) fn passes_row(&mut self, open: Token) -> bool {
        let Some(is_wide) = self.fold.expects_row() else { return false };
        let row = self.source.lexer.row(open.start as usize).filter(|row| row.is_wide == is_wide);
        let Some(row) = row else { return false };
        self.source.skip_row(row.end);
        self.fold.row();
        true
    }

    /// Takes rows that were passed when the tokens were read, where they may fold away. If not, their tokens are read.
    pub(super) fn passed_rows(&mut self, rows: Token, is_wide: bool) {
        self.source.skip_row(rows.end as usize);
        if self.fold.expects_row() == Some(is_wide) {
            self.fold.row();
            return self.ordinals.other();
        }
        let inside = self.sql.get(..rows.end as usize).unwrap_or_default();
        let lexer = self.source.lexer.clone().at(inside, rows.start as usize);
        let behind = std::mem::replace(&mut self.source, Source { tokens: &[], at: 0, lexer });
        while let Some(token) = self.source.next().filter(|_| !self.fold.is_full()) {
            self.token(token);
        }
        self.source = behind;
    }
}
