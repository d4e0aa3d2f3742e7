import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;

/** How the values of types.json are bound, and read back into one comparable form. */
final class TypeRows {
    private static final DateTimeFormatter MICROSECONDS = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    private TypeRows() {}

    static void bind(boolean mysql, PreparedStatement s, int at, String kind, String text) throws SQLException {
        if (text == null) {
            s.setNull(at, Types.VARCHAR);
            return;
        }
        switch (kind) {
            case "int", "year" -> s.setLong(at, Long.parseLong(text));
            case "uint" -> s.setString(at, text);
            case "bit" -> s.setBytes(at, new BigInteger(text).toByteArray().length > 8
                ? HexFormat.of().parseHex(String.format("%016x", new BigInteger(text))) : new BigInteger(text).toByteArray());
            case "decimal" -> s.setBigDecimal(at, new BigDecimal(text));
            case "float" -> s.setDouble(at, Double.parseDouble(text));
            case "bytes" -> s.setBytes(at, HexFormat.of().parseHex(text));
            // MariaDB Connector/J sends a DATE in a length that MySQL 9.7 takes for malformed (1835).
            case "date" -> {
                if (mysql) s.setObject(at, LocalDate.parse(text));
                else s.setString(at, text);
            }
            // Connector/J takes MariaDB's version for 5.5 and drops the fraction of a second.
            case "datetime" -> {
                if (mysql) s.setString(at, text);
                else s.setObject(at, LocalDateTime.parse(text.replace(' ', 'T')));
            }
            default -> s.setString(at, text);
        }
    }

    static void compare(ResultSet r, List<Suite.Column> columns) throws SQLException {
        int row = 0;
        for (; r.next(); row++) {
            Suite.same(r.getInt(1), row + 1, "id");
            for (int i = 0; i < columns.size(); i++) {
                Suite.Column c = columns.get(i);
                String text = row == 2 ? null : (String) c.values().get(row);
                Suite.same(read(r, i + 2, c.kind()), wanted(c.kind(), text), "row " + (row + 1) + " " + c.name());
            }
        }
        Suite.same(row, 3, "rows");
    }

    private static String read(ResultSet r, int at, String kind) throws SQLException {
        if (r.getString(at) == null) {
            Suite.same(r.wasNull(), true, "wasNull");
            return null;
        }
        return switch (kind) {
            case "bit" -> new BigInteger(1, r.getBytes(at)).toString();
            case "decimal" -> r.getBigDecimal(at).toPlainString();
            case "float" -> Double.toString(r.getDouble(at));
            case "bytes" -> HexFormat.of().formatHex(r.getBytes(at));
            case "date" -> r.getObject(at, LocalDate.class).toString();
            case "datetime" -> r.getObject(at, LocalDateTime.class).format(MICROSECONDS);
            case "time" -> micros(r.getString(at));
            default -> r.getString(at);
        };
    }

    private static String wanted(String kind, String text) {
        if (text == null) return null;
        return switch (kind) {
            case "float" -> Double.toString(Double.parseDouble(text));
            case "decimal" -> new BigDecimal(text).toPlainString();
            case "datetime" -> LocalDateTime.parse(text.replace(' ', 'T')).format(MICROSECONDS);
            case "time" -> micros(text);
            default -> text;
        };
    }

    private static String micros(String text) {
        int dot = text.indexOf('.');
        return dot < 0 ? text + ".000000" : (text + "000000").substring(0, dot + 7);
    }
}
