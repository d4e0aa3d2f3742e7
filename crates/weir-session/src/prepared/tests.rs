use weir_model::ServerFamily;

use super::*;
use crate::base::Base;
use crate::variable::Server;

fn state(mode: &str) -> State {
    let server = Server { family: ServerFamily::MySql, version: 90_704 };
    let values = [(Variable::SQL_MODE, Some(mode.as_bytes().into()))];
    State::new(Arc::new(Base::new(server, values)), Schema::None)
}

fn key(text: &str) -> Arc<PreparedKey> {
    Arc::new(PreparedKey::new(text.as_bytes().into(), &state(""), 7).unwrap())
}

/// The statements of a connection that is the only one, and may have so many.
fn alone(limit: u32) -> ServerStatements {
    ServerStatements::new(&Arc::new(StatementBudget::new(limit, 1)), 0)
}

/// A statement is prepared. Returned is what must be closed ahead of it.
fn prepare(server: &mut ServerStatements, key: Arc<PreparedKey>, id: u32) -> Vec<u32> {
    server.make_room();
    let closed = server.take_to_close();
    server.prepared(key, id);
    closed
}

/// What must be closed when this one is.
fn close(server: &mut ServerStatements, key: &Arc<PreparedKey>) -> Vec<u32> {
    server.close(key);
    server.take_to_close()
}

#[test]
fn ids_count_from_one_and_are_never_used_twice() {
    let mut client = ClientStatements::default();
    assert_eq!(client.add(key("a"), 0, 2), Ok(1));
    assert_eq!(client.add(key("b"), 0, 2), Ok(2));
    assert_eq!(client.add(key("c"), 0, 2), Err(Refusal::TooMany));
    assert!(client.close(1).is_some() && client.close(1).is_none());
    assert_eq!(client.add(key("c"), 0, 2), Ok(3));
    assert_eq!(client.get(1).err(), Some(Refusal::Unknown));
    client.clear();
    assert!(client.is_empty());
    assert_eq!(client.add(key("d"), 0, 2), Ok(4));
}

#[test]
fn p39_minus_one_is_the_statement_prepared_last() {
    let mut client = ClientStatements::default();
    assert_eq!(client.get(u32::MAX).err(), Some(Refusal::Unknown));
    client.add(key("a"), 0, 9).unwrap();
    client.add(key("b"), 0, 9).unwrap();
    assert_eq!(&**client.get(u32::MAX).unwrap().key().text(), b"b");
    assert_eq!(client.resolve(u32::MAX), 2);
    client.close(2);
    assert_eq!(client.get(u32::MAX).err(), Some(Refusal::Unknown));
}

#[test]
fn p35_types_are_sent_where_the_connection_has_others() {
    let (mut one, mut two) = (ClientStatements::default(), ClientStatements::default());
    let (a, b) = (one.add(key("a"), 1, 9).unwrap(), two.add(key("a"), 1, 9).unwrap());
    let mut server = alone(10);
    assert_eq!(one.bind(a, None).err(), Some(Refusal::Unbound));
    assert_eq!(server.need(one.bind(a, Some(&[8, 0])).unwrap()), Needs::Prepare);
    server.prepared(key("a"), 70);
    let needs = |types| Needs::Nothing { server_id: 70, types };
    assert_eq!(server.need(one.get(a).unwrap()), needs(true));
    assert_eq!(server.need(one.bind(a, None).unwrap()), needs(false));
    assert_eq!(server.need(two.bind(b, Some(&[3, 0])).unwrap()), needs(true));
    assert_eq!(server.need(one.bind(a, None).unwrap()), needs(true), "another client bound its own");
    server.forget_types(&key("a"));
    assert_eq!(server.need(one.get(a).unwrap()), needs(true));
}

#[test]
fn without_parameters_there_are_no_types() {
    let mut client = ClientStatements::default();
    let id = client.add(key("a"), 0, 9).unwrap();
    let mut server = alone(10);
    server.prepared(key("a"), 5);
    assert_eq!(server.need(client.bind(id, None).unwrap()), Needs::Nothing { server_id: 5, types: false });
}

