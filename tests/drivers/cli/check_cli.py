"""The command-line clients `mysql` (of MySQL 9.7) and `mariadb`, driven as an operator drives them. The argument says which."""

import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from suite import Suite, Target, big_text, canonical, columns, create_types, load_file, same, to_python  # noqa: E402

ITEMS = [(str(i), f"größe 漢字 {i} 🐬") for i in range(1, 11)]
PROCEDURE = """DELIMITER //
CREATE PROCEDURE several(IN how_many INT)
BEGIN
  SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
  UPDATE items SET name = name WHERE id = 1;
  SELECT 'größe 🐬' AS word, how_many AS n;
END//
DELIMITER ;
CALL several(2);
"""


class Cli:
    def __init__(self, mysql):
        self.t = Target()
        self.mysql = mysql
        self.program = os.environ["WEIR_MYSQL_CLIENT"] if mysql else "mariadb"

    def command(self, *options, user=None, password=None, db="", tls=None, socket=False, statements=("--batch", "--skip-column-names")):
        t = self.t
        made = [self.program, "--no-defaults", f"--user={user or t.user}", "--default-character-set=utf8mb4", "--max-allowed-packet=67108864"]
        if socket:
            made += ["--protocol=socket", f"--socket={t.socket}"]
        else:
            made += ["--protocol=tcp", f"--host={t.host}", f"--port={t.port}"]
        if self.mysql:
            modes = {None: "DISABLED", "on": "REQUIRED", "verify": "VERIFY_CA"}
            # MariaDB offers no public key and an option that is not needed does no harm.
            # Without --commands it sends `status` and `USE` to the server as statements.
            made += [f"--ssl-mode={modes[tls]}", "--get-server-public-key", "--commands"] + ([f"--ssl-ca={t.ca}"] if tls == "verify" else [])
            if t.family == "mariadb":
                # It asks for collation 255, which MariaDB does not know and replaces by its default.
                made.append("--init-command=SET NAMES utf8mb4")
        else:
            made += {None: ["--skip-ssl"], "on": ["--ssl"], "verify": [f"--ssl-ca={t.ca}", "--ssl-verify-server-cert"]}[tls]
        made += [*statements, *options]
        if db is not None:
            made.append(db or t.db)
        return made, dict(os.environ, MYSQL_PWD=password or t.password)

    def run(self, sql, *options, **where):
        """(standard output, standard error, exit code)"""
        command, env = self.command(*options, **where)
        done = subprocess.run(command, env=env, input=sql.encode(), capture_output=True, timeout=300)
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    def good(self, sql, *options, **where):
        """The lines of what must succeed, each as a tuple of its fields."""
        out, err, code = self.run(sql, *options, **where)
        same(code, 0, f"exit code; {err.strip()[:300]}")
        return [tuple(line.split("\t")) for line in out.splitlines()]

    def bad(self, number, state, sql, *options, **where):
        out, err, code = self.run(sql, *options, **where)
        same(code, 1, "exit code")
        same(f"ERROR {number} ({state})" in err, True, f"error {number} ({state}) in {err.strip()[:200]!r}")
        return out


def prepare(c):
    c.good(f"DROP DATABASE IF EXISTS {c.t.db}; CREATE DATABASE {c.t.db} CHARACTER SET utf8mb4", db=None)
    values = ", ".join(f"({i}, '{name}')" for i, name in ITEMS)
    c.good("CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB; INSERT INTO items VALUES " + values)
    same(c.good("SELECT * FROM items ORDER BY id"), ITEMS, "items")


def login(c, ciphered, compressed, *options, **where):
    rows = c.good("SELECT 'größe 🐬'; SHOW SESSION STATUS LIKE 'Ssl_cipher'; SHOW SESSION STATUS LIKE 'Compression'", *options, **where)
    same(rows[0], ("größe 🐬",), "answer")
    if c.t.direct:  # behind a proxy these describe the proxy's own link
        same(rows[1][1] != "", ciphered, "link is encrypted")
        same(rows[2][1], "ON" if compressed else "OFF", "Compression")


