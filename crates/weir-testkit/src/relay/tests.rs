use super::*;

/// A relay in front of a peer that sends back what it gets, and a client connected to it.
async fn echo() -> (Relay, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = peer.split();
                tokio::io::copy(&mut from, &mut to).await.ok();
                to.shutdown().await.ok();
            });
        }
    });
    let relay = Relay::start(upstream).await.unwrap();
    let client = TcpStream::connect(relay.addr()).await.unwrap();
    (relay, client)
}

async fn exchange(client: &mut TcpStream, send: &[u8]) -> Vec<u8> {
    client.write_all(send).await.unwrap();
    client.shutdown().await.unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.ok();
    got
}

#[tokio::test]
async fn bytes_pass_and_are_counted() {
    let (relay, mut client) = echo().await;
    relay.faults(Direction::ToServer, |f| f.slice = 3);
    assert_eq!(exchange(&mut client, b"0123456789").await, b"0123456789");
    assert_eq!((relay.bytes(Direction::ToServer), relay.bytes(Direction::ToClient)), (10, 10));
    relay.wait_open(|open| *open == 0).await;
    assert_eq!((relay.accepted(), relay.open()), (1, 0));
}

#[tokio::test]
async fn a_cut_is_exact() {
    for reset in [false, true] {
        let (relay, mut client) = echo().await;
        relay.faults(Direction::ToClient, |f| (f.cut_at, f.cut_with_reset) = (Some(4), reset));
        client.write_all(b"0123456789").await.unwrap();
        let mut got = [0; 4];
        client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"0123");
        match client.read(&mut got).await {
            Ok(0) => {}
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::ConnectionReset),
            Ok(n) => panic!("{n} bytes after the cut"),
        }
    }
}

#[tokio::test]
async fn garbage_comes_where_it_was_asked_for() {
    let (relay, mut client) = echo().await;
    relay.faults(Direction::ToServer, |f| f.garbage_at = Some((5, b"xx".to_vec())));
    assert_eq!(exchange(&mut client, b"0123456789").await, b"01234xx56789");
}

#[tokio::test]
async fn a_half_close_leaves_the_other_direction() {
    let (relay, mut client) = echo().await;
    relay.faults(Direction::ToServer, |f| f.half_close_at = Some(3));
    client.write_all(b"0123456789").await.unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"012");
}

#[tokio::test]
async fn a_stall_holds_until_resumed() {
    let (relay, mut client) = echo().await;
    relay.stall(Direction::ToClient);
    client.write_all(b"ping").await.unwrap();
    let mut got = [0; 4];
    let silent = tokio::time::timeout(Duration::from_millis(50), client.read_exact(&mut got)).await;
    assert!(silent.is_err());
    relay.resume(Direction::ToClient);
    client.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"ping");
}

#[tokio::test]
async fn a_stall_behind_a_text_lets_it_through() {
    let (relay, mut client) = echo().await;
    relay.stall_behind(Direction::ToServer, "b1");
    let mut got = [0; 2];
    for passes in [b"a1", b"b1"] {
        client.write_all(passes).await.unwrap();
        client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, passes);
    }
    client.write_all(b"c1").await.unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(50), client.read_exact(&mut got)).await;
    assert!(silent.is_err());
    relay.resume(Direction::ToServer);
    client.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"c1");
}

#[tokio::test]
async fn delay_and_dropped_connections() {
    let (relay, mut client) = echo().await;
    relay.faults(Direction::ToServer, |f| f.delay = Duration::from_millis(30));
    let start = std::time::Instant::now();
    let mut got = [0; 4];
    client.write_all(b"ping").await.unwrap();
    client.read_exact(&mut got).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(30));
    relay.drop_connections();
    assert_eq!(client.read(&mut got).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn the_source_address_is_ours_to_choose() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let source = Ipv4Addr::new(127, 0, 0, 2);
    let relay = Relay::with_source(listener.local_addr().unwrap(), Some(source)).await.unwrap();
    let _client = TcpStream::connect(relay.addr()).await.unwrap();
    let (_, peer) = listener.accept().await.unwrap();
    assert_eq!(peer.ip(), IpAddr::V4(source));
}
