use super::*;
use weir_model::ServerFamily;

pub const MYSQL: LexMode = LexMode {
    server_version: 90_704,
    family: ServerFamily::MySql,
    ansi_quotes: false,
    no_backslash_escapes: false,
    charset: weir_sql::CharsetClass::AsciiSafe,
};

#[test]
fn the_short_way_to_the_key_of_a_text_comes_to_the_same() {
    let settings = AnalyticsSettings { enabled: true, digests: 100, samples: false };
    let digests = Digests::new(1, settings, 7);
    digests.count_here(0, 7);
    let general = [
        "SELECT v FROM t WHERE id = 1",
        "SELECT v FROM t WHERE id = 1 ",
        "\t SELECT v FROM t WHERE id = 1\n",
        "SELECT v FROM t WHERE id = 1;",
        "(SELECT v FROM t WHERE id = 1)",
        "SELECT v FROM t WHERE n = '# -- /* x */'",
        "SELECT `#`, \"-- \" FROM t WHERE n = 'x'",
        "SELECT 1 - -1",
    ];
    let others = [
        "SELECT v FROM t # x",
        "SELECT v FROM t WHERE id = 1 -- x",
        "/* x */ SELECT v FROM t",
        "SELECT '\\''",
    ];
    for (texts, is_general) in [(&general[..], true), (&others[..], false)] {
        for sql in texts {
            here(|analytics| {
                let _ = analytics.spot(sql.as_bytes(), MYSQL);
                assert_eq!(analytics.last_spot().is_some(), is_general, "{sql}");
                if is_general {
                    let key = analytics.general_key(sql.as_bytes(), MYSQL);
                    assert_eq!(key, analytics.text_key(sql.as_bytes(), MYSQL), "{sql}");
                }
            })
            .expect("this thread counts");
        }
    }
}
