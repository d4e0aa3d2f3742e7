//! Capability flags. MariaDB's extended flags are held in the upper half of the same 64-bit word.

/// A set of capability flags: bits 0-31 as MySQL numbers them, bits 32-63 MariaDB's extended flags.
pub type Caps = u64;

/// MySQL: "new more secure passwords". MariaDB: set by MySQL servers and clients, unset by MariaDB's own.
pub const CLIENT_MYSQL: Caps = 1;
pub const FOUND_ROWS: Caps = 1 << 1;
pub const LONG_FLAG: Caps = 1 << 2;
pub const CONNECT_WITH_DB: Caps = 1 << 3;
pub const NO_SCHEMA: Caps = 1 << 4;
pub const COMPRESS: Caps = 1 << 5;
pub const ODBC: Caps = 1 << 6;
pub const LOCAL_FILES: Caps = 1 << 7;
pub const IGNORE_SPACE: Caps = 1 << 8;
pub const PROTOCOL_41: Caps = 1 << 9;
pub const INTERACTIVE: Caps = 1 << 10;
pub const SSL: Caps = 1 << 11;
pub const IGNORE_SIGPIPE: Caps = 1 << 12;
pub const TRANSACTIONS: Caps = 1 << 13;
pub const RESERVED: Caps = 1 << 14;
pub const SECURE_CONNECTION: Caps = 1 << 15;
pub const MULTI_STATEMENTS: Caps = 1 << 16;
pub const MULTI_RESULTS: Caps = 1 << 17;
pub const PS_MULTI_RESULTS: Caps = 1 << 18;
pub const PLUGIN_AUTH: Caps = 1 << 19;
pub const CONNECT_ATTRS: Caps = 1 << 20;
pub const PLUGIN_AUTH_LENENC: Caps = 1 << 21;
pub const CAN_HANDLE_EXPIRED_PASSWORDS: Caps = 1 << 22;
pub const SESSION_TRACK: Caps = 1 << 23;
pub const DEPRECATE_EOF: Caps = 1 << 24;
pub const OPTIONAL_RESULTSET_METADATA: Caps = 1 << 25;
pub const ZSTD_COMPRESSION: Caps = 1 << 26;
pub const QUERY_ATTRIBUTES: Caps = 1 << 27;
pub const MULTI_FACTOR_AUTHENTICATION: Caps = 1 << 28;
pub const CAPABILITY_EXTENSION: Caps = 1 << 29;
pub const SSL_VERIFY_SERVER_CERT: Caps = 1 << 30;
pub const REMEMBER_OPTIONS: Caps = 1 << 31;

pub const MARIADB_PROGRESS: Caps = 1 << 32;
pub const MARIADB_COM_MULTI: Caps = 1 << 33;
pub const MARIADB_STMT_BULK_OPERATIONS: Caps = 1 << 34;
pub const MARIADB_EXTENDED_METADATA: Caps = 1 << 35;
pub const MARIADB_CACHE_METADATA: Caps = 1 << 36;
pub const MARIADB_BULK_UNIT_RESULTS: Caps = 1 << 37;

/// MariaDB's extended flags as a whole.
pub const MARIADB_EXTENDED: Caps = 0xFFFF_FFFF << 32;

/// Flags that Weir answers for itself on each side, whatever the other side does: they concern the link and
/// the login, which end at Weir.
pub const OWN: Caps = PROTOCOL_41
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC
    | CONNECT_ATTRS
    | SSL
    | COMPRESS
    | ZSTD_COMPRESSION;

/// Flags that are never offered: Weir cannot keep what they promise.
pub const WITHHELD: Caps =
    MULTI_FACTOR_AUTHENTICATION | CAPABILITY_EXTENSION | SSL_VERIFY_SERVER_CERT | MARIADB_COM_MULTI;

/// What Weir offers its clients when the server behind offers `server`; `tls` says whether TLS can be had.
pub fn offered(server: Caps, tls: bool) -> Caps {
    let own = if tls { OWN } else { OWN & !SSL };
    (server & !OWN & !WITHHELD) | own
}

/// What Weir asks of a server that offers `server` on behalf of a client that asked for `client`.
///
/// Both sides then speak the same dialect, so that packets pass unchanged. Returns the flags that the client
/// counts on and the server does not have (another server than the one greeted for), as the error.
pub fn requested(client: Caps, server: Caps) -> Result<Caps, Caps> {
    let forwarded = client & !OWN & !WITHHELD & !CONNECT_WITH_DB;
    // REMEMBER_OPTIONS and the like concern the client library alone, and CLIENT_MYSQL only names the family.
    let client_only = REMEMBER_OPTIONS | CLIENT_MYSQL | IGNORE_SIGPIPE | NO_SCHEMA | ODBC | INTERACTIVE;
    let missing = forwarded & !server & !client_only;
    if missing & SHAPING != 0 {
        return Err(missing);
    }
    let own = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | PLUGIN_AUTH_LENENC | (client & CONNECT_ATTRS);
    Ok((forwarded & (server | client_only)) | (own & server))
}

