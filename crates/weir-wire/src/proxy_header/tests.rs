use proptest::prelude::*;

use super::*;

fn header(len: usize, source: &str) -> Parsed {
    Parsed::Header { len, source: Some(source.parse().unwrap()) }
}

fn no_source(len: usize) -> Parsed {
    Parsed::Header { len, source: None }
}

fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = V2_SIGNATURE.to_vec();
    bytes.extend([command, family]);
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend(body);
    bytes
}

const V4: [u8; 12] = [192, 168, 0, 1, 10, 0, 0, 9, 0xdc, 0x04, 0x0c, 0xea];

fn v6() -> Vec<u8> {
    let mut body = "2001:db8::1".parse::<Ipv6Addr>().unwrap().octets().to_vec();
    body.extend("2001:db8::2".parse::<Ipv6Addr>().unwrap().octets());
    body.extend([0xdc, 0x04, 0x0c, 0xea]);
    body
}

/// The verdict on all the bytes, also when they come one by one: nothing but `Incomplete` may come before it, and what
/// follows a header must not change it.
fn check(bytes: &[u8], expected: Parsed) {
    let decided = (0..=bytes.len()).find(|&len| parse(&bytes[..len]) != Parsed::Incomplete);
    match decided {
        Some(len) => assert_eq!(parse(&bytes[..len]), expected, "first {len} of {bytes:?}"),
        None => assert_eq!(Parsed::Incomplete, expected, "{bytes:?}"),
    }
    assert_eq!(parse(bytes), expected, "{bytes:?}");
    if expected != Parsed::Incomplete {
        let more = [bytes, b"PROXY \r\n\r\n\0"].concat();
        assert_eq!(parse(&more), expected, "{bytes:?} and more");
    }
}

