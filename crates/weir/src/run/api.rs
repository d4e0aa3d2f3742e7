//! The side of a running Weir that its API shows: what stands behind the admin address, and who listens there.

use crate::control::{AskedReload, Keeper, Live};
use crate::logging::LostLines;
use crate::metrics;
use crate::pulse::Pulse;
use anyhow::{Result, bail};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use weir_admin::{Access, AdminState};
use weir_config::Address;
use weir_net::{BoundUnix, SocketFile, bind_tcp, bind_unix_with_mode};
use weir_proxy::Shared;
use weir_stats::Readiness;
use weir_store::History;

/// The mode of an admin socket. Whoever may connect there still needs a token, but for root and the user that Weir runs as.
const ADMIN_SOCKET: u32 = 0o660;

/// What the API tells of and acts on.
pub struct Api {
    pub shared: Arc<Shared>,
    pub readiness: Arc<Readiness>,
    pub keeper: Arc<Keeper>,
    pub access: Arc<Access>,
    pub history: Option<Arc<History>>,
    /// Where a reload is asked for.
    pub ask_reload: mpsc::Sender<AskedReload>,
    pub pulse: Arc<Pulse>,
    pub lost_lines: LostLines,
}

impl Api {
    /// Serves it at an address until it is told to stop.
    pub fn listen(
        self,
        address: &Address,
        stopped: watch::Receiver<bool>,
        tasks: &mut JoinSet<()>,
        sockets: &mut Vec<SocketFile>,
    ) -> Result<()> {
        serve(address, self.state(), stopped, tasks, sockets)
    }

    fn state(self) -> Arc<AdminState> {
        let (shown, recorded, lost) = (Arc::clone(&self.shared), self.history.clone(), self.lost_lines);
        AdminState::new(
            Arc::clone(&self.shared.stats),
            self.readiness,
            env!("CARGO_PKG_VERSION"),
            SystemTime::now(),
            Box::new(move || metrics::all(&shown, recorded.as_deref(), &lost)),
            Arc::new(Live::new(self.shared, self.keeper, self.ask_reload, self.history, self.pulse)),
            self.access,
        )
    }
}

fn serve(
    address: &Address,
    state: Arc<AdminState>,
    stopped: watch::Receiver<bool>,
    tasks: &mut JoinSet<()>,
    sockets: &mut Vec<SocketFile>,
) -> Result<()> {
    let shutdown = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which is the end as well.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    match address {
        Address::Tcp { host, port } => {
            for listener in bind_tcp(host, *port)? {
                let listener = TcpListener::from_std(listener)?;
                let bound = listener.local_addr()?.ip().to_canonical();
                if !bound.is_loopback() {
                    bail!(
                        "listen.admin: {host} is {bound} on this machine, and tokens would go there in clear; use 127.0.0.1"
                    );
                }
                tasks.spawn(weir_admin::serve(listener, Arc::clone(&state), shutdown(stopped.clone())));
            }
        }
        Address::Unix(path) => {
            let BoundUnix { listener, file } = bind_unix_with_mode(path, ADMIN_SOCKET)?;
            sockets.push(file);
            let listener = UnixListener::from_std(listener)?;
            tasks.spawn(weir_admin::serve(listener, state, shutdown(stopped)));
        }
    }
    Ok(())
}
