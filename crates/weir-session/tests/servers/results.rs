//! The collation that columns of results are said to have, which no variable shows.

use std::collections::BTreeMap;

use weir_session::{Memory, ResultsCollation, State, Variable};
use weir_testkit::client::ConnectOptions;
use weir_testkit::{Flavor, Server};

use crate::peer::Peer;

/// The collation that clients ask for in the handshake: utf8mb4_bin, the default of no server.
const LOGIN: u8 = 46;

/// The same in COM_CHANGE_USER: latin1_bin.
const CHANGED: u16 = 47;

/// How a session comes to its collation of results.
#[derive(Debug, Clone, Copy)]
enum Way {
    Login,
    Reset,
    ChangeUser,
    Texts(&'static [&'static str]),
}

const WAYS: [Way; 17] = [
    Way::Login,
    Way::Reset,
    Way::ChangeUser,
    Way::Texts(&["SET NAMES utf8mb4"]),
    Way::Texts(&["SET NAMES latin1"]),
    Way::Texts(&["SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci"]),
    Way::Texts(&["SET NAMES latin1 COLLATE latin1_german1_ci"]),
    Way::Texts(&["SET NAMES binary"]),
    Way::Texts(&["SET character_set_results = utf8mb4"]),
    Way::Texts(&["SET character_set_results = latin1"]),
    Way::Texts(&["SET character_set_results = NULL"]),
    Way::Texts(&["SET CHARACTER SET latin1"]),
    // Setting the connection's collation leaves that of results, also where character_set_results gets it anew.
    Way::Texts(&["SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci", "SET collation_connection = utf8mb4_bin"]),
    Way::Texts(&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET character_set_results = utf8mb4"]),
    Way::Texts(&["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES nosuch"]),
    // MySQL's other default is one for SET NAMES alone. (MariaDB does not know it.)
    Way::Texts(&["SET default_collation_for_utf8mb4 = utf8mb4_general_ci", "SET NAMES utf8mb4"]),
    Way::Texts(&[
        "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
        "SET character_set_results = utf8mb4",
    ]),
];

impl Way {
    async fn go(self, server: &Server, memory: &mut Memory) -> Peer {
        let options = ConnectOptions::tcp(server.addr(), "root", "").collation(LOGIN);
        let mut peer = Peer::connect_as(options, &[]).await;
        match self {
            Self::Login => {}
            Self::Reset => {
                peer.client.run("SET NAMES latin1").await.unwrap();
                peer.reset().await;
                peer.state = peer.true_state().await;
            }
            Self::ChangeUser => {
                let response = peer.client.change_user("root", "", "", CHANGED).await.unwrap();
                assert!(response.err().is_none(), "{:?}", response.err());
                peer.state = peer.true_state().await;
            }
            Self::Texts(texts) => {
                for sql in texts {
                    let mode = weir_sql::LexMode::new(peer.server.family, peer.server.version);
                    let facts = weir_sql::Facts::of(sql.as_bytes(), mode, true);
                    peer.learn_text(sql, &facts, memory).await;
                }
            }
        }
        peer
    }
}

/// The number that the server gives with a column of text.
async fn shown(peer: &mut Peer) -> u16 {
    let response = peer.client.run("SELECT 'x'").await.unwrap();
    response.results().next().unwrap().columns[0].charset
}

/// The numbers of a server's collations by their names, and by the names of the character sets whose default they are.
struct Numbers {
    collations: BTreeMap<String, u16>,
    defaults: BTreeMap<String, u16>,
}

impl Numbers {
    async fn of(peer: &mut Peer) -> Self {
        let rows = peer.rows("SHOW COLLATION WHERE Id IS NOT NULL").await;
        let text = |cell: &Option<Vec<u8>>| String::from_utf8(cell.clone().unwrap_or_default()).unwrap();
        let all = rows.iter().map(|row| (text(&row[0]), text(&row[1]), text(&row[2]), text(&row[3])));
        let (mut collations, mut defaults) = (BTreeMap::new(), BTreeMap::new());
        for (collation, charset, id, default) in all {
            let id: u16 = id.parse().unwrap();
            if default == "Yes" {
                defaults.insert(charset, id);
            }
            collations.insert(collation, id);
        }
        Self { collations, defaults }
    }

    /// What the state says that [`shown`] is.
    fn believed(&self, state: &State) -> u16 {
        let value = |v| state.get(v).unwrap().map(|text| std::str::from_utf8(text).unwrap());
        let Some(charset) = value(Variable::CHARACTER_SET_RESULTS) else {
            // Nothing is converted, and the column keeps its own.
            return self.collations[value(Variable::COLLATION_CONNECTION).unwrap()];
        };
        match state.results_collation() {
            ResultsCollation::Named(Some(name)) => self.collations[std::str::from_utf8(name).unwrap()],
            ResultsCollation::Default => self.defaults[charset],
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_collation_of_results_is_known_and_moves() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let numbers = Numbers::of(&mut Peer::connect(&server, &[]).await).await;
        let mut memory = Memory::new(7);
        let mut wanted = Vec::new();
        // The second time, SET NAMES is remembered.
        for _ in 0..2 {
            wanted.clear();
            for way in WAYS {
                let mut peer = way.go(&server, &mut memory).await;
                let number = shown(&mut peer).await;
                assert_eq!(number, numbers.believed(&peer.state), "{flavor:?} {way:?}");
                wanted.push((way, number, peer.state));
            }
        }
        let login = &wanted[0];
        assert_eq!(login.1, u16::from(LOGIN), "the login shows what it asked for");
        assert_eq!(wanted[2].1, CHANGED, "and so does COM_CHANGE_USER");
        for from in WAYS {
            for (to, number, state) in &wanted {
                let mut peer = from.go(&server, &mut memory).await;
                peer.sync(state, &mut memory).await;
                assert_eq!(shown(&mut peer).await, *number, "{flavor:?} {from:?} to {to:?}");
                assert!(peer.sync(state, &mut memory).await.is_empty(), "nothing is sent twice");
                let truth = peer.true_state().await;
                for v in truth.base().present().iter() {
                    assert_eq!(state.get(v), truth.get(v), "{flavor:?} {from:?} to {to:?}: {}", v.name());
                }
            }
        }
    }
}
