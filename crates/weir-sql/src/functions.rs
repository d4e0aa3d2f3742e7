//! Which words before a `(` are harmless in a query.

use crate::LexMode;
use crate::words::WordId;
use weir_model::ServerFamily;

/// Whether the word is a keyword of both families behind which a `(` is no call of a function by that name: a
/// stored function is called without quotes only by a name that is no keyword.
pub(crate) fn stands_before_paren(word: WordId) -> bool {
    word.lists().has(Lists::BEFORE_PAREN)
}

/// Whether the word names a function that is built into the server and that changes neither data nor the
/// session. A name that this server has not built in is none: it may be a stored function that writes.
/// `last_insert_id` is missing because it can set a value. That each is built in was measured on MySQL 9.7.4
/// and MariaDB 10.11.19: called with wrong arguments, the servers do not answer with error 1305.
pub(crate) fn is_harmless(word: WordId, mode: LexMode) -> bool {
    word.lists().has(built_in(mode))
}

/// Whether the word names such a function, and one that asks nothing of the connection or of the statement before.
pub(crate) fn computes(word: WordId, mode: LexMode) -> bool {
    is_harmless(word, mode) && !word.lists().has(Lists::ASKS)
}

/// Whether the word names an aggregate function of MariaDB. Its stored ones are stored functions.
pub(crate) fn is_aggregate(word: WordId) -> bool {
    word.lists().has(Lists::AGGREGATE)
}

/// Whether a blank before the `(` makes it the call of a stored function, as long as `sql_mode` lacks
/// `IGNORE_SPACE`. The list is the union of both families, measured; the manual has most of it in "Function Name
/// Parsing and Resolution".
pub(crate) fn is_built_in_without_blank_only(word: WordId) -> bool {
    word.lists().has(Lists::WITHOUT_BLANK)
}

/// The lists of harmless functions that this server has built in.
fn built_in(mode: LexMode) -> Lists {
    let always = Lists::HARMLESS;
    match (mode.family, mode.server_version) {
        (ServerFamily::MySql, 90_600..) => always.with(Lists::MYSQL_80024).with(Lists::MYSQL_90000),
        (ServerFamily::MySql, 90_000..) => {
            always.with(Lists::MYSQL_80024).with(Lists::MYSQL_90000).with(Lists::DIGESTS)
        }
        (ServerFamily::MySql, 80_024..) => always.with(Lists::MYSQL_80024).with(Lists::DIGESTS),
        (ServerFamily::MySql, _) => always.with(Lists::DIGESTS),
        (ServerFamily::MariaDb, 100_800..) => {
            always.with(Lists::MARIADB_100600).with(Lists::MARIADB_100800).with(Lists::DIGESTS)
        }
        (ServerFamily::MariaDb, 100_600..) => always.with(Lists::MARIADB_100600).with(Lists::DIGESTS),
        (ServerFamily::MariaDb, _) => always.with(Lists::DIGESTS),
    }
}

/// On which of the lists below a word stands, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lists(u16);

