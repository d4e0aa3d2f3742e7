use super::*;

#[test]
fn addresses_print_as_they_are_written() {
    for text in [
        "127.0.0.1:3306",
        "db1.example.com:3306",
        "my_db-1:1",
        "[::1]:65535",
        "unix:/run/weir/mysql.sock",
        "unix:mysql.sock",
    ] {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
    }
    let Address::Tcp { host, port } = "[0:0::1]:6033".parse().unwrap() else { panic!("not TCP") };
    assert_eq!((host.as_str(), port), ("::1", 6033));
}

#[test]
fn bad_addresses_say_what_is_wrong() {
    for (text, message) in [
        ("", "the address has no port"),
        ("127.0.0.1", "the address has no port"),
        ("[::1]", "the address has no port"),
        ("127.0.0.1:0", "this is not a port"),
        ("127.0.0.1:65536", "this is not a port"),
        ("127.0.0.1:+1", "this is not a port"),
        ("127.0.0.1:", "this is not a port"),
        (":3306", "the address has no host"),
        ("*:3306", "the address has no host"),
        ("::1:3306", "an IPv6 address needs brackets"),
        ("[zz]:3306", "this is not an IPv6 address"),
        ("[::1:3306", "this is not an IPv6 address"),
        ("300.1.1.1:3306", "this is not an IPv4 address"),
        ("a b:3306", "this is not a host name"),
        ("mysql://root:pw@db:3306", "this is not an address"),
        ("root@db:3306", "this is not an address"),
        ("/run/mysqld.sock", "a unix socket needs its prefix"),
        ("unix:", "the socket has no usable path"),
    ] {
        assert_eq!(text.parse::<Address>().unwrap_err().message, message, "{text}");
    }
}

#[test]
fn a_socket_path_has_107_bytes_at_most() {
    let path = |bytes: usize| format!("unix:/{}", "x".repeat(bytes - 1));
    assert!(path(107).parse::<Address>().is_ok());
    assert!(path(108).parse::<Address>().is_err());
    let relative: Address = "unix:weir.sock".parse().unwrap();
    assert_eq!(relative.clone().under(Path::new("/etc")), Ok(Address::Unix("/etc/weir.sock".into())));
    assert!(relative.under(Path::new(&format!("/{}", "x".repeat(100)))).is_err());
}

#[test]
fn listeners_overlap_on_equal_and_on_all_addresses() {
    let overlap = |a: &str, b: &str| a.parse::<Address>().unwrap().overlaps(&b.parse().unwrap());
    assert!(overlap("127.0.0.1:1", "127.0.0.1:1"));
    assert!(overlap("0.0.0.0:1", "127.0.0.1:1"));
    assert!(overlap("[::1]:1", "[::]:1"));
    assert!(overlap("unix:/a", "unix:/a"));
    assert!(!overlap("0.0.0.0:1", "127.0.0.1:2"));
    assert!(!overlap("127.0.0.1:1", "127.0.0.2:1"));
    assert!(!overlap("0.0.0.0:1", "[::1]:1"));
    assert!(!overlap("unix:/a", "unix:/b"));
}
