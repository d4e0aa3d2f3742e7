use super::*;
use crate::write_all;
use std::io::Read;
use std::net::TcpListener;
use tokio::net::{TcpStream, UnixStream};

#[tokio::test]
async fn last_words_arrive_before_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let mut stream = Stream::Plain(Socket::Tcp(tcp));
    write_all(&mut stream, b"before, ").await.unwrap();
    assert!(send_before_close(&stream, b"and last"));
    drop(stream);
    let mut got = String::new();
    peer.read_to_string(&mut got).unwrap();
    assert_eq!(got, "before, and last");
}

#[tokio::test]
async fn other_connections_are_left_to_the_usual_write() {
    let (here, _there) = UnixStream::pair().unwrap();
    assert!(!send_before_close(&Stream::Plain(Socket::Unix(here)), b"x"));
    assert!(!send_before_close(&Stream::Closed, b"x"));
}

#[tokio::test]
async fn first_bytes_go_out_before_the_runtime_has_looked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = crate::accept_tcp(&listener).unwrap();
    let stream = Stream::Plain(Socket::Tcp(TcpStream::from_std(accepted).unwrap()));
    assert_eq!(send_at_once(&stream, b"hello"), 5);
    let mut got = [0; 5];
    peer.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"hello");
    assert_eq!(send_at_once(&Stream::Closed, b"hello"), 0);
}
