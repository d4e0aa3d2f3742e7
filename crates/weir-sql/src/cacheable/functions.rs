//! The functions that both servers have built in, and whether their value depends on their arguments alone.

/// What is known of a function by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Its value follows from its arguments, the data, and variables of the session that belong in the key.
    Pure,
    /// Its value changes with time, chance or the server's state; or it waits or locks.
    Varies,
    /// Its value is the connection's, the account's, or left by the statement before.
    Session,
    /// It makes a TIME: see [`TimeValue`](crate::Uncacheable::TimeValue).
    Time,
    /// It reads user variables that its XPath argument names: `ExtractValue(x, '//b[$@i]')`.
    XPath,
}

/// `None`: not a function that is known.
///
/// A name says the same with quotes and behind the name of a schema: `` `sleep`(1) `` is the built-in function on both
/// servers (measured). A pure function counts as built in only if this server has it: see [`crate::functions`].
pub(super) fn class(name: &[u8]) -> Option<Class> {
    let folded = super::words::Folded::of(name);
    let found = TABLE.binary_search_by(|(known, _)| known.as_bytes().cmp(folded.text())).ok()?;
    TABLE.get(found).map(|(_, class)| *class)
}

/// Whether a word without parentheses is a function. On MySQL 9.7.4 and MariaDB 10.11.19, every keyword was tried; SYSDATE
/// is MariaDB's under `sql_mode=ORACLE`, and the last ones are of later versions.
pub(super) fn class_of_bare(word: &[u8]) -> Option<Class> {
    match word {
        b"current_date" | b"current_time" | b"current_timestamp" | b"localtime" | b"localtimestamp"
        | b"utc_date" | b"utc_time" | b"utc_timestamp" | b"sysdate" | b"systimestamp" => Some(V),
        b"current_user" | b"current_role" | b"session_user" | b"system_user" | b"current_path" => Some(S),
        _ => None,
    }
}

const P: Class = Class::Pure;
const V: Class = Class::Varies;
const S: Class = Class::Session;
const T: Class = Class::Time;
const X: Class = Class::XPath;

