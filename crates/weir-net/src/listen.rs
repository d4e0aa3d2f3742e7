//! Binding the sockets that clients connect to.

use std::fs::{self, File, Permissions};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Connections that may wait to be accepted. The kernel bounds it by `net.core.somaxconn` (4096 since Linux 5.4); a
/// burst of reconnecting applications is larger than mysqld's own `back_log` of 80 to 65,535 foresees by default.
pub const BACKLOG: i32 = 4096;

/// Longest path of a Unix socket on Linux, in bytes (`sun_path` less the final NUL; unix(7)).
pub const MAX_UNIX_PATH_BYTES: usize = 107;

/// Why a listening socket could not be had; each message says what to do, and what the system said: none has a source beside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The host name has no address.
    #[error(
        "cannot listen on {host}:{port}: the name cannot be resolved: {why}; use an address, or * for all"
    )]
    Resolve {
        /// Host as configured.
        host: String,
        /// Port as configured.
        port: u16,
        /// The resolver's answer.
        why: io::Error,
    },
    /// The kernel refused a TCP address.
    #[error("cannot listen on {address}: {why}; {advice}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// The kernel's answer.
        why: io::Error,
        /// What to do about it.
        advice: &'static str,
    },
    /// A server is already answering on the Unix socket.
    #[error("cannot listen on unix:{}: another process answers on it; stop that process or choose another path", .path.display())]
    SocketInUse {
        /// The path.
        path: PathBuf,
    },
    /// Something that is not a socket is in the way.
    #[error("cannot listen on unix:{}: a file that is not a socket is there and Weir does not remove it; choose another path", .path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The path does not fit into a socket address.
    #[error("cannot listen on unix:{}: the path has {length} bytes, a socket path at most {MAX_UNIX_PATH_BYTES}; choose a shorter one", .path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The file system or kernel refused the Unix socket.
    #[error("cannot listen on unix:{}: cannot {action}: {why}; check that the directory exists and that the user Weir runs as may write to it", .path.display())]
    Unix {
        /// The path.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's answer.
        why: io::Error,
    },
}

/// A bound Unix socket. Keep `file` as long as the listener is in use: dropping it removes the socket file.
#[derive(Debug)]
pub struct BoundUnix {
    /// The listener, nonblocking.
    pub listener: UnixListener,
    /// The file it is reached by.
    pub file: SocketFile,
}

/// The file of a Unix socket, removed on drop unless something else has taken its place meanwhile.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Listens on TCP. `host` is a name, an IPv4 or IPv6 address (with or without brackets), or `*` for all addresses; `::`
/// takes IPv4 as well, as mysqld's `bind_address` does. Port 0 lets the kernel choose.
///
/// A name with several addresses gives one listener each, all on the same port; an address that this machine does not
/// have is passed over as long as another one works. The listeners are nonblocking and have `SO_REUSEADDR`, so that a
/// restart is not held up by connections in TIME_WAIT.
///
/// # Errors
/// [`ListenError::Resolve`] and [`ListenError::Tcp`].
pub fn bind_tcp(host: &str, port: u16) -> Result<Vec<TcpListener>, ListenError> {
    if host == "*" {
        return bind_all_addresses(port);
    }
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut absent = None;
    let mut port = port;
    for mut address in resolve(host, port)? {
        address.set_port(port);
        match listen_tcp(address) {
            Ok(listener) => {
                port = listener.local_addr().map_or(port, |bound| bound.port());
                listeners.push(listener);
            }
            Err(source) if is_absent(&source) => absent = Some(tcp_error(address, source)),
            Err(source) => return Err(tcp_error(address, source)),
        }
    }
    match absent {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

/// Listens on a Unix socket at `path`, nonblocking, with mode 0777 as mysqld: who may log in is decided by accounts.
///
/// A socket file left by a process that died is removed, but only if nobody answers on it. The directory is locked
/// while that is decided, so two processes starting at once do not take it from each other.
///
/// # Errors
/// All of [`ListenError`] that concern Unix sockets.
pub fn bind_unix(path: &Path) -> Result<BoundUnix, ListenError> {
    bind_unix_with_mode(path, 0o777)
}

/// As [`bind_unix`], for those whom the file's mode lets in: `mode` is that of open(2). Before it is set, nobody but the
/// process's own user and who the umask lets may connect.
///
/// # Errors
/// As [`bind_unix`].
pub fn bind_unix_with_mode(path: &Path, mode: u32) -> Result<BoundUnix, ListenError> {
    let length = path.as_os_str().len();
    if length > MAX_UNIX_PATH_BYTES {
        return Err(ListenError::PathTooLong { path: path.to_owned(), length });
    }
    let failed = |action| move |why| ListenError::Unix { path: path.to_owned(), action, why };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let lock = File::open(directory).map_err(failed("open its directory"))?;
    lock.lock().map_err(failed("lock its directory"))?;
    remove_stale(path)?;
    let listener = listen_unix(path).map_err(failed("create it"))?;
    let file = SocketFile::adopt(path).map_err(failed("find it again"))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("set its mode"))?;
    Ok(BoundUnix { listener, file })
}

impl SocketFile {
    fn adopt(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Where clients reach the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = |found: &fs::Metadata| found.dev() == self.device && found.ino() == self.inode;
        if fs::symlink_metadata(&self.path).is_ok_and(|found| ours(&found)) {
            // Nothing better can be done on the way out; the next start finds the file stale and removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind_all_addresses(port: u16) -> Result<Vec<TcpListener>, ListenError> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match listen_tcp(both) {
        Ok(listener) => Ok(vec![listener]),
        // A kernel without IPv6.
        Err(source) if is_absent(&source) => bind_tcp("0.0.0.0", port),
        Err(source) => Err(tcp_error(both, source)),
    }
}

fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, ListenError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |why| ListenError::Resolve { host: host.to_owned(), port, why };
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in (bare, port).to_socket_addrs().map_err(failed)? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
    }
    Ok(addresses)
}

fn listen_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from(OwnedFd::from(socket)))
}

/// This machine has no such address, or no such family at all.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

fn tcp_error(address: SocketAddr, source: io::Error) -> ListenError {
    let advice = match source.kind() {
        io::ErrorKind::AddrInUse => {
            "stop the process that listens there (find it with: ss -ltnp) or choose another port, in [listen] of the file or with --listen and --admin"
        }
        io::ErrorKind::AddrNotAvailable => "this machine has no such address (list them with: ip address)",
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose a port above"
        }
        _ => "check the address",
    };
    ListenError::Tcp { address, why: source, advice }
}

fn remove_stale(path: &Path) -> Result<(), ListenError> {
    let failed = |action| move |why| ListenError::Unix { path: path.to_owned(), action, why };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at its path")(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ListenError::NotASocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    if answers(path).map_err(failed("find out whether the old socket there is in use"))? {
        return Err(ListenError::SocketInUse { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(failed("remove the stale socket there"))
}

/// Whether a process listens on the socket. A full queue counts as an answer, so the attempt never blocks.
fn answers(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(false),
            io::ErrorKind::WouldBlock => Ok(true),
            _ => Err(error),
        },
    }
}

fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(UnixListener::from(OwnedFd::from(socket)))
}

#[cfg(test)]
mod tests;