impl Lists {
    pub(crate) const NONE: Self = Self(0);
    const BEFORE_PAREN: Self = Self(1);
    const HARMLESS: Self = Self(1 << 1);
    const MYSQL_80024: Self = Self(1 << 2);
    const MYSQL_90000: Self = Self(1 << 3);
    const DIGESTS: Self = Self(1 << 4);
    const MARIADB_100600: Self = Self(1 << 5);
    const MARIADB_100800: Self = Self(1 << 6);
    const WITHOUT_BLANK: Self = Self(1 << 7);
    const AGGREGATE: Self = Self(1 << 8);
    const ASKS: Self = Self(1 << 9);

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is on any of these.
    fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// All lists, for the table of words.
pub(crate) const ALL: [(Lists, &[&str]); 10] = [
    (Lists::BEFORE_PAREN, BEFORE_PAREN),
    (Lists::HARMLESS, HARMLESS),
    (Lists::MYSQL_80024, MYSQL_80024),
    (Lists::MYSQL_90000, MYSQL_90000),
    (Lists::DIGESTS, DIGESTS),
    (Lists::MARIADB_100600, MARIADB_100600),
    (Lists::MARIADB_100800, MARIADB_100800),
    (Lists::WITHOUT_BLANK, WITHOUT_BLANK),
    (Lists::AGGREGATE, AGGREGATE),
    (Lists::ASKS, ASKS),
];

/// How many words stand on them, some more than once.
pub(crate) const LISTED: usize = {
    let mut listed = 0;
    let mut i = 0;
    while i < ALL.len() {
        listed += ALL[i].1.len();
        i += 1;
    }
    listed
};

#[rustfmt::skip]
const BEFORE_PAREN: &[&str] = &[
    "all", "and", "any", "as", "between", "binary", "by", "case", "char", "decimal", "delete", "distinct",
    "distinctrow", "div", "double", "else", "except", "exists", "float", "from", "group", "having", "in",
    "index", "intersect", "interval", "is", "join", "json_table", "key", "like", "limit", "match", "mod",
    "not", "numeric", "on", "or", "over", "partition", "regexp", "rlike", "row", "select", "some",
    "straight_join", "then", "union", "update", "using", "values", "varbinary", "varchar", "when", "where",
    "xor",
];

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "abs", "acos", "adddate", "addtime", "aes_decrypt", "aes_encrypt", "ascii", "asin", "atan", "atan2",
    "avg", "benchmark", "bin", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "cast", "ceil",
    "ceiling", "char", "char_length", "character_length", "charset", "coalesce", "coercibility", "collation",
    "compress", "concat", "concat_ws", "connection_id", "conv", "convert", "convert_tz", "cos", "cot",
    "count", "crc32", "cume_dist", "curdate", "current_date", "current_role", "current_time",
    "current_timestamp", "current_user", "curtime", "database", "date", "date_add", "date_format", "date_sub",
    "datediff", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "default", "degrees", "dense_rank",
    "elt", "exp", "export_set", "extract", "extractvalue", "field", "find_in_set", "first_value", "floor",
    "format", "found_rows", "from_base64", "from_days", "from_unixtime", "geometrycollection", "get_format",
    "greatest", "group_concat", "hex", "hour", "if", "ifnull", "inet6_aton", "inet6_ntoa", "inet_aton",
    "inet_ntoa", "insert", "instr", "interval", "is_free_lock", "is_ipv4", "is_ipv4_compat", "is_ipv4_mapped",
    "is_ipv6", "is_used_lock", "isnull", "json_array", "json_array_append", "json_array_insert",
    "json_arrayagg", "json_contains", "json_contains_path", "json_depth", "json_extract", "json_insert",
    "json_keys", "json_length", "json_merge", "json_merge_patch", "json_merge_preserve", "json_object",
    "json_objectagg", "json_overlaps", "json_pretty", "json_quote", "json_remove", "json_replace",
    "json_search", "json_set", "json_type", "json_unquote", "json_valid", "json_value", "lag", "last_day",
    "last_value", "lcase", "lead", "least", "left", "length", "linestring", "ln", "load_file", "localtime",
    "localtimestamp", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set", "makedate",
    "maketime", "match", "max", "mbrcontains", "mbrdisjoint", "mbrequals", "mbrintersects", "mbroverlaps",
    "mbrtouches", "mbrwithin", "microsecond", "mid", "min", "minute", "mod", "month", "monthname",
    "multilinestring", "multipoint", "multipolygon", "name_const", "now", "nth_value", "ntile", "nullif",
    "oct", "octet_length", "ord", "percent_rank", "period_add", "period_diff", "pi", "polygon", "position",
    "pow", "power", "quarter", "quote", "radians", "rand", "random_bytes", "rank", "regexp_instr",
    "regexp_replace", "regexp_substr", "repeat", "replace", "reverse", "right", "round", "row_count",
    "row_number", "rpad", "rtrim", "schema", "sec_to_time", "second", "session_user", "sha2", "sign", "sin",
    "sleep", "soundex", "space", "sqrt", "st_area", "st_asbinary", "st_asgeojson", "st_astext", "st_aswkb",
    "st_aswkt", "st_buffer", "st_centroid", "st_contains", "st_convexhull", "st_crosses", "st_difference",
    "st_dimension", "st_disjoint", "st_distance", "st_distance_sphere", "st_endpoint", "st_envelope",
    "st_equals", "st_exteriorring", "st_geomcollfromtext", "st_geomcollfromwkb",
    "st_geometrycollectionfromtext", "st_geometryn", "st_geometrytype", "st_geomfromgeojson",
    "st_geomfromtext", "st_geomfromwkb", "st_interiorringn", "st_intersection", "st_intersects",
    "st_isclosed", "st_isempty", "st_issimple", "st_length", "st_linefromtext", "st_linefromwkb",
    "st_linestringfromtext", "st_mlinefromtext", "st_mlinefromwkb", "st_mpointfromtext", "st_mpointfromwkb",
    "st_mpolyfromtext", "st_mpolyfromwkb", "st_numgeometries", "st_numinteriorrings", "st_numpoints",
    "st_overlaps", "st_pointfromtext", "st_pointfromwkb", "st_pointn", "st_polyfromtext", "st_polyfromwkb",
    "st_polygonfromtext", "st_srid", "st_startpoint", "st_symdifference", "st_touches", "st_union",
    "st_within", "st_x", "st_y", "std", "stddev", "stddev_pop", "stddev_samp", "str_to_date", "strcmp",
    "subdate", "substr", "substring", "substring_index", "subtime", "sum", "sysdate", "system_user", "tan",
    "time", "time_format", "time_to_sec", "timediff", "timestamp", "timestampadd", "timestampdiff",
    "to_base64", "to_days", "to_seconds", "trim", "truncate", "ucase", "uncompress", "uncompressed_length",
    "unhex", "unix_timestamp", "updatexml", "upper", "user", "utc_date", "utc_time", "utc_timestamp", "uuid",
    "uuid_short", "var_pop", "var_samp", "variance", "version", "week", "weekday", "weekofyear",
    "weight_string", "year", "yearweek",
];

