import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The checks, written against JDBC; where the connectors differ, {@code mysql} tells which it is. */
final class Checks {
    private final boolean mysql;
    private Connection session;

    Checks(boolean mysql) {
        this.mysql = mysql;
    }

    // Connections

    Properties with(Properties base, String name, String value) {
        Properties made = new Properties();
        made.putAll(base);
        made.setProperty(name, value);
        return made;
    }

    Properties merge(Properties base, Properties over) {
        Properties made = new Properties();
        made.putAll(base);
        made.putAll(over);
        return made;
    }

    Properties plain() {
        Properties p = new Properties();
        p.setProperty("user", Suite.USER);
        p.setProperty("password", Suite.PASSWORD);
        p.setProperty("sslMode", mysql ? "DISABLED" : "disable");
        p.setProperty("allowPublicKeyRetrieval", "true");
        p.setProperty("yearIsDateType", "false");
        p.setProperty("tinyInt1isBit", "false");
        p.setProperty(mysql ? "allowLoadLocalInfile" : "allowLocalInfile", "true");
        if (mysql) {
            p.setProperty("connectionTimeZone", "+00:00");
            p.setProperty("forceConnectionTimeZoneToSession", "true");
            p.setProperty("maxAllowedPacket", Integer.toString(64 << 20));
        } else {
            p.setProperty("timezone", "+00:00");
            p.setProperty("sessionVariables", "time_zone='+00:00'");
            p.setProperty("maxAllowedPacket", Integer.toString(64 << 20));
        }
        return p;
    }

    Properties tls() {
        return with(plain(), "sslMode", mysql ? "REQUIRED" : "trust");
    }

