use weir_session::{Effect, Memory, Statement, UserAssigned};
use weir_testkit::{Flavor, Server};

use crate::peer::Peer;

/// As a client writes them, and as the facts of the text say it.
const LITERALS: [(&str, UserAssigned<'static>); 14] = [
    ("1", UserAssigned::Number(b"1")),
    ("-5", UserAssigned::Number(b"-5")),
    ("18446744073709551615", UserAssigned::Number(b"18446744073709551615")),
    ("1.50", UserAssigned::Number(b"1.50")),
    ("-0.001", UserAssigned::Number(b"-0.001")),
    ("1e3", UserAssigned::Number(b"1e3")),
    ("0x4142", UserAssigned::Binary(b"AB")),
    ("b'101'", UserAssigned::Binary(b"\x05")),
    ("X''", UserAssigned::Binary(b"")),
    ("NULL", UserAssigned::Null),
    ("''", UserAssigned::Text(b"")),
    ("'abc'", UserAssigned::Text(b"abc")),
    ("'o''clock'", UserAssigned::Text(b"o'clock")),
    ("'z\u{fc}rich'", UserAssigned::Text("z\u{fc}rich".as_bytes())),
];

/// Value, type, character set, collation and coercibility of @a.
async fn appearance(peer: &mut Peer) -> String {
    let values = peer.rows("SELECT @a, HEX(@a), COLLATION(@a), COERCIBILITY(@a), @a+0").await;
    peer.client.run("CREATE TEMPORARY TABLE mysql.copy_of_a AS SELECT @a a").await.unwrap();
    let table = peer.rows("SHOW CREATE TABLE mysql.copy_of_a").await;
    peer.client.run("DROP TEMPORARY TABLE mysql.copy_of_a").await.unwrap();
    let text = |row: &crate::peer::Row| {
        let cells = row.iter().map(|c| c.as_deref().map(|c| String::from_utf8_lossy(c).into_owned()));
        format!("{:?}", cells.collect::<Vec<_>>())
    };
    values.iter().chain(&table).map(text).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn p23_literals_have_the_same_value_type_and_collation_elsewhere() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut memory = Memory::new(7);
        let modes =
            ["SET NAMES utf8mb4", "SET NAMES utf8mb4 COLLATE utf8mb4_bin, sql_mode='NO_BACKSLASH_ESCAPES'"];
        for first in modes {
            for (text, value) in LITERALS {
                let mut a = Peer::connect(&server, &[first]).await;
                let effects = [Effect::UserVariable { name: b"A", value }];
                let statement = Statement { effects: &effects, ..Statement::PLAIN };
                let outcome = a.learn(&format!("SET @A = {text}"), &statement, &mut memory).await;
                assert!(outcome.is_ok());
                assert!(a.state.user_variables().get(b"a").is_some(), "{text} is tracked");
                // On a fresh connection, and over another value.
                let mut fresh = Peer::connect(&server, &["SET NAMES gbk"]).await;
                fresh.sync(&a.state, &mut memory).await;
                let expected = appearance(&mut a).await;
                assert_eq!(appearance(&mut fresh).await, expected, "{flavor:?} {text}");
                if value == UserAssigned::Null {
                    continue;
                }
                let mut used = Peer::connect(&server, &[]).await;
                for other in ["1", "'abc'"] {
                    used.client.run(&format!("SET @a = {other}")).await.unwrap();
                    used.sync(&a.state, &mut memory).await;
                    assert_eq!(appearance(&mut used).await, expected, "{flavor:?} {text} over {other}");
                    used.state = used.true_state().await;
                }
            }
        }
    }
}

/// What the rule that nothing is unset by assignment rests on.
#[tokio::test]
async fn null_is_not_unset() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut never = Peer::connect(&server, &[]).await;
        let mut typed = Peer::connect(&server, &["SET @a=1", "SET @a=NULL"]).await;
        let (unset, null) = (appearance(&mut never).await, appearance(&mut typed).await);
        assert_ne!(unset, null, "{flavor:?}");
        typed.reset().await;
        typed.client.run("SET NAMES utf8mb4").await.unwrap();
        never.client.run("SET NAMES utf8mb4").await.unwrap();
        assert_eq!(appearance(&mut never).await, appearance(&mut typed).await, "{flavor:?}");
    }
}
