use super::*;

fn answer(packets: &[(u8, &[u8])]) -> Answer {
    let packets =
        packets.iter().map(|(seq, payload)| Packet { seq: *seq, frames: 1, payload: payload.to_vec() });
    Answer::Reply(Response { packets: packets.collect(), ..Response::default() })
}

fn query() -> Action {
    Action::Query("SELECT 1".into())
}

const NAMES: (&str, &str) = ("rx_", "ry_");

#[test]
fn every_byte_and_number_counts() {
    let base = answer(&[(1, b"one"), (2, b"two")]);
    assert_eq!(difference(&query(), &base, &base, NAMES), None);
    let others = [
        answer(&[(1, b"one"), (2, b"twO")]),
        answer(&[(1, b"one"), (3, b"two")]),
        answer(&[(1, b"one")]),
        answer(&[(1, b"one"), (2, b"two"), (3, b"")]),
        Answer::Broken("no reply".into()),
    ];
    for other in others {
        assert!(difference(&query(), &base, &other, NAMES).is_some(), "{other:?}");
        assert!(difference(&query(), &other, &base, NAMES).is_some(), "{other:?}");
    }
    let Answer::Reply(mut reply) = base.clone() else { unreachable!() };
    reply.closed = true;
    assert!(difference(&query(), &base, &Answer::Reply(reply), NAMES).is_some());
}

#[test]
fn only_the_sides_own_names_may_differ() {
    let direct = answer(&[(1, b"Table 'rx_001a.x' doesn't exist")]);
    let weir = answer(&[(1, b"Table 'ry_001a.x' doesn't exist")]);
    assert_eq!(difference(&query(), &direct, &weir, NAMES), None);
    assert!(difference(&query(), &direct, &weir, ("rx_", "rx_")).is_some());
    assert!(difference(&query(), &direct, &answer(&[(1, b"Table 'rz_001a.x'")]), NAMES).is_some());
}

#[test]
fn weir_may_announce_an_end_that_the_server_does_not() {
    let mut gone = Response { closed: true, ..Response::default() };
    let told = |state: &str| {
        let err = crate::client::ErrPacket { code: 1158, state: state.into(), message: "gone".into() };
        let packets = vec![Packet { seq: 1, frames: 1, payload: b"\xff".to_vec() }];
        Answer::Reply(Response { packets, outcomes: vec![Outcome::Err(err)], closed: false })
    };
    let silent = Answer::Reply(gone.clone());
    assert_eq!(difference(&query(), &silent, &told("08S01"), NAMES), None);
    assert!(difference(&query(), &silent, &told("HY000"), NAMES).is_some());
    assert!(difference(&query(), &told("08S01"), &silent, NAMES).is_some());
    gone.packets.push(Packet { seq: 1, frames: 1, payload: b"\xff".to_vec() });
    assert!(difference(&query(), &Answer::Reply(gone), &told("08S01"), NAMES).is_some());
}

#[test]
fn a_login_counts_by_its_end() {
    let change =
        Action::ChangeUser { user: "u".into(), password: "p".into(), database: "d".into(), collation: 45 };
    let long = answer(&[(1, b"\xfeplugin\0nonce"), (3, b"\x01\x04"), (5, b"\0\0\0\x02\0\0\0")]);
    let short = answer(&[(1, b"\xfeplugin\0NONCE"), (3, b"\0\0\0\x02\0\0\0")]);
    assert_eq!(difference(&change, &long, &short, NAMES), None);
    let refused = answer(&[(1, b"\xfeplugin\0NONCE"), (3, b"\xff\x15\x04#28000")]);
    assert!(difference(&change, &long, &refused, NAMES).is_some());
}

