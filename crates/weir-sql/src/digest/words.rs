//! The words that a digest shows in capital letters, and which of their spellings it shows.
//!
//! The list is that of `information_schema.keywords` of MySQL 9.7.4, the functions that are keywords before a `(`
//! ("Function Name Parsing and Resolution" in the manual), and the names of hints. Several spellings are one token
//! to the server, which shows the last of them: each was read from `STATEMENT_DIGEST_TEXT()`.

/// What a word does to the token behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// An expression begins behind it: a sign there belongs to the number, and NULL is a literal.
    Starts,
    /// NULL behind it is a literal, but a sign is shown.
    Precedes,
    In,
    Not,
    Binary,
    Null,
    /// ORDER, GROUP and PARTITION.
    Sorts,
    /// NULL behind it is a literal.
    By,
    /// Ends the list of ORDER BY and the like.
    Ends,
    /// An expression goes on behind it: IS, COLLATE.
    Continues,
    /// `_utf8mb4` and the like before a string.
    Introducer,
}

impl Role {
    /// Whether an expression goes on with the word.
    pub(super) fn continues(self) -> bool {
        matches!(self, Self::Starts | Self::In | Self::Not | Self::Binary | Self::Continues)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// In capital letters.
    spelling: &'static str,
    /// The spelling that a digest shows, and a blank.
    pub(super) shown: &'static str,
    pub(super) role: Role,
    /// A keyword only if a `(` follows.
    pub(super) call: bool,
}

impl Word {
    const fn new(spelling: &'static str, shown: &'static str, role: Role) -> Self {
        Self { spelling, shown, role, call: false }
    }

    const fn call(spelling: &'static str, shown: &'static str) -> Self {
        Self { spelling, shown, role: Role::Plain, call: true }
    }

    /// The keyword, function or introducer that a word is, in any case.
    pub(super) fn of(word: &[u8]) -> Option<&'static Self> {
        if word.len() > LONGEST {
            return None;
        }
        let mut slot = hash(word);
        loop {
            // A slot holds the place of a word, counted from one.
            let place = usize::from(*SLOTS.get(slot)?).checked_sub(1)?;
            let found = WORDS.get(place)?;
            if found.spelling.as_bytes().eq_ignore_ascii_case(word) {
                return Some(found);
            }
            slot = (slot + 1) % SLOTS.len();
        }
    }
}

/// The hint whose name a word is, and a blank.
pub(super) fn hint(word: &[u8]) -> Option<&'static str> {
    HINTS.iter().find(|shown| shown.as_bytes().trim_ascii_end().eq_ignore_ascii_case(word)).copied()
}

macro_rules! words {
    (
        plain { $($plain:ident)* }
        starts { $($starts:ident)* }
        precedes { $($precedes:ident)* }
        sorts { $($sorts:ident)* }
        ends { $($ends:ident)* }
        continues { $($continues:ident)* }
        synonyms { $($other:ident $same:ident),* $(,)? }
        calls { $($call:ident)* }
        call_synonyms { $($other_call:ident $same_call:ident),* $(,)? }
        introducers { $($introducer:ident)* }
        hints { $($hint:ident)* }
    ) => {
        const WORDS: &[Word] = &[
            $(Word::new(stringify!($plain), concat!(stringify!($plain), " "), Role::Plain),)*
            $(Word::new(stringify!($starts), concat!(stringify!($starts), " "), Role::Starts),)*
            $(Word::new(stringify!($precedes), concat!(stringify!($precedes), " "), Role::Precedes),)*
            $(Word::new(stringify!($sorts), concat!(stringify!($sorts), " "), Role::Sorts),)*
            $(Word::new(stringify!($ends), concat!(stringify!($ends), " "), Role::Ends),)*
            $(Word::new(stringify!($continues), concat!(stringify!($continues), " "), Role::Continues),)*
            Word::new("BY", "BY ", Role::By),
            Word::new("BINARY", "BINARY ", Role::Binary),
            Word::new("DISTINCT", "DISTINCTROW ", Role::Precedes),
            Word::new("IN", "IN ", Role::In),
            Word::new("NOT", "NOT ", Role::Not),
            Word::new("NULL", "NULL ", Role::Null),
            Word::new("REGEXP", "RLIKE ", Role::Starts),
            $(Word::new(stringify!($other), concat!(stringify!($same), " "), Role::Plain),)*
            $(Word::call(stringify!($call), concat!(stringify!($call), " ")),)*
            $(Word::call(stringify!($other_call), concat!(stringify!($same_call), " ")),)*
            $(Word::new(stringify!($introducer), "(_charset) ", Role::Introducer),)*
        ];

        const HINTS: &[&str] = &[$(concat!(stringify!($hint), " "),)*];
    };
}

