//! P45: a server that becomes read-only under its clients, as a primary that failed over does.

use crate::kit::*;
use crate::sharing_kit::*;

const TABLE: &[&str] = &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v INT)"];

/// What makes the server refuse to write, what allows it again, and for whom it holds.
fn switches(flavor: Flavor) -> Vec<[&'static str; 2]> {
    let usual = ["SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"];
    match flavor {
        Flavor::MariaDb => vec![usual],
        Flavor::MySql => vec![usual, ["SET GLOBAL super_read_only = 1", "SET GLOBAL read_only = 0"]],
    }
}

#[tokio::test]
async fn p45_a_read_only_server_refuses_each_write_once_and_harms_nobody() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        database(&server, "sh_ro", TABLE).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        // Without the privilege to write nevertheless.
        admin.run("CREATE USER sh_ro IDENTIFIED BY 'ro-pw'").await.unwrap();
        admin.run("GRANT ALL ON sh_ro.* TO sh_ro").await.unwrap();
        let user = "[[user]]\nname = \"sh_ro\"\npassword = \"ro-pw\"\n";
        for connections in [1, 3] {
            let weir = sharing(&server, connections, "", user);
            for [set, unset] in switches(flavor) {
                let what = format!("{flavor:?}, {connections} connections, {set}");
                let login = async |addr| {
                    let options = ConnectOptions::tcp(addr, "sh_ro", "ro-pw").database("sh_ro");
                    options.connect().await.unwrap()
                };
                let mut direct = login(server.addr()).await;
                let mut one = login(weir.addr()).await;
                let mut two = login(weir.addr()).await;
                one.run("SET @me = 1").await.unwrap();
                let insert = "INSERT INTO t (v) VALUES (@me)";
                let ids = [direct.prepare(insert).await.unwrap().id, one.prepare(insert).await.unwrap().id];
                admin.run("DELETE FROM sh_ro.t").await.unwrap();
                admin.run(set).await.unwrap();
                for sql in [insert, "UPDATE t SET v = 2", "CREATE TABLE u (i INT)", "DROP TABLE t"] {
                    let (told, wanted) = (one.query(sql).await.unwrap(), direct.query(sql).await.unwrap());
                    let told = same(wanted, told, &format!("{what}: {sql}"));
                    assert_eq!(told.err().map(|err| err.code), Some(1290), "{what}: {sql}: {told:?}");
                    pinned(&mut one, "warnings", &what).await;
                    assert_eq!(shown(&mut one, "pinned").await, "warnings", "{what}: {sql}");
                    assert_eq!(
                        row(&mut one, "SELECT @me, DATABASE(), COUNT(*) FROM t").await,
                        "1|sh_ro|0",
                        "{what}"
                    );
                    free(&mut one, &what).await;
                    // Whoever has the connection next finds nothing of it.
                    assert_eq!(two.run("SHOW WARNINGS").await.unwrap().rows().count(), 0, "{what}");
                    assert_eq!(row(&mut two, "SELECT COUNT(*) FROM t").await, "0", "{what}");
                }
                let wanted = execute(&mut direct, ids[0], &[], true).await;
                let told = same(wanted, execute(&mut one, ids[1], &[], true).await, &what);
                assert_eq!(told.err().map(|err| err.code), Some(1290), "{what}: {told:?}");
                // In a transaction the error leaves it open, to be read on and ended.
                one.run("BEGIN").await.unwrap();
                row(&mut one, "SELECT COUNT(*) FROM t").await;
                assert_eq!(one.query(insert).await.unwrap().err().map(|err| err.code), Some(1290), "{what}");
                assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "0", "{what}");
                one.run("COMMIT").await.unwrap();
                turn(&mut one).await;
                free(&mut one, &what).await;
                // Those who log in meanwhile read.
                let mut late = login(weir.addr()).await;
                assert_eq!(row(&mut late, "SELECT COUNT(*) FROM t").await, "0", "{what}");
                admin.run(unset).await.unwrap();
                one.run(insert).await.unwrap();
                assert_eq!(execute(&mut one, ids[1], &[], true).await.err(), None, "{what}");
                two.run("INSERT INTO t (v) VALUES (2)").await.unwrap();
                late.run("INSERT INTO t (v) VALUES (3)").await.unwrap();
                let all = row(&mut two, "SELECT GROUP_CONCAT(v ORDER BY i) FROM t").await;
                assert_eq!(all, "1,1,2,3", "{what}");
            }
            assert!(
                opened(&weir).await <= f64::from(connections) + 1.0,
                "{flavor:?}: no connection was lost"
            );
        }
    }
}

/// Error 1836 ("Running in read-only mode") is what MySQL says to a change of the dictionary where InnoDB itself is read-only.
#[tokio::test]
async fn p45_a_server_in_read_only_mode_refuses_each_change_once() {
    for flavor in Flavor::BOTH {
        let server = Server::builder(flavor).arg("--innodb-read-only=ON").start().unwrap();
        let weir = sharing(&server, 1, "", "");
        let mut direct = app(server.addr()).connect().await.unwrap();
        let mut one = app(weir.addr()).connect().await.unwrap();
        let mut two = app(weir.addr()).connect().await.unwrap();
        one.run("SET @me = 1").await.unwrap();
        let mut codes = Vec::new();
        let changes = ["CREATE TABLE mysql.sh_ro (i INT)", "CREATE DATABASE sh_ro", "CREATE USER sh_ro"];
        // MariaDB's databases and accounts are not InnoDB's.
        for sql in if flavor == Flavor::MySql { &changes[..] } else { &changes[..1] } {
            let (told, wanted) = (one.query(*sql).await.unwrap(), direct.query(*sql).await.unwrap());
            let told = same(wanted, told, &format!("{flavor:?}: {sql}"));
            codes.extend(told.err().map(|err| err.code));
            assert_eq!(
                row(&mut one, "SELECT @me, COUNT(*) > 0 FROM mysql.user").await,
                "1|1",
                "{flavor:?}: {sql}"
            );
            free(&mut one, sql).await;
            assert_eq!(two.run("SHOW WARNINGS").await.unwrap().rows().count(), 0, "{flavor:?}: {sql}");
            turn(&mut two).await;
        }
        // MariaDB knows the error and has no statement that ends in it.
        assert!(flavor == Flavor::MariaDb || codes.contains(&1836), "{codes:?}");
        assert_eq!(opened(&weir).await, 1.0, "{flavor:?}");
    }
}