#[test]
fn p40_the_longest_unused_is_closed_at_the_limit() {
    let mut client = ClientStatements::default();
    let ids = ["a", "b", "c"].map(|text| client.add(key(text), 0, 9).unwrap());
    let mut server = alone(2);
    assert_eq!(prepare(&mut server, key("a"), 1), []);
    assert_eq!(prepare(&mut server, key("b"), 2), []);
    server.need(client.get(ids[0]).unwrap());
    assert_eq!(prepare(&mut server, key("c"), 3), [2]);
    assert_eq!(server.need(client.get(ids[1]).unwrap()), Needs::Prepare);
    server.prepared(key("c"), 4);
    assert_eq!(server.take_to_close(), [3], "prepared anew after ALTER");
    assert_eq!((server.id(&key("c")), server.len()), (Some(4), 2));
    assert_eq!((close(&mut server, &key("c")), close(&mut server, &key("a"))), (vec![4], vec![1]));
    assert!(server.is_empty());
}

#[test]
fn two_statements_of_one_client_never_share_one() {
    let (mut one, mut two) = (ClientStatements::default(), ClientStatements::default());
    for client in [&mut one, &mut two] {
        client.add(key("a"), 0, 9).unwrap();
        client.add(key("a"), 0, 9).unwrap();
    }
    assert_ne!(one.get(1).unwrap().key(), one.get(2).unwrap().key());
    assert_eq!(one.get(2).unwrap().key(), two.get(2).unwrap().key(), "clients share with each other");
    one.close(1);
    one.add(key("a"), 0, 9).unwrap();
    assert_ne!(one.get(2).unwrap().key(), one.get(3).unwrap().key());
    one.close(2);
    one.close(3);
    one.add(key("a"), 0, 9).unwrap();
    assert_eq!(one.get(4).unwrap().key(), &key("a"));
}

#[test]
fn what_reads_the_text_differently_is_another_statement() {
    let text: Arc<[u8]> = b"SELECT \"a\""[..].into();
    let plain = PreparedKey::new(text.clone(), &state(""), 7).unwrap();
    let ansi = PreparedKey::new(text.clone(), &state("ANSI_QUOTES"), 7).unwrap();
    assert_ne!(plain, ansi);
    assert!(ansi.prepare_state(&state("")).same_as(&state("ANSI_QUOTES")));
    assert!(ansi.is_read_alike(&state("ANSI_QUOTES")) && !ansi.is_read_alike(&state("")));
    assert!(plain.prepare_state(&state("")).same_as(&state("")));
    let mut unknown = state("");
    unknown.forget(Variable::SQL_MODE);
    assert_eq!(PreparedKey::new(text, &unknown, 7), None);
}

#[test]
fn long_data_and_cursors_are_counted() {
    let mut client = ClientStatements::default();
    let (a, b) = (client.add(key("a"), 1, 9).unwrap(), client.add(key("b"), 1, 9).unwrap());
    assert_eq!(client.long_data(99), Err(Refusal::Unknown));
    client.long_data(a).unwrap();
    client.long_data(a).unwrap();
    client.long_data(b).unwrap();
    client.reset(a).unwrap();
    assert!(client.any_long_data() && !client.any_cursor());
    client.executed(b, true).unwrap();
    assert!(!client.any_long_data() && client.any_cursor());
    client.fetched_all(b).unwrap();
    assert!(!client.any_cursor());
    client.executed(a, true).unwrap();
    client.close(a);
    assert!(!client.any_cursor());
    client.executed(b, true).unwrap();
    client.clear();
    assert!(!client.any_cursor() && !client.any_long_data());
}

