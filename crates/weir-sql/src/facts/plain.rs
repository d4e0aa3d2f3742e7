//! The facts of everyday statements, which need no second look at their tokens.

use super::Facts;
use super::bits::{Leftover, LeftoverSet, PinSet};
use super::draft::USUAL;
use super::effect::Effects;
use super::found::RowsFound;
use super::transaction::Transaction;
use crate::classify::Classified;
use crate::text::Plain;
use crate::{StatementKind, UserVariables};
use weir_model::ServerFamily;

impl Facts {
    /// What [`Facts::of_text`] finds as well.
    pub(super) fn of_plain(plain: Plain, family: ServerFamily) -> Self {
        let kind = match plain {
            Plain::Select { .. } => StatementKind::Read,
            Plain::Insert | Plain::Modify => StatementKind::Write,
        };
        let keeps = match plain {
            Plain::Select { uses_table, .. } => {
                let mut kept = USUAL.without(LeftoverSet::of(&[Leftover::FoundRows]));
                if !uses_table && family == ServerFamily::MariaDb {
                    kept.insert(Leftover::Diagnostics);
                }
                kept
            }
            Plain::Insert | Plain::Modify => USUAL,
        };
        let rows_found = match plain {
            Plain::Select { has_aggregate: true, .. } if family == ServerFamily::MariaDb => {
                RowsFound::Unknown
            }
            Plain::Select { .. } => RowsFound::AsSent,
            Plain::Insert => RowsFound::Kept,
            Plain::Modify => RowsFound::Unknown,
        };
        Self {
            classified: Classified::one(kind),
            read_only: kind == StatementKind::Read,
            transaction: Transaction::None,
            variables: UserVariables::default(),
            reads: LeftoverSet::EMPTY,
            keeps,
            rows_found,
            opens_tables: !matches!(plain, Plain::Select { names_table: false, .. }),
            pins: PinSet::EMPTY,
            ends: PinSet::EMPTY,
            fresh: false,
            effects: Effects::None,
        }
    }
}