words! {
    plain {
        ABSENT ACCESSIBLE ACCOUNT ACTION ACTIVE ADD ADMIN AFTER AGAINST AGGREGATE ALGORITHM
        ALLOW_MISSING_FILES ALTER ALWAYS ANALYZE ARRAY AS ASC ASCII ASENSITIVE
        ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS AT ATTRIBUTE AUTHENTICATION AUTO AUTOEXTEND_SIZE
        AUTO_INCREMENT AUTO_REFRESH AUTO_REFRESH_SOURCE AVG AVG_ROW_LENGTH BACKUP BEFORE BEGIN BERNOULLI
        BINLOG BIT BLOB BLOCK BOOL BOOLEAN BTREE BUCKETS BULK BYTE CACHE CALL CASCADE CASCADED
        CATALOG_NAME CHAIN CHALLENGE_RESPONSE CHANGE CHANGED CHANNEL CHARACTER CHARSET CHECK CHECKSUM
        CIPHER CLASS_ORIGIN CLIENT CLONE CLOSE COALESCE CODE COLLATION COLUMN COLUMN_FORMAT COLUMN_NAME
        COMMENT COMMIT COMMITTED COMPACT COMPLETION COMPONENT COMPRESSED COMPRESSION CONCURRENT CONDITION
        CONNECTION CONSISTENT CONSTRAINT CONSTRAINT_CATALOG CONSTRAINT_NAME CONSTRAINT_SCHEMA CONTAINS
        CONTEXT CONTINUE CONVERT CPU CREATE CROSS CUBE CUME_DIST CURRENT CURRENT_USER CURSOR CURSOR_NAME
        DATA DATAFILE DATE DATETIME DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEALLOCATE DECIMAL
        DECLARE DEFAULT_AUTH DEFINER DEFINITION DELAYED DELAY_KEY_WRITE DELETE DENSE_RANK DESC DESCRIPTION
        DETERMINISTIC DIAGNOSTICS DIRECTORY DISABLE DISCARD DISK DROP DUAL DUALITY DUMPFILE DUPLICATE
        DYNAMIC EACH EMPTY ENABLE ENCLOSED ENCRYPTION END ENDS ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE
        ENUM ERROR ERRORS ESCAPED EVENT EVENTS EVERY EXCHANGE EXCLUDE EXECUTE EXISTS EXIT EXPANSION EXPIRE
        EXPLAIN EXPORT EXTENDED EXTENT_SIZE EXTERNAL EXTERNAL_FORMAT FACTOR FAILED_LOGIN_ATTEMPTS FALSE
        FAST FAULTS FETCH FIELDS FILE FILES FILE_BLOCK_SIZE FILE_FORMAT FILE_NAME FILE_PATTERN FILE_PREFIX
        FILTER FINISH FIRST FIRST_VALUE FIXED FLOAT4 FLOAT8 FLUSH FOLLOWING FOLLOWS FORCE FOREIGN FORMAT
        FOUND FROM FULL FULLTEXT FUNCTION GENERAL GENERATE GENERATED GEOMETRY GEOMETRYCOLLECTION GET
        GET_FORMAT GET_SOURCE_PUBLIC_KEY GLOBAL GRANT GRANTS GROUPING GROUP_REPLICATION GTIDS GTID_ONLY
        GUIDED HANDLER HASH HEADER HELP HISTOGRAM HISTORY HOST HOSTS HOUR_MICROSECOND HOUR_MINUTE
        HOUR_SECOND IDENTIFIED IGNORE IGNORE_SERVER_IDS IMPORT INACTIVE INDEX INDEXES INFILE INITIAL
        INITIAL_SIZE INITIATE INNER INOUT INSENSITIVE INSERT INSERT_METHOD INSTALL INSTANCE INT8 INTEGER
        INVISIBLE INVOKER IO IO_AFTER_GTIDS IO_BEFORE_GTIDS IPC ISOLATION ISSUER ITERATE JOIN JSON
        JSON_TABLE JSON_VALUE KEY KEYRING KEYS KEY_BLOCK_SIZE KILL LAG LANGUAGE LAST LAST_VALUE LATERAL
        LEAD LEAVE LEAVES LEFT LESS LEVEL LIBRARY LINEAR LINES LINESTRING LIST LOAD LOCAL LOCKED
        LOCKS LOG LOGFILE LOGS LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MANUAL MASKING MASTER MATCH
        MATERIALIZED MAXVALUE MAX_CONNECTIONS_PER_HOUR MAX_QUERIES_PER_HOUR MAX_ROWS MAX_SIZE
        MAX_UPDATES_PER_HOUR MAX_USER_CONNECTIONS MEDIUM MEDIUMBLOB MEDIUMTEXT MEMORY MERGE MESSAGE_TEXT
        MICROSECOND MIDDLEINT MIGRATE MINUTE_MICROSECOND MINUTE_SECOND MIN_ROWS MODE MODIFIES MODIFY
        MULTILINESTRING MULTIPOINT MULTIPOLYGON MUTEX MYSQL_ERRNO NAME NAMES NATIONAL NATURAL NCHAR
        NDBCLUSTER NESTED NETWORK_NAMESPACE NEVER NEW NEXT NO NODEGROUP NONE NOWAIT NO_WAIT
        NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULLS NUMBER NUMERIC NVARCHAR OF OFF OFFSET OJ OLD ONE ONLY
        OPEN OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONAL OPTIONALLY OPTIONS ORDINALITY ORGANIZATION OTHERS
        OUT OUTER OUTFILE OVER OWNER PACK_KEYS PAGE PARALLEL PARAMETERS PARSER PARSE_TREE PARTIAL
        PARTITIONING PARTITIONS PASSWORD PASSWORD_LOCK_TIME PATH PERCENT_RANK PERSIST PERSIST_ONLY PHASE
        PLUGIN PLUGINS PLUGIN_DIR POINT POLICY POLYGON PORT PRECEDES PRECEDING PRECISION PREPARE PRESERVE
        PREV PRIMARY PRIVILEGES PRIVILEGE_CHECKS_USER PROCESS PROCESSLIST PROFILE PROFILES PROXY PURGE
        QUALIFY QUERY QUICK RANDOM RANK READ READS READ_ONLY READ_WRITE REAL REBUILD RECOVER RECURSIVE
        REDO_BUFFER_SIZE REDUNDANT REFERENCE REFERENCES REGISTRATION RELATIONAL RELAY RELAYLOG
        RELAY_LOG_FILE RELAY_LOG_POS RELAY_THREAD RELEASE RELOAD REMOVE RENAME REORGANIZE REPAIR REPEAT
        REPEATABLE REPLACE REPLICA REPLICAS REPLICATE_DO_DB REPLICATE_DO_TABLE REPLICATE_IGNORE_DB
        REPLICATE_IGNORE_TABLE REPLICATE_REWRITE_DB REPLICATE_WILD_DO_TABLE REPLICATE_WILD_IGNORE_TABLE
        REPLICATION REQUIRE REQUIRE_ROW_FORMAT REQUIRE_TABLE_PRIMARY_KEY_CHECK RESET RESIGNAL RESOURCE
        RESPECT RESTART RESTORE RESTRICT RESUME RETAIN RETURNED_SQLSTATE RETURNING RETURNS REUSE REVERSE
        REVOKE RIGHT ROLE ROLLBACK ROLLUP ROTATE ROUTINE ROW ROW_COUNT ROW_FORMAT ROW_NUMBER RTREE S3
        SAVEPOINT SCHEDULE SCHEMA SCHEMAS SCHEMA_NAME SECONDARY SECONDARY_ENGINE
        SECONDARY_ENGINE_ATTRIBUTE SECONDARY_LOAD SECONDARY_UNLOAD SECOND_MICROSECOND SECURITY SENSITIVE
        SERIAL SERIALIZABLE SERVER SESSION SETS SHARE SHOW SHUTDOWN SIGNAL SIGNED SIMPLE SKIP SLAVE SLOW
        SMALLINT SNAPSHOT SOCKET SOME SONAME SOURCE SOURCE_AUTO_POSITION SOURCE_BIND
        SOURCE_COMPRESSION_ALGORITHMS SOURCE_CONNECTION_AUTO_FAILOVER SOURCE_CONNECT_RETRY SOURCE_DELAY
        SOURCE_HEARTBEAT_PERIOD SOURCE_HOST SOURCE_LOG_FILE SOURCE_LOG_POS SOURCE_PASSWORD SOURCE_PORT
        SOURCE_PUBLIC_KEY_PATH SOURCE_RETRY_COUNT SOURCE_SSL SOURCE_SSL_CA SOURCE_SSL_CAPATH
        SOURCE_SSL_CERT SOURCE_SSL_CIPHER SOURCE_SSL_CRL SOURCE_SSL_CRLPATH SOURCE_SSL_KEY
        SOURCE_SSL_VERIFY_SERVER_CERT SOURCE_TLS_CIPHERSUITES SOURCE_TLS_VERSION SOURCE_USER
        SOURCE_ZSTD_COMPRESSION_LEVEL SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING
        SQL_AFTER_GTIDS SQL_AFTER_MTS_GAPS SQL_BEFORE_GTIDS SQL_THREAD SQL_TSI_DAY SQL_TSI_HOUR
        SQL_TSI_MINUTE SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_SECOND SRID SSL STACKED START STARTING STARTS
        STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STOP STORAGE STORED STREAM
        STRICT_LOAD STRING SUBCLASS_ORIGIN SUBJECT SUBPARTITION SUBPARTITIONS SUPER SUSPEND SWAPS SWITCHES
        SYSTEM TABLE TABLES TABLESAMPLE TABLESPACE TABLE_CHECKSUM TABLE_NAME TEMPORARY TEMPTABLE
        TERMINATED TEXT THAN THREAD_PRIORITY TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TINYBLOB
        TINYINT TINYTEXT TLS TO TRANSACTION TRIGGER TRIGGERS TRUE TRUNCATE TYPE TYPES UNBOUNDED
        UNCOMMITTED UNDEFINED UNDO UNDOFILE UNDO_BUFFER_SIZE UNICODE UNINSTALL UNIQUE UNKNOWN UNLOCK
        UNREGISTER UNSIGNED UPDATE UPGRADE URI URL USAGE USE USER_RESOURCES USE_FRM UTC_DATE UTC_TIME
        UTC_TIMESTAMP VALIDATE VALIDATION VARBINARY VARCHARACTER VARIABLES VARYING VCPU VECTOR
        VERIFY_KEY_CONSTRAINTS VIEW VIRTUAL VISIBLE WAIT WARNINGS WEEK WEIGHT_STRING WITHOUT WORK WRAPPER
        WRITE X509 XA XID XML YEAR YEAR_MONTH ZEROFILL ZONE
    }
    starts {
        AND BETWEEN CASE DEFAULT DIV ELSE ELSEIF IF INTERVAL LIKE MOD OR RETURN RLIKE SELECT THEN UNTIL
        WHEN WHILE XOR
    }
    precedes {
        ALL BOTH DISTINCTROW DO ESCAPE HAVING HIGH_PRIORITY LEADING ON SQL_BIG_RESULT SQL_BUFFER_RESULT
        SQL_CALC_FOUND_ROWS SQL_NO_CACHE SQL_SMALL_RESULT STRAIGHT_JOIN TRAILING USING VALUE WHERE
    }
    sorts {
        GROUP ORDER PARTITION
    }
    ends {
        EXCEPT FOR GROUPS INTERSECT INTO LIMIT LOCK PROCEDURE RANGE ROWS SEPARATOR SET UNION VALUES WINDOW
        WITH
    }
    continues {
        COLLATE IS MEMBER SOUNDS
    }
    synonyms {
        ANY SOME, BIGINT INT8, CHAR CHARACTER, COLUMNS FIELDS, CURRENT_DATE CURDATE, CURRENT_TIME CURTIME,
        CURRENT_TIMESTAMP NOW, DATABASE SCHEMA, DATABASES SCHEMAS, DAY SQL_TSI_DAY, DEC DECIMAL, DESCRIBE
        EXPLAIN, DOUBLE FLOAT8, FLOAT FLOAT4, GEOMCOLLECTION GEOMETRYCOLLECTION,
        HOUR SQL_TSI_HOUR, INT INTEGER, INT1 TINYINT, INT2 SMALLINT, INT3 MIDDLEINT, INT4 INTEGER,
        IO_THREAD RELAY_THREAD, LOCALTIME NOW, LOCALTIMESTAMP NOW, MEDIUMINT MIDDLEINT, MINUTE
        SQL_TSI_MINUTE, MONTH SQL_TSI_MONTH, NDB NDBCLUSTER, QUARTER SQL_TSI_QUARTER, SECOND
        SQL_TSI_SECOND, SQL_TSI_WEEK WEEK, SQL_TSI_YEAR YEAR, USER SYSTEM_USER, VARCHAR VARCHARACTER,
    }
    calls {
        ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT GROUP_CONCAT
        JSON_ARRAYAGG JSON_DUALITY_OBJECT JSON_OBJECTAGG MAX MIN NOW POSITION STDDEV_POP STDDEV_SAMP
        ST_COLLECT SUBDATE SUBSTRING SUM SYSDATE SYSTEM_USER TRIM VAR_POP VAR_SAMP
    }
    call_synonyms {
        MID SUBSTRING, SESSION_USER SYSTEM_USER, STD STDDEV_POP, STDDEV STDDEV_POP, SUBSTR SUBSTRING,
        VARIANCE VAR_POP,
    }
    introducers {
        _ARMSCII8 _ASCII _BIG5 _BINARY _CP1250 _CP1251 _CP1256 _CP1257 _CP850 _CP852 _CP866 _CP932 _DEC8
        _EUCJPMS _EUCKR _GB18030 _GB2312 _GBK _GEOSTD8 _GREEK _HEBREW _HP8 _KEYBCS2 _KOI8R _KOI8U _LATIN1
        _LATIN2 _LATIN5 _LATIN7 _MACCE _MACROMAN _SJIS _SWE7 _TIS620 _UCS2 _UJIS _UTF16 _UTF16LE _UTF32
        _UTF8 _UTF8MB3 _UTF8MB4
    }
    hints {
        BKA BNL DERIVED_CONDITION_PUSHDOWN DUPSWEEDOUT FIRSTMATCH GROUP_INDEX HASH_JOIN INDEX INDEX_MERGE
        INTOEXISTS JOIN_FIXED_ORDER JOIN_INDEX JOIN_ORDER JOIN_PREFIX JOIN_SUFFIX LOOSESCAN
        MATERIALIZATION MAX_EXECUTION_TIME MERGE MRR NO_BKA NO_BNL NO_DERIVED_CONDITION_PUSHDOWN
        NO_GROUP_INDEX NO_HASH_JOIN NO_ICP NO_INDEX NO_INDEX_MERGE NO_JOIN_INDEX NO_MERGE NO_MRR
        NO_ORDER_INDEX NO_RANGE_OPTIMIZATION NO_SEMIJOIN NO_SKIP_SCAN ORDER_INDEX QB_NAME RESOURCE_GROUP
        SEMIJOIN SET_VAR SKIP_SCAN SUBQUERY
    }
}