#[test]
fn a_statement_that_is_bound_to_its_connection_is_like_no_other() {
    let bound = |id| PreparedKey::bound(b"a"[..].into(), id);
    assert_eq!(bound(7), bound(7));
    assert_ne!(bound(7), bound(8), "another id, another statement");
    assert!(bound(7).is_bound() && !key("a").is_bound());
    assert_eq!(&**bound(7).text(), b"a");
    // Never that of a text whose state was known, whichever copy of it.
    let mut client = ClientStatements::default();
    for id in 1..4 {
        client.add(key("a"), 0, 9).unwrap();
        assert_ne!(**client.get(id).unwrap().key(), bound(id - 1));
    }
    let mut server = alone(10);
    let id = client.add(Arc::new(bound(7)), 0, 9).unwrap();
    let own = client.get(id).unwrap().key().clone();
    assert_eq!(*own, bound(7));
    server.prepared(key("a"), 6);
    server.prepared(own.clone(), 7);
    assert_eq!((server.id(&own), server.id(&key("a"))), (Some(7), Some(6)));
    assert_eq!(server.need(client.get(id).unwrap()), Needs::Nothing { server_id: 7, types: false });
    assert!(client.close(id).is_some() && client.len() == 3);
    // The next one with that id, on another connection, is not taken for a copy of the closed one.
    let id = client.add(Arc::new(bound(7)), 0, 9).unwrap();
    assert_eq!(**client.get(id).unwrap().key(), bound(7));
    // Nothing of how it was read is known, so nothing is claimed.
    let state = bound(7).prepare_state(&state("ANSI"));
    assert!(!state.is_known());
    assert_eq!(state.get(Variable::SQL_MODE), Some(Some(&b"ANSI"[..])));
}

#[test]
fn what_cannot_be_prepared_again_is_never_closed() {
    let bound = |id| Arc::new(PreparedKey::bound(b"a"[..].into(), id));
    let mut server = alone(3);
    assert_eq!(prepare(&mut server, bound(1), 1), []);
    assert_eq!(prepare(&mut server, key("b"), 2), []);
    assert_eq!(prepare(&mut server, key("c"), 3), []);
    assert_eq!(prepare(&mut server, bound(5), 5), [2]);
    assert_eq!(prepare(&mut server, bound(6), 6), [3]);
    assert_eq!(prepare(&mut server, bound(7), 7), [], "the server may still take it");
    assert_eq!(prepare(&mut server, key("d"), 4), []);
    assert_eq!(prepare(&mut server, key("e"), 8), [4], "one there is always");
    assert_eq!((server.len(), server.id(&bound(1)), server.id(&bound(7))), (5, Some(1), Some(7)));
    assert_eq!(close(&mut server, &bound(1)), [1], "its client closes it");
    server.clear();
    assert_eq!([prepare(&mut server, key("a"), 1), prepare(&mut server, key("b"), 2)], [[], []]);
    assert_eq!(prepare(&mut server, key("c"), 3), []);
    assert_eq!(prepare(&mut server, key("d"), 4), [1]);
}

#[test]
fn p38_a_statement_with_a_cursor_or_long_data_is_not_closed_at_the_limit() {
    let mut client = ClientStatements::default();
    let [a, b] = ["a", "b"].map(|text| client.add(key(text), 1, 9).unwrap());
    let mut server = alone(2);
    prepare(&mut server, key("a"), 1);
    prepare(&mut server, key("b"), 2);
    let marked = |server: &mut ServerStatements, text, opened: Result<Option<bool>, Refusal>| {
        if let Some(open) = opened.unwrap() {
            server.hold(&key(text), open);
        }
    };
    marked(&mut server, "a", client.executed(a, true));
    assert_eq!(prepare(&mut server, key("c"), 3), [2]);
    assert_eq!(prepare(&mut server, key("b"), 4), [3]);
    marked(&mut server, "b", client.long_data(b));
    marked(&mut server, "b", client.long_data(b));
    assert_eq!(prepare(&mut server, key("d"), 5), [], "both are open");
    // Neither use nor its end makes it one that may go, as long as it is open again.
    server.need(client.bind(a, Some(&[3, 0])).unwrap());
    marked(&mut server, "a", client.executed(a, true));
    marked(&mut server, "b", client.executed(b, true));
    assert_eq!(prepare(&mut server, key("e"), 6), [5], "both still are");
    marked(&mut server, "a", client.reset(a));
    marked(&mut server, "b", client.fetched_all(b));
    assert_eq!(prepare(&mut server, key("f"), 7), [6, 1]);
}

