//! Shared by the tests: modes of the servers that the rules were measured on.

use crate::{CharsetClass, LexMode};
use weir_model::ServerFamily;

pub(crate) fn mysql() -> LexMode {
    LexMode::new(ServerFamily::MySql, 90704)
}

pub(crate) fn mariadb() -> LexMode {
    LexMode::new(ServerFamily::MariaDb, 101_119)
}

pub(crate) fn both() -> [LexMode; 2] {
    [mysql(), mariadb()]
}

pub(crate) fn in_charset(charset: CharsetClass) -> LexMode {
    LexMode { charset, ..mysql() }
}

/// Every combination that the lexer distinguishes.
pub(crate) fn all_modes() -> Vec<LexMode> {
    let mut modes = Vec::new();
    let classes = [
        CharsetClass::AsciiSafe,
        CharsetClass::BlankA0,
        CharsetClass::BlankFf,
        CharsetClass::Big5,
        CharsetClass::Gbk,
        CharsetClass::Gb18030,
        CharsetClass::Sjis,
    ];
    for base in [mysql(), mariadb(), LexMode::new(ServerFamily::MariaDb, 120_102)] {
        for charset in classes {
            for ansi_quotes in [false, true] {
                for no_backslash_escapes in [false, true] {
                    modes.push(LexMode { charset, ansi_quotes, no_backslash_escapes, ..base });
                }
            }
        }
    }
    modes
}
