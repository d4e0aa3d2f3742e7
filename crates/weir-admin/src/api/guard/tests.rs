use axum::http::HeaderValue;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        map.append(name, HeaderValue::from_str(value).unwrap());
    }
    map
}

/// Headers, and why they are refused.
type Case = (&'static [(&'static str, &'static str)], Option<Code>);

#[test]
fn who_may_ask() {
    const HOST: &str = "127.0.0.1:6034";
    let cases: &[Case] = &[
        (&[("host", HOST)], None),
        (&[("host", "127.0.0.1")], None),
        (&[("host", "[::1]:6034")], None),
        (&[("host", "[::1]")], None),
        (&[("host", "LocalHost:6034")], None),
        (&[], Some(Code::ForbiddenHost)),
        (&[("host", "")], Some(Code::ForbiddenHost)),
        (&[("host", "evil.example:6034")], Some(Code::ForbiddenHost)),
        (&[("host", "127.0.0.1.evil.example:6034")], Some(Code::ForbiddenHost)),
        (&[("host", "localhost.evil.example")], Some(Code::ForbiddenHost)),
        (&[("host", "evil.localhost:6034")], Some(Code::ForbiddenHost)),
        (&[("host", "127.0.0.1:80:80")], Some(Code::ForbiddenHost)),
        (&[("host", "127.0.0.1:evil")], Some(Code::ForbiddenHost)),
        (&[("host", "[::1]evil")], Some(Code::ForbiddenHost)),
        (&[("host", HOST), ("host", "evil.example")], Some(Code::ForbiddenHost)),
        (&[("host", HOST), ("origin", "http://127.0.0.1:6034")], None),
        (&[("host", HOST), ("origin", "http://127.0.0.1:8080")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("origin", "http://evil.example")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("origin", "https://127.0.0.1:6034")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("origin", "null")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("origin", "")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("sec-fetch-site", "same-origin")], None),
        (&[("host", HOST), ("sec-fetch-site", "none")], None),
        (&[("host", HOST), ("sec-fetch-site", "cross-site")], Some(Code::ForbiddenOrigin)),
        (&[("host", HOST), ("sec-fetch-site", "same-site")], Some(Code::ForbiddenOrigin)),
    ];
    for (pairs, refused) in cases {
        let found = check(&headers(pairs)).err().map(|error| error.code);
        assert_eq!(found, *refused, "{pairs:?}");
    }
}
