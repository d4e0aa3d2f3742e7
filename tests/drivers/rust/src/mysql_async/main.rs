//! mysql_async: text and binary protocol, TLS by rustls, zlib compression, UNIX sockets, LOAD DATA LOCAL.

#[path = "../suite.rs"]
mod suite;
mod statements;

use mysql_async::prelude::Queryable;
use mysql_async::{ChangeUserOpts, Compression, Conn, Error, Opts, OptsBuilder, SslOpts};
use suite::{CREATE_ITEMS, Outcome, Suite, Target, item, same};

pub struct Checks {
    pub target: Target,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let checks = Checks { target: Target::of_environment()? };
    let mut suite = Suite::default();
    suite.check("prepare", checks.prepare()).await;
    checks.logins(&mut suite).await;
    checks.statements(&mut suite).await;
    suite.finish()
}

impl Checks {
    /// Plain TCP; without `prefer_socket(false)` the driver moves to the server's own socket.
    pub fn plain(&self) -> OptsBuilder {
        let t = &self.target;
        OptsBuilder::default()
            .ip_or_hostname(&t.host)
            .tcp_port(t.port)
            .prefer_socket(false)
            .user(Some(&t.user))
            .pass(Some(&t.password))
            .db_name(Some(&t.db))
            .init(vec!["SET time_zone = '+00:00'"])
            .max_allowed_packet(Some(64 << 20))
    }

    pub fn tls(&self) -> OptsBuilder {
        let options = SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
        self.plain().ssl_opts(options)
    }

    pub fn compressed(&self) -> OptsBuilder {
        self.plain().compression(Compression::default())
    }

    fn verify_identity(&self, ca: &str) -> OptsBuilder {
        let roots = vec![std::path::PathBuf::from(ca).into()];
        let options = SslOpts::default().with_root_certs(roots).with_disable_built_in_roots(true);
        self.plain().ssl_opts(options)
    }

    fn socket(&self, path: &str) -> OptsBuilder {
        self.plain().socket(Some(path))
    }

    async fn prepare(&self) -> Outcome {
        let db = &self.target.db;
        let mut conn = Conn::new(self.plain().db_name(None::<String>)).await?;
        conn.query_drop(format!("DROP DATABASE IF EXISTS {db}")).await?;
        conn.query_drop(format!("CREATE DATABASE {db} CHARACTER SET utf8mb4")).await?;
        conn.query_drop(format!("USE {db}")).await?;
        conn.query_drop(CREATE_ITEMS).await?;
        conn.exec_batch("INSERT INTO items VALUES (?, ?)", (1..=10).map(|i| (i, item(i)))).await?;
        conn.disconnect().await?;
        Ok(())
    }

    async fn logins(&self, suite: &mut Suite) {
        let t = &self.target;
        suite.check("login-plain", self.login(self.plain(), false, false)).await;
        suite.check("login-new-user-plain", self.login_new_user("p", self.plain())).await;
        suite.check("login-compressed", self.login(self.compressed(), false, true)).await;
        if t.tls {
            suite.check("login-tls", self.login(self.tls(), true, false)).await;
            let both = self.tls().compression(Compression::default());
            suite.check("login-compressed-tls", self.login(both, true, true)).await;
            suite.check("login-new-user-tls", self.login_new_user("t", self.tls())).await;
        }
        // Skipping the name only helps with a certificate that names some other host, not with one that names none.
        if let (true, true, Some(ca)) = (t.tls, t.ca_names_host, &t.ca) {
            suite.check("login-verify-identity", self.login(self.verify_identity(ca), true, false)).await;
        }
        if let Some(path) = &t.socket {
            suite.check("login-socket", self.login(self.socket(path), false, false)).await;
            suite.check("login-new-user-socket", self.login_new_user("s", self.socket(path))).await;
        }
        let wrong = self.plain().pass(Some("not the password"));
        suite.check("login-wrong-password", async { is_error(Conn::new(wrong).await, 1045, "28000") }).await;
        let missing = self.plain().db_name(Some(format!("{}_missing", t.db)));
        suite.check("login-unknown-schema", async { is_error(Conn::new(missing).await, 1049, "42000") }).await;
        suite.check("change-user", self.change_user()).await;
    }