#[test]
fn very_many_open_statements_cost_nothing_where_room_is_made() {
    // With a walk over all of them for each this takes hours.
    const MANY: u32 = 4_000;
    let budget = Arc::new(StatementBudget::new(MANY / 2, 1));
    let (mut server, mut client) = (ServerStatements::new(&budget, 0), ClientStatements::default());
    let mut last = 0;
    for id in 1..=MANY {
        last = client.add(Arc::new((*key(&id.to_string())).clone().owned_by(1)), 1, usize::MAX).unwrap();
        let key = client.get(last).unwrap().key().clone();
        assert_eq!(prepare(&mut server, key.clone(), id), []);
        assert_eq!(client.long_data(last), Ok(Some(true)));
        server.hold(&key, true);
        server.make_room_for_others();
    }
    assert_eq!(server.len(), MANY as usize);
    client.bind(last, Some(&[3, 0])).unwrap();
    for _ in 0..MANY {
        server.need(client.get(last).unwrap());
        server.make_room_for_others();
        server.make_room();
    }
    assert_eq!(server.take_to_close(), []);
}

#[test]
fn ids_of_a_connection_are_known_as_long_as_the_server_knows_them() {
    let mut server = alone(2);
    assert!(!server.has_id(1));
    prepare(&mut server, key("a"), 1);
    prepare(&mut server, key("b"), 2);
    assert!(server.has_id(1) && server.has_id(2) && !server.has_id(3));
    assert_eq!(prepare(&mut server, key("c"), 3), [1]);
    assert!(!server.has_id(1) && server.has_id(2) && server.has_id(3));
    server.prepared(key("c"), 4);
    assert!(server.has_id(3) && server.has_id(4), "it is to be closed");
    assert_eq!(server.take_to_close(), [3]);
    assert!(!server.has_id(3) && server.has_id(4));
    server.close(&key("b"));
    server.take_to_close();
    assert!(!server.has_id(2));
    server.clear();
    assert!(!server.has_id(4));
}

#[test]
fn the_columns_that_a_client_was_told_are_kept_with_its_statement() {
    let mut client = ClientStatements::default();
    assert_eq!(client.set_columns(1, 3), Err(Refusal::Unknown));
    let (a, b) = (client.add(key("a"), 1, 9).unwrap(), client.add(key("b"), 0, 9).unwrap());
    assert_eq!(client.get(a).unwrap().columns(), 0);
    client.set_columns(a, 3).unwrap();
    client.set_columns(u32::MAX, 70_000).unwrap();
    client.bind(a, Some(&[3, 0])).unwrap();
    client.executed(a, true).unwrap();
    client.reset(a).unwrap();
    assert_eq!((client.get(a).unwrap().columns(), client.get(b).unwrap().columns()), (3, 70_000));
    client.close(b);
    assert_eq!(client.set_columns(b, 1), Err(Refusal::Unknown));
}

fn owned(text: &str, owner: u32) -> Arc<PreparedKey> {
    Arc::new((*key(text)).clone().owned_by(owner))
}

#[test]
fn statements_that_belong_to_a_client_are_no_other_clients() {
    let mut server = alone(10);
    server.prepared(owned("SELECT ?", 1), 7);
    assert_eq!(
        (server.id(&owned("SELECT ?", 1)), server.id(&owned("SELECT ?", 2)), server.id(&key("SELECT ?"))),
        (Some(7), None, None)
    );
}

