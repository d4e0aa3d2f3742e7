//! Where the kernel gives no ring, [`Stream::upgrade`] leaves sockets with the runtime, and all of this holds as well.

use crate::{Stream, stream::Socket, write_all};
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// How long anything may take that is awaited. Far more than it needs: it only bounds a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream on the ring, and its peer.
async fn pair() -> (Stream, TcpStream) {
    if !super::is_running()
        && let Err(e) = super::start()
    {
        eprintln!("no ring, so epoll is tested: {e}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let mut stream = Stream::Plain(Socket::Tcp(listener.accept().await.unwrap().0));
    stream.upgrade();
    assert_eq!(matches!(stream, Stream::Plain(Socket::Ring(_))), super::is_running());
    (stream, peer)
}

async fn read(stream: &mut Stream, room: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; room];
    let n = poll_fn(|cx| stream.poll_read(cx, &mut bytes)).await?;
    bytes.truncate(n);
    Ok(bytes)
}

async fn write(stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| stream.poll_write(cx, bytes)).await
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

#[tokio::test]
async fn bytes_go_both_ways_until_the_end() {
    let (mut stream, mut peer) = pair().await;
    for word in [&b"one"[..], b"two", b"three"] {
        peer.write_all(word).await.unwrap();
        assert_eq!(read(&mut stream, 100).await.unwrap(), word);
        write_all(&mut stream, word).await.unwrap();
        let mut echo = vec![0; word.len()];
        peer.read_exact(&mut echo).await.unwrap();
        assert_eq!(echo, word);
    }
    drop(peer);
    assert_eq!(read(&mut stream, 100).await.unwrap(), b"");
    assert_eq!(read(&mut stream, 100).await.unwrap(), b"");
}

#[tokio::test]
async fn a_read_into_little_room_is_continued() {
    let (mut stream, mut peer) = pair().await;
    peer.write_all(b"abcdefg").await.unwrap();
    assert_eq!(read(&mut stream, 3).await.unwrap(), b"abc");
    assert_eq!(read(&mut stream, 3).await.unwrap(), b"def");
    assert_eq!(read(&mut stream, 3).await.unwrap(), b"g");
}

#[tokio::test]
async fn writes_of_one_turn_arrive_in_order() {
    let (mut stream, mut peer) = pair().await;
    let mut expected = Vec::new();
    for n in 0..2_000u32 {
        let word = n.to_be_bytes();
        expected.extend_from_slice(&word);
        write_all_of(&mut stream, &word).await;
    }
    drop(stream);
    let mut got = Vec::new();
    peer.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, expected);
}

async fn write_all_of(stream: &mut Stream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let n = write(stream, bytes).await.unwrap();
        bytes = &bytes[n..];
    }
}

#[tokio::test]
async fn last_words_arrive_before_the_end() {
    let (mut stream, mut peer) = pair().await;
    // Someone waits to read as well, as a session does.
    let waits = poll_fn(|cx| Poll::Ready(stream.poll_read(cx, &mut [0; 10]).is_pending())).await;
    assert!(waits);
    assert_eq!(write(&mut stream, b"bye").await.unwrap(), 3);
    drop(stream);
    let mut got = Vec::new();
    peer.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"bye");
    timeout(PATIENCE, super::drained()).await.unwrap();
}

#[tokio::test]
async fn last_words_to_a_peer_that_reads_late() {
    // The end comes right behind the bytes, and not when the time for last words (5 s) is over. A busy machine may hold up one of these.
    for _ in 0..5 {
        let (mut stream, mut peer) = pair().await;
        let mut written = 0;
        // Until the kernel takes no more, and the ring holds some.
        while let Ok(taken) = timeout(Duration::from_millis(50), write(&mut stream, &[7; 10_000])).await {
            written += taken.unwrap();
        }
        drop(stream);
        let mut got = Vec::new();
        let begun = Instant::now();
        timeout(PATIENCE, peer.read_to_end(&mut got)).await.unwrap().unwrap();
        if begun.elapsed() < Duration::from_secs(4) {
            assert_eq!(got.len(), written);
            return;
        }
    }
    panic!("the end came late, five times");
}

