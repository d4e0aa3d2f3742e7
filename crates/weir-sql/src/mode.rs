use crate::CharsetClass;
use weir_model::ServerFamily;

/// Everything that changes how a server splits a statement into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LexMode {
    pub family: ServerFamily,
    /// The server's version as it compares it with version comments: `major * 10000 + minor * 100 + patch`,
    /// 90704 for 9.7.4 and 101119 for 10.11.19. 0 makes every version comment a plain comment.
    pub server_version: u32,
    /// `sql_mode` holds `ANSI_QUOTES`: `"..."` is an identifier.
    pub ansi_quotes: bool,
    /// `sql_mode` holds `NO_BACKSLASH_ESCAPES`: a backslash in a string is a character like any other.
    pub no_backslash_escapes: bool,
    /// Of `character_set_client`.
    pub charset: CharsetClass,
}

impl LexMode {
    /// The mode of a fresh session with a UTF-8 client.
    pub fn new(family: ServerFamily, server_version: u32) -> Self {
        Self {
            family,
            server_version,
            ansi_quotes: false,
            no_backslash_escapes: false,
            charset: CharsetClass::AsciiSafe,
        }
    }

    /// Optimizer hints (`/*+ ... */`) exist in MySQL since 5.7.7 and in MariaDB since 12.0.
    pub(crate) fn has_optimizer_hints(&self) -> bool {
        match self.family {
            ServerFamily::MySql => self.server_version >= 50707,
            ServerFamily::MariaDb => self.server_version >= 120_000,
        }
    }

    /// Dollar-quoted text (`$$ ... $$`, `$tag$ ... $tag$`), which MySQL takes for the bodies of JavaScript
    /// programs. Measured on 9.7; the 8.0 series has no such token. MariaDB has none either.
    pub(crate) fn has_dollar_quotes(&self) -> bool {
        self.family == ServerFamily::MySql && self.server_version >= 80400
    }
}
