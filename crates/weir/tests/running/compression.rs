//! P11: compression of each link, independent of the other.

use weir_wire::compress::Algorithm;

use crate::kit::*;
use crate::packed_link::packed;

const LINKS: [Option<Algorithm>; 3] = [None, Some(Algorithm::Zlib), Some(Algorithm::Zstd(3))];

fn name(algorithm: Option<Algorithm>) -> &'static str {
    match algorithm {
        None => "none",
        Some(Algorithm::Zlib) => "zlib",
        Some(Algorithm::Zstd(_)) => "zstd",
    }
}

async fn connect(options: &ConnectOptions, algorithm: Option<Algorithm>) -> Client {
    match algorithm {
        None => options.connect().await.unwrap(),
        Some(algorithm) => packed(options, algorithm).await.unwrap(),
    }
}

fn compressing_weir(server: &Server, algorithm: Option<Algorithm>) -> Weir {
    let text = config(&server.addr().to_string(), "");
    Weir::config(text.replace("tls =", &format!("compression = \"{}\"\ntls =", name(algorithm))))
        .start()
        .unwrap()
}

#[tokio::test]
async fn p11_each_side_compresses_as_it_agreed() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        for towards_server in LINKS {
            let weir = compressing_weir(&server, towards_server);
            for towards_client in LINKS {
                let mut direct = app(server.addr()).connect().await.unwrap();
                let client = connect(&app(weir.addr()), towards_client).await;
                let what = format!("{flavor:?} {} {}", name(towards_client), name(towards_server));
                session(&mut direct, client, &what).await;
                let mut client = connect(&app(weir.addr()), towards_client).await;
                assert_eq!(shown(&mut client, "client_compression").await, name(towards_client));
                // MariaDB 10.11 has no zstd: then the link is not compressed.
                let expected = match towards_server {
                    Some(Algorithm::Zstd(_)) if flavor == Flavor::MariaDb => "none",
                    other => name(other),
                };
                assert_eq!(shown(&mut client, "server_compression").await, expected);
                let response = client.run("SHOW SESSION STATUS LIKE 'Compression'").await.unwrap();
                let told = response.rows().next().unwrap().ends_with(b"ON");
                assert_eq!(told, expected != "none", "{what}");
            }
        }
    }
}

/// The same at the server and through Weir: small and large, compressible or not, both ways.
async fn session(direct: &mut Client, mut client: Client, what: &str) {
    let random = "SELECT GROUP_CONCAT(SHA2(CONCAT(a.d, b.d, c.d), 512) SEPARATOR '') FROM d a, d2 b, d3 c";
    let large = format!("SELECT LENGTH('{}'), SHA2('{}', 256)", "ab".repeat(40_000), noise(300_000));
    let mut statements = vec![
        "SET group_concat_max_len = 10000000".to_owned(),
        "CREATE TEMPORARY TABLE mysql.d AS SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3"
            .to_owned(),
        "USE mysql".to_owned(),
    ];
    statements.extend((4..40).map(|i| format!("INSERT INTO d VALUES ({i})")));
    statements.extend(
        ["CREATE TEMPORARY TABLE d2 AS SELECT * FROM d", "CREATE TEMPORARY TABLE d3 SELECT 1 d"]
            .map(Into::into),
    );
    statements.extend(
        ["SELECT 1", random, "SELECT REPEAT('z', 17000000)", &large, "SELECT", "DO 1; SELECT 2"]
            .map(Into::into),
    );
    for sql in &statements {
        let (wanted, got) = tokio::join!(direct.query(sql), client.query(sql));
        let (mut wanted, mut got) = (wanted.unwrap(), got.unwrap());
        if client.capabilities().has(Caps::COMPRESS) || client.capabilities().has(Caps::ZSTD) {
            // Frames are numbered there, and the packets' own numbers mean nothing.
            for packet in wanted.packets.iter_mut().chain(&mut got.packets) {
                packet.seq = 0;
            }
        }
        same(wanted, got, &format!("{what}: {}", &sql[..sql.len().min(60)]));
    }
    // COM_CHANGE_USER goes on under compression, with an exchange of several packets.
    for (user, password) in [("nopw", ""), ("app", "app-pw")] {
        let changed = client.change_user(user, password, "mysql", 45).await.unwrap();
        assert!(changed.err().is_none() && !changed.closed, "{what}: {changed:?}");
        let current = client.scalar("SELECT CURRENT_USER()").await.unwrap().unwrap();
        assert!(current.starts_with(&format!("{user}@")), "{what}: {current}");
    }
    // Several commands in one write.
    for i in 0..40 {
        client.send(command::QUERY, format!("SELECT {i}").as_bytes()).await.unwrap();
    }
    for i in 0..40 {
        let response = client.receive(command::QUERY).await.unwrap();
        let row = response.rows().next().unwrap();
        assert_eq!(&row[1..], i.to_string().as_bytes(), "{what}");
    }
    client.local_data = noise(200_000).replace('a', "\n").into_bytes();
    client.run("CREATE TEMPORARY TABLE mysql.loaded (l TEXT)").await.unwrap();
    let loaded = client.run("LOAD DATA LOCAL INFILE 'x' INTO TABLE mysql.loaded").await.unwrap();
    assert!(loaded.ok().unwrap().affected_rows > 5_000, "{what}: {loaded:?}");
    client.quit().await.unwrap();
}

/// Letters that do not compress well: a linear congruence, seeded by nothing.
fn noise(len: usize) -> String {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    (0..len).map(|_| next()).collect()
}

/// A frame of the compressed protocol.
fn frame(seq: u8, declared: u32, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32).to_le_bytes();
    [&len[..3], &[seq], &declared.to_le_bytes()[..3], body].concat()
}

#[tokio::test]
async fn p11_frames_that_lie_about_their_length_end_the_connection() {
    let server = server(Flavor::MySql);
    let weir = weir(&server);
    let mut codec = weir_wire::compress::Codec::new(Algorithm::Zlib).unwrap();
    let mut honest = Vec::new();
    let ping_and_pad = [&[1, 0, 0, 0, command::PING][..], &[0; 200]].concat();
    codec.encode(&ping_and_pad, &mut honest).unwrap();
    let packed_body = &honest[7..];
    let bomb = {
        let mut out = Vec::new();
        codec.encode(&vec![0; 16_000_000], &mut out).unwrap();
        out
    };
    let lies = [
        ("declares more than it holds", frame(0, 0xff_ffff, packed_body)),
        ("holds more than it declares", frame(0, 100, &bomb[7..])),
        ("no zlib at all", frame(0, 100, &[0x42; 60])),
    ];
    for (what, bytes) in lies {
        let mut client = app(weir.addr()).with(Caps::COMPRESS).connect().await.unwrap();
        client.stream().write_raw(&bytes).await.unwrap();
        // An end of the connection, perhaps after a frame with an error; never an answer, never silence.
        while let Ok(got) = client.stream().read_raw(4096).await
            && !got.is_empty()
        {
            assert!(!got.windows(5).any(|w| w == [7, 0, 0, 1, 0]), "{what}: an OK came");
        }
    }
    // 16 MB of zeros in 16 kB are packets of nothing; Weir stays small and up.
    let mut client = app(weir.addr()).with(Caps::COMPRESS).connect().await.unwrap();
    client.stream().write_raw(&bomb).await.unwrap();
    client.stream().read_raw(64).await.ok();
    assert!(weir.resident_bytes().unwrap() < 100 << 20);
    app(weir.addr()).connect().await.unwrap().quit().await.unwrap();
}