#[tokio::test]
async fn a_stream_that_waits_to_read_closes_when_dropped() {
    let (mut stream, mut peer) = pair().await;
    assert!(timeout(Duration::from_millis(20), read(&mut stream, 10)).await.is_err());
    drop(stream);
    assert_eq!(peer.read(&mut [0; 10]).await.unwrap(), 0);
}

#[tokio::test]
async fn shutdown_follows_the_bytes_and_leaves_reading() {
    let (mut stream, mut peer) = pair().await;
    assert_eq!(write(&mut stream, b"question").await.unwrap(), 8);
    poll_fn(|cx| stream.poll_shutdown(cx)).await.unwrap();
    let mut got = Vec::new();
    peer.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"question");
    peer.write_all(b"answer").await.unwrap();
    assert_eq!(read(&mut stream, 100).await.unwrap(), b"answer");
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_waited_for() {
    let (mut stream, mut peer) = pair().await;
    let chunk = pattern(100_000);
    let mut written = 0;
    while let Ok(taken) = timeout(Duration::from_millis(50), write(&mut stream, &chunk)).await {
        written += taken.unwrap();
        assert!(written < 64 << 20, "a peer that reads nothing was sent {written} bytes");
    }
    // It reads, and the writer goes on.
    let reader = tokio::spawn(async move {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).await.map(|_| got.len())
    });
    written += write(&mut stream, &chunk).await.unwrap();
    drop(stream);
    assert_eq!(reader.await.unwrap().unwrap(), written);
}

#[tokio::test]
async fn long_streams_arrive_whole() {
    let (mut stream, peer) = pair().await;
    let sent = pattern(20 << 20);
    let (mut from_peer, mut to_stream) = peer.into_split();
    let copy = sent.clone();
    let sender = tokio::spawn(async move { to_stream.write_all(&copy).await });
    let mut got = Vec::new();
    for room in [10, 5_000, 16_384, 131_072].into_iter().cycle() {
        if got.len() == sent.len() {
            break;
        }
        got.extend(read(&mut stream, room).await.unwrap());
    }
    sender.await.unwrap().unwrap();
    assert!(got == sent, "what was read is not what was sent");

    let reader = tokio::spawn(async move {
        let mut got = Vec::new();
        from_peer.read_to_end(&mut got).await.map(|_| got)
    });
    for (at, len) in [10, 40_000, 16_384, 200, 131_072].into_iter().cycle().scan(0, |at, len| {
        let begin = *at;
        *at += len;
        Some((begin, len))
    }) {
        if at >= sent.len() {
            break;
        }
        write_all_of(&mut stream, &sent[at..(at + len).min(sent.len())]).await;
    }
    drop(stream);
    assert!(reader.await.unwrap().unwrap() == sent, "what arrived is not what was written");
}

/// More than there are buffers and slots.
#[tokio::test]
async fn many_streams_at_once_all_get_their_bytes() {
    const STREAMS: usize = 700;
    let mut pairs = Vec::new();
    for _ in 0..STREAMS {
        pairs.push(pair().await);
    }
    for turn in 0..3u16 {
        // All wait before anything comes.
        for (stream, _) in &mut pairs {
            assert!(poll_fn(|cx| Poll::Ready(stream.poll_read(cx, &mut [0; 10]).is_pending())).await);
        }
        tokio::task::yield_now().await;
        for (n, (_, peer)) in pairs.iter_mut().enumerate() {
            peer.write_all(&[n as u8, (n >> 8) as u8, turn as u8]).await.unwrap();
        }
        for (n, (stream, _)) in pairs.iter_mut().enumerate() {
            let expected = [n as u8, (n >> 8) as u8, turn as u8];
            assert_eq!(read(stream, 10).await.unwrap(), expected);
            assert_eq!(write(stream, &expected).await.unwrap(), 3);
        }
        for (n, (_, peer)) in pairs.iter_mut().enumerate() {
            let mut got = [0; 3];
            peer.read_exact(&mut got).await.unwrap();
            assert_eq!(got, [n as u8, (n >> 8) as u8, turn as u8]);
        }
    }
}