/// No word of the table is longer, in bytes.
const LONGEST: usize = {
    let mut longest = 0;
    let mut i = 0;
    while i < WORDS.len() {
        if WORDS[i].spelling.len() > longest {
            longest = WORDS[i].spelling.len();
        }
        i += 1;
    }
    longest
};

/// A power of two that leaves more than half of the slots empty, so that most words are found or missed at once.
const SLOT_BITS: u32 = 11;

static SLOTS: [u16; 1 << SLOT_BITS] = slots();

const fn slots() -> [u16; 1 << SLOT_BITS] {
    let mut slots = [0; 1 << SLOT_BITS];
    let mut i = 0;
    while i < WORDS.len() {
        let mut slot = hash(WORDS[i].spelling.as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        i += 1;
        slots[slot] = i as u16;
    }
    slots
}

/// A slot, from the first and the last eight bytes; letter case does not matter.
const fn hash(word: &[u8]) -> usize {
    const SMALL: u64 = 0x2020_2020_2020_2020;
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let (first, last) = match (word.first_chunk::<8>(), word.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                (u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64)
            }
            _ => match *word {
                [a, b, c] => (u32::from_le_bytes([a, b, c, 0]) as u64, 0),
                [a, b] => (u16::from_le_bytes([a, b]) as u64, 0),
                [a] => (a as u64, 0),
                _ => (0, 0),
            },
        },
    };
    let mixed = (first | SMALL) ^ (last | SMALL).rotate_left(29) ^ word.len() as u64;
    (mixed.wrapping_mul(SPREAD) >> (64 - SLOT_BITS)) as usize
}

#[cfg(test)]
mod tests;
