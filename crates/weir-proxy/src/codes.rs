//! Numbers of the servers' errors that Weir gives, or knows, in more than one place.

/// ER_SPECIFIC_ACCESS_DENIED_ERROR.
pub(crate) const SPECIFIC_ACCESS_DENIED: u16 = 1227;
/// ER_NET_PACKET_TOO_LARGE.
pub(crate) const PACKET_TOO_LARGE: u16 = 1153;
/// ER_QUERY_INTERRUPTED.
pub(crate) const QUERY_INTERRUPTED: u16 = 1317;
/// ER_MALFORMED_PACKET.
pub(crate) const MALFORMED_PACKET: u16 = 1835;
