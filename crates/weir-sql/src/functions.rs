//! Which words before a `(` are harmless in a query.

/// Whether the word is a keyword, reserved in both families, behind which a `(` is no call.
pub(crate) fn stands_before_paren(word: &[u8]) -> bool {
    contains(BEFORE_PAREN, word)
}

/// Whether the word names a function that is built into MySQL 9.7 and MariaDB 10.11 alike, and that changes
/// neither data nor the session. A name that only one family has built in is missing on purpose: at the other
/// it may be a stored function that writes. `last_insert_id` is missing because it can set a value. That each is
/// built in was measured: called with wrong arguments, the servers do not answer with error 1305.
pub(crate) fn is_harmless(word: &[u8]) -> bool {
    contains(HARMLESS, word)
}

/// The list must be sorted and in small letters.
fn contains(list: &[&str], word: &[u8]) -> bool {
    let key = |b: &u8| b.to_ascii_lowercase();
    list.binary_search_by(|known| known.bytes().cmp(word.iter().map(key))).is_ok()
}

#[rustfmt::skip]
const BEFORE_PAREN: &[&str] = &[
    "all", "and", "as", "between", "binary", "by", "case", "char", "decimal", "distinct", "distinctrow",
    "div", "double", "else", "except", "exists", "float", "from", "group", "having", "in", "index",
    "intersect", "interval", "is", "join", "json_table", "key", "like", "limit", "match", "mod", "not",
    "numeric", "on", "or", "over", "partition", "regexp", "rlike", "row", "select", "straight_join", "then",
    "union", "using", "values", "varbinary", "varchar", "when", "where", "xor",
];

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "abs", "acos", "adddate", "addtime", "aes_decrypt", "aes_encrypt", "ascii", "asin", "atan", "atan2",
    "avg", "benchmark", "bin", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "cast",
    "ceil", "ceiling", "char", "char_length", "character_length", "charset", "coalesce", "coercibility",
    "collation", "compress", "concat", "concat_ws", "connection_id", "conv", "convert", "convert_tz",
    "cos", "cot", "count", "crc32", "cume_dist", "curdate", "current_date", "current_role",
    "current_time", "current_timestamp", "current_user", "curtime", "database", "date", "date_add",
    "date_format", "date_sub", "datediff", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear",
    "default", "degrees", "dense_rank", "elt", "exp", "export_set", "extract", "extractvalue", "field",
    "find_in_set", "first_value", "floor", "format", "found_rows", "from_base64", "from_days",
    "from_unixtime", "get_format", "greatest", "group_concat", "hex", "hour", "if", "ifnull",
    "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "insert", "instr", "interval", "is_free_lock",
    "is_ipv4", "is_ipv4_compat", "is_ipv4_mapped", "is_ipv6", "is_used_lock", "isnull", "json_array",
    "json_array_append", "json_array_insert", "json_arrayagg", "json_contains", "json_contains_path",
    "json_depth", "json_extract", "json_insert", "json_keys", "json_length", "json_merge",
    "json_merge_patch", "json_merge_preserve", "json_object", "json_objectagg", "json_overlaps",
    "json_pretty", "json_quote", "json_remove", "json_replace", "json_search", "json_set", "json_type",
    "json_unquote", "json_valid", "json_value", "lag", "last_day", "last_value", "lcase", "lead",
    "least", "left", "length", "ln", "load_file", "localtime", "localtimestamp", "locate", "log",
    "log10", "log2", "lower", "lpad", "ltrim", "make_set", "makedate", "maketime", "match", "max",
    "mbrcontains", "mbrintersects", "mbrwithin", "microsecond", "mid", "min", "minute", "mod", "month",
    "monthname", "name_const", "now", "nth_value", "ntile", "nullif", "oct", "octet_length", "ord",
    "percent_rank", "period_add", "period_diff", "pi", "position", "pow", "power", "quarter", "quote",
    "radians", "rand", "random_bytes", "rank", "regexp_instr", "regexp_replace", "regexp_substr",
    "repeat", "replace", "reverse", "right", "round", "row_count", "row_number", "rpad", "rtrim",
    "schema", "sec_to_time", "second", "session_user", "sha2", "sign", "sin", "sleep", "soundex",
    "space", "sqrt", "st_area", "st_asbinary", "st_asgeojson", "st_astext", "st_aswkb", "st_aswkt",
    "st_buffer", "st_centroid", "st_contains", "st_convexhull", "st_crosses", "st_difference",
    "st_dimension", "st_disjoint", "st_distance", "st_distance_sphere", "st_endpoint", "st_envelope",
    "st_equals", "st_exteriorring", "st_geomcollfromtext", "st_geometryn", "st_geometrytype",
    "st_geomfromgeojson", "st_geomfromtext", "st_geomfromwkb", "st_interiorringn", "st_intersection",
    "st_intersects", "st_isclosed", "st_isempty", "st_issimple", "st_length", "st_linefromtext",
    "st_numgeometries", "st_numinteriorrings", "st_numpoints", "st_overlaps", "st_pointfromtext",
    "st_pointn", "st_polyfromtext", "st_srid", "st_startpoint", "st_symdifference", "st_touches",
    "st_union", "st_within", "st_x", "st_y", "std", "stddev", "stddev_pop", "stddev_samp",
    "str_to_date", "strcmp", "subdate", "substr", "substring", "substring_index", "subtime", "sum",
    "sysdate", "system_user", "tan", "time", "time_format", "time_to_sec", "timediff", "timestamp",
    "timestampadd", "timestampdiff", "to_base64", "to_days", "to_seconds", "trim", "truncate", "ucase",
    "uncompress", "uncompressed_length", "unhex", "unix_timestamp", "updatexml", "upper", "user",
    "utc_date", "utc_time", "utc_timestamp", "uuid", "uuid_short", "var_pop", "var_samp", "variance",
    "version", "week", "weekday", "weekofyear", "weight_string", "year", "yearweek",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_in_small_letters() {
        for list in [BEFORE_PAREN, HARMLESS] {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(list.iter().all(|name| name.to_lowercase() == *name));
        }
        assert!(is_harmless(b"CONCAT") && is_harmless(b"abs") && is_harmless(b"yearweek"));
        assert!(
            !is_harmless(b"get_lock") && !is_harmless(b"nextval") && !is_harmless(b"") && !is_harmless(b"ab")
        );
    }
}
