//! A reload of `[pool]` while clients work on shared connections: each key takes hold, and no statement fails of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::task::JoinHandle;

use crate::kit::*;
use crate::sharing_kit::*;

const OK: &str = "weir_config_reloads_total{result=\"ok\"}";

/// A Weir, and clients that work all the while.
struct Field {
    weir: Weir,
    address: String,
    admin: Client,
    /// Of the sessions in `database`.
    pooled: String,
    database: &'static str,
    over: Arc<AtomicBool>,
    ran: Arc<AtomicU32>,
    working: Vec<JoinHandle<()>>,
    reloads: f64,
}

impl Field {
    async fn open(server: &Server, database: &'static str, connections: u32, pool: &str) -> Self {
        Self::open_with(server, database, connections, pool, false).await
    }

    /// If `pinned`, each of those who work keeps a connection.
    async fn open_with(
        server: &Server,
        database: &'static str,
        connections: u32,
        pool: &str,
        pinned: bool,
    ) -> Self {
        crate::sharing_kit::database(server, database, &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, connections, pool, "");
        let admin = app(server.addr()).connect().await.unwrap();
        let mut field = Self {
            weir,
            address: server.addr().to_string(),
            admin,
            pooled: format!("FROM information_schema.PROCESSLIST WHERE DB = '{database}'"),
            database,
            over: Arc::default(),
            ran: Arc::default(),
            working: Vec::new(),
            reloads: 0.0,
        };
        for me in 0..4 {
            let mut client = field.client().await;
            if pinned {
                client.run(&format!("SELECT GET_LOCK('{database}{me}', 0)")).await.unwrap();
            }
            let (over, ran) = (Arc::clone(&field.over), Arc::clone(&field.ran));
            field.working.push(tokio::spawn(async move {
                client.run(&format!("SET @me = {me}")).await.unwrap();
                let id = client.prepare("SELECT CONCAT('x', @me)").await.unwrap().id;
                while !over.load(Ordering::Relaxed) {
                    assert_eq!(row(&mut client, "SELECT @me, SLEEP(0.002)").await, format!("{me}|0"));
                    let response = execute(&mut client, id, &[], true).await;
                    assert_eq!(response.err(), None);
                    let told = response.rows().next().unwrap();
                    assert!(told.ends_with(format!("x{me}").as_bytes()), "{told:?}");
                    client.run("INSERT INTO t VALUES (@me)").await.unwrap();
                    ran.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        field.all_go_on().await;
        field
    }

    async fn client(&self) -> Client {
        client(&self.weir, self.database).await
    }

    /// While those who work may have to wait for others.
    async fn reload_alone(&mut self, connections: u32, pool: &str) {
        self.weir.reload(&sharing_config(&self.address, connections, pool, "")).unwrap();
        self.reloads += 1.0;
        until(OK, async || (metric(&self.weir, OK).await == self.reloads).then_some(())).await;
    }

    async fn reload(&mut self, connections: u32, pool: &str) {
        self.reload_alone(connections, pool).await;
        self.all_go_on().await;
    }

    /// Each has run something since.
    async fn all_go_on(&self) {
        let then = self.ran.load(Ordering::Relaxed);
        until("they go on", async || {
            assert!(!self.working.iter().any(JoinHandle::is_finished), "a statement failed, as told above");
            (self.ran.load(Ordering::Relaxed) >= then + 12).then_some(())
        })
        .await;
    }

    /// How many server connections there are.
    async fn pooled(&mut self) -> u32 {
        row(&mut self.admin, &format!("SELECT COUNT(*) {}", self.pooled)).await.parse().unwrap()
    }

    async fn until_pooled(&mut self, what: &str, fits: impl Fn(u32) -> bool) {
        until(what, async || fits(self.pooled().await).then_some(())).await;
    }

    async fn close(self) {
        self.over.store(true, Ordering::Relaxed);
        for client in self.working {
            client.await.unwrap();
        }
    }
}

/// Keeps a connection.
async fn hold(client: &mut Client) {
    client.run("BEGIN").await.unwrap();
    client.run("SELECT COUNT(*) FROM t").await.unwrap();
}

#[tokio::test]
async fn more_and_fewer_connections_take_hold_at_once() {
    for (flavor, server) in &both() {
        let pool = "pinned_share = 100\nqueue_timeout = \"50s\"\n";
        let mut field = Field::open(server, "sh_rl_max", 3, pool).await;
        let mut holders = [field.client().await, field.client().await];
        for holder in &mut holders {
            hold(holder).await;
        }
        let mut third = field.client().await;
        let mut fourth = field.client().await;
        assert!(field.pooled().await <= 3, "{flavor:?}");
        // More: two others have one of their own, and there is one left for those who work.
        field.reload(5, pool).await;
        hold(&mut third).await;
        hold(&mut fourth).await;
        field.all_go_on().await;
        field.until_pooled("five are open", |count| count == 5).await;
        // Fewer: whoever has one keeps it until his transaction is over.
        field.reload_alone(2, pool).await;
        for client in holders.iter_mut().chain([&mut third, &mut fourth]) {
            assert_eq!(row(client, "SELECT 'kept'").await, "kept", "{flavor:?}");
        }
        for client in holders.iter_mut().chain([&mut third, &mut fourth]) {
            client.run("COMMIT").await.unwrap();
        }
        for client in holders.iter_mut().chain([&mut third, &mut fourth]) {
            client.run("DELETE FROM t WHERE i = 1000").await.unwrap();
        }
        field.until_pooled("two are left", |count| count <= 2).await;
        for _ in 0..5 {
            field.all_go_on().await;
            assert!(field.pooled().await <= 2, "{flavor:?}");
        }
        field.close().await;
    }
}

#[tokio::test]
async fn sharing_begins_with_those_who_log_in_after_it() {
    for (flavor, server) in &both() {
        let own = "sharing = \"session\"\nqueue_timeout = \"50s\"\n";
        let mut field = Field::open(server, "sh_rl_mode", 12, own).await;
        let mut before = field.client().await;
        assert_ne!(shown(&mut before, "server_connection_id").await, "0", "{flavor:?}");
        let its = row(&mut before, "SELECT CONNECTION_ID()").await;
        let shared = "queue_timeout = \"50s\"\n";
        field.reload(12, shared).await;
        let mut after = field.client().await;
        after.run("SET @a = 7").await.unwrap();
        free(&mut after, "it shares").await;
        assert_eq!(row(&mut after, "SELECT @a").await, "7", "{flavor:?}");
        // Who was there keeps his.
        assert_eq!(row(&mut before, "SELECT CONNECTION_ID()").await, its, "{flavor:?}");
        field.reload(12, own).await;
        assert_eq!(row(&mut after, "SELECT @a").await, "7", "{flavor:?}");
        let mut last = field.client().await;
        last.run("DO 1").await.unwrap();
        assert_ne!(shown(&mut last, "server_connection_id").await, "0", "{flavor:?}");
        field.close().await;
    }
}

#[tokio::test]
async fn how_long_and_how_many_may_wait_takes_hold() {
    for (flavor, server) in &both() {
        let patient = "pinned_share = 100\nqueue_timeout = \"50s\"\n";
        // Those who work keep theirs, for a statement of theirs that waits would be refused as well. Two are left.
        let mut field = Field::open_with(server, "sh_rl_queue", 6, patient, true).await;
        let mut other = field.client().await;
        let mut holders = [field.client().await, field.client().await];
        let refused = async |client: &mut Client| {
            let err = client.query("SELECT 1").await.unwrap().err().cloned();
            err.unwrap_or_else(|| panic!("{flavor:?}: it was not refused"))
        };
        for (pool, named) in [
            ("pinned_share = 100\nqueue_timeout = \"1s\"\n", Some("pool.queue_timeout")),
            (patient, None),
            ("pinned_share = 100\nqueue_timeout = \"50s\"\nmax_waiting = 0\n", Some("pool.max_waiting")),
            (patient, None),
        ] {
            field.reload(6, pool).await;
            let mut late = field.client().await;
            for holder in &mut holders {
                hold(holder).await;
            }
            match named {
                Some(named) => {
                    for client in [&mut other, &mut late] {
                        let err = refused(client).await;
                        assert_eq!((err.code, err.state.as_str()), (1040, "08004"), "{flavor:?}: {err}");
                        assert!(err.message.contains(named), "{flavor:?}: {err}");
                    }
                }
                None => {
                    late.send(command::QUERY, b"SELECT 1").await.unwrap();
                    until("it waits", async || {
                        (metric(&field.weir, "weir_pool_waiting").await >= 1.0).then_some(())
                    })
                    .await;
                }
            }
            for holder in &mut holders {
                holder.run("COMMIT").await.unwrap();
            }
            if named.is_none() {
                assert_eq!(late.receive(command::QUERY).await.unwrap().err(), None, "{flavor:?}");
            }
            for client in [&mut other, &mut late] {
                turn(client).await;
            }
            for holder in &mut holders {
                holder.run("DELETE FROM t WHERE i = 1000").await.unwrap();
            }
        }
        field.close().await;
    }
}

#[tokio::test]
async fn how_long_connections_live_takes_hold() {
    for (flavor, server) in &both() {
        let long = "min_idle = 0\nidle_timeout = \"1h\"\nmax_lifetime = \"1h\"\npinned_share = 100\n";
        let mut field = Field::open(server, "sh_rl_life", 9, long).await;
        let mut holders: [Client; 5] = clients(&field.weir, "sh_rl_life").await;
        for _ in 0..2 {
            for holder in &mut holders {
                hold(holder).await;
            }
            for holder in &mut holders {
                holder.run("COMMIT").await.unwrap();
                holder.run("DELETE FROM t WHERE i = 1000").await.unwrap();
            }
        }
        let most = field.pooled().await;
        assert!(most >= 5, "{flavor:?}: {most}");
        let short = long.replace("idle_timeout = \"1h\"", "idle_timeout = \"1s\"");
        field.reload(9, &short).await;
        // At most four are in use at a time.
        field.until_pooled("those that nobody needs are closed", |count| count <= 4).await;
        field.all_go_on().await;
        // One that is never idle.
        field.reload(9, &long.replace("max_lifetime = \"1h\"", "max_lifetime = \"1s\"")).await;
        let ids = row(&mut field.admin, &format!("SELECT GROUP_CONCAT(ID) {}", field.pooled)).await;
        let of_them = format!("SELECT COUNT(*) {} AND ID IN ({ids})", field.pooled);
        until("the old ones are closed", async || {
            (row(&mut field.admin, &of_them).await == "0").then_some(())
        })
        .await;
        field.all_go_on().await;
        // No others come while they may live long.
        field.reload(9, long).await;
        field.close().await;
    }
}