    async fn login(&self, options: OptsBuilder, ciphered: bool, compressed: bool) -> Outcome {
        let mut conn = Conn::new(options).await?;
        same(conn.query_first::<String, _>("SELECT 'größe 🐬'").await?.as_deref(), Some("größe 🐬"), "answer")?;
        if self.target.direct {
            // Behind a proxy these describe the proxy's own link.
            let cipher: Option<(String, String)> = conn.query_first("SHOW SESSION STATUS LIKE 'Ssl_cipher'").await?;
            same(cipher.is_some_and(|(_, v)| !v.is_empty()), ciphered, "link is encrypted")?;
            let state: Option<(String, String)> = conn.query_first("SHOW SESSION STATUS LIKE 'Compression'").await?;
            same(state.is_some_and(|(_, v)| v == "ON"), compressed, "link is compressed")?;
        }
        Ok(conn.disconnect().await?)
    }

    /// A user of whom nobody has a cached login: full authentication first, then what is quicker.
    async fn login_new_user(&self, suffix: &str, options: OptsBuilder) -> Outcome {
        let user = format!("{}_{suffix}", self.target.db);
        let mut admin = Conn::new(self.plain()).await?;
        admin.query_drop(format!("DROP USER IF EXISTS '{user}'@'%'")).await?;
        admin.query_drop(format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'pw-1 %x#y'")).await?;
        let options = Opts::from(options.user(Some(&user)).pass(Some("pw-1 %x#y")).db_name(None::<String>));
        let result = async {
            for _ in 0..3 {
                let mut conn = Conn::new(options.clone()).await?;
                let who: Option<String> = conn.query_first("SELECT CURRENT_USER()").await?;
                same(who.unwrap_or_default().split('@').next(), Some(user.as_str()), "user")?;
                conn.disconnect().await?;
            }
            Ok(())
        };
        let result = result.await;
        admin.query_drop(format!("DROP USER '{user}'@'%'")).await?;
        result
    }

    async fn change_user(&self) -> Outcome {
        let user = format!("{}_c", self.target.db);
        let (mut conn, mut admin) = (Conn::new(self.plain()).await?, Conn::new(self.plain()).await?);
        admin.query_drop(format!("DROP USER IF EXISTS '{user}'@'%'")).await?;
        admin.query_drop(format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'change-1'")).await?;
        conn.query_drop("SET @left = 5").await?;
        let other = ChangeUserOpts::new().with_user(Some(user.clone())).with_pass(Some("change-1".into())).with_db_name(None);
        conn.change_user(other).await?;
        let who: Option<(String, Option<i32>)> = conn.query_first("SELECT CURRENT_USER(), @left").await?;
        let (who, left) = who.ok_or("no row")?;
        same(who.split('@').next(), Some(user.as_str()), "user")?;
        same(left, None::<i32>, "user variable after the change")?;
        let t = &self.target;
        let back = ChangeUserOpts::new().with_user(Some(t.user.clone())).with_pass(Some(t.password.clone()));
        conn.change_user(back.with_db_name(Some(t.db.clone()))).await?;
        same(conn.query_first("SELECT DATABASE()").await?, Some(t.db.clone()), "schema")?;
        conn.query_drop("SET @left = 6").await?;
        same(conn.reset().await?, true, "COM_RESET_CONNECTION is supported")?;
        same(conn.query_first::<Option<i32>, _>("SELECT @left").await?, Some(None), "user variable after the reset")?;
        admin.query_drop(format!("DROP USER '{user}'@'%'")).await?;
        admin.disconnect().await?;
        Ok(conn.disconnect().await?)
    }
}

pub fn is_error<T>(result: Result<T, Error>, number: u16, state: &str) -> Outcome {
    match result {
        Err(Error::Server(error)) => {
            same((error.code, error.state.as_str()), (number, state), &format!("error {}", error.message))
        }
        Err(error) => Err(format!("error {number} expected, got {error}").into()),
        Ok(_) => Err(format!("error {number} expected").into()),
    }
}
