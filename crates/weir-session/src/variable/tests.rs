use super::*;

#[test]
fn the_table_is_sorted_fits_a_set_and_has_no_double() {
    const { assert!(Variable::COUNT < 128) };
    let names: Vec<_> = Variable::all().map(Variable::name).collect();
    assert!(names.windows(2).all(|w| w[0] < w[1]));
    for v in Variable::all() {
        assert_eq!(Variable::find(v.name().to_uppercase().as_bytes()), Some(v));
        let disturbed = v.disturbs();
        assert!(disturbed.iter().all(|d| d > v), "{} must be set before what it disturbs", v.name());
    }
}

#[test]
fn aliases_and_followers_are_found() {
    assert_eq!(Variable::find(b"tx_isolation"), Some(Variable::TRANSACTION_ISOLATION));
    assert_eq!(Variable::find(b"Character_Set_Connection"), Some(Variable::COLLATION_CONNECTION));
    assert_eq!(Variable::find(b"storage_engine").map(Variable::name), Some("default_storage_engine"));
    for name in [&b""[..], b"insert_id", b"timestamp", b"sql_log_bin", b"nosuch"] {
        assert_eq!(Variable::find(name), None);
    }
}

#[test]
fn names_follow_family_and_version() {
    let on = |family, version| Variable::TRANSACTION_ISOLATION.name_on(Server { family, version });
    assert_eq!(on(ServerFamily::MariaDb, 101_119), "tx_isolation");
    assert_eq!(on(ServerFamily::MariaDb, 110_802), "transaction_isolation");
    assert_eq!(on(ServerFamily::MySql, 90_704), "transaction_isolation");
    let names = Variable::DEFAULT_COLLATION_FOR_UTF8MB4;
    assert!(names.exists_on(Server { family: ServerFamily::MySql, version: 80_400 }));
    assert!(!names.exists_on(Server { family: ServerFamily::MySql, version: 50_744 }));
    assert!(!names.exists_on(Server { family: ServerFamily::MariaDb, version: 110_802 }));
}

/// The whole list: who adds to it says in the table why no read can depend on it.
#[test]
fn answers_depend_on_all_but_these() {
    let others = Variable::all().filter(|v| !v.affects_results()).map(Variable::name);
    let listed = [
        "auto_increment_increment",
        "auto_increment_offset",
        "bulk_insert_buffer_size",
        "check_constraint_checks",
        "completion_type",
        "default_storage_engine",
        "default_tmp_storage_engine",
        "foreign_key_checks",
        "idle_readonly_transaction_timeout",
        "idle_transaction_timeout",
        "idle_write_transaction_timeout",
        "innodb_lock_wait_timeout",
        "innodb_table_locks",
        "interactive_timeout",
        "lock_wait_timeout",
        "net_read_timeout",
        "net_retry_count",
        "net_write_timeout",
        "unique_checks",
        "wait_timeout",
    ];
    assert!(others.eq(listed));
}

#[test]
fn sets_hold_what_was_put_in() {
    let mut set: VarSet = [Variable::SQL_MODE, Variable::AUTOCOMMIT].into_iter().collect();
    assert_eq!((set.len(), set.contains(Variable::SQL_MODE)), (2, true));
    assert!(set.iter().eq([Variable::AUTOCOMMIT, Variable::SQL_MODE]));
    set.remove(Variable::SQL_MODE);
    set.remove(Variable::AUTOCOMMIT);
    assert!(set.is_empty());
}

#[test]
fn versions_are_numbers() {
    for (text, family, version) in [
        ("9.7.4", ServerFamily::MySql, 90_704),
        ("8.0.36-28.1", ServerFamily::MySql, 80_036),
        ("5.5.5-10.11.19-MariaDB-0+deb12u1", ServerFamily::MariaDb, 101_119),
        ("11.8.2-MariaDB", ServerFamily::MariaDb, 110_802),
        ("", ServerFamily::MySql, 0),
        ("99999999999.1", ServerFamily::MySql, 9_990_100),
    ] {
        assert_eq!(Server::from_version(text.as_bytes()), Server { family, version }, "{text}");
    }
}