def login_new_user(c, suffix, *options, **where):
    """A user that nobody has a cached login of: full authentication first, then whatever is quicker."""
    user, password = f"{c.t.db}_{suffix}", "pw-1 %x#y"
    c.good(f"DROP USER IF EXISTS '{user}'@'%'; CREATE USER '{user}'@'%' IDENTIFIED BY '{password}'")
    try:
        for _ in range(3):
            rows = c.good("SELECT CURRENT_USER()", *options, user=user, password=password, db=None, **where)
            same(rows[0][0].split("@")[0], user, "user")
    finally:
        c.good(f"DROP USER '{user}'@'%'")


def logins(suite, c):
    t = c.t
    zlib = ["--compression-algorithms=zlib"] if c.mysql else ["--compress"]
    suite.check("login-plain", lambda: login(c, False, False))
    suite.check("login-new-user-plain", lambda: login_new_user(c, "p"))
    suite.check("login-compressed-zlib", lambda: login(c, False, True, *zlib))
    # MariaDB's client and server of the distribution have no zstd on the wire.
    if c.mysql and t.family == "mysql":
        suite.check("login-compressed-zstd", lambda: login(c, False, True, "--compression-algorithms=zstd", "--zstd-compression-level=7"))
    if t.tls:
        suite.check("login-tls", lambda: login(c, True, False, tls="on"))
        suite.check("login-compressed-tls", lambda: login(c, True, True, *zlib, tls="on"))
        suite.check("login-new-user-tls", lambda: login_new_user(c, "t", tls="on"))
        if c.mysql:
            for version in ("TLSv1.2", "TLSv1.3"):
                suite.check(f"login-{version.lower()}", lambda v=version: login(c, True, False, f"--tls-version={v}", tls="on"))
    # The mariadb client verifies the host name along with the certificate or nothing at all.
    if t.tls and t.ca and (c.mysql or t.ca_names_host):
        suite.check("login-verify-ca" if c.mysql else "login-verify-identity", lambda: login(c, True, False, tls="verify"))
    if t.socket:
        suite.check("login-socket", lambda: login(c, False, False, socket=True))
        suite.check("login-new-user-socket", lambda: login_new_user(c, "s", socket=True))
    suite.check("login-wrong-password", lambda: c.bad(1045, "28000", "SELECT 1", password="not the password"))
    suite.check("login-unknown-schema", lambda: c.bad(1049, "42000", "SELECT 1", db=t.db + "_missing"))


def literal(col, text):
    if text is None:
        return "NULL"
    if col["kind"] == "bytes":
        return f"x'{text}'"
    if col["kind"] in ("int", "uint", "bit", "year", "decimal", "float"):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def types(c, prepared):
    """Read back as text, one field to a line, bytes in hex; `prepared` by PREPARE and EXECUTE in SQL."""
    cols = columns(c.t.family)
    rows = [", ".join([str(n + 1)] + [literal(col, col["values"][n] if n < 2 else None) for col in cols]) for n in range(3)]
    names = ", ".join(["id"] + [col["name"] for col in cols])
    script = f"SET time_zone = '+00:00'; DROP TABLE IF EXISTS types; {create_types(cols)};\n"
    for row in rows:
        script += f"INSERT INTO types ({names}) VALUES ({row});\n"
    hexed = ", ".join(
        f"HEX({col['name']})" if col["kind"] == "bytes" else f"{col['name']} + 0" if col["kind"] == "bit" else col["name"] for col in cols
    )
    select = f"SELECT {hexed} FROM types WHERE id = "
    for n in (1, 2, 3):
        if prepared:
            script += f"PREPARE s FROM '{select}?'; SET @n = {n}; EXECUTE s USING @n; DEALLOCATE PREPARE s;\n"
        else:
            script += f"{select}{n};\n"
    out = c.run(script)
    same(out[2], 0, f"exit code; {out[1][:300]}")
    lines = out[0].splitlines()
    same(len(lines), 3, "rows")
    for number, line in enumerate(lines):
        fields = line.split("\t")
        same(len(fields), len(cols), f"fields of row {number + 1}")
        for col, field in zip(cols, fields):
            text = col["values"][number] if number < 2 else None
            compare_field(col, field, text, f"row {number + 1} {col['name']}")


