//! One connection, whatever carries it: TCP, a unix socket, TLS over either, compression over any of them.
//!
//! Nothing above this file names a socket type. All methods are polls on `&mut self`: a connection has one task.

use crate::compressed::Compressed;
use crate::ring::{self, RingSocket};
use rustls_pki_types::ServerName;
use socket2::SockRef;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use weir_wire::compress::Algorithm;

/// A connected socket without anything on top.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    /// TCP through the thread's ring.
    Ring(RingSocket),
    /// TCP that has left its thread's ring and is on none: of no use before [`Stream::take_up`].
    Parked(std::net::TcpStream),
    Unix(UnixStream),
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Prefixed>>),
    Compressed(Box<Compressed>),
    /// The connection is gone or lent out: reads end, writes fail.
    Closed,
}

impl Stream {
    /// Reads at most `buf.len()` bytes; 0 is the end. A read that does not fill `buf` is not repeated before the
    /// kernel reports new bytes (tokio clears readiness on a short read).
    #[inline]
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(socket) => poll_read(socket, cx, buf),
            Stream::Tls(tls) => match ready!(poll_read(tls.as_mut(), cx, buf)) {
                // A peer that closes TCP without close_notify has closed; packets have lengths of their own.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
                other => Poll::Ready(other),
            },
            Stream::Compressed(compressed) => compressed.poll_read(cx, buf),
            Stream::Closed => Poll::Ready(Ok(0)),
        }
    }

    /// Writes some of `bytes`. What was taken may still need [`Self::poll_flush`].
    #[inline]
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
            Stream::Compressed(compressed) => compressed.poll_write(cx, bytes),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Hands all bytes taken so far to the kernel.
    #[inline]
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Closed => Poll::Ready(Ok(())),
            Stream::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
            Stream::Compressed(compressed) => compressed.poll_flush(cx),
        }
    }

    /// Ends the sending direction (close_notify first, on TLS).
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Closed => Poll::Ready(Ok(())),
            Stream::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
            Stream::Compressed(compressed) => {
                ready!(compressed.poll_flush(cx))?;
                compressed.inner_mut().poll_shutdown(cx)
            }
        }
    }

    /// Whether bytes that were taken may wait inside until they are flushed (never on a plain socket; a ring sends them
    /// by itself).
    #[inline]
    pub fn needs_flush(&self) -> bool {
        matches!(self, Stream::Tls(_) | Stream::Compressed(_))
    }

    /// Whether a password may travel here in clear: the link is encrypted, or does not leave the machine.
    pub fn is_secure(&self) -> bool {
        match self {
            Stream::Plain(Socket::Tcp(_) | Socket::Ring(_) | Socket::Parked(_)) | Stream::Closed => false,
            Stream::Plain(Socket::Unix(_)) | Stream::Tls(_) => true,
            Stream::Compressed(compressed) => compressed.inner().is_secure(),
        }
    }

    /// Whether bytes travel as they are over a unix socket.
    pub fn is_unix_socket(&self) -> bool {
        match self {
            Stream::Plain(Socket::Unix(_)) => true,
            Stream::Plain(Socket::Tcp(_) | Socket::Ring(_) | Socket::Parked(_))
            | Stream::Tls(_)
            | Stream::Closed => false,
            Stream::Compressed(compressed) => compressed.inner().is_unix_socket(),
        }
    }

    /// The TLS version and cipher in force, for logs; `None` without TLS.
    pub fn tls_version(&self) -> Option<&'static str> {
        match self {
            Stream::Plain(_) | Stream::Closed => None,
            Stream::Tls(tls) => match tls.get_ref().1.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_2) => Some("TLSv1.2"),
                _ => Some("TLSv1.3"),
            },
            Stream::Compressed(compressed) => compressed.inner().tls_version(),
        }
    }

    /// The compression in force; `None` without.
    pub fn compression(&self) -> Option<&'static str> {
        match self {
            Stream::Compressed(compressed) => Some(compressed.algorithm()),
            _ => None,
        }
    }

    /// Begins a command on a compressed connection: its frames are numbered from 0 again.
    #[inline]
    pub fn restart_sequence(&mut self) {
        if let Stream::Compressed(compressed) = self {
            compressed.restart_sequence();
        }
    }

    /// Puts a plain TCP connection on the thread's ring, if there is one; any other stays as it is. Nothing may wait
    /// to be sent on it. A socket that the runtime does not give back is closed.
    pub fn upgrade(&mut self) {
        if !matches!(self, Stream::Plain(Socket::Tcp(_))) || !ring::is_running() {
            return;
        }
        if let Stream::Plain(Socket::Tcp(tcp)) = self.take()
            && let Ok(tcp) = tcp.into_std()
        {
            *self = match RingSocket::new(tcp).map_err(TcpStream::from_std) {
                Ok(ring) => Stream::Plain(Socket::Ring(ring)),
                Err(Ok(tcp)) => Stream::Plain(Socket::Tcp(tcp)),
                Err(Err(_)) => Stream::Closed,
            };
        }
    }

    /// Whether a read is under way that hinders [`Self::park`]; [`Self::poll_still`] ends it.
    pub fn is_awaited(&self) -> bool {
        matches!(self, Stream::Plain(Socket::Ring(ring)) if ring.is_awaited())
    }

    /// Ready when no read is under way. What it has brought meanwhile is there to be read.
    pub fn poll_still(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Plain(Socket::Ring(ring)) => ring.poll_still(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Takes a connection off the thread's ring, so that it can be dropped on any thread and [`Self::take_up`] can make it
    /// another's; one that is not on a ring stays as it is. False: something of it is under way on the ring, so it must
    /// stay on this thread.
    pub fn park(&mut self) -> bool {
        if !matches!(self, Stream::Plain(Socket::Ring(_))) {
            return true;
        }
        let Stream::Plain(Socket::Ring(ring)) = self.take() else { return false };
        let (socket, parked) = match ring.into_socket() {
            Ok(socket) => (Socket::Parked(socket), true),
            Err(ring) => (Socket::Ring(ring), false),
        };
        *self = Stream::Plain(socket);
        parked
    }

    /// Makes the connection one of the calling thread, which its reads and writes then wake. `own`: its last use was on this
    /// thread. `ring`: a parked one goes to the thread's ring, if there is one, and else to the runtime. After an error it is
    /// of no use.
    ///
    /// # Errors
    /// When the system gives no second descriptor of the socket, or it is on another thread's ring.
    pub fn take_up(&mut self, own: bool, ring: bool) -> io::Result<()> {
        match self {
            Stream::Plain(Socket::Parked(_)) => {
                let Stream::Plain(Socket::Parked(tcp)) = self.take() else { return Ok(()) };
                *self = Stream::Plain(unparked(tcp, ring)?);
                Ok(())
            }
            _ if own => Ok(()),
            Stream::Closed => Ok(()),
            Stream::Plain(socket) => socket.rehome(),
            Stream::Tls(tls) => match tls.as_mut() {
                TlsStream::Client(tls) => tls.get_mut().0.socket.rehome(),
                TlsStream::Server(tls) => tls.get_mut().0.socket.rehome(),
            },
            Stream::Compressed(compressed) => compressed.inner_mut().take_up(own, ring),
        }
    }

    /// Whether the peer has neither sent anything nor closed, by one look at the socket. For connections that owe no
    /// answer: what is there then is an error said unasked, or the end.
    pub fn is_quiet(&self) -> bool {
        match self {
            Stream::Closed => false,
            Stream::Plain(socket) => socket.is_quiet(),
            Stream::Tls(tls) => tls.get_ref().0.socket.is_quiet(),
            Stream::Compressed(compressed) => compressed.inner().is_quiet(),
        }
    }

    /// Lends the connection out, leaving [`Stream::Closed`] behind.
    pub fn take(&mut self) -> Stream {
        std::mem::replace(self, Stream::Closed)
    }

    /// Answers on a compressed connection: its frames are numbered on from the peer's last one.
    #[inline]
    pub fn follow_sequence(&mut self) {
        if let Stream::Compressed(compressed) = self {
            compressed.follow_sequence();
        }
    }

    /// Takes the server's part of a TLS handshake; `early` are bytes that were already read from the socket.
    pub async fn accept_tls(self, early: Vec<u8>, config: Arc<rustls::ServerConfig>) -> io::Result<Stream> {
        let io = Prefixed { early, socket: self.into_socket()? };
        let tls = TlsAcceptor::from(config).accept(io).await?;
        Ok(Stream::Tls(Box::new(TlsStream::Server(tls))))
    }

    /// Takes the client's part of a TLS handshake.
    pub async fn connect_tls(
        self,
        name: ServerName<'static>,
        config: Arc<rustls::ClientConfig>,
    ) -> io::Result<Stream> {
        let io = Prefixed { early: Vec::new(), socket: self.into_socket()? };
        let tls = TlsConnector::from(config).connect(name, io).await?;
        Ok(Stream::Tls(Box::new(TlsStream::Client(tls))))
    }

    /// Puts compression on top; `early` are bytes that were already read.
    pub fn compressed(self, algorithm: Algorithm, early: Vec<u8>) -> io::Result<Stream> {
        Ok(Stream::Compressed(Box::new(Compressed::new(self, algorithm, early)?)))
    }

    fn into_socket(self) -> io::Result<Socket> {
        match self {
            Stream::Plain(socket) => Ok(socket),
            _ => Err(io::Error::other("TLS can only begin on a plain connection")),
        }
    }
}

impl Socket {
    fn rehome(&mut self) -> io::Result<()> {
        // The old descriptor is dropped, and with it what its runtime knows of the socket.
        *self = match self {
            Socket::Tcp(tcp) => {
                let second = tcp.as_fd().try_clone_to_owned()?;
                Socket::Tcp(TcpStream::from_std(second.into())?)
            }
            Socket::Unix(unix) => {
                let second = unix.as_fd().try_clone_to_owned()?;
                Socket::Unix(UnixStream::from_std(second.into())?)
            }
            Socket::Ring(_) | Socket::Parked(_) => {
                return Err(io::Error::other("a socket on a ring stays on its thread"));
            }
        };
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let socket = match self {
            Socket::Tcp(tcp) => SockRef::from(tcp),
            Socket::Unix(unix) => SockRef::from(unix),
            Socket::Parked(tcp) => SockRef::from(tcp),
            Socket::Ring(_) => return true,
        };
        // A parked one waits where it is read.
        let looked = socket.recv_with_flags(&mut byte, libc::MSG_PEEK | libc::MSG_DONTWAIT);
        matches!(looked, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Makes a parked socket one of this thread.
fn unparked(tcp: std::net::TcpStream, ring: bool) -> io::Result<Socket> {
    let tcp = if ring {
        match RingSocket::of_blocking(tcp) {
            Ok(ring) => return Ok(Socket::Ring(ring)),
            Err(tcp) => tcp,
        }
    } else {
        tcp
    };
    tcp.set_nonblocking(true)?;
    Ok(Socket::Tcp(TcpStream::from_std(tcp)?))
}

/// What a socket says that nobody has taken up.
fn parked<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

/// A socket in front of which bytes were read that belong to TLS: a client sends its hello right behind the
/// SSLRequest packet. Whatever stands there is fed to TLS and to nothing else, so that bytes put in ahead of the
/// handshake are never taken for a command (trap P12).
#[derive(Debug)]
pub struct Prefixed {
    early: Vec<u8>,
    socket: Socket,
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, buf);
        }
        let n = self.early.len().min(buf.remaining());
        buf.put_slice(&self.early[..n]);
        self.early.drain(..n);
        if self.early.is_empty() {
            self.early = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Socket::Ring(ring) => {
                let read = ready!(ring.poll_read(cx, buf.initialize_unfilled()))?;
                buf.advance(read);
                Poll::Ready(Ok(()))
            }
            Socket::Unix(unix) => Pin::new(unix).poll_read(cx, buf),
            Socket::Parked(_) => parked(),
        }
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Socket::Ring(ring) => ring.poll_write(cx, bytes),
            Socket::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            Socket::Parked(_) => parked(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Ring(ring) => ring.poll_flush(cx),
            Socket::Tcp(_) | Socket::Unix(_) => Poll::Ready(Ok(())),
            Socket::Parked(_) => parked(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Ring(ring) => ring.poll_shutdown(cx),
            Socket::Unix(unix) => Pin::new(unix).poll_shutdown(cx),
            Socket::Parked(_) => parked(),
        }
    }
}

#[inline]
fn poll_read<S: AsyncRead + Unpin>(
    source: &mut S,
    cx: &mut Context<'_>,
    buf: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buf = ReadBuf::new(buf);
    ready!(Pin::new(source).poll_read(cx, &mut buf))?;
    Poll::Ready(Ok(buf.filled().len()))
}
