use super::*;
use proptest::prelude::*;

fn sample(flags: Caps) -> HandshakeResponse {
    HandshakeResponse {
        caps: flags,
        max_packet: 1 << 24,
        charset: 255,
        user: b"app".to_vec(),
        auth_response: vec![1; 32],
        database: (flags & caps::CONNECT_WITH_DB != 0).then(|| b"shop".to_vec()),
        plugin: (flags & caps::PLUGIN_AUTH != 0).then(|| b"caching_sha2_password".to_vec()),
        attributes: (flags & caps::CONNECT_ATTRS != 0).then(|| b"\x01a\x01b".to_vec()),
        zstd_level: (flags & caps::ZSTD_COMPRESSION != 0).then_some(7),
    }
}

#[test]
fn responses_survive_the_round_trip_with_every_set_of_optional_parts() {
    let base = caps::PROTOCOL_41 | caps::SECURE_CONNECTION;
    let optional = [
        caps::CONNECT_WITH_DB,
        caps::PLUGIN_AUTH,
        caps::PLUGIN_AUTH_LENENC,
        caps::CONNECT_ATTRS,
        caps::ZSTD_COMPRESSION,
        caps::MARIADB_CACHE_METADATA,
    ];
    for set in 0..1 << optional.len() {
        let chosen = optional.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let flags = chosen.fold(base, |acc, (_, flag)| acc | flag);
        let login = sample(flags);
        assert_eq!(HandshakeResponse::parse(&login.to_payload()), Ok(login), "{flags:#x}");
    }
}

#[test]
fn an_ssl_request_is_told_from_a_login() {
    let login = sample(caps::PROTOCOL_41 | caps::SECURE_CONNECTION | caps::SSL);
    assert_eq!(
        HandshakeResponse::parse_first(&login.to_ssl_request()),
        Ok(FirstAnswer::SslRequest(login.caps))
    );
    assert!(matches!(HandshakeResponse::parse_first(&login.to_payload()), Ok(FirstAnswer::Login(_))));
}

#[test]
fn clients_before_4_1_are_told_so() {
    let err = HandshakeResponse::parse_first(b"\x05\x00\x00\x00\x00root\0").unwrap_err();
    assert!(err.to_string().contains("older than MySQL 4.1"));
}

#[test]
fn p9_collation_ids_above_255_survive_change_user() {
    let flags = caps::SECURE_CONNECTION | caps::PLUGIN_AUTH | caps::CONNECT_ATTRS;
    let change = ChangeUser {
        user: b"app".to_vec(),
        auth_response: vec![9; 20],
        database: b"shop".to_vec(),
        charset: Some(2304),
        plugin: Some(b"mysql_native_password".to_vec()),
        attributes: Some(Vec::new()),
    };
    let payload = change.to_payload(flags);
    assert_eq!(ChangeUser::parse(&payload[1..], flags), Ok(change));
}

#[test]
fn a_stray_byte_where_the_collation_should_be_is_no_plugin() {
    let flags = caps::SECURE_CONNECTION | caps::PLUGIN_AUTH | caps::CONNECT_ATTRS;
    let change = ChangeUser::parse(b"app\0\x00shop\0x", flags).unwrap();
    assert_eq!((change.charset, change.plugin, change.attributes), (None, None, None));
}

proptest! {
    #[test]
    fn arbitrary_logins_never_panic(bytes: Vec<u8>, flags: u64) {
        let _ = HandshakeResponse::parse_first(&bytes);
        let _ = HandshakeResponse::parse(&bytes);
        let _ = ChangeUser::parse(&bytes, flags);
    }
}