/// Flags that change what the packets of a statement look like.
const SHAPING: Caps = SESSION_TRACK
    | DEPRECATE_EOF
    | OPTIONAL_RESULTSET_METADATA
    | QUERY_ATTRIBUTES
    | MARIADB_EXTENDED_METADATA
    | MARIADB_CACHE_METADATA
    | MARIADB_BULK_UNIT_RESULTS
    | MARIADB_STMT_BULK_OPERATIONS;

/// Names and numbers of all flags, for logs and for the table in `docs/compatibility.md`.
pub const NAMES: &[(Caps, &str)] = &[
    (CLIENT_MYSQL, "CLIENT_LONG_PASSWORD"),
    (FOUND_ROWS, "CLIENT_FOUND_ROWS"),
    (LONG_FLAG, "CLIENT_LONG_FLAG"),
    (CONNECT_WITH_DB, "CLIENT_CONNECT_WITH_DB"),
    (NO_SCHEMA, "CLIENT_NO_SCHEMA"),
    (COMPRESS, "CLIENT_COMPRESS"),
    (ODBC, "CLIENT_ODBC"),
    (LOCAL_FILES, "CLIENT_LOCAL_FILES"),
    (IGNORE_SPACE, "CLIENT_IGNORE_SPACE"),
    (PROTOCOL_41, "CLIENT_PROTOCOL_41"),
    (INTERACTIVE, "CLIENT_INTERACTIVE"),
    (SSL, "CLIENT_SSL"),
    (IGNORE_SIGPIPE, "CLIENT_IGNORE_SIGPIPE"),
    (TRANSACTIONS, "CLIENT_TRANSACTIONS"),
    (RESERVED, "CLIENT_RESERVED"),
    (SECURE_CONNECTION, "CLIENT_SECURE_CONNECTION"),
    (MULTI_STATEMENTS, "CLIENT_MULTI_STATEMENTS"),
    (MULTI_RESULTS, "CLIENT_MULTI_RESULTS"),
    (PS_MULTI_RESULTS, "CLIENT_PS_MULTI_RESULTS"),
    (PLUGIN_AUTH, "CLIENT_PLUGIN_AUTH"),
    (CONNECT_ATTRS, "CLIENT_CONNECT_ATTRS"),
    (PLUGIN_AUTH_LENENC, "CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA"),
    (CAN_HANDLE_EXPIRED_PASSWORDS, "CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS"),
    (SESSION_TRACK, "CLIENT_SESSION_TRACK"),
    (DEPRECATE_EOF, "CLIENT_DEPRECATE_EOF"),
    (OPTIONAL_RESULTSET_METADATA, "CLIENT_OPTIONAL_RESULTSET_METADATA"),
    (ZSTD_COMPRESSION, "CLIENT_ZSTD_COMPRESSION_ALGORITHM"),
    (QUERY_ATTRIBUTES, "CLIENT_QUERY_ATTRIBUTES"),
    (MULTI_FACTOR_AUTHENTICATION, "MULTI_FACTOR_AUTHENTICATION"),
    (CAPABILITY_EXTENSION, "CLIENT_CAPABILITY_EXTENSION"),
    (SSL_VERIFY_SERVER_CERT, "CLIENT_SSL_VERIFY_SERVER_CERT"),
    (REMEMBER_OPTIONS, "CLIENT_REMEMBER_OPTIONS"),
    (MARIADB_PROGRESS, "MARIADB_CLIENT_PROGRESS"),
    (MARIADB_COM_MULTI, "MARIADB_CLIENT_COM_MULTI"),
    (MARIADB_STMT_BULK_OPERATIONS, "MARIADB_CLIENT_STMT_BULK_OPERATIONS"),
    (MARIADB_EXTENDED_METADATA, "MARIADB_CLIENT_EXTENDED_METADATA"),
    (MARIADB_CACHE_METADATA, "MARIADB_CLIENT_CACHE_METADATA"),
    (MARIADB_BULK_UNIT_RESULTS, "MARIADB_CLIENT_BULK_UNIT_RESULTS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_offered_only_when_the_server_or_weir_can_keep_it() {
        let server = DEPRECATE_EOF | MULTI_FACTOR_AUTHENTICATION | PROTOCOL_41;
        let got = offered(server, false);
        assert_eq!(got & DEPRECATE_EOF, DEPRECATE_EOF);
        assert_eq!(got & (MULTI_FACTOR_AUTHENTICATION | SSL | SESSION_TRACK), 0);
        assert_eq!(got & (COMPRESS | ZSTD_COMPRESSION), COMPRESS | ZSTD_COMPRESSION);
        assert_eq!(offered(server, true) & SSL, SSL);
    }

    #[test]
    fn both_sides_speak_the_same_dialect_or_the_login_says_so() {
        let server = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF | SSL;
        assert_eq!(requested(PROTOCOL_41 | SESSION_TRACK, server), Err(SESSION_TRACK));
        let got = requested(PROTOCOL_41 | DEPRECATE_EOF | SSL | COMPRESS, server);
        assert_eq!(got, Ok(PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF));
    }
}
