//! The PROXY protocol header, versions 1 and 2, as a pure function of bytes.
//!
//! Source: "The PROXY protocol, versions 1 & 2" (HAProxy, `doc/proxy-protocol.txt`). Whether a peer may send a header at
//! all is decided by the caller from the peer's own address: a header is a claim, and only listed sources are believed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest version 1 header including CR LF (section 2.1: "107 chars").
const V1_MAX_BYTES: usize = 107;

/// Most bytes of extension fields (TLVs) taken behind the addresses of version 2. The protocol would allow 64 KiB from a
/// peer that has not logged in; real senders use tens of bytes, a few hundred with TLS details.
pub const V2_MAX_TLV_BYTES: usize = 1024;

const V1_PREFIX: &[u8] = b"PROXY ";
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family and protocol, length.
const V2_FIXED_BYTES: usize = 16;
/// Two paths of `sun_path` size, the longest address block there is.
const V2_UNIX_BYTES: usize = 216;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// So far this may become a header: read more. Never returned for
    /// [`MAX_HEADER_BYTES`] bytes or more.
    Incomplete,
    /// A whole header.
    Header {
        /// Its length in bytes; what follows belongs to the next protocol.
        len: usize,
        /// The client's address as the sender gives it. `None` when it gives none that names a host: version 1
        /// `UNKNOWN`, version 2 `LOCAL`, unspecified, or a Unix socket. Then the peer's own address stays.
        source: Option<SocketAddr>,
    },
    /// These bytes do not begin with the mark of either version.
    NotProxy,
    /// It begins like a header and is none; close the connection. The text says what is wrong and quotes nothing.
    Malformed(&'static str),
}

/// No header that [`parse`] accepts is longer, in bytes: a buffer of this size always leads to a verdict.
pub const MAX_HEADER_BYTES: usize = V2_FIXED_BYTES + V2_UNIX_BYTES + V2_MAX_TLV_BYTES;

/// Looks for a PROXY header at the start of `bytes`, which may be any prefix of what the peer has sent. The verdict on a
/// prefix never contradicts the verdict on more bytes: once not [`Parsed::Incomplete`], it stays.
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    if begins_like(bytes, V1_PREFIX) {
        parse_v1(bytes)
    } else if begins_like(bytes, V2_SIGNATURE) {
        parse_v2(bytes)
    } else {
        Parsed::NotProxy
    }
}

fn begins_like(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(byte, expected)| byte == expected)
}

fn parse_v1(bytes: &[u8]) -> Parsed {
    let window = bytes.get(..V1_MAX_BYTES).unwrap_or(bytes);
    let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
        if bytes.len() >= V1_MAX_BYTES {
            return Parsed::Malformed("version 1 header longer than 107 bytes");
        }
        return Parsed::Incomplete;
    };
    let line = window.get(V1_PREFIX.len()..end).and_then(|line| line.strip_suffix(b"\r"));
    let Some(line) = line else {
        return Parsed::Malformed("version 1 header not ended by CR LF");
    };
    match parse_v1_line(line) {
        Ok(source) => Parsed::Header { len: end + 1, source },
        Err(reason) => Parsed::Malformed(reason),
    }
}

/// `line` is what stands between `PROXY ` and CR LF.
fn parse_v1_line(line: &[u8]) -> Result<Option<SocketAddr>, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "version 1 header is not text")?;
    let mut words = text.split(' ');
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        // Whatever follows must be ignored (section 2.1): trusting it was CVE-2026-48772 elsewhere.
        return Ok(None);
    }
    let (Some(source), Some(destination), Some(source_port), Some(destination_port), None) =
        (words.next(), words.next(), words.next(), words.next(), words.next())
    else {
        return Err("version 1 header without two addresses and two ports");
    };
    let (source, destination): (IpAddr, IpAddr) = match family {
        "TCP4" => (parse_ip::<Ipv4Addr>(source)?, parse_ip::<Ipv4Addr>(destination)?),
        "TCP6" => (parse_ip::<Ipv6Addr>(source)?, parse_ip::<Ipv6Addr>(destination)?),
        _ => return Err("version 1 header of an unknown family"),
    };
    let source_port = parse_port(source_port)?;
    // The destination is not used, but a header with a broken one was not written by a sane sender.
    let _ = (destination, parse_port(destination_port)?);
    Ok(Some(SocketAddr::new(source, source_port)))
}

fn parse_ip<T: std::str::FromStr + Into<IpAddr>>(text: &str) -> Result<IpAddr, &'static str> {
    text.parse::<T>().map(Into::into).map_err(|_| "version 1 header with an impossible address")
}

