//! sqlx: text protocol (raw_sql) and prepared statements (query), TLS by rustls, UNIX sockets.
//! It has no compression, no LOAD DATA LOCAL and no COM_CHANGE_USER.

#[path = "../suite.rs"]
mod suite;
mod statements;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row, raw_sql};
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

pub async fn exec(conn: &mut MySqlConnection, sql: impl Into<String>) -> Result<u64, sqlx::Error> {
    Ok(conn.execute(raw_sql(AssertSqlSafe(sql.into()))).await?.rows_affected())
}

/// The last column of the first row, as text.
pub async fn one(conn: &mut MySqlConnection, sql: impl Into<String>) -> Outcome<Option<String>> {
    let row = conn.fetch_one(raw_sql(AssertSqlSafe(sql.into()))).await?;
    Ok(row.try_get_unchecked(row.len() - 1)?)
}

impl Checks {
    fn options(&self, mode: MySqlSslMode) -> MySqlConnectOptions {
        let t = &self.target;
        let options = MySqlConnectOptions::new().host(&t.host).port(t.port).username(&t.user).password(&t.password);
        options.database(&t.db).ssl_mode(mode)
    }

    pub fn plain(&self) -> MySqlConnectOptions {
        self.options(MySqlSslMode::Disabled)
    }

    pub fn tls(&self) -> MySqlConnectOptions {
        self.options(MySqlSslMode::Required)
    }

    async fn prepare(&self) -> Outcome {
        let db = &self.target.db;
        let mut conn = self.plain().database("information_schema").connect().await?;
        exec(&mut conn, format!("DROP DATABASE IF EXISTS {db}")).await?;
        exec(&mut conn, format!("CREATE DATABASE {db} CHARACTER SET utf8mb4")).await?;
        exec(&mut conn, format!("USE {db}")).await?;
        exec(&mut conn, CREATE_ITEMS).await?;
        for i in 1..=10 {
            sqlx::query("INSERT INTO items VALUES (?, ?)").bind(i).bind(item(i)).execute(&mut conn).await?;
        }
        Ok(conn.close().await?)
    }

    async fn logins(&self, suite: &mut Suite) {
        let t = &self.target;
        suite.check("login-plain", self.login(self.plain(), false)).await;
        suite.check("login-new-user-plain", self.login_new_user("p", self.plain())).await;
        if t.tls {
            suite.check("login-tls", self.login(self.tls(), true)).await;
            suite.check("login-tls-preferred", self.login(self.options(MySqlSslMode::Preferred), true)).await;
            suite.check("login-new-user-tls", self.login_new_user("t", self.tls())).await;
        }
        if let (true, Some(ca)) = (t.tls, &t.ca) {
            suite.check("login-verify-ca", self.login(self.options(MySqlSslMode::VerifyCa).ssl_ca(ca), true)).await;
        }
        if let Some(path) = &t.socket {
            suite.check("login-socket", self.login(self.plain().socket(path), false)).await;
            // sqlx asks for the public key where the server takes the socket for secure and expects the password.
            if !t.sha2 {
                suite.check("login-new-user-socket", self.login_new_user("s", self.plain().socket(path))).await;
            }
        }
        let wrong = self.plain().password("not the password");
        suite.check("login-wrong-password", async { is_error(wrong.connect().await, 1045, "28000") }).await;
        let missing = self.plain().database(&format!("{}_missing", t.db));
        suite.check("login-unknown-schema", async { is_error(missing.connect().await, 1049, "42000") }).await;
    }

    async fn login(&self, options: MySqlConnectOptions, ciphered: bool) -> Outcome {
        let mut conn = options.connect().await?;
        same(one(&mut conn, "SELECT 'größe 🐬'").await?.as_deref(), Some("größe 🐬"), "answer")?;
        if self.target.direct {
            // Behind a proxy this describes the proxy's own link.
            let cipher = one(&mut conn, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").await?;
            same(cipher.is_some_and(|v| !v.is_empty()), ciphered, "link is encrypted")?;
        }
        Ok(conn.close().await?)
    }

    /// A user of whom nobody has a cached login: full authentication first, then what is quicker.
    async fn login_new_user(&self, suffix: &str, options: MySqlConnectOptions) -> Outcome {
        let user = format!("{}_{suffix}", self.target.db);
        let mut admin = self.plain().connect().await?;
        exec(&mut admin, format!("DROP USER IF EXISTS '{user}'@'%'")).await?;
        exec(&mut admin, format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'pw-1 %x#y'")).await?;
        let options = options.username(&user).password("pw-1 %x#y").database("information_schema");
        let result = async {
            for _ in 0..3 {
                let mut conn = options.connect().await?;
                let who = one(&mut conn, "SELECT CURRENT_USER()").await?.unwrap_or_default();
                same(who.split('@').next(), Some(user.as_str()), "user")?;
                conn.close().await?;
            }
            Ok(())
        };
        let result = result.await;
        exec(&mut admin, format!("DROP USER '{user}'@'%'")).await?;
        result
    }
}

pub fn is_error<T>(result: Result<T, sqlx::Error>, number: u16, state: &str) -> Outcome {
    let Err(error) = result else { return Err(format!("error {number} expected").into()) };
    match error.as_database_error().and_then(|e| e.try_downcast_ref::<MySqlDatabaseError>()) {
        Some(own) => same((own.number(), own.code()), (number, Some(state)), &format!("error {error}")),
        None => Err(format!("error {number} expected, got {error}").into()),
    }
}
