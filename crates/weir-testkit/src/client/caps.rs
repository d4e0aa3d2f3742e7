//! Capability flags: the low 32 bits are the protocol's, the high 32 are MariaDB's extended ones.
//! Source: MySQL source documentation, "Capabilities Flags"; MariaDB manual, "Connection".

use std::ops::BitOr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// On MySQL CLIENT_LONG_PASSWORD, always set. MariaDB's servers clear it to announce extended flags.
    pub const MYSQL: Self = Self(1);
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    pub const NO_SCHEMA: Self = Self(1 << 4);
    pub const COMPRESS: Self = Self(1 << 5);
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const INTERACTIVE: Self = Self(1 << 10);
    pub const SSL: Self = Self(1 << 11);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const EXPIRED_PASSWORDS: Self = Self(1 << 22);
    pub const SESSION_TRACK: Self = Self(1 << 23);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const OPTIONAL_RESULTSET_METADATA: Self = Self(1 << 25);
    pub const ZSTD: Self = Self(1 << 26);
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);
    pub const MARIADB_PROGRESS: Self = Self(1 << 32);
    pub const MARIADB_COM_MULTI: Self = Self(1 << 33);
    pub const MARIADB_BULK: Self = Self(1 << 34);
    pub const MARIADB_EXTENDED_METADATA: Self = Self(1 << 35);
    pub const MARIADB_CACHE_METADATA: Self = Self(1 << 36);
    pub const MARIADB_BULK_UNIT_RESULTS: Self = Self(1 << 37);

    /// What nearly every connector sets.
    pub const COMMON: Self = Self(
        Self::MYSQL.0
            | Self::LONG_FLAG.0
            | Self::PROTOCOL_41.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::LOCAL_FILES.0,
    );

    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    pub fn minus(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Bits of the status field.
pub mod status {
    pub const IN_TRANS: u16 = 0x0001;
    pub const AUTOCOMMIT: u16 = 0x0002;
    pub const MORE_RESULTS: u16 = 0x0008;
    pub const CURSOR_EXISTS: u16 = 0x0040;
    pub const LAST_ROW_SENT: u16 = 0x0080;
    pub const PS_OUT_PARAMS: u16 = 0x1000;
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
}
