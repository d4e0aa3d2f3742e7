import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The target, the reporting and the test data of the JDBC checks. */
final class Suite {
    static final String HOST = env("WEIR_HOST", ""), PORT = env("WEIR_PORT", ""), SOCKET = env("WEIR_SOCKET", "");
    static final String USER = env("WEIR_USER", ""), PASSWORD = env("WEIR_PASSWORD", ""), DB = env("WEIR_DB", "");
    static final String FAMILY = env("WEIR_FAMILY", ""), CA = env("WEIR_CA", "");
    static final boolean DIRECT = env("WEIR_VIA", "direct").equals("direct"), TLS = env("WEIR_TLS", "1").equals("1");
    /** MySQL announces the removal of the table in information_schema, MariaDB has no other. */
    static final String PROCESSLIST = FAMILY.equals("mysql") ? "performance_schema.processlist" : "information_schema.processlist";

    private static int passed, failed;

    interface Body {
        void run() throws Exception;
    }

    record Column(String name, String type, String kind, List<?> values) {}

    private Suite() {}

    static void check(String name, Body body) {
        try {
            body.run();
            passed++;
            System.out.println("ok " + name);
        } catch (Throwable error) {
            failed++;
            int line = 0;
            for (StackTraceElement e : error.getStackTrace()) {
                if (line == 0 && e.getClassName().startsWith("Checks")) line = e.getLineNumber();
            }
            String text = (error + (error.getCause() == null ? "" : " caused by " + error.getCause())).replaceAll("\\s+", " ");
            System.out.println("FAIL " + name + ": line " + line + ": " + text.substring(0, Math.min(600, text.length())));
        }
    }

    static void finish() {
        System.out.println(passed + " passed, " + failed + " failed");
        System.out.flush();
        System.exit(failed > 0 || passed == 0 ? 1 : 0);
    }

    static void same(Object got, Object wanted, String what) {
        String g = String.valueOf(got), w = String.valueOf(wanted);
        if (!g.equals(w)) throw new AssertionError(what + ": got " + cut(g) + ", wanted " + cut(w));
    }

    private static String cut(String text) {
        return text.substring(0, Math.min(250, text.length()));
    }

    /** Runs what must fail with this error number and SQLSTATE. */
    static void fails(int number, String state, Body body) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            same(error.getErrorCode() + " " + error.getSQLState(), number + " " + state, "error " + error.getMessage());
            return;
        }
        throw new AssertionError("error " + number + " expected");
    }

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value;
    }

    static String bigText() {
        StringBuilder b = new StringBuilder(20 << 20);
        for (int i = 0; i < (20 << 20) / 8; i++) {
            String digits = Integer.toString(i);
            b.append("0000000", digits.length(), 7).append(digits).append('\n');
        }
        return b.toString();
    }

    static List<Column> columns() throws Exception {
        List<Column> used = new ArrayList<>();
        String text = Files.readString(Path.of(env("WEIR_DRIVERS", ""), "types.json"));
        for (Object o : (List<?>) new Json(text).value()) {
            Map<?, ?> c = (Map<?, ?>) o;
            if (c.get("family") == null || c.get("family").equals(FAMILY)) {
                used.add(new Column((String) c.get("name"), (String) c.get("type"), (String) c.get("kind"), (List<?>) c.get("values")));
            }
        }
        return used;
    }

    /** As much JSON as types.json needs: objects, arrays and strings (the JDK has no parser). */
    private static final class Json {
        private final String text;
        private int at;

        Json(String text) {
            this.text = text;
        }

        Object value() {
            char c = next();
            if (c == '"') return string();
            if (c == '[') {
                List<Object> list = new ArrayList<>();
                while (peek() != ']') {
                    list.add(value());
                    if (peek() == ',') at++;
                }
                at++;
                return list;
            }
            if (c != '{') throw new IllegalStateException("types.json: unexpected " + c + " at " + at);
            Map<String, Object> map = new LinkedHashMap<>();
            while (peek() != '}') {
                next();
                String key = string();
                if (next() != ':') throw new IllegalStateException("types.json: colon expected at " + at);
                map.put(key, value());
                if (peek() == ',') at++;
            }
            at++;
            return map;
        }

        private char peek() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        private char next() {
            peek();
            return text.charAt(at++);
        }

        private String string() {
            StringBuilder b = new StringBuilder();
            for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
                if (c != '\\') {
                    b.append(c);
                    continue;
                }
                char e = text.charAt(at++);
                b.append(e == 'n' ? '\n' : e == 't' ? '\t' : e);
            }
            return b.toString();
        }
    }
}
