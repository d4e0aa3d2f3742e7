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
    Arc::new(PreparedKey::new(text.as_bytes().into(), &state("")).unwrap())
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
    let mut server = ServerStatements::new(10, 0);
    assert_eq!(one.bind(a, None).err(), Some(Refusal::Unbound));
    assert_eq!(server.need(one.bind(a, Some(&[8, 0])).unwrap()), Needs::Prepare);
    assert_eq!(server.prepared(key("a"), 70), None);
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
    let mut server = ServerStatements::new(10, 0);
    server.prepared(key("a"), 5);
    assert_eq!(server.need(client.bind(id, None).unwrap()), Needs::Nothing { server_id: 5, types: false });
}

#[test]
fn p40_the_longest_unused_is_closed_at_the_limit() {
    let mut client = ClientStatements::default();
    let ids = ["a", "b", "c"].map(|text| client.add(key(text), 0, 9).unwrap());
    let mut server = ServerStatements::new(2, 0);
    assert_eq!(server.prepared(key("a"), 1), None);
    assert_eq!(server.prepared(key("b"), 2), None);
    server.need(client.get(ids[0]).unwrap());
    assert_eq!(server.prepared(key("c"), 3), Some(2));
    assert_eq!(server.need(client.get(ids[1]).unwrap()), Needs::Prepare);
    assert_eq!(server.prepared(key("c"), 4), Some(3), "prepared anew after ALTER");
    assert_eq!((server.id(&key("c")), server.len()), (Some(4), 2));
    assert_eq!(server.set_limit(1), [1]);
    assert_eq!(server.forget(&key("c")), Some(4));
    assert!(server.is_empty() && server.set_limit(1).is_empty());
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
    let plain = PreparedKey::new(text.clone(), &state("")).unwrap();
    let ansi = PreparedKey::new(text.clone(), &state("ANSI_QUOTES")).unwrap();
    assert_ne!(plain, ansi);
    assert!(ansi.prepare_state(&state("")).same_as(&state("ANSI_QUOTES")));
    assert!(plain.prepare_state(&state("")).same_as(&state("")));
    let mut unknown = state("");
    unknown.forget(Variable::SQL_MODE);
    assert_eq!(PreparedKey::new(text, &unknown), None);
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
