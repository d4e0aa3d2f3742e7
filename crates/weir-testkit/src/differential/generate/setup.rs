//! What every session finds: two schemas with the same tables and routines.

use super::Session;

pub(super) fn setup(s: &mut Session) {
    let (a, b) = (s.a.clone(), s.b.clone());
    for schema in [&b, &a] {
        s.q(format!("DROP DATABASE IF EXISTS {schema}"));
        s.q(format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"));
        s.q(format!("USE {schema}"));
        s.q("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), n INT)");
        s.q("INSERT INTO t (v, n) VALUES ('one',1),('two',2),('three',3),('four',4),('five',5),('six',6),(NULL,NULL)");
    }
    s.q("CREATE TABLE k (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL, UNIQUE KEY kv (v))");
    s.q("INSERT INTO k VALUES (1,'a'),(2,'b'),(3,'c')");
    s.q("CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, d LONGBLOB)");
    s.q("CREATE TABLE dig (d INT PRIMARY KEY)");
    s.q("INSERT INTO dig VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    s.q("CREATE TABLE cs (id INT AUTO_INCREMENT PRIMARY KEY, l VARCHAR(50) CHARACTER SET latin1, \
         u VARCHAR(50) CHARACTER SET utf8mb4, g VARCHAR(50) CHARACTER SET gbk, b VARBINARY(100))");
    types(s);
    routines(s);
}

fn types(s: &mut Session) {
    s.q("CREATE TABLE types (id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, \
         bi BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, de DECIMAL(20,6), bt BIT(10), dt DATE, tm TIME(3), \
         dtm DATETIME(6), ts TIMESTAMP(2) NULL, y YEAR, c CHAR(10), vc VARCHAR(300), bn BINARY(5), vb VARBINARY(20), \
         bl BLOB, tx TEXT, e ENUM('x','y','z'), st SET('p','q','r'), j JSON, z INT ZEROFILL)");
    s.q("INSERT INTO types VALUES (1,-128,255,-32768,8388607,-9223372036854775808,18446744073709551615,1.5,-2.25e10, \
         12345678901234.567891,b'1010101010','2024-02-29','-838:59:59.999','1999-12-31 23:59:59.123456', \
         '2001-01-01 00:00:01.25',2024,'chars','va\u{e9}\u{4e2d}\u{1f600}',0x0001020304,0xff00,'blob','text','y', \
         'p,r','{\"a\": [1, 2]}',42)"
        .replace("\\u", "u"));
    s.q("INSERT INTO types (id) VALUES (2)");
    s.q("INSERT INTO types VALUES (3,0,0,0,0,0,0,0,0,0,b'0','0001-01-01','00:00:00','0001-01-01 00:00:00',NULL,1901, \
         '','','','','','','x','','[]',0)");
}

fn routines(s: &mut Session) {
    s.q("CREATE PROCEDURE pr_multi(IN x INT) BEGIN SELECT x, 'first'; SELECT id, v FROM t ORDER BY id LIMIT 3; \
         UPDATE t SET n = n WHERE id <= 2; SELECT 'last' AS l FROM dig WHERE d < x; END");
    s.q("CREATE PROCEDURE pr_out(IN a INT, OUT b INT, INOUT c VARCHAR(20)) BEGIN SET b = a * 2; \
         SET c = CONCAT(c, '!'); END");
    s.q("CREATE PROCEDURE pr_err() BEGIN SELECT 1 AS one; SELECT d FROM dig ORDER BY d LIMIT 2; \
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'raised on purpose', MYSQL_ERRNO = 31001; SELECT 2; END");
    s.q("CREATE PROCEDURE pr_warn() BEGIN SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'a warning', MYSQL_ERRNO = 1642; \
         END");
    s.q("CREATE PROCEDURE pr_tmp() BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS made (x INT); \
         INSERT INTO made VALUES (1); SET @made = 1; END");
    s.q("CREATE PROCEDURE pr_none() BEGIN END");
    s.q("CREATE FUNCTION fn(x INT) RETURNS INT DETERMINISTIC BEGIN SET @fn = x; RETURN x * 2; END");
    s.q("CREATE VIEW vw AS SELECT id, v, n * 10 AS ten FROM t");
    s.q("CREATE TRIGGER tr BEFORE INSERT ON k FOR EACH ROW SET NEW.v = UPPER(NEW.v), @tr = NEW.id");
}
