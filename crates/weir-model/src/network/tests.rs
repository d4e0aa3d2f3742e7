use super::*;

#[test]
fn ranges_contain_their_addresses_and_no_others() {
    let cases = [
        ("10.0.0.0/8", "10.255.255.255", true),
        ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.6", false),
        ("2001:db8::/127", "2001:db8::1", true),
        ("2001:db8::/127", "2001:db8::2", false),
    ];
    for (range, ip, inside) in cases {
        let range = IpNet::parse(range).unwrap();
        assert_eq!(range.contains(ip.parse().unwrap()), inside, "{range} {ip}");
    }
}

#[test]
fn bad_ranges_are_refused_with_a_way_out() {
    let cases = [
        ("10.0.0.0/33", "the prefix of this address is a number from 0 to 32"),
        ("::/129", "the prefix of this address is a number from 0 to 128"),
        ("10.0.0.0/+8", "the prefix of this address is a number from 0 to 32"),
        ("10.0.0.0/", "the prefix of this address is a number from 0 to 32"),
        ("10.0.0.1/8", "bits are set after the prefix: did you mean \"10.0.0.0/8\"?"),
        ("example.com/8", "write an address and a prefix, for example \"10.0.0.0/8\""),
        ("", "write an address and a prefix, for example \"10.0.0.0/8\""),
    ];
    for (text, message) in cases {
        assert_eq!(IpNet::parse(text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn a_range_consists_of_its_halves() {
    for (range, expected) in [
        ("10.0.0.0/8", Some(["10.0.0.0/9", "10.128.0.0/9"])),
        ("0.0.0.0/0", Some(["0.0.0.0/1", "128.0.0.0/1"])),
        ("10.0.0.6/31", Some(["10.0.0.6/32", "10.0.0.7/32"])),
        ("10.0.0.6", None),
        ("::/0", Some(["::/1", "8000::/1"])),
        ("fd00::2/127", Some(["fd00::2/128", "fd00::3/128"])),
        ("fd00::2", None),
    ] {
        let range = IpNet::parse(range).unwrap();
        let halves = range.halves();
        assert_eq!(
            halves.map(|halves| halves.map(|half| half.to_string())),
            expected.map(|e| e.map(str::to_owned))
        );
        for half in halves.into_iter().flatten() {
            assert!(range.covers(&half) && range.covers(&range), "{range}");
            assert!(!half.covers(&range), "{range}");
        }
    }
    let (four, six) = (IpNet::parse("0.0.0.0/0").unwrap(), IpNet::parse("::/0").unwrap());
    assert!(!four.covers(&six) && !six.covers(&four));
}