/// The types of the first would be those of the second.
#[test]
fn p35_a_statement_that_is_its_clients_alone_is_never_one_that_was_closed() {
    let mut client = ClientStatements::default();
    let mut server = alone(100);
    let mut all = Vec::new();
    for round in 0..4 {
        for _ in 0..3 {
            let id = client.add(owned("SELECT HEX(?)", 1), 1, 99).unwrap();
            let statement = client.bind(id, Some(&[3, 0])).unwrap();
            assert_eq!(server.need(statement), Needs::Prepare, "{round} {id}");
            server.prepared(statement.key().clone(), id);
            assert!(matches!(server.need(statement), Needs::Nothing { .. }));
            all.push(statement.key().clone());
        }
        match round {
            0 => drop(client.close(2)),
            1 => drop((client.close(3), client.close(4), client.close(1))),
            _ => client.clear(),
        }
    }
    for (n, key) in all.iter().enumerate() {
        assert!(!all[..n].contains(key), "{n}");
    }
}

#[test]
fn p40_what_clients_have_left_of_their_own_is_closed_in_turn() {
    let mut server = alone(1000);
    let mut lasting = ClientStatements::default();
    let mut there = 0_usize;
    let mut prepare = |server: &mut ServerStatements, client: &mut ClientStatements, text: &str, owner| {
        let id = client.add(owned(text, owner), 1, 999).unwrap();
        let key = client.get(id).unwrap().key().clone();
        server.make_room();
        there -= server.take_to_close().len();
        server.prepared(key, id);
        there += 1;
        (id, there)
    };
    for n in 0..20 {
        prepare(&mut server, &mut lasting, &n.to_string(), 1);
    }
    // One that prepares and closes each time, while the others are used.
    let mut hasty = ClientStatements::default();
    for n in 0..300 {
        let (id, there) = prepare(&mut server, &mut hasty, "SELECT ?", 2);
        assert!(there <= 20 + 10, "{n}: {there}");
        hasty.close(id);
        for id in 1..=20 {
            lasting.bind(id, Some(&[3, 0])).unwrap();
            assert!(matches!(server.need(lasting.get(id).unwrap()), Needs::Nothing { .. }), "{n} {id}");
        }
    }
    // One that leaves, and one whose connection this is no more.
    for n in 0..100 {
        prepare(&mut server, &mut hasty, &n.to_string(), 2);
    }
    drop(hasty);
    let mut next = ClientStatements::default();
    for n in 0..60 {
        prepare(&mut server, &mut next, &n.to_string(), 3);
    }
    assert!(server.len() <= 20 + 60 + 1, "{}", server.len());
    next.clear();
    server.close_all_left();
    assert_eq!(server.len(), 20);
    // Nobody's alone: the next client that prepares the same has it.
    let mut shared = ClientStatements::default();
    let id = shared.add(key("shared"), 0, 9).unwrap();
    server.prepared(shared.get(id).unwrap().key().clone(), 1);
    shared.close(id);
    server.close_all_left();
    assert_eq!(server.id(&key("shared")), Some(1));
}

#[test]
fn p40_what_clients_have_left_is_closed_where_nobody_prepares_any_more() {
    let budget = Arc::new(StatementBudget::new(1000, 1));
    let mut server = ServerStatements::new(&budget, 0);
    let (mut stays, mut goes) = (ClientStatements::default(), ClientStatements::default());
    for n in 0..20 {
        for (client, owner) in [(&mut stays, 1), (&mut goes, 2)] {
            let id = client.add(owned(&n.to_string(), owner), 0, 99).unwrap();
            let key = client.get(id).unwrap().key().clone();
            server.prepared(key, 100 * owner + id);
        }
    }
    server.look_for_left();
    assert!(server.take_to_close().is_empty(), "nobody has gone");
    drop(goes);
    budget.client_gone();
    let mut closed = Vec::new();
    for _ in 0..11 {
        server.look_for_left();
        closed.extend(server.take_to_close());
    }
    closed.sort_unstable();
    assert_eq!(closed, (201..=220).collect::<Vec<_>>());
    assert_eq!(server.len(), 20);
}
