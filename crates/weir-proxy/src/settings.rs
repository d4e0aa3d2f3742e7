//! The part of the configuration that the data plane reads, as one value that a reload exchanges.

use crate::users::Users;
use std::collections::HashSet;
use std::sync::Arc;
use weir_config::IpNet;
use weir_model::Limits;

/// What holds for connections that begin now.
#[derive(Debug)]
pub struct Settings {
    pub limits: Arc<Limits>,
    pub users: Users,
    pub passthrough: bool,
    /// Pass-through users that may use replication commands.
    pub replication_users: HashSet<Vec<u8>>,
    /// Sources that may send a PROXY header.
    pub proxy_protocol: Vec<IpNet>,
    /// TLS towards clients.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// `tls` is of a certificate that Weir made, with nothing from files in it.
    pub self_signed: bool,
    pub require_tls: bool,
}