/// Sorted, in small letters.
///
/// Not pure, though it may seem so: `default`, for MariaDB evaluates the expression that a column has for a default (measured:
/// `DEFAULT(dt)` gives NOW()); `validate_password_strength`, `des_encrypt` and the like depend on files and settings of the
/// server.
#[rustfmt::skip]
const TABLE: &[(&str, Class)] = &[
    ("abs", P), ("acos", P), ("add_months", P), ("adddate", P), ("addtime", T), ("aes_decrypt", P),
    ("aes_encrypt", P), ("any_value", P), ("area", P), ("ascii", P), ("asin", P), ("astext", P), ("atan", P),
    ("atan2", P), ("avg", P), ("benchmark", V), ("bin", P), ("bin_to_uuid", P), ("binlog_gtid_pos", V),
    ("bit_and", P), ("bit_count", P), ("bit_length", P), ("bit_or", P), ("bit_xor", P), ("can_access_column", S),
    ("can_access_database", S), ("can_access_table", S), ("can_access_user", S), ("can_access_view", S),
    ("cast", P), ("ceil", P), ("ceiling", P), ("centroid", P), ("char", P), ("char_length", P),
    ("character_length", P), ("charset", P), ("chr", P), ("coalesce", P), ("coercibility", P), ("collation", P),
    ("column_add", P), ("column_check", P), ("column_create", P), ("column_delete", P), ("column_exists", P),
    ("column_get", P), ("column_json", P), ("column_list", P), ("compress", P), ("concat", P), ("concat_ws", P),
    ("connection_id", S), ("conv", P), ("convert", P), ("convert_tz", P), ("cos", P), ("cot", P), ("count", P),
    ("crc32", P), ("crc32c", P), ("cume_dist", P), ("curdate", V), ("current_date", V), ("current_path", S),
    ("current_role", S), ("current_time", V), ("current_timestamp", V), ("current_user", S), ("currval", V),
    ("curtime", V), ("database", P), ("date", P), ("date_add", P), ("date_format", P), ("date_sub", P),
    ("datediff", P), ("day", P), ("dayname", P), ("dayofmonth", P), ("dayofweek", P), ("dayofyear", P),
    ("decode", P), ("default", V), ("degrees", P), ("dense_rank", P), ("des_decrypt", V), ("des_encrypt", V),
    ("elt", P), ("encode", P), ("encrypt", V), ("exp", P), ("export_set", P), ("extract", P), ("extractvalue", X),
    ("field", P), ("find_in_set", P), ("first_value", P), ("floor", P), ("format", P), ("format_bytes", P),
    ("format_pico_time", P), ("found_rows", S), ("from_base64", P), ("from_days", P), ("from_unixtime", P),
    ("from_vector", P), ("geomcollection", P), ("geometrycollection", P), ("geomfromtext", P), ("get_format", P),
    ("get_lock", V), ("greatest", P), ("group_concat", P), ("grouping", P), ("gtid_subset", P),
    ("gtid_subtract", P), ("hex", P), ("hour", P), ("icu_version", P), ("if", P), ("ifnull", P), ("inet6_aton", P),
    ("inet6_ntoa", P), ("inet_aton", P), ("inet_ntoa", P), ("insert", P), ("instr", P), ("interval", P),
    ("is_free_lock", V), ("is_ipv4", P), ("is_ipv4_compat", P), ("is_ipv4_mapped", P), ("is_ipv6", P),
    ("is_used_lock", V), ("is_uuid", P), ("isnull", P), ("json_array", P), ("json_array_append", P),
    ("json_array_insert", P), ("json_arrayagg", P), ("json_compact", P), ("json_contains", P),
    ("json_contains_path", P), ("json_depth", P), ("json_detailed", P), ("json_equals", P), ("json_exists", P),
    ("json_extract", P), ("json_insert", P), ("json_keys", P), ("json_length", P), ("json_loose", P),
    ("json_merge", P), ("json_merge_patch", P), ("json_merge_preserve", P), ("json_normalize", P),
    ("json_object", P), ("json_objectagg", P), ("json_overlaps", P), ("json_pretty", P), ("json_query", P),
    ("json_quote", P), ("json_remove", P), ("json_replace", P), ("json_schema_valid", P),
    ("json_schema_validation_report", P), ("json_search", P), ("json_set", P), ("json_storage_free", P),
    ("json_storage_size", P), ("json_type", P), ("json_unquote", P), ("json_valid", P), ("json_value", P),
    ("lag", P), ("last_day", P), ("last_insert_id", S), ("last_value", P), ("lastval", V), ("lcase", P),
    ("lead", P), ("least", P), ("left", P), ("length", P), ("lengthb", P), ("linestring", P), ("ln", P),
    ("load_file", V), ("localtime", V), ("localtimestamp", V), ("locate", P), ("log", P), ("log10", P), ("log2", P),
    ("lower", P), ("lpad", P), ("ltrim", P), ("make_set", P), ("makedate", P), ("maketime", T),
    ("master_gtid_wait", V), ("master_pos_wait", V), ("match", P), ("max", P), ("mbrcontains", P),
    ("mbrcoveredby", P), ("mbrcovers", P), ("mbrdisjoint", P), ("mbrequal", P), ("mbrequals", P),
    ("mbrintersects", P), ("mbroverlaps", P), ("mbrtouches", P), ("mbrwithin", P), ("md5", P), ("median", P),
    ("microsecond", P), ("mid", P), ("min", P), ("minute", P), ("mod", P), ("month", P), ("monthname", P),
    ("multilinestring", P), ("multipoint", P), ("multipolygon", P), ("mysql_query_attribute_string", S),
    ("name_const", P), ("natural_sort_key", P), ("nextval", V), ("now", V), ("nth_value", P), ("ntile", P),
    ("nullif", P), ("nvl", P), ("nvl2", P), ("oct", P), ("octet_length", P), ("old_password", P), ("ord", P),
    ("percent_rank", P), ("percentile_cont", P), ("percentile_disc", P), ("period_add", P), ("period_diff", P),
    ("pi", P), ("point", P), ("polygon", P), ("position", P), ("pow", P), ("power", P), ("ps_current_thread_id", S),
    ("ps_thread_id", V), ("quarter", P), ("quote", P), ("radians", P), ("rand", V), ("random_bytes", V),
    ("rank", P), ("regexp_instr", P), ("regexp_like", P), ("regexp_replace", P), ("regexp_substr", P),
    ("release_all_locks", V), ("release_lock", V), ("repeat", P), ("replace", P), ("reverse", P), ("right", P),
    ("roles_graphml", S), ("round", P), ("row_count", S), ("row_number", P), ("rownum", P), ("rpad", P),
    ("rtrim", P), ("schema", P), ("sec_to_time", T), ("second", P), ("session_user", S), ("setval", V),
    ("sformat", P), ("sha", P), ("sha1", P), ("sha2", P), ("sign", P), ("sin", P), ("sleep", V), ("soundex", P),
    ("source_pos_wait", V), ("space", P), ("sqrt", P), ("st_area", P), ("st_asbinary", P), ("st_asgeojson", P),
    ("st_astext", P), ("st_aswkb", P), ("st_aswkt", P), ("st_boundary", P), ("st_buffer", P), ("st_centroid", P),
    ("st_collect", P), ("st_contains", P), ("st_convexhull", P), ("st_crosses", P), ("st_difference", P),
    ("st_dimension", P), ("st_disjoint", P), ("st_distance", P), ("st_distance_sphere", P), ("st_endpoint", P),
    ("st_envelope", P), ("st_equals", P), ("st_exteriorring", P), ("st_frechetdistance", P), ("st_geohash", P),
    ("st_geomcollfromtext", P), ("st_geomcollfromwkb", P), ("st_geometrycollectionfromtext", P),
    ("st_geometryn", P), ("st_geometrytype", P), ("st_geomfromgeojson", P), ("st_geomfromtext", P),
    ("st_geomfromwkb", P), ("st_hausdorffdistance", P), ("st_interiorringn", P), ("st_intersection", P),
    ("st_intersects", P), ("st_isclosed", P), ("st_isempty", P), ("st_isring", P), ("st_issimple", P),
    ("st_isvalid", P), ("st_latfromgeohash", P), ("st_latitude", P), ("st_length", P), ("st_linefromtext", P),
    ("st_linefromwkb", P), ("st_lineinterpolatepoint", P), ("st_lineinterpolatepoints", P),
    ("st_linestringfromtext", P), ("st_longfromgeohash", P), ("st_longitude", P), ("st_makeenvelope", P),
    ("st_mlinefromtext", P), ("st_mlinefromwkb", P), ("st_mpointfromtext", P), ("st_mpointfromwkb", P),
    ("st_mpolyfromtext", P), ("st_mpolyfromwkb", P), ("st_numgeometries", P), ("st_numinteriorring", P),
    ("st_numinteriorrings", P), ("st_numpoints", P), ("st_overlaps", P), ("st_pointatdistance", P),
    ("st_pointfromgeohash", P), ("st_pointfromtext", P), ("st_pointfromwkb", P), ("st_pointn", P),
    ("st_pointonsurface", P), ("st_polyfromtext", P), ("st_polyfromwkb", P), ("st_polygonfromtext", P),
    ("st_relate", P), ("st_simplify", P), ("st_srid", P), ("st_startpoint", P), ("st_swapxy", P),
    ("st_symdifference", P), ("st_touches", P), ("st_transform", P), ("st_union", P), ("st_validate", P),
    ("st_within", P), ("st_x", P), ("st_y", P), ("statement_digest", P), ("statement_digest_text", P), ("std", P),
    ("stddev", P), ("stddev_pop", P), ("stddev_samp", P), ("str_to_date", T), ("strcmp", P),
    ("string_to_vector", P), ("subdate", P), ("substr", P), ("substring", P), ("substring_index", P),
    ("subtime", T), ("sum", P), ("sys_guid", V), ("sysdate", V), ("system_user", S), ("systimestamp", V),
    ("tan", P), ("time", T), ("time_format", P), ("time_to_sec", P), ("timediff", T), ("timestamp", P),
    ("timestampadd", P), ("timestampdiff", P), ("to_base64", P), ("to_char", P), ("to_days", P), ("to_seconds", P),
    ("to_vector", P), ("trim", P), ("truncate", P), ("ucase", P), ("uncompress", P), ("uncompressed_length", P),
    ("unhex", P), ("unix_timestamp", P), ("updatexml", X), ("upper", P), ("user", S), ("utc_date", V),
    ("utc_time", V), ("utc_timestamp", V), ("uuid", V), ("uuid_short", V), ("uuid_to_bin", P), ("uuid_v4", V),
    ("uuid_v7", V), ("validate_password_strength", V), ("var_pop", P), ("var_samp", P), ("variance", P),
    ("vector_dim", P), ("vector_to_string", P), ("version", P), ("wait_for_executed_gtid_set", V),
    ("week", P), ("weekday", P), ("weekofyear", P), ("weight_string", P),
    ("wsrep_last_seen_gtid", V), ("wsrep_last_written_gtid", V), ("wsrep_sync_wait_upto_gtid", V), ("x", P),
    ("y", P), ("year", P), ("yearweek", P),
];

#[cfg(test)]
mod tests;