/// Decimal, 0 to 65535, no sign and no leading zero.
fn parse_port(text: &str) -> Result<u16, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    match text.parse() {
        Ok(port) if plain => Ok(port),
        _ => Err("version 1 header with an impossible port"),
    }
}

fn parse_v2(bytes: &[u8]) -> Parsed {
    // Each fixed byte is judged as soon as it is there, so that nonsense is not waited for.
    let command = match bytes.get(12) {
        None => return Parsed::Incomplete,
        Some(0x20) => Command::Local,
        Some(0x21) => Command::Proxy,
        Some(byte) if byte >> 4 != 2 => return Parsed::Malformed("version 2 signature with another version"),
        Some(_) => return Parsed::Malformed("version 2 header with an unknown command"),
    };
    let family = match bytes.get(13) {
        None => return Parsed::Incomplete,
        Some(&byte) => match Family::from_byte(byte, command) {
            Ok(family) => family,
            Err(reason) => return Parsed::Malformed(reason),
        },
    };
    let (Some(&high), Some(&low)) = (bytes.get(14), bytes.get(15)) else { return Parsed::Incomplete };
    let body_len = usize::from(u16::from_be_bytes([high, low]));
    if body_len < family.address_bytes() {
        return Parsed::Malformed("version 2 header too short for its addresses");
    }
    if body_len > family.address_limit() + V2_MAX_TLV_BYTES {
        return Parsed::Malformed("version 2 header longer than the limit");
    }
    let len = V2_FIXED_BYTES + body_len;
    let Some(body) = bytes.get(V2_FIXED_BYTES..len) else { return Parsed::Incomplete };
    match family.read(body) {
        Ok(source) => Parsed::Header { len, source },
        Err(reason) => Parsed::Malformed(reason),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    /// The sender speaks for itself (a health check): the connection's own addresses hold, whatever the body says.
    Local,
    /// The sender speaks for a client.
    Proxy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// `LOCAL`, or an unspecified family: the body is skipped unread.
    Skipped,
    Tcp4,
    Tcp6,
    Unix,
}

impl Family {
    fn from_byte(byte: u8, command: Command) -> Result<Self, &'static str> {
        match (command, byte) {
            (Command::Local, _) | (Command::Proxy, 0x00) => Ok(Self::Skipped),
            (Command::Proxy, 0x11) => Ok(Self::Tcp4),
            (Command::Proxy, 0x21) => Ok(Self::Tcp6),
            (Command::Proxy, 0x31) => Ok(Self::Unix),
            (Command::Proxy, 0x12 | 0x22 | 0x32) => Err("version 2 header of a datagram"),
            (Command::Proxy, _) => Err("version 2 header of an unknown family"),
        }
    }

    /// Bytes that the addresses take.
    fn address_bytes(self) -> usize {
        match self {
            Self::Skipped => 0,
            Self::Tcp4 => 12,
            Self::Tcp6 => 36,
            Self::Unix => V2_UNIX_BYTES,
        }
    }

    /// Bytes that addresses may take: a skipped body may hold those of any family.
    fn address_limit(self) -> usize {
        match self {
            Self::Skipped => V2_UNIX_BYTES,
            known => known.address_bytes(),
        }
    }

    fn read(self, body: &[u8]) -> Result<Option<SocketAddr>, &'static str> {
        if self == Self::Skipped {
            return Ok(None);
        }
        check_tlvs(body.get(self.address_bytes()..).unwrap_or_default())?;
        Ok(match self {
            Self::Tcp4 => read_source::<4>(body).map(|(ip, port)| (Ipv4Addr::from(ip), port).into()),
            Self::Tcp6 => read_source::<16>(body).map(|(ip, port)| (Ipv6Addr::from(ip), port).into()),
            Self::Unix | Self::Skipped => None,
        })
    }
}

/// Source address, destination address, source port, destination port.
fn read_source<const N: usize>(body: &[u8]) -> Option<([u8; N], u16)> {
    let ip = body.first_chunk::<N>()?;
    let port = body.get(2 * N..)?.first_chunk::<2>()?;
    Some((*ip, u16::from_be_bytes(*port)))
}

/// Extension fields: type, two bytes of length, value. Their contents are not used (the CRC32c field is optional to
/// honour); that they fill their room exactly is checked, because a sender that gets this wrong got the length wrong.
fn check_tlvs(mut rest: &[u8]) -> Result<(), &'static str> {
    while let Some((_, after_type)) = rest.split_first() {
        let after_value = after_type.split_first_chunk::<2>().and_then(|(length, value)| {
            let length = usize::from(u16::from_be_bytes(*length));
            value.get(length..)
        });
        rest = after_value.ok_or("version 2 header with an extension field that overruns it")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
