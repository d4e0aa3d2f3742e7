//! Step 1: who is there. The peer's address, from the socket or from a PROXY header it may send.

use crate::settings::Settings;
use std::net::{IpAddr, SocketAddr};
use weir_model::CloseReason;
use weir_net::{PacketStream, Stream};
use weir_wire::proxy_header::{self, Parsed};

/// A connection that a listener took.
#[derive(Debug)]
pub struct Accepted {
    pub stream: Stream,
    /// `None` for a unix socket.
    pub peer: Option<SocketAddr>,
}

/// A client whose address is settled.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub packets: PacketStream,
    pub peer: Option<SocketAddr>,
}

/// The host as MySQL writes it in errors; a unix socket is `localhost`.
pub(crate) fn host(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "localhost".to_owned(), |peer| peer.ip().to_canonical().to_string())
}

/// Reads a PROXY header where the peer may send one. From such a peer it must come (trap P13: what a peer that is
/// not listed sends is never taken for one).
pub(crate) async fn accept(accepted: Accepted, settings: &Settings) -> Result<Arrived, CloseReason> {
    let Accepted { stream, peer } = accepted;
    let mut packets = PacketStream::new(stream, Vec::new(), settings.limits.login_bytes);
    let Some(address) = peer.filter(|peer| may_send_header(settings, peer.ip())) else {
        return Ok(Arrived { packets, peer });
    };
    loop {
        match proxy_header::parse(packets.held()) {
            Parsed::Header { len, source } => {
                packets.discard(len);
                return Ok(Arrived { packets, peer: source.or(Some(address)) });
            }
            Parsed::Incomplete => {
                let n = packets.fill().await.map_err(|_| CloseReason::ClientIo)?;
                if n == 0 {
                    return Err(CloseReason::ClientGone);
                }
            }
            Parsed::NotProxy => {
                tracing::warn!(event = "proxy_header", peer = %address, "no PROXY header from a source that must send one");
                return Err(CloseReason::ProxyHeader);
            }
            Parsed::Malformed(what) => {
                tracing::warn!(event = "proxy_header", peer = %address, what, "malformed PROXY header");
                return Err(CloseReason::ProxyHeader);
            }
        }
    }
}

fn may_send_header(settings: &Settings, peer: IpAddr) -> bool {
    let peer = peer.to_canonical();
    settings.proxy_protocol.iter().any(|net| net.contains(peer))
}
