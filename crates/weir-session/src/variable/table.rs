//! The movable variables, one row each.
//!
//! A variable stands here if its whole meaning is its value: setting the value that another connection reports makes
//! this connection behave like that one. Not here, so that setting one pins the session: what only counts for the
//! next statement (`insert_id`, `timestamp`, `rand_seed1`, `gtid_next`), what belongs to the connection (`pseudo_thread_id`,
//! `profiling`, `optimizer_trace`), what concerns the binary log and replication (`sql_log_bin`, `gtid_domain_id`,
//! `binlog_format`), and what only some builds have (`wsrep_sync_wait`).
//!
//! Sources: "Server System Variables" of the MySQL 5.7, 8.0 and 9.7 manuals and of the MariaDB knowledge base; which need a
//! privilege was measured on MySQL 9.7.4 and MariaDB 10.11.19 with an account that has none.

use super::Kind::{Numeric, Quoted, Switch, Word};
use super::{Kind, NEVER, Row};

/// On every supported version of the family (MySQL 5.7, MariaDB 10.5).
const ALL: u32 = 0;

const fn row(name: &'static str, kind: Kind, mysql: u32, mariadb: u32) -> Row {
    Row { name, alias: "", kind, mysql, mariadb, privileged: false, reads: true }
}

/// No read is answered otherwise because of it. Short on purpose: whatever is not certain stays in the key of a cached answer, and
/// these are what programs set to values of their own. They say how long something is waited for (a lock, a client), what follows
/// the end of a transaction, or how rows and tables are written. Not among them, as they seem to be: `long_query_time`, which shows as a
/// status flag of the answer, and the limits on how long a statement may run.
const fn no_read(row: Row) -> Row {
    Row { reads: false, ..row }
}

/// MySQL restricts it.
const fn privileged(row: Row) -> Row {
    Row { privileged: true, ..row }
}

const fn alias(row: Row, alias: &'static str) -> Row {
    Row { alias, ..row }
}