#[test]
fn p13_version_1() {
    check(b"PROXY TCP4 192.168.0.1 10.0.0.9 56324 3306\r\n", header(44, "192.168.0.1:56324"));
    check(b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 0\r\n", header(52, "255.255.255.255:65535"));
    check(b"PROXY TCP6 2001:db8::1 ::1 56324 3306\r\n", header(39, "[2001:db8::1]:56324"));
    check(b"PROXY TCP6 ::ffff:1.2.3.4 ::1 1 2\r\n", header(35, "[::ffff:1.2.3.4]:1"));
}

#[test]
fn p13_version_1_unknown_keeps_the_peers_address() {
    check(b"PROXY UNKNOWN\r\n", no_source(15));
    // The addresses behind UNKNOWN are anyone's invention.
    check(b"PROXY UNKNOWN 127.0.0.1 127.0.0.1 1 2\r\n", no_source(39));
    let longest =
        b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(longest.len(), V1_MAX_BYTES);
    check(longest, no_source(107));
}

#[test]
fn p13_version_1_malformed() {
    for (line, reason) in [
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", "version 1 header not ended by CR LF"),
        ("PROXY \n", "version 1 header not ended by CR LF"),
        ("PROXY \r\n", "version 1 header without two addresses and two ports"),
        ("PROXY TCP4\r\n", "version 1 header without two addresses and two ports"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "version 1 header without two addresses and two ports"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", "version 1 header without two addresses and two ports"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", "version 1 header without two addresses and two ports"),
        ("PROXY TCP4  1.2.3.4 5.6.7.8 1\r\n", "version 1 header with an impossible address"),
        ("PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n", "version 1 header with an impossible address"),
        ("PROXY TCP4 ::1 5.6.7.8 1 2\r\n", "version 1 header with an impossible address"),
        ("PROXY TCP6 1.2.3.4 ::1 1 2\r\n", "version 1 header with an impossible address"),
        ("PROXY TCP4 1.2.3.4 here 1 2\r\n", "version 1 header with an impossible address"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n", "version 1 header with an impossible port"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n", "version 1 header with an impossible port"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", "version 1 header with an impossible port"),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 -2\r\n", "version 1 header with an impossible port"),
        ("PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "version 1 header of an unknown family"),
        ("PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n", "version 1 header of an unknown family"),
        ("PROXY UNKNOWNX 1.2.3.4 5.6.7.8 1 2\r\n", "version 1 header of an unknown family"),
    ] {
        check(line.as_bytes(), Parsed::Malformed(reason));
    }
    check(b"PROXY \xff\xfe\r\n", Parsed::Malformed("version 1 header is not text"));
}

#[test]
fn p13_version_1_length_is_bounded() {
    let mut endless = b"PROXY UNKNOWN ".to_vec();
    endless.resize(106, b'x');
    check(&endless, Parsed::Incomplete);
    endless.push(b'x');
    check(&endless, Parsed::Malformed("version 1 header longer than 107 bytes"));
    let mut late_end = b"PROXY UNKNOWN ".to_vec();
    late_end.resize(106, b'x');
    late_end.extend(b"\r\n");
    check(&late_end, Parsed::Malformed("version 1 header longer than 107 bytes"));
}

#[test]
fn p13_version_2() {
    check(&v2(0x21, 0x11, &V4), header(28, "192.168.0.1:56324"));
    check(&v2(0x21, 0x21, &v6()), header(52, "[2001:db8::1]:56324"));
    check(&v2(0x21, 0x31, &[b'a'; 216]), no_source(232));
    check(&v2(0x21, 0x00, b""), no_source(16));
    check(&v2(0x21, 0x00, b"whatever this is"), no_source(32));
    // A health check of the balancer itself: whatever it writes as addresses does not count.
    check(&v2(0x20, 0x00, b""), no_source(16));
    check(&v2(0x20, 0x11, &V4), no_source(28));
    check(&v2(0x20, 0x7f, &V4), no_source(28));
}

#[test]
fn p13_version_2_extension_fields() {
    let with = |tlvs: &[u8]| v2(0x21, 0x11, &[&V4[..], tlvs].concat());
    check(&with(&[0x04, 0, 0]), header(31, "192.168.0.1:56324"));
    check(&with(&[0x05, 0, 3, 1, 2, 3, 0x04, 0, 1, 0]), header(38, "192.168.0.1:56324"));
    let overrun = Parsed::Malformed("version 2 header with an extension field that overruns it");
    for tlvs in [&[0x04][..], &[0x04, 0], &[0x04, 0, 1], &[0x04, 0xff, 0xff, 1], &[0x04, 0, 0, 0x05]] {
        check(&with(tlvs), overrun);
    }
}

#[test]
fn p13_version_2_length_is_bounded() {
    let tlv = |len: usize| {
        let mut tlv = vec![0x04];
        tlv.extend(((len - 3) as u16).to_be_bytes());
        tlv.resize(len, 0);
        tlv
    };
    let with = |len| v2(0x21, 0x11, &[&V4[..], &tlv(len)].concat());
    check(&with(1024), header(28 + 1024, "192.168.0.1:56324"));
    let too_long = Parsed::Malformed("version 2 header longer than the limit");
    check(&with(1025), too_long);
    check(&v2(0x20, 0x00, &[0; 216 + 1024]), no_source(MAX_HEADER_BYTES));
    check(&v2(0x20, 0x00, &[0; 216 + 1025]), too_long);
    // Refused from the length alone, before any of the body came.
    assert_eq!(parse(&with(1025)[..16]), too_long);
    let too_short = Parsed::Malformed("version 2 header too short for its addresses");
    check(&v2(0x21, 0x11, &V4[..11]), too_short);
    check(&v2(0x21, 0x21, &v6()[..35]), too_short);
    check(&v2(0x21, 0x31, &[0; 215]), too_short);
}

#[test]
fn p13_version_2_malformed() {
    check(&v2(0x11, 0x11, &V4), Parsed::Malformed("version 2 signature with another version"));
    check(&v2(0x31, 0x11, &V4), Parsed::Malformed("version 2 signature with another version"));
    check(&v2(0x22, 0x11, &V4), Parsed::Malformed("version 2 header with an unknown command"));
    check(&v2(0x21, 0x12, &V4), Parsed::Malformed("version 2 header of a datagram"));
    check(&v2(0x21, 0x41, &V4), Parsed::Malformed("version 2 header of an unknown family"));
    check(&v2(0x21, 0x13, &V4), Parsed::Malformed("version 2 header of an unknown family"));
}

#[test]
fn other_protocols_are_told_apart_at_the_first_byte_that_differs() {
    check(b"", Parsed::Incomplete);
    check(b"PROX", Parsed::Incomplete);
    check(b"PROXX", Parsed::NotProxy);
    check(b"\r\n\r\n\0\r\nQUIT", Parsed::Incomplete);
    check(b"\r\n\r\n\0\r\nQUIX", Parsed::NotProxy);
    check(b"GET / HTTP/1.1\r\n", Parsed::NotProxy);
    // A MySQL handshake response, and a TLS ClientHello.
    check(&[0x20, 0, 0, 1, 0x85, 0xae], Parsed::NotProxy);
    check(&[0x16, 3, 1], Parsed::NotProxy);
}

proptest! {
    #[test]
    fn p13_any_bytes_get_one_verdict_that_stays(
        mark in prop::sample::select(vec![&b""[..], b"PROXY ", b"PROXY TCP4 ", V2_SIGNATURE, b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00"]),
        tail in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let bytes = [mark, &tail].concat();
        let verdict = parse(&bytes);
        if bytes.len() >= MAX_HEADER_BYTES {
            prop_assert_ne!(verdict, Parsed::Incomplete);
        }
        if let Parsed::Header { len, .. } = verdict {
            prop_assert!(len <= bytes.len() && len <= MAX_HEADER_BYTES);
        }
        for len in 0..=bytes.len() {
            let early = parse(&bytes[..len]);
            prop_assert!(early == Parsed::Incomplete || early == verdict, "{:?} then {:?}", early, verdict);
        }
    }

    #[test]
    fn p13_what_a_sender_writes_is_read(source: SocketAddr, port: u16, tlv in prop::collection::vec(any::<u8>(), 0..1021)) {
        let plain = SocketAddr::new(source.ip(), source.port());
        let (family, byte, octets) = match source.ip() {
            IpAddr::V4(ip) => ("TCP4", 0x11, ip.octets().to_vec()),
            IpAddr::V6(ip) => ("TCP6", 0x21, ip.octets().to_vec()),
        };
        let line = format!("PROXY {family} {0} {0} {1} {port}\r\n", source.ip(), source.port());
        prop_assert_eq!(parse(line.as_bytes()), Parsed::Header { len: line.len(), source: Some(plain) });
        let mut body = [octets.clone(), octets].concat();
        body.extend(source.port().to_be_bytes());
        body.extend(port.to_be_bytes());
        body.push(0xe0);
        body.extend((tlv.len() as u16).to_be_bytes());
        body.extend(tlv);
        let bytes = v2(0x21, byte, &body);
        prop_assert_eq!(parse(&bytes), Parsed::Header { len: bytes.len(), source: Some(plain) });
    }
}