#[test]
fn statement_ids_and_names_of_temporary_files_are_each_connections_own() {
    let prepared = |id: u8, columns: u8| {
        let payload = vec![0, id, 1, 0, 0, columns, 0, 0, 0, 0, 0, 0];
        let prepared = crate::client::Prepared {
            id: u32::from(id),
            params: Vec::new(),
            columns: Vec::new(),
            param_count: 0,
            column_count: u16::from(columns),
            warnings: 0,
        };
        let packets = vec![Packet { seq: 1, frames: 1, payload }];
        Answer::Reply(Response { packets, outcomes: vec![Outcome::Prepared(prepared)], closed: false })
    };
    let prepare = Action::Prepare { slot: 1, sql: "SELECT 1".into() };
    assert_eq!(difference(&prepare, &prepared(1, 1), &prepared(9, 1), NAMES), None);
    assert!(difference(&prepare, &prepared(1, 1), &prepared(1, 2), NAMES).is_some());

    let failed = |name: &str| {
        answer(&[(1, &[b"\xff\x01\x04#HY000The table '/tmp/", name.as_bytes(), b"' is full"].concat())])
    };
    let one = failed("#sql-temptable-1a2b-5-0");
    assert_eq!(difference(&query(), &one, &failed("#sql-temptable-77-1f-3"), NAMES), None);
    assert!(difference(&query(), &one, &failed("#sql-other-1a2b-5-0"), NAMES).is_some());
}

#[test]
fn ids_of_statements_may_differ_where_warnings_tell_them() {
    let row =
        |length: u8, text: &str| answer(&[(1, &[&[5], &b"Error"[..], &[length], text.as_bytes()].concat())]);
    let unknown = |id: &str| format!("Unknown prepared statement handler ({id}) given to mysqld_stmt_fetch");
    let one = row(65, &unknown("1"));
    assert_eq!(difference(&query(), &one, &row(66, &unknown("95")), NAMES), None);
    assert!(difference(&query(), &one, &row(66, "Unknown prepared statement handler (95)"), NAMES).is_some());
    let closed = |id: &str| format!("The statement ({id}) has no open cursor.");
    assert_eq!(difference(&query(), &row(40, &closed("7")), &row(41, &closed("10")), NAMES), None);
}

#[test]
fn a_hint_in_front_hides_no_dictionary() {
    let end = |status: u8| answer(&[(1, &[0xfe, 0, 0, status, 0])]);
    for hint in ["", FRESH] {
        let show = Action::Query(format!("{hint}SHOW TABLES").into());
        assert_eq!(difference(&show, &end(0x22), &end(0x02), NAMES), None);
        let select = Action::Query(format!("{hint}SELECT 1").into());
        assert!(difference(&select, &end(0x22), &end(0x02), NAMES).is_some());
    }
}

#[test]
fn the_number_of_a_statement_at_the_server_may_have_more_digits() {
    let ok = |value: &[u8], number: &[u8]| {
        let change = |name: &[u8], value: &[u8]| {
            let mut data = Vec::new();
            put_lenenc_bytes(&mut data, name);
            put_lenenc_bytes(&mut data, value);
            let mut change = vec![0];
            put_lenenc_bytes(&mut change, &data);
            change
        };
        let changes = [change(b"optimizer_switch", value), change(b"statement_id", number)].concat();
        // An OK packet: no rows, no id, SERVER_SESSION_STATE_CHANGED, no warnings, no text.
        let mut payload = vec![0, 0, 0, 0, 0x40, 0, 0, 0];
        put_lenenc_bytes(&mut payload, &changes);
        answer(&[(1, &payload)])
    };
    // The list takes less than 251 bytes, about so many, and more.
    for length in [10, 213, 214, 215, 216, 217, 600] {
        let value = vec![b'x'; length];
        assert_eq!(difference(&query(), &ok(&value, b"999"), &ok(&value, b"1000"), NAMES), None, "{length}");
        let other = ok(&vec![b'y'; length], b"1000");
        assert!(difference(&query(), &ok(&value, b"999"), &other, NAMES).is_some());
    }
}

#[test]
fn a_flag_of_changes_that_tells_none_may_be_missing() {
    let masked = |payload: &[u8]| {
        let mut one = answer(&[(1, payload)]);
        mask_changes_of_nothing(&mut one);
        one
    };
    let plain = answer(&[(1, b"\0\0\0\x03\0\0\0")]);
    assert_eq!(masked(b"\0\0\0\x03\x40\0\0\0\0"), plain);
    // With a change, with another status, and in a row.
    for other in [&b"\0\0\0\x03\x40\0\0\0\x03\x02\x011"[..], b"\0\0\0\x03\0\0\0", b"\x01\0\0\x03\x40\0\0\0\0"]
    {
        assert_eq!(masked(other), answer(&[(1, other)]), "{other:?}");
    }
}