def compare_field(col, field, text, what):
    kind = col["kind"]
    if text is None:
        return same(field, "NULL", what)
    # --batch escapes tab, newline and backslash.
    field = field.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\0", "\\")
    if kind == "bytes":
        return same(field.lower(), text, what)
    got = field if kind in ("text", "set", "json") else to_python(kind, field)
    return same(canonical(kind, got), canonical(kind, to_python(kind, text)), what)


def big_value(c, *options, **where):
    """In by a statement of 20 MiB on standard input, out again as one line."""
    text = big_text().replace("\n", ";")
    c.good("DROP TABLE IF EXISTS big; CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4")
    c.good(f"INSERT INTO big VALUES (1, '{text}')", *options, **where)
    same(c.good("SELECT LENGTH(v) FROM big"), [(str(len(text)),)], "length at the server")
    out = c.run("SELECT v FROM big", *options, **where)
    same(out[0].rstrip("\n") == text, True, f"the value that came back ({len(out[0])} characters; {out[1][:200]})")


def load_data_local(c, *options, **where):
    path, lines, ids, length = load_file()
    try:
        rows = c.good(
            "DROP TABLE IF EXISTS loaded; CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4;"
            f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE loaded CHARACTER SET utf8mb4; SELECT ROW_COUNT();"
            "SELECT COUNT(*), SUM(id), SUM(LENGTH(name)), MAX(name = 'größe 漢字 🐬 777') FROM loaded",
            "--local-infile=1", *options, **where,
        )
        same(rows, [(str(lines),), (str(lines), str(ids), str(length), "1")], "answers")
    finally:
        os.unlink(path)


def procedure_results(c):
    same(c.good("DROP PROCEDURE IF EXISTS several;\n" + PROCEDURE), [*ITEMS[:2], ("größe 🐬", "2")], "result sets")


def transaction(c):
    insert = "INSERT INTO items VALUES (100, 'in a transaction')"
    count = "SELECT COUNT(*) FROM items WHERE id = 100"
    same(c.good(f"BEGIN; {insert}; {count}; ROLLBACK; {count}"), [("1",), ("0",)], "rolled back")
    same(c.good(f"BEGIN; {insert}; {count}"), [("1",)], "left open")
    same(c.good(count), [("0",)], "rolled back when the client left")
    same(c.good(f"BEGIN; {insert}; COMMIT"), [], "committed")
    same(c.good(f"{count}; DELETE FROM items WHERE id = 100"), [("1",)], "committed row")


def cancel(c):
    """Control-C: the client opens a second connection and sends KILL QUERY with its own thread id; a batch ends there.

    A second Control-C would end the client; README.md says why a query that ran to its end is tried again."""
    for _ in range(3):
        err, seconds = cancelled(c)
        if seconds < 39 or b"ERROR" in err:
            break
    same(seconds < 35, True, "cancelled within 35 s")
    same(b"ERROR 1317 (70100)" in err, True, f"error in {err.decode()[:300]!r}")


def cancelled(c):
    """(what the client printed about errors, seconds that it took)"""
    query = f"SELECT 1 AS cancel_me FROM {c.t.db}.items"
    command, env = c.command(f"--execute={query} WHERE id < 3 AND SLEEP(20)")
    victim = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        started = time.monotonic()
        while c.good(f"SELECT COUNT(*) FROM {c.t.processlist()} WHERE INFO LIKE '{query}%'") == [("0",)]:
            same(time.monotonic() - started < 15, True, "the query shows up in the process list")
            time.sleep(0.02)
        victim.send_signal(signal.SIGINT)
        err = victim.communicate(timeout=90)[1]
    finally:
        victim.kill()
        victim.wait()
    return err, time.monotonic() - started


