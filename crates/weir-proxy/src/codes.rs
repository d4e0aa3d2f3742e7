//! Numbers of the servers' errors that Weir gives, or knows, in more than one place.

/// ER_SPECIFIC_ACCESS_DENIED_ERROR.
pub(crate) const SPECIFIC_ACCESS_DENIED: u16 = 1227;
/// ER_USER_LIMIT_REACHED: what the servers say where an account has used up what it may have in an hour. Clients keep the
/// connection. Of Weir it tells that a rule's limit is reached.
pub(crate) const LIMIT_REACHED: u16 = 1226;
/// ER_NET_PACKET_TOO_LARGE.
pub(crate) const PACKET_TOO_LARGE: u16 = 1153;
/// ER_QUERY_INTERRUPTED.
pub(crate) const QUERY_INTERRUPTED: u16 = 1317;
/// ER_MALFORMED_PACKET.
pub(crate) const MALFORMED_PACKET: u16 = 1835;
