//! What the attached connection holds of another statement than the session's last.

use weir_session::{FoundRows, Leftovers, Outcome, PinReason, PinSet, Reads, Statement};

/// The parts that are another statement's: after an answer from memory, after a question of Weir's own, on a connection that
/// others have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Foreign {
    /// FOUND_ROWS()
    rows: bool,
    /// ROW_COUNT()
    count: bool,
    diagnostics: bool,
}

impl Foreign {
    /// All of it: another statement has run there, or the session's last one has not.
    pub const ALL: Self = Self { rows: true, count: true, diagnostics: true };
    /// A question of Weir's own has run there that leaves the diagnostics as they were.
    pub const COUNTS: Self = Self { rows: true, count: true, diagnostics: false };
    /// A connection out of the pool. Its diagnostics are clean, and ROW_COUNT() is made anew by the statement that it is for.
    const ATTACHED: Self = Self { rows: true, count: false, diagnostics: false };

    /// The same, of a session that has these leftovers.
    pub fn attached(leftovers: &Leftovers) -> Self {
        Self { diagnostics: leftovers.warns_anew(), ..Self::ATTACHED }
    }

    /// A statement of the session has run there.
    pub fn after(&mut self, statement: &Statement<'_>, outcome: Outcome) {
        // What fails may have kept it.
        self.rows &= statement.found_rows == FoundRows::Kept || !outcome.is_ok();
        self.count = false;
        let quiet = match outcome {
            Outcome::Ok { warnings, .. } | Outcome::Rows { warnings, .. } => warnings == 0,
            Outcome::Err { .. } => false,
        };
        // What a procedure leaves is there alone, whatever it may have kept.
        let called = statement.pins.contains(PinReason::Procedure);
        self.diagnostics &= statement.keeps_diagnostics && quiet && !called;
    }

    /// Another command of the session was answered there; this keeps the session on the connection now.
    pub fn after_command(&mut self, holds: PinSet) {
        self.diagnostics &= !holds.contains(PinReason::Warnings);
    }

    /// This was made anew there.
    pub fn made_anew(&mut self, reads: Reads) {
        self.diagnostics &= !reads.contains(Reads::DIAGNOSTICS);
    }

    /// Whether FOUND_ROWS() there may be another's.
    pub fn has_rows(self) -> bool {
        self.rows
    }

    /// Whether the diagnostics are those of the session's last statement.
    pub fn has_own_diagnostics(self) -> bool {
        !self.diagnostics
    }

    /// Whether a statement that reads this would find another's.
    pub fn concerns(self, reads: Reads) -> bool {
        (self.rows && reads.contains(Reads::FOUND_ROWS))
            || (self.count && reads.contains(Reads::ROW_COUNT))
            || (self.diagnostics && reads.contains(Reads::DIAGNOSTICS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Outcome = Outcome::Rows { status: 2, rows: 1, warnings: 0 };

    #[test]
    fn a_statement_makes_what_it_leaves_the_sessions_own() {
        let mut foreign = Foreign::ALL;
        assert!(foreign.concerns(Reads::ROW_COUNT) && !foreign.concerns(Reads::LAST_INSERT_ID));
        let keeps = Statement { keeps_diagnostics: true, found_rows: FoundRows::Kept, ..Statement::PLAIN };
        foreign.after(&keeps, ROWS);
        assert_eq!(foreign, Foreign { rows: true, count: false, diagnostics: true });
        foreign.after(&keeps, Outcome::Rows { status: 2, rows: 1, warnings: 1 });
        assert!(!foreign.concerns(Reads::DIAGNOSTICS));
        foreign.after(&Statement::PLAIN, ROWS);
        assert_eq!(foreign, Foreign::default());
    }

    #[test]
    fn an_error_is_the_sessions_own() {
        let mut foreign = Foreign::ALL;
        let keeps = Statement { keeps_diagnostics: true, found_rows: FoundRows::Kept, ..Statement::PLAIN };
        foreign.after(&keeps, Outcome::Err { code: 1064 });
        assert!(!foreign.concerns(Reads::DIAGNOSTICS));
    }
}