def errors(c):
    c.bad(1062, "23000", "INSERT INTO items VALUES (1, 'again')")
    c.bad(1064, "42000", "SELEC 1")
    c.bad(1644, "45000", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'")
    same(c.bad(1146, "42S02", "SELECT 1; SELECT * FROM no_such_table; SELECT 2").split(), ["1"], "answer before the error")
    out, err, _ = c.run("SELECT 1; SELECT * FROM no_such_table; SELECT 2", "--force")
    same((out.split(), "ERROR 1146 (42S02)" in err), (["1", "2"], True), "answers before and after the error")
    out = c.run("DROP TABLE IF EXISTS no_such_table", "--show-warnings")[0]
    same("Note (Code 1051)" in out, True, f"warning in {out[:200]!r}")


def status(c):
    """`status` uses COM_STATISTICS and asks for the character sets; -vv prints the counts of the OK packets."""
    out = c.run("status", "--unbuffered")[0]
    same("Uptime:" in out and "Threads:" in out, True, f"status {out[:300]!r}")
    out = c.run("UPDATE items SET name = name WHERE id < 4", "-vv")[0]
    same("Rows matched: 3  Changed: 0  Warnings: 0" in out, True, f"info of the OK packet in {out[:300]!r}")
    out = c.run("SELECT id, name FROM items", "--column-type-info", "--table")[0]
    same("PRI_KEY" in out and f"`{c.t.db}`" in out, True, f"metadata in {out[:300]!r}")
    same(c.run("SELECT id, name FROM items ORDER BY id LIMIT 2", "--quick")[0].splitlines()[1], "\t".join(ITEMS[1]), "unbuffered row")


def rehash(c):
    """Without --no-auto-rehash the client reads all column names by COM_FIELD_LIST or its like when it starts."""
    same(c.good("SELECT 'after'", "--auto-rehash"), [("after",)], "answer")
    out = c.run(f"USE information_schema\nSELECT DATABASE();\nUSE {c.t.db}\nSELECT DATABASE();\n")[0]
    same(out.split(), ["information_schema", c.t.db], "schemas by COM_INIT_DB")


def attributes(c):
    """Query attributes travel in front of the statement's text."""
    rows = c.good("query_attributes hidden 'DROP TABLE items'\nSELECT COUNT(*) FROM items;\n")
    same(rows, [("10",)], "count")


def reconnects(c, **where):
    for i in range(50):
        same(c.good(f"SELECT {i}", **where), [(str(i),)], "answer")


def main():
    suite, c = Suite(), Cli(sys.argv[1] == "mysql")
    t = c.t
    suite.check("prepare", prepare, c)
    logins(suite, c)
    suite.check("types-text", types, c, False)
    suite.check("types-prepared-in-sql", types, c, True)
    zlib = "--compression-algorithms=zlib" if c.mysql else "--compress"
    suite.check("big-value", big_value, c)
    suite.check("big-value-compressed", big_value, c, zlib)
    if c.mysql and t.family == "mysql":
        suite.check("big-value-zstd", big_value, c, "--compression-algorithms=zstd")
    suite.check("load-data-local", load_data_local, c)
    suite.check("load-data-local-compressed", load_data_local, c, zlib)
    if t.tls:
        suite.check("big-value-tls", lambda: big_value(c, tls="on"))
        suite.check("load-data-local-tls", lambda: load_data_local(c, tls="on"))
    suite.check("procedure-results", procedure_results, c)
    suite.check("transaction", transaction, c)
    suite.check("cancel", cancel, c)
    suite.check("errors", errors, c)
    suite.check("status", status, c)
    suite.check("schemas", rehash, c)
    if c.mysql and t.family == "mysql":
        suite.check("query-attributes", attributes, c)
    suite.check("reconnects", reconnects, c)
    suite.finish()


main()
