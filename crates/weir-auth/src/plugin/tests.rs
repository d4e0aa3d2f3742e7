use super::*;

#[test]
fn names_round_trip() {
    for name in [
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        "mysql_clear_password",
        "client_ed25519",
    ] {
        let plugin = Plugin::from_name(name.as_bytes());
        assert!(!matches!(plugin, Plugin::Other(_)), "{name}");
        assert_eq!(plugin.to_string(), name);
    }
    assert_eq!(Plugin::from_name(b"parsec"), Plugin::Other("parsec".into()));
    // The servers compare names without regard to case only in SQL; on the wire they are exact.
    assert_eq!(Plugin::from_name(b"Caching_Sha2_Password").name(), "Caching_Sha2_Password");
}

#[test]
fn a_name_cannot_write_into_a_log() {
    let plugin = Plugin::from_name(b"evil\nname \x1b[31m\xff");
    assert_eq!(plugin.name(), "evil?name??[31m?");
    assert_eq!(Plugin::from_name(&[b'a'; 5000]).name().len(), Plugin::MAX_NAME);
}

#[test]
fn p15_switch_requests_have_the_servers_shape() {
    let nonce = [7; NONCE_LEN];
    let request = auth_switch_request(&Plugin::CachingSha2, Some(&nonce));
    assert_eq!(request, [b"\xfecaching_sha2_password\0".as_slice(), &nonce, b"\0"].concat());
    assert_eq!(auth_switch_request(&Plugin::Clear, None), b"\xfemysql_clear_password\0");

    let (name, data) = parse_switch(&request[1..]).unwrap();
    assert_eq!((name, exact_nonce(data)), (b"caching_sha2_password".as_slice(), Some(nonce)));
    assert_eq!(parse_switch(b"mysql_clear_password\0"), Some((b"mysql_clear_password".as_slice(), &b""[..])));
    assert_eq!(parse_switch(b"no terminator"), None);
}

#[test]
fn p15_a_zero_byte_at_the_end_of_a_nonce_is_part_of_it() {
    let mut nonce = [9; 32];
    nonce[31] = 0;
    assert_eq!(exact_nonce::<32>(&nonce), Some(nonce));
    assert_eq!(exact_nonce::<32>(&[&nonce[..], b"\0"].concat()), Some(nonce));
    assert_eq!(exact_nonce::<32>(&[9; 33]), None);
    assert_eq!(exact_nonce::<20>(&[9; 19]), None);
}