/// MySQL since 8.0.24.
#[rustfmt::skip]
const MYSQL_80024: &[&str] = &[
    "any_value", "bin_to_uuid", "format_bytes", "format_pico_time", "geomcollection", "grouping",
    "gtid_subset", "gtid_subtract", "icu_version", "is_uuid", "json_schema_valid",
    "json_schema_validation_report", "json_storage_free", "json_storage_size", "mbrcoveredby", "mbrcovers",
    "point", "ps_current_thread_id", "ps_thread_id", "regexp_like", "roles_graphml", "st_collect",
    "st_frechetdistance", "st_geohash", "st_hausdorffdistance", "st_isvalid", "st_latfromgeohash",
    "st_latitude", "st_lineinterpolatepoint", "st_lineinterpolatepoints", "st_longfromgeohash",
    "st_longitude", "st_makeenvelope", "st_numinteriorring", "st_pointatdistance", "st_pointfromgeohash",
    "st_simplify", "st_swapxy", "st_transform", "st_validate", "statement_digest", "statement_digest_text",
    "uuid_to_bin", "validate_password_strength",
];

/// MySQL since 9.0.
#[rustfmt::skip]
const MYSQL_90000: &[&str] = &[
    "from_vector", "string_to_vector", "to_vector", "vector_dim", "vector_to_string",
];

/// MySQL until 9.5 (later a component brings them as loadable functions), and MariaDB.
#[rustfmt::skip]
const DIGESTS: &[&str] = &[
    "md5", "sha", "sha1",
];

/// MariaDB since 10.6.
#[rustfmt::skip]
const MARIADB_100600: &[&str] = &[
    "add_months", "area", "astext", "centroid", "chr", "column_add", "column_check", "column_create",
    "column_delete", "column_exists", "column_get", "column_json", "column_list", "decode", "des_decrypt",
    "des_encrypt", "encode", "geomfromtext", "json_compact", "json_detailed", "json_exists", "json_loose",
    "json_query", "lengthb", "mbrequal", "median", "nvl", "nvl2", "old_password", "percentile_cont",
    "percentile_disc", "rownum", "st_boundary", "st_isring", "st_pointonsurface", "st_relate", "sys_guid",
    "to_char", "x", "y",
];

/// MariaDB since 10.8.
#[rustfmt::skip]
const MARIADB_100800: &[&str] = &[
    "crc32c", "json_equals", "json_normalize", "natural_sort_key", "sformat",
];

#[rustfmt::skip]
const WITHOUT_BLANK: &[&str] = &[
    "adddate", "bit_and", "bit_or", "bit_xor", "cast", "count", "cume_dist", "curdate", "curtime", "date_add",
    "date_sub", "dense_rank", "extract", "first_value", "group_concat", "json_arrayagg", "json_objectagg",
    "lag", "lead", "max", "median", "mid", "min", "now", "nth_value", "ntile", "percent_rank",
    "percentile_cont", "percentile_disc", "position", "rank", "session_user", "st_collect", "std", "stddev",
    "stddev_pop", "stddev_samp", "subdate", "substr", "substring", "sum", "sysdate", "system_user", "trim",
    "var_pop", "var_samp", "variance",
];

#[rustfmt::skip]
const AGGREGATE: &[&str] = &[
    "avg", "bit_and", "bit_or", "bit_xor", "count", "group_concat", "json_arrayagg", "json_objectagg", "max",
    "min", "std", "stddev", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp", "variance",
];

/// What [`Facts::reads`](crate::Facts) is about.
const ASKS: &[&str] = &["connection_id", "found_rows", "last_insert_id", "ps_current_thread_id", "row_count"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{both, mariadb, mysql};

    #[test]
    fn lists_are_sorted_and_in_small_letters() {
        for (_, list) in ALL {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(list.iter().all(|name| name.to_lowercase() == *name && name.len() <= 32));
        }
        for mode in both() {
            for name in ["CONCAT", "abs", "yearweek"] {
                assert!(is_harmless(WordId::of(name.as_bytes()), mode), "{name}");
            }
            for name in ["get_lock", "nextval", "last_insert_id", "", "ab"] {
                assert!(!is_harmless(WordId::of(name.as_bytes()), mode), "{name}");
            }
        }
        assert!(
            is_harmless(WordId::of(b"REGEXP_LIKE"), mysql())
                && !is_harmless(WordId::of(b"regexp_like"), mariadb())
        );
        assert!(is_harmless(WordId::of(b"nvl2"), mariadb()) && !is_harmless(WordId::of(b"nvl2"), mysql()));
        assert!(is_harmless(WordId::of(b"md5"), mariadb()) && !is_harmless(WordId::of(b"md5"), mysql()));
        assert!(is_harmless(WordId::of(b"md5"), LexMode::new(ServerFamily::MySql, 80_044)));
    }
}
