use super::*;

#[test]
fn the_admin_address_is_found_whatever_else_is_in_the_file() {
    let cases = [
        ("[listen]\nadmin = \"127.0.0.1:6034\"\n", Ok(Some("127.0.0.1:6034"))),
        ("[listen]\nadmin = \"unix:admin.sock\"\n", Ok(Some("unix:/etc/weir/admin.sock"))),
        (
            "[listen]\nadmin = \"[::1]:1\"\nno_such = 1\n[[user]]\npassword = { env = \"GONE\" }\n= x\n",
            Ok(Some("[::1]:1")),
        ),
        ("[listen]\nmysql = []\n", Ok(None)),
        ("", Ok(None)),
        ("listen = 7\n", Ok(None)),
        ("[listen]\nadmin = 7\n", Err(())),
        ("[listen]\nadmin = \"canary\"\n", Err(())),
    ];
    for (text, expected) in cases {
        let found = parse_admin("/etc/weir/weir.toml", text);
        if let Err(report) = &found {
            assert!(!report.to_string().contains("canary"), "{report}");
        }
        let found = found.map(|address| address.map(|address| address.to_string())).map_err(drop);
        assert_eq!(found, expected.map(|address| address.map(str::to_owned)), "{text}");
    }
}
