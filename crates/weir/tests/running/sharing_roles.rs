//! P24, P25: rights that a role gives, and locks on a whole server, are of the session that asked for them: no other has them, and when its
//! client leaves nobody does.

use crate::kit::*;
use crate::sharing_kit::*;

async fn as_reader(weir: &Weir) -> Client {
    let options = ConnectOptions::tcp(weir.addr(), "sh_reader", "reader-pw").database("sh_roles");
    options.connect().await.unwrap()
}

/// The code of the error, or 0.
async fn code(client: &mut Client, sql: &str) -> u16 {
    client.query(sql).await.unwrap().err().map_or(0, |err| err.code)
}

#[tokio::test]
async fn p24_p25_a_role_is_its_sessions_alone_and_gone_with_it() {
    for (flavor, server) in &both() {
        database(server, "sh_roles", &["CREATE TABLE secret (i INT)", "CREATE TABLE t (i INT)"]).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "DROP USER IF EXISTS sh_reader",
            "CREATE USER sh_reader IDENTIFIED BY 'reader-pw'",
            "GRANT SELECT ON sh_roles.t TO sh_reader",
            "DROP ROLE IF EXISTS sh_role",
            "CREATE ROLE sh_role",
            "GRANT SELECT ON sh_roles.secret TO sh_role",
            "GRANT sh_role TO sh_reader",
        ] {
            admin.run(sql).await.unwrap();
        }
        let user = "[[user]]\nname = \"sh_reader\"\npassword = \"reader-pw\"\n";
        for connections in [1, 2] {
            let weir = sharing(server, connections, "", user);
            let secret = "SELECT COUNT(*) FROM secret";
            for leaves in ["quit", "vanishes", "resets"] {
                let what = format!("{flavor:?}, {connections} connections, {leaves}");
                let mut one = as_reader(&weir).await;
                assert_eq!(code(&mut one, secret).await, 1142, "{what}: without the role");
                one.run("SET ROLE sh_role").await.unwrap();
                assert_eq!(code(&mut one, secret).await, 0, "{what}: with the role");
                pinned(&mut one, "role", &what).await;
                if connections > 1 {
                    let mut other = as_reader(&weir).await;
                    assert_eq!(code(&mut other, "SELECT COUNT(*) FROM t").await, 0, "{what}");
                    assert_eq!(code(&mut other, secret).await, 1142, "{what}: beside it");
                    assert!(!row(&mut other, "SELECT CURRENT_ROLE()").await.contains("sh_role"), "{what}");
                    assert_eq!(code(&mut one, secret).await, 0, "{what}: still");
                }
                match leaves {
                    "quit" => one.quit().await.unwrap(),
                    "vanishes" => drop(one),
                    _ => {
                        // As on a direct connection: a reset keeps the role on MariaDB and puts the default ones back on MySQL.
                        one.command(command::RESET_CONNECTION, &[]).await.unwrap();
                        drop(one);
                    }
                }
                let mut next = as_reader(&weir).await;
                assert_eq!(code(&mut next, secret).await, 1142, "{what}: the next client");
                assert!(!row(&mut next, "SELECT CURRENT_ROLE()").await.contains("sh_role"), "{what}");
                next.quit().await.unwrap();
            }
            assert!(metric(&weir, "weir_pins_total{reason=\"role\"}").await >= 3.0, "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn p25_a_lock_on_the_whole_server_keeps_its_connection_and_goes_with_its_client() {
    for flavor in Flavor::BOTH {
        // They would stop all other tests.
        let server = Server::start(flavor).unwrap();
        database(&server, "sh_whole", &["CREATE TABLE t (i INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"])
            .await;
        let weir = sharing(&server, 2, "", "");
        let mut locks = vec![
            ("FLUSH TABLES WITH READ LOCK", "lock_tables", "UNLOCK TABLES"),
            ("FLUSH TABLES t FOR EXPORT", "lock_tables", "UNLOCK TABLES"),
        ];
        match flavor {
            Flavor::MySql => {
                locks.push(("LOCK INSTANCE FOR BACKUP", "instance_lock", "UNLOCK INSTANCE"));
            }
            Flavor::MariaDb => {
                locks.push(("BACKUP STAGE START", "backup_stage", "BACKUP STAGE END"));
                locks.push(("BACKUP LOCK t", "backup_lock", "BACKUP UNLOCK"));
            }
        }
        for (lock, reason, unlock) in locks {
            for ends in ["unlocks", "quits", "vanishes"] {
                let what = format!("{flavor:?}: {lock}, {ends}");
                let [mut one, mut two] = clients(&weir, "sh_whole").await;
                one.run(lock).await.unwrap();
                let id = pinned(&mut one, reason, &what).await;
                turn(&mut two).await;
                assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "1", "{what}");
                assert_eq!(pinned(&mut one, reason, &what).await, id, "{what}");
                match ends {
                    "unlocks" => {
                        one.run(unlock).await.unwrap();
                        // FLUSH keeps it for what else it may have done.
                        let still = shown(&mut one, "pinned").await;
                        assert!(!still.contains(reason), "{what}: {still}");
                        two.run("UPDATE t SET i = i + 1").await.unwrap();
                        one.quit().await.unwrap();
                    }
                    "quits" => one.quit().await.unwrap(),
                    _ => drop(one),
                }
                // It would wait for the lock.
                two.run("UPDATE t SET i = i + 1").await.unwrap();
                two.run("CREATE TABLE made (i INT)").await.unwrap();
                two.run("DROP TABLE made").await.unwrap();
                two.quit().await.unwrap();
            }
        }
    }
}