    /** Connector/J reads certificates from a key store only, so one is made of the PEM file. */
    Properties verifyCa() throws Exception {
        Properties p = with(plain(), "sslMode", mysql ? "VERIFY_CA" : "verify-ca");
        if (!mysql) return with(p, "serverSslCert", Suite.CA);
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream pem = Files.newInputStream(Path.of(Suite.CA))) {
            int number = 0;
            for (Certificate c : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
                store.setCertificateEntry("ca" + number++, c);
            }
        }
        Path file = Files.createTempFile("ca-", ".p12");
        file.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, "changeit".toCharArray());
        }
        p = with(with(p, "trustCertificateKeyStoreUrl", file.toUri().toString()), "trustCertificateKeyStoreType", "PKCS12");
        return with(p, "trustCertificateKeyStorePassword", "changeit");
    }

    /** Parameters put into the text by the connector. */
    Properties textual() {
        return with(plain(), "useServerPrepStmts", "false");
    }

    /** Statements prepared by the server, rows in the binary protocol. */
    Properties prepared() {
        return with(with(plain(), "useServerPrepStmts", "true"), "cachePrepStmts", "true");
    }

    Connection connect(String schema, Properties properties) throws SQLException {
        String scheme = mysql ? "jdbc:mysql://" : "jdbc:mariadb://";
        return DriverManager.getConnection(scheme + Suite.HOST + ":" + Suite.PORT + "/" + schema, properties);
    }

    Connection connect(Properties properties) throws SQLException {
        return connect(Suite.DB, properties);
    }

    private static int exec(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            return s.executeUpdate(sql);
        }
    }

    private static String one(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getString(r.getMetaData().getColumnCount());
        }
    }

    void prepare() throws SQLException {
        try (Connection c = connect("", plain())) {
            exec(c, "DROP DATABASE IF EXISTS " + Suite.DB);
            exec(c, "CREATE DATABASE " + Suite.DB + " CHARACTER SET utf8mb4");
        }
        session = connect(plain());
        exec(session, "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB");
        for (int i = 1; i <= 10; i++) exec(session, "INSERT INTO items VALUES (" + i + ", '" + item(i) + "')");
    }

    private static String item(int i) {
        return "größe 漢字 " + i + " 🐬";
    }

    // Logging in

    void login(boolean ciphered, boolean compressed, Properties properties) throws SQLException {
        try (Connection c = connect(properties)) {
            Suite.same(one(c, "SELECT 'größe 🐬'"), "größe 🐬", "answer");
            if (!Suite.DIRECT) return; // behind a proxy these describe the proxy's own link
            Suite.same(!one(c, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").isEmpty(), ciphered, "link is encrypted");
            Suite.same(one(c, "SHOW SESSION STATUS LIKE 'Compression'"), compressed ? "ON" : "OFF", "Compression");
        }
    }

    /** A user of whom nobody has a cached login: full authentication first, then what is quicker. */
    void loginNewUser(String suffix, Properties base) throws SQLException {
        String user = Suite.DB + "_" + suffix, password = "pw-1 %x#y";
        exec(session, "DROP USER IF EXISTS '" + user + "'@'%'");
        exec(session, "CREATE USER '" + user + "'@'%' IDENTIFIED BY '" + password + "'");
        try {
            for (int i = 0; i < 3; i++) {
                try (Connection c = connect("", with(with(base, "user", user), "password", password))) {
                    Suite.same(one(c, "SELECT CURRENT_USER()").split("@")[0], user, "user");
                }
            }
        } finally {
            exec(session, "DROP USER '" + user + "'@'%'");
        }
    }

    void changeUser() throws Exception {
        String user = Suite.DB + "_c";
        exec(session, "DROP USER IF EXISTS '" + user + "'@'%'");
        exec(session, "CREATE USER '" + user + "'@'%' IDENTIFIED BY 'change-1'");
        try (Connection c = connect("information_schema", plain())) {
            exec(c, "SET @left = 5");
            c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).changeUser(user, "change-1");
            Suite.same(one(c, "SELECT CURRENT_USER()").split("@")[0], user, "user");
            Suite.same(one(c, "SELECT @left"), null, "user variable after the change");
        } finally {
            exec(session, "DROP USER '" + user + "'@'%'");
        }
    }

    void resetServerState() throws Exception {
        try (Connection c = connect(plain())) {
            exec(c, "SET @left = 5");
            c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).resetServerState();
            Suite.same(one(c, "SELECT @left"), null, "user variable after the reset");
        }
    }

    /** Query attributes travel in front of the statement's text. */
    void queryAttributes() throws Exception {
        try (Statement s = session.createStatement()) {
            com.mysql.cj.jdbc.JdbcStatement own = s.unwrap(com.mysql.cj.jdbc.JdbcStatement.class);
            own.setAttribute("hidden", "DROP TABLE items; -- größe");
            own.setAttribute("number", 7);
            ResultSet r = s.executeQuery("SELECT COUNT(*) FROM items");
            r.next();
            Suite.same(r.getInt(1), 10, "count");
        }
    }

    void reconnects(Properties properties) throws SQLException {
        for (int i = 0; i < 50; i++) {
            try (Connection c = connect(properties)) {
                Suite.same(one(c, "SELECT " + i), i, "answer");
            }
        }
    }

    // Types

    void types(Properties properties, String... unknown) throws Exception {
        List<Suite.Column> columns = Suite.columns();
        columns.removeIf(c -> List.of(unknown).contains(c.name()));
        StringBuilder names = new StringBuilder("id"), definitions = new StringBuilder("id INT PRIMARY KEY"), marks = new StringBuilder("?");
        for (Suite.Column c : columns) {
            names.append(", ").append(c.name());
            definitions.append(", ").append(c.name()).append(' ').append(c.type()).append(" NULL");
            // VECTOR wants its bytes marked as binary.
            marks.append(c.name().equals("c_vector") ? ", CAST(? AS BINARY)" : ", ?");
        }
        try (Connection c = connect(properties)) {
            exec(c, "DROP TABLE IF EXISTS types");
            exec(c, "CREATE TABLE types (" + definitions + ") CHARACTER SET utf8mb4");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO types (" + names + ") VALUES (" + marks + ")")) {
                for (int row = 0; row < 3; row++) {
                    s.setInt(1, row + 1);
                    for (int i = 0; i < columns.size(); i++) {
                        TypeRows.bind(mysql, s, i + 2, columns.get(i).kind(), row == 2 ? null : (String) columns.get(i).values().get(row));
                    }
                    Suite.same(s.executeUpdate(), 1, "affected rows");
                }
            }
            try (PreparedStatement s = c.prepareStatement("SELECT " + names + " FROM types WHERE id > ? ORDER BY id")) {
                s.setInt(1, 0);
                TypeRows.compare(s.executeQuery(), columns);
            }
        }
    }

    void bigValue(Properties properties) throws SQLException {
        String text = Suite.bigText();
        try (Connection c = connect(properties)) {
            exec(c, "DROP TABLE IF EXISTS big");
            exec(c, "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO big VALUES (?, ?)")) {
                s.setInt(1, 1);
                s.setString(2, text);
                s.executeUpdate();
                s.setInt(1, 2);
                s.setCharacterStream(2, new java.io.StringReader(text));
                s.executeUpdate();
            }
            Suite.same(one(c, "SELECT SUM(LENGTH(v)) FROM big"), 2 * text.length(), "length at the server");
            try (PreparedStatement s = c.prepareStatement("SELECT v FROM big WHERE id > ?")) {
                s.setInt(1, 0);
                ResultSet r = s.executeQuery();
                while (r.next()) Suite.same(r.getString(1).equals(text), true, "the value that came back");
            }
        }
    }

    // Statements

    void loadDataLocal(Properties properties) throws Exception {
        StringBuilder lines = new StringBuilder();
        for (int i = 1; i <= 20000; i++) lines.append(i).append("\tgröße 漢字 🐬 ").append(i).append('\n');
        Path file = Files.createTempFile("load-", ".tsv");
        try (Connection c = connect(properties)) {
            Files.writeString(file, lines);
            exec(c, "DROP TABLE IF EXISTS loaded");
            exec(c, "CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4");
            Suite.same(exec(c, "LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE loaded CHARACTER SET utf8mb4"), 20000, "affected rows");
            Suite.same(one(c, "SELECT SUM(id) FROM loaded"), 200010000, "sum");
            Suite.same(one(c, "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)"), 20000, "texts");
        } finally {
            Files.delete(file);
        }
    }

    /** All result sets of a statement as text; answers without columns are left out. */
    private static List<String> sets(Statement s, boolean first) throws SQLException {
        List<String> sets = new ArrayList<>();
        for (boolean more = first; more || s.getUpdateCount() != -1; more = s.getMoreResults()) {
            if (!more) continue;
            StringBuilder set = new StringBuilder();
            try (ResultSet r = s.getResultSet()) {
                int width = r.getMetaData().getColumnCount();
                while (r.next()) {
                    for (int i = 1; i <= width; i++) set.append(r.getString(i)).append(i < width ? "|" : ";");
                }
            }
            sets.add(set.toString());
        }
        return sets;
    }

    void procedureResults(Properties properties) throws SQLException {
        exec(session, "DROP PROCEDURE IF EXISTS several");
        exec(session, "CREATE PROCEDURE several(IN how_many INT) BEGIN SELECT id, name FROM items WHERE id <= how_many ORDER BY id; "
            + "UPDATE items SET name = name WHERE id = 1; SELECT 'größe 🐬' AS word, how_many AS n; END");
        try (Connection c = connect(properties); PreparedStatement s = c.prepareStatement("CALL several(?)")) {
            s.setInt(1, 2);
            Suite.same(sets(s, s.execute()), List.of("1|" + item(1) + ";2|" + item(2) + ";", "größe 🐬|2;"), "result sets");
        }
    }

    void procedureOut() throws SQLException {
        exec(session, "DROP PROCEDURE IF EXISTS twice");
        exec(session, "CREATE PROCEDURE twice(IN a INT, OUT b INT) BEGIN SELECT a; SET b = 2 * a; END");
        try (Connection c = connect(prepared()); CallableStatement s = c.prepareCall("{call twice(?, ?)}")) {
            s.setInt(1, 21);
            s.registerOutParameter(2, Types.INTEGER);
            s.execute();
            Suite.same(s.getInt(2), 42, "OUT parameter");
        }
    }

    void multiStatements() throws Exception {
        try (Connection c = connect(with(plain(), "allowMultiQueries", "true")); Statement s = c.createStatement()) {
            String batch = "SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id";
            Suite.same(sets(s, s.execute(batch)), List.of("1;", "größe 🐬;", "1;2;"), "result sets");
            Suite.fails(1146, "42S02", () -> sets(s, s.execute("SELECT 1; SELECT * FROM no_such_table; SELECT 2")));
            Suite.same(one(c, "SELECT 'after'"), "after", "the connection afterwards");
        }
    }

    void transaction() throws SQLException {
        String count = "SELECT COUNT(*) FROM items WHERE id = 100";
        try (Connection c = connect(prepared()); Connection other = connect(plain())) {
            c.setAutoCommit(false);
            for (int wanted = 0; wanted < 2; wanted++) {
                Suite.same(exec(c, "INSERT INTO items VALUES (100, 'in a transaction')"), 1, "affected rows");
                Suite.same(one(other, count), 0, "view of another session before the end");
                if (wanted == 0) c.rollback();
                else c.commit();
                Suite.same(one(other, count), wanted, "view of another session after the end");
            }
            java.sql.Savepoint point = c.setSavepoint("here");
            exec(c, "DELETE FROM items");
            c.rollback(point);
            Suite.same(one(c, "SELECT COUNT(*) FROM items"), 11, "rows after the rollback to a savepoint");
            exec(c, "DELETE FROM items WHERE id = 100");
            c.commit();
        }
    }

    /**
     * Statement.cancel(): the connector opens a second connection and sends KILL QUERY with its own thread id. README.md says why it
     * is called again until the query has ended.
     */
    void cancel() throws Exception {
        try (Connection victim = connect(plain()); Statement s = victim.createStatement()) {
            String query = "SELECT 1 AS cancel_me FROM " + Suite.DB + ".items";
            String running = "SELECT COUNT(*) FROM " + Suite.PROCESSLIST + " WHERE INFO LIKE '" + query + "%'";
            CountDownLatch ended = new CountDownLatch(1);
            Thread killer = new Thread(() -> {
                try {
                    long end = System.nanoTime() + 40_000_000_000L;
                    while (one(session, running).equals("0") && System.nanoTime() < end) Thread.sleep(10);
                    do {
                        s.cancel();
                    } while (!ended.await(1, TimeUnit.SECONDS) && System.nanoTime() < end);
                } catch (Exception error) {
                    System.out.println("# cancel: " + error);
                }
            });
            killer.start();
            long started = System.nanoTime();
            try {
                Suite.fails(1317, "70100", () -> wrapped(s, query + " WHERE id < 3 AND SLEEP(60)"));
            } finally {
                ended.countDown();
                killer.join();
            }
            Suite.same(System.nanoTime() - started < 50_000_000_000L, true, "cancelled within 50 s");
            Suite.same(one(victim, "SELECT 'alive'"), "alive", "the cancelled connection");
        }
    }

    /** Connector/J has an exception of its own for a statement that it cancelled, without the server's number. */
    private void wrapped(Statement s, String query) throws SQLException {
        try {
            s.executeQuery(query);
        } catch (SQLException error) {
            if (mysql && error.getClass().getSimpleName().equals("MySQLStatementCancelledException")) {
                throw new SQLException(error.getMessage(), "70100", 1317);
            }
            throw error;
        }
    }

    /** The connector sends a single KILL QUERY; README.md says why a query that ran to its end is tried again. */
    void cancelTimeout() throws Exception {
        try (Connection victim = connect(plain()); Statement s = victim.createStatement()) {
            s.setQueryTimeout(1);
            double seconds = 40;
            for (int attempt = 1; attempt <= 3 && seconds > 39; attempt++) {
                long started = System.nanoTime();
                try {
                    s.executeQuery("SELECT 1 FROM items WHERE id < 3 AND SLEEP(20)");
                    seconds = (System.nanoTime() - started) / 1e9;
                    Suite.same(seconds > 39, true, "a query without an error has run to its end");
                } catch (java.sql.SQLTimeoutException expected) {
                    seconds = (System.nanoTime() - started) / 1e9;
                }
            }
            Suite.same(seconds < 35, true, "cancelled within 35 s");
            s.setQueryTimeout(0);
            Suite.same(one(victim, "SELECT 'alive'"), "alive", "the cancelled connection");
        }
    }

    void errors() throws Exception {
        try (Connection c = connect(prepared())) {
            Suite.fails(1062, "23000", () -> exec(c, "INSERT INTO items VALUES (1, 'again')"));
            Suite.fails(1064, "42000", () -> exec(c, "SELEC 1"));
            Suite.fails(1644, "45000", () -> exec(c, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'"));
            Suite.fails(1146, "42S02", () -> {
                try (PreparedStatement s = c.prepareStatement("SELECT * FROM no_such_table WHERE id = ?")) {
                    s.setInt(1, 1);
                    s.executeQuery();
                }
            });
            Suite.same(one(c, "SELECT 'after'"), "after", "the connection after errors");
        }
    }

    void batch(Properties properties) throws SQLException {
        try (Connection c = connect(properties)) {
            exec(c, "DROP TABLE IF EXISTS batch");
            exec(c, "CREATE TABLE batch (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
                for (int i = 0; i < 1000; i++) {
                    s.setInt(1, i);
                    if (i % 10 == 0) s.setNull(2, Types.VARCHAR);
                    else s.setString(2, item(i));
                    s.addBatch();
                }
                Suite.same(s.executeBatch().length, 1000, "answers");
            }
            Suite.same(one(c, "SELECT COUNT(*) FROM batch WHERE name = CONCAT('größe 漢字 ', id, ' 🐬')"), 900, "texts");
            Suite.same(one(c, "SELECT COUNT(*) FROM batch WHERE name IS NULL"), 100, "NULLs");
        }
    }

    void generatedKeys() throws SQLException {
        try (Connection c = connect(prepared())) {
            exec(c, "DROP TABLE IF EXISTS counted");
            exec(c, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(10))");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO counted (name) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                for (int i = 1; i <= 5; i++) {
                    s.setString(1, "n" + i);
                    s.executeUpdate();
                    ResultSet keys = s.getGeneratedKeys();
                    keys.next();
                    Suite.same(keys.getInt(1), i, "generated key");
                }
            }
        }
    }

    void stream(int fetchSize, Properties properties) throws SQLException {
        try (Connection c = connect(properties);
            PreparedStatement s = c.prepareStatement("SELECT a.id, a.name FROM items a, items b, items c, items d WHERE a.id > ?",
                ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(fetchSize);
            s.setInt(1, 0);
            int rows = 0;
            try (ResultSet r = s.executeQuery()) {
                while (r.next()) rows += r.getString(2).equals(item(r.getInt(1))) ? 1 : 0;
            }
            Suite.same(rows, 10000, "rows");
            Suite.same(one(c, "SELECT 'after'"), "after", "the connection afterwards");
        }
    }
}
