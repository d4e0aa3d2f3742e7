//! KILL: ids mapped, and connections made to end what a vanished client left running.

use crate::session::Session;
use tokio::time::timeout;
use weir_pool::{ConnectError, LoginRequest, login_beside};
use weir_wire::caps;
use weir_wire::command::{self, PROCESS_KILL};
use weir_wire::frame::put_packet;

/// utf8mb4_general_ci.
const UTF8MB4: u8 = 45;

impl Session {
    /// COM_PROCESS_KILL with the server's id in place of one of Weir's. The server checks that the killer may.
    pub(crate) fn map_process_kill(&self, body: &[u8]) -> Option<Vec<u8>> {
        let id = u32::from_le_bytes(*body.first_chunk()?);
        let mapped = self.worker.shared.registry.server_id(u64::from(id), self.server.place)?;
        let mut payload = vec![PROCESS_KILL];
        payload.extend_from_slice(&mapped.to_le_bytes());
        let mut packet = Vec::new();
        put_packet(&mut packet, 0, &payload);
        Some(packet)
    }

    /// Kills this session's server connection through a connection of its own, logged in as the same user: an
    /// account may always kill its own. It stands beside the limit of the clients' connections (`limits.max_kills`
    /// bounds it), for what vanished clients left running may be what fills that. Gives up after
    /// `limits.server_connect_timeout`.
    pub(crate) async fn kill_own(&self) {
        let killed = timeout(self.limits.server_connect_timeout, self.kill_beside()).await;
        let why = match killed {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no time left (limits.server_connect_timeout)".to_owned(),
        };
        tracing::warn!(event = "kill_failed", server_connection = self.server.id, %why,
            "could not end what a client left running; closing its connection");
    }

    async fn kill_beside(&self) -> Result<(), ConnectError> {
        let _turn = self.worker.kills.acquire().await;
        let request = LoginRequest {
            user: self.identity.user.clone(),
            secret: self.secret.clone(),
            database: None,
            caps: caps::PROTOCOL_41 | caps::TRANSACTIONS,
            max_packet: 1 << 24,
            charset: UTF8MB4,
            attributes: None,
        };
        let mut killer =
            login_beside(&self.worker.shared.upstream, &request, Some(self.server.place)).await?;
        self.worker.stats().kill_sent();
        let mut payload = vec![command::QUERY];
        payload.extend_from_slice(format!("KILL {}", self.server.id).as_bytes());
        let mut packets = weir_net::PacketStream::new(killer.stream.take(), killer.early, 1 << 16);
        packets.set_seq(0);
        // Whatever the server answers (1094: the statement ended by itself), there is nothing left to do.
        if packets.write(&payload).await.is_ok() {
            let _ = packets.read().await;
        }
        crate::close::quit_server(&mut packets.into_parts().0).await;
        Ok(())
    }
}