pub(super) const TABLE: &[Row] = &[
    no_read(row("auto_increment_increment", Numeric, ALL, ALL)),
    no_read(row("auto_increment_offset", Numeric, ALL, ALL)),
    row("autocommit", Switch, ALL, ALL),
    row("big_tables", Switch, ALL, ALL),
    row("block_encryption_mode", Quoted, ALL, 110_200),
    privileged(no_read(row("bulk_insert_buffer_size", Numeric, ALL, ALL))),
    row("character_set_client", Word, ALL, ALL),
    row("character_set_collations", Quoted, NEVER, 110_200),
    row("character_set_results", Word, ALL, ALL),
    no_read(row("check_constraint_checks", Switch, NEVER, ALL)),
    row("collation_connection", Word, ALL, ALL),
    row("collation_server", Word, ALL, ALL),
    no_read(row("completion_type", Word, ALL, ALL)),
    row("cte_max_recursion_depth", Numeric, 80_003, NEVER),
    row("default_collation_for_utf8mb4", Word, 80_011, NEVER),
    row("default_regex_flags", Quoted, NEVER, ALL),
    alias(no_read(row("default_storage_engine", Word, ALL, ALL)), "storage_engine"),
    no_read(row("default_tmp_storage_engine", Word, ALL, ALL)),
    row("default_week_format", Numeric, ALL, ALL),
    row("div_precision_increment", Numeric, ALL, ALL),
    row("end_markers_in_json", Switch, ALL, NEVER),
    row("eq_range_index_dive_limit", Numeric, ALL, ALL),
    row("expensive_subquery_limit", Numeric, NEVER, ALL),
    row("explain_format", Word, 80_032, NEVER),
    row("explain_json_format_version", Numeric, 80_300, NEVER),
    row("explicit_defaults_for_timestamp", Switch, ALL, 100_804),
    no_read(row("foreign_key_checks", Switch, ALL, ALL)),
    row("group_concat_max_len", Numeric, ALL, ALL),
    no_read(row("idle_readonly_transaction_timeout", Numeric, NEVER, ALL)),
    no_read(row("idle_transaction_timeout", Numeric, NEVER, ALL)),
    no_read(row("idle_write_transaction_timeout", Numeric, NEVER, ALL)),
    row("in_predicate_conversion_threshold", Numeric, NEVER, ALL),
    row("information_schema_stats_expiry", Numeric, 80_003, NEVER),
    no_read(row("innodb_lock_wait_timeout", Numeric, ALL, ALL)),
    privileged(row("innodb_strict_mode", Switch, ALL, ALL)),
    no_read(row("innodb_table_locks", Switch, ALL, ALL)),
    no_read(row("interactive_timeout", Numeric, ALL, ALL)),
    row("join_buffer_size", Numeric, ALL, ALL),
    row("join_buffer_space_limit", Numeric, NEVER, ALL),
    row("join_cache_level", Numeric, NEVER, ALL),
    row("lc_messages", Word, ALL, ALL),
    row("lc_time_names", Word, ALL, ALL),
    no_read(row("lock_wait_timeout", Numeric, ALL, ALL)),
    row("long_query_time", Numeric, ALL, ALL),
    privileged(row("low_priority_updates", Switch, ALL, ALL)),
    privileged(row("max_error_count", Numeric, ALL, ALL)),
    row("max_execution_time", Numeric, 50_708, NEVER),
    row("max_heap_table_size", Numeric, ALL, ALL),
    row("max_join_size", Numeric, ALL, ALL),
    row("max_length_for_sort_data", Numeric, ALL, ALL),
    row("max_recursive_iterations", Numeric, NEVER, ALL),
    row("max_seeks_for_key", Numeric, ALL, ALL),
    row("max_session_mem_used", Numeric, NEVER, ALL),
    row("max_sort_length", Numeric, ALL, ALL),
    row("max_sp_recursion_depth", Numeric, ALL, ALL),
    row("max_statement_time", Numeric, NEVER, ALL),
    privileged(row("min_examined_row_limit", Numeric, ALL, ALL)),
    row("mrr_buffer_size", Numeric, NEVER, ALL),
    no_read(row("net_read_timeout", Numeric, ALL, ALL)),
    no_read(row("net_retry_count", Numeric, ALL, ALL)),
    no_read(row("net_write_timeout", Numeric, ALL, ALL)),
    row("old_mode", Quoted, NEVER, 100_600),
    row("optimizer_prune_level", Numeric, ALL, ALL),
    row("optimizer_search_depth", Numeric, ALL, ALL),
    row("optimizer_switch", Quoted, ALL, ALL),
    row("optimizer_use_condition_selectivity", Numeric, NEVER, ALL),
    row("print_identified_with_as_hex", Switch, 80_017, NEVER),
    row("progress_report_time", Numeric, NEVER, ALL),
    row("range_optimizer_max_mem_size", Numeric, ALL, NEVER),
    row("read_buffer_size", Numeric, ALL, ALL),
    row("read_rnd_buffer_size", Numeric, ALL, ALL),
    row("session_track_gtids", Word, ALL, NEVER),
    row("session_track_schema", Switch, ALL, ALL),
    row("session_track_state_change", Switch, ALL, ALL),
    row("session_track_system_variables", Quoted, ALL, ALL),
    row("session_track_transaction_info", Word, ALL, ALL),
    row("sort_buffer_size", Numeric, ALL, ALL),
    row("sql_auto_is_null", Switch, ALL, ALL),
    // Behind max_join_size, which disturbs it.
    row("sql_big_selects", Switch, ALL, ALL),
    row("sql_buffer_result", Switch, ALL, ALL),
    privileged(row("sql_generate_invisible_primary_key", Switch, 80_030, NEVER)),
    row("sql_if_exists", Switch, NEVER, ALL),
    row("sql_mode", Quoted, ALL, ALL),
    row("sql_notes", Switch, ALL, ALL),
    row("sql_quote_show_create", Switch, ALL, ALL),
    privileged(row("sql_require_primary_key", Switch, 80_013, NEVER)),
    row("sql_safe_updates", Switch, ALL, ALL),
    row("sql_select_limit", Numeric, ALL, ALL),
    row("sql_warnings", Switch, ALL, ALL),
    row("standard_compliant_cte", Switch, NEVER, ALL),
    row("time_zone", Quoted, ALL, ALL),
    row("tmp_disk_table_size", Numeric, NEVER, ALL),
    alias(row("tmp_table_size", Numeric, ALL, ALL), "tmp_memory_table_size"),
    alias(row("transaction_isolation", Quoted, ALL, ALL), "tx_isolation"),
    alias(row("transaction_read_only", Switch, ALL, ALL), "tx_read_only"),
    no_read(row("unique_checks", Switch, ALL, ALL)),
    row("updatable_views_with_limit", Word, ALL, ALL),
    row("use_stat_tables", Word, NEVER, ALL),
    no_read(row("wait_timeout", Numeric, ALL, ALL)),
    row("windowing_use_high_precision", Switch, 80_002, NEVER),
];
