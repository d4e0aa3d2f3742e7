import java.util.Properties;

/** Connector/J and MariaDB Connector/J. The argument says which: `connectorj` or `mariadbj`. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        boolean mysql = arguments[0].equals("connectorj");
        Checks c = new Checks(mysql);
        Suite.check("prepare", c::prepare);
        logins(c, mysql);
        statements(c, mysql);
        Suite.finish();
    }

    private static void logins(Checks c, boolean mysql) {
        Suite.check("login-plain", () -> c.login(false, false, c.plain()));
        // Connector/J reads MariaDB's "5.5.5-" as a server older than 5.5.16 and then misreads caching_sha2_password's
        // answers, so through Weir it can only be a user that Weir knows.
        boolean newUsers = !mysql || Suite.DIRECT || Suite.FAMILY.equals("mysql");
        if (newUsers) Suite.check("login-new-user-plain", () -> c.loginNewUser("p", c.plain()));
        Suite.check("login-compressed", () -> c.login(false, true, c.with(c.plain(), "useCompression", "true")));
        if (Suite.TLS) {
            Suite.check("login-tls", () -> c.login(true, false, c.tls()));
            Suite.check("login-tls-1.2", () -> c.login(true, false, c.with(c.tls(), mysql ? "tlsVersions" : "enabledSslProtocolSuites", "TLSv1.2")));
            Suite.check("login-compressed-tls", () -> c.login(true, true, c.with(c.tls(), "useCompression", "true")));
            if (newUsers) Suite.check("login-new-user-tls", () -> c.loginNewUser("t", c.tls()));
            if (!Suite.CA.isEmpty()) Suite.check("login-verify-ca", () -> c.login(true, false, c.verifyCa()));
        }
        // Connector/J has no UNIX sockets without a library of others.
        if (!mysql && !Suite.SOCKET.isEmpty()) {
            Properties socket = c.with(c.plain(), "localSocket", Suite.SOCKET);
            Suite.check("login-socket", () -> c.login(false, false, socket));
            Suite.check("login-new-user-socket", () -> c.loginNewUser("s", socket));
        }
        if (newUsers) Suite.check("login-wrong-password",
            () -> Suite.fails(1045, "28000", () -> c.connect(c.with(c.plain(), "password", "not the password")).close()));
        Suite.check("login-unknown-schema", () -> Suite.fails(1049, "42000", () -> c.connect(Suite.DB + "_missing", c.plain()).close()));
    }

    private static void statements(Checks c, boolean mysql) {
        // Neither reads a VECTOR as bytes; MariaDB Connector/J does not know the type at all.
        Suite.check("types-text", () -> c.types(c.textual(), "c_vector"));
        Suite.check("types-prepared", () -> c.types(c.prepared(), "c_vector"));
        Suite.check("big-value", () -> c.bigValue(c.textual()));
        Suite.check("big-value-prepared", () -> c.bigValue(c.prepared()));
        Suite.check("big-value-compressed", () -> c.bigValue(c.with(c.textual(), "useCompression", "true")));
        if (Suite.TLS) Suite.check("big-value-tls", () -> c.bigValue(c.merge(c.textual(), c.tls())));
        Suite.check("load-data-local", () -> c.loadDataLocal(c.plain()));
        // MariaDB Connector/J loses count of the packets when it sends a file over a compressed link.
        if (mysql) Suite.check("load-data-local-compressed", () -> c.loadDataLocal(c.with(c.plain(), "useCompression", "true")));
        Suite.check("procedure-results", () -> c.procedureResults(c.textual()));
        Suite.check("procedure-results-prepared", () -> c.procedureResults(c.prepared()));
        Suite.check("procedure-out", c::procedureOut);
        Suite.check("multi-statements", c::multiStatements);
        Suite.check("transaction", c::transaction);
        Suite.check("cancel", c::cancel);
        Suite.check("cancel-timeout", c::cancelTimeout);
        Suite.check("errors", c::errors);
        Suite.check("batch", () -> c.batch(c.textual()));
        Suite.check("batch-prepared", () -> c.batch(c.prepared()));
        String bulk = mysql ? "rewriteBatchedStatements" : "useBulkStmts";
        Suite.check("batch-" + (mysql ? "rewritten" : "bulk"), () -> c.batch(c.with(c.prepared(), bulk, "true")));
        Suite.check("stream", () -> c.stream(mysql ? Integer.MIN_VALUE : 100, c.plain()));
        // MariaDB Connector/J streams with its fetch size, it does not open cursors.
        if (mysql) Suite.check("cursor", () -> c.stream(100, c.with(c.prepared(), "useCursorFetch", "true")));
        Suite.check("generated-keys", c::generatedKeys);
        if (mysql) {
            if (Suite.DIRECT || Suite.FAMILY.equals("mysql")) Suite.check("change-user", c::changeUser);
            Suite.check("reset-server-state", c::resetServerState);
        }
        if (mysql && Suite.FAMILY.equals("mysql")) Suite.check("query-attributes", c::queryAttributes);
        Suite.check("reconnects", () -> c.reconnects(c.plain()));
        if (Suite.TLS) Suite.check("reconnects-tls", () -> c.reconnects(c.tls()));
    }
}
