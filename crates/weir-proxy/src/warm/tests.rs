use super::*;

fn wish(at: Option<Instant>) -> Wish {
    let key = Key::new(b"app", LIBMYSQLCLIENT);
    Wish { key, caps: LIBMYSQLCLIENT, charset: UTF8MB4, at }
}

fn full() -> ConnectError {
    ConnectError::Full { server: "db1".to_owned(), limit: 1 }
}

#[test]
fn an_account_that_fails_is_left_alone_for_longer_each_time() {
    let (mut memory, wish) = (Memory::default(), wish(None));
    assert!(memory.may(&wish));
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        memory.note(&wish, Err(full()));
        assert!(!memory.may(&wish));
        assert_eq!(memory.failing[&wish.key.user].pause, Duration::from_secs(seconds));
    }
    memory.note(&wish, Ok(()));
    assert!(memory.may(&wish));
}

#[test]
fn a_password_that_was_refused_is_not_tried_again_before_a_client_has_logged_in() {
    let mut memory = Memory::default();
    let err = weir_wire::packet::ErrPacket::new(1045, b"28000", "Access denied");
    let refusal = weir_pool::RefusedLogin { payload: err.to_payload(), err };
    memory.note(&wish(None), Err(ConnectError::Refused { server: "db1".to_owned(), refusal }));
    assert!(!memory.may(&wish(None)));
    assert!(!memory.may(&wish(Some(Instant::now() - Duration::from_secs(1)))));
    assert!(memory.may(&wish(Some(Instant::now() + Duration::from_secs(1)))));
}

#[test]
fn flags_are_guessed_of_those_that_the_server_has() {
    let old = LIBMYSQLCLIENT & !caps::QUERY_ATTRIBUTES & !caps::CLIENT_MYSQL;
    let guessed = guess(b"app", old).unwrap();
    assert_eq!(guessed.key.dialect & caps::QUERY_ATTRIBUTES, 0);
    assert_eq!(guessed.key.dialect & caps::DEPRECATE_EOF, caps::DEPRECATE_EOF);
    // As Weir makes a client's own.
    let client = caps::requested(LIBMYSQLCLIENT & !caps::QUERY_ATTRIBUTES, old).unwrap();
    assert_eq!(guessed.key, Key::new(b"app", client));
}