#[tokio::test]
async fn a_reset_is_told() {
    let (mut stream, peer) = pair().await;
    socket2::SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let told = async {
        loop {
            if let Err(e) = write_all(&mut stream, b"x").await {
                return e;
            }
        }
    };
    let error = timeout(PATIENCE, told).await.unwrap();
    assert!(matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe), "{error}");
    // The reader does not wait for a peer that is gone.
    let read = timeout(PATIENCE, read(&mut stream, 10)).await.unwrap();
    assert!(read.as_ref().map_or(true, Vec::is_empty), "{read:?}");
}

#[tokio::test]
async fn a_stream_on_another_thread_says_so() {
    let (mut stream, _peer) = pair().await;
    if !super::is_running() {
        return;
    }
    let error = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(read(&mut stream, 10)).unwrap_err()
    });
    assert!(error.join().unwrap().to_string().contains("another thread"));
}

/// Tasks that never rest must not keep the ring from turning.
#[tokio::test]
async fn busy_tasks_leave_the_ring_its_turn() {
    let (mut stream, mut peer) = pair().await;
    let busy = tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    peer.write_all(b"ping").await.unwrap();
    assert_eq!(timeout(PATIENCE, read(&mut stream, 10)).await.unwrap().unwrap(), b"ping");
    write(&mut stream, b"pong").await.unwrap();
    let mut got = [0; 4];
    timeout(PATIENCE, peer.read_exact(&mut got)).await.unwrap().unwrap();
    assert_eq!(&got, b"pong");
    busy.abort();
}

#[tokio::test]
async fn a_parked_socket_goes_on_where_it_is_taken_up() {
    let (mut stream, mut peer) = pair().await;
    write_all(&mut stream, b"before").await.unwrap();
    peer.write_all(b"answer").await.unwrap();
    assert_eq!(read(&mut stream, 100).await.unwrap(), b"answer");
    poll_fn(|cx| stream.poll_flush(cx)).await.unwrap();
    assert!(stream.park());
    assert!(stream.is_quiet());
    // Another thread, which has no ring, and this one again.
    let moved = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            stream.take_up(false, true).unwrap();
            write_all(&mut stream, b"there").await.unwrap();
            stream.park();
            stream
        })
    });
    let mut stream = moved.await.unwrap();
    stream.take_up(false, true).unwrap();
    stream.upgrade();
    write_all(&mut stream, b"here").await.unwrap();
    let mut told = vec![0; 15];
    peer.read_exact(&mut told).await.unwrap();
    assert_eq!(told, b"beforetherehere");
    // What comes while nobody has it is seen, and kept.
    poll_fn(|cx| stream.poll_flush(cx)).await.unwrap();
    assert!(stream.park());
    peer.write_all(b"unasked").await.unwrap();
    while stream.is_quiet() {
        tokio::task::yield_now().await;
    }
    stream.take_up(true, true).unwrap();
    assert_eq!(read(&mut stream, 100).await.unwrap(), b"unasked");
}

#[tokio::test]
async fn a_socket_that_is_read_stays_on_its_ring() {
    let (mut stream, mut peer) = pair().await;
    let mut room = [0; 8];
    poll_fn(|cx| {
        assert!(stream.poll_read(cx, &mut room).is_pending());
        Poll::Ready(())
    })
    .await;
    assert_eq!(stream.is_awaited(), super::is_running());
    assert_eq!(stream.park(), !super::is_running());
    poll_fn(|cx| stream.poll_still(cx)).await.unwrap();
    assert!(!stream.is_awaited() && stream.park());
    stream.take_up(true, true).unwrap();
    peer.write_all(b"late").await.unwrap();
    assert_eq!(read(&mut stream, 8).await.unwrap(), b"late");
}
