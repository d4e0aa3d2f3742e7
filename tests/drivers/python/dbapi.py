"""Checks written against DB-API 2.0, with an adapter for what the drivers do in their own way."""

import os
import threading
import time

from suite import BIG_LINES, Target, big_text, columns, compare_types, create_types, load_file, same, to_python

CREATE_ITEMS = "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB"
PROCEDURE = """CREATE PROCEDURE several(IN how_many INT)
BEGIN
  SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
  UPDATE items SET name = name WHERE id = 1;
  SELECT 'größe 🐬' AS word, how_many AS n;
  SELECT id FROM items WHERE id < 0;
END"""
ITEMS = [(i, f"größe 漢字 {i} 🐬") for i in range(1, 11)]


class Adapter:
    """What a driver's program must give. `connect` takes user, password, db, tls (None, 'on', 'verify'), socket, compress, and the driver's own options."""

    target: Target

    def connect(self, **options):
        raise NotImplementedError

    def thread_id(self, connection):
        raise NotImplementedError

    def error_of(self, error):
        """(number, SQLSTATE or None if the driver hides it)"""
        raise NotImplementedError

    def sets_of(self, cursor):
        """All result sets of what the cursor has just executed, those without columns left out."""
        sets = []
        while True:
            if cursor.description:
                sets.append(list(cursor.fetchall()))
            if not cursor.nextset():
                return sets


class Checks:
    def __init__(self, adapter, unknown=()):
        """unknown: columns of types.json whose type the driver cannot read."""
        self.a = adapter
        self.unknown = unknown
        self.t = adapter.target
        self.main = None

    def prepare(self):
        """The schema of this program, made anew."""
        self.main = self.a.connect(db=None)
        cursor = self.main.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS {self.t.db}")
        cursor.execute(f"CREATE DATABASE {self.t.db} CHARACTER SET utf8mb4")
        self.main.close()
        self.main = self.a.connect()
        self.run("SET time_zone = '+00:00'")
        self.run(CREATE_ITEMS)
        self.run("INSERT INTO items VALUES " + ",".join(f"({i}, '{n}')" for i, n in ITEMS))
        self.main.commit()
        same([tuple(r) for r in self.run("SELECT id, name FROM items ORDER BY id")], ITEMS, "items")

    def run(self, sql, arguments=None, connection=None):
        cursor = (connection or self.main).cursor()
        try:
            cursor.execute(sql, arguments) if arguments is not None else cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else cursor.rowcount
        finally:
            cursor.close()

    def raises(self, number, state, sql, connection=None, arguments=None):
        try:
            self.run(sql, arguments, connection)
        except Exception as error:
            self.is_error(error, number, state)
        else:
            raise AssertionError(f"no error {number} for {sql[:80]}")

    def is_error(self, error, number, state):
        got, got_state = self.a.error_of(error)
        same(got, number, f"error number of {error!r}")
        if got_state is not None:
            same(got_state, state, f"SQLSTATE of {error!r}")

    # Logging in

    def login(self, ciphered=None, compressed=None, **options):
        connection = self.a.connect(**options)
        try:
            user = options.get("user") or self.t.user
            same(self.run("SELECT CURRENT_USER(), DATABASE()", None, connection)[0][0].split("@")[0], user, "user")
            # Behind a proxy these describe the proxy's own link to the server.
            if self.t.direct and ciphered is not None:
                same(bool(self.status("Ssl_cipher", connection)), ciphered, "link is encrypted")
            if self.t.direct and compressed is not None:
                same(self.status("Compression", connection), "ON" if compressed else "OFF", "Compression")
        finally:
            connection.close()

    def status(self, name, connection):
        return self.run(f"SHOW SESSION STATUS LIKE '{name}'", None, connection)[0][1]

    def login_new_user(self, suffix, **options):
        """A user that nobody has a cached login of: full authentication first, then whatever is quicker."""
        user = f"{self.t.db}_{suffix}"[:32]
        self.run(f"DROP USER IF EXISTS '{user}'@'%'")
        self.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY 'pw-1 %x#y'")
        try:
            for _ in range(3):
                self.login(user=user, password="pw-1 %x#y", db=None, **options)
        finally:
            self.run(f"DROP USER '{user}'@'%'")

    def login_wrong_password(self, **options):
        try:
            self.a.connect(password="not the password", **options).close()
        except Exception as error:
            self.is_error(error, 1045, "28000")
        else:
            raise AssertionError("a wrong password was let in")

    def login_unknown_schema(self):
        try:
            self.a.connect(db=self.t.db + "_missing").close()
        except Exception as error:
            self.is_error(error, 1049, "42000")
        else:
            raise AssertionError("a schema that does not exist was accepted")

    # Statements

    def types(self, insert, select, unknown=()):
        """insert(sql with %s, row) and select(sql) -> rows: by the text or the binary protocol."""
        cols = [c for c in columns(self.t.family) if c["name"] not in self.unknown and c["name"] not in unknown]
        self.run("DROP TABLE IF EXISTS types")
        self.run(create_types(cols))
        names = ", ".join(["id"] + [c["name"] for c in cols])
        marks = ", ".join(["%s"] * (len(cols) + 1))
        for number in range(3):
            values = [to_python(c["kind"], c["values"][number] if number < 2 else None) for c in cols]
            insert(f"INSERT INTO types ({names}) VALUES ({marks})", [number + 1] + values)
        self.main.commit()
        compare_types(cols, select(f"SELECT {names} FROM types ORDER BY id"))

    def types_text(self):
        self.types(self.run, self.run)

    def big_value(self, connection=None, insert=None, select=None):
        text = big_text()
        insert = insert or (lambda sql, row: self.run(sql, row, connection))
        select = select or (lambda sql: self.run(sql, None, connection))
        self.run("DROP TABLE IF EXISTS big")
        self.run("CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4")
        insert("INSERT INTO big VALUES (%s, %s)", [1, text])
        (connection or self.main).commit()
        same(select("SELECT LENGTH(v) FROM big")[0][0], BIG_LINES * 8, "length at the server")
        got = select("SELECT v FROM big")[0][0]
        same(got == text, True, f"the value that came back ({len(got)} characters)")

    def big_value_on(self, **options):
        connection = self.a.connect(**options)
        try:
            self.big_value(connection)
        finally:
            connection.close()

    def load_data_local(self, **options):
        path, lines, ids, length = load_file()
        connection = self.a.connect(infile=True, **options)
        try:
            self.run("DROP TABLE IF EXISTS loaded")
            self.run("CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4")
            count = self.run(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE loaded CHARACTER SET utf8mb4", None, connection)
            same(count, lines, "affected rows")
            connection.commit()
            got = self.run("SELECT COUNT(*), SUM(id), SUM(LENGTH(name)), MAX(name = 'größe 漢字 🐬 777') FROM loaded")[0]
            same([int(v) for v in got], [lines, ids, length, 1], "loaded rows")
            same(self.run("SELECT 'after'", None, connection)[0][0], "after", "the connection afterwards")
        finally:
            os.unlink(path)
            connection.close()

    def procedure_results(self):
        self.run("DROP PROCEDURE IF EXISTS several")
        self.run(PROCEDURE)
        cursor = self.main.cursor()
        cursor.execute("CALL several(%s)", [3])
        sets = [[tuple(r) for r in s] for s in self.a.sets_of(cursor)]
        cursor.close()
        same(sets, [ITEMS[:3], [("größe 🐬", 3)], []], "result sets")

    def multi_statements(self, execute):
        """execute(sql) -> all sets; the second batch fails in its second statement."""
        sets = execute("SELECT 1; SELECT 'größe 🐬' AS w; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id")
        same([[tuple(r) for r in s] for s in sets], [[(1,)], [("größe 🐬",)], [(1,), (2,)]], "result sets")
        try:
            execute("SELECT 1; SELECT * FROM no_such_table; SELECT 2")
        except Exception as error:
            self.is_error(error, 1146, "42S02")
        else:
            raise AssertionError("no error for the missing table")

    def transaction(self):
        other = self.a.connect()
        count = "SELECT COUNT(*) FROM items WHERE id = 100"
        try:
            for finish, wanted in ((self.main.rollback, 0), (self.main.commit, 1)):
                self.main.begin() if hasattr(self.main, "begin") else self.main.start_transaction()
                same(self.run("INSERT INTO items VALUES (100, 'in a transaction')"), 1, "affected rows")
                same(self.run(count)[0][0], 1, "own view")
                other.rollback()
                same(self.run(count, None, other)[0][0], 0, "view of another session before the end")
                finish()
                other.rollback()
                same(self.run(count, None, other)[0][0], wanted, "view of another session after the end")
        finally:
            self.run("DELETE FROM items WHERE id = 100")
            self.main.commit()
            other.close()

    def cancel(self):
        """KILL QUERY from a second connection, with the thread id that the driver reports; README.md says why it is sent again."""
        victim, other = self.a.connect(), self.a.connect()
        sql = f"SELECT 1 AS cancel_me FROM {self.t.db}.items WHERE id < 3 AND SLEEP(60)"
        outcome = []

        def work():
            try:
                outcome.append(self.run(sql, None, victim))
            except Exception as error:
                outcome.append(error)

        number = self.a.thread_id(victim)
        worker = threading.Thread(target=work, daemon=True)
        started = time.monotonic()
        worker.start()
        self.await_running(other, sql)
        while worker.is_alive() and time.monotonic() - started < 50:
            self.run(f"KILL QUERY {number}", None, other)
            worker.join(1)
        same(time.monotonic() - started < 50, True, "cancelled within 50 s")
        same(len(outcome) == 1 and isinstance(outcome[0], Exception), True, f"outcome {outcome!r} is an error")
        self.is_error(outcome[0], 1317, "70100")
        same(self.run("SELECT 'alive'", None, victim)[0][0], "alive", "the cancelled connection")
        victim.close()
        other.close()

    def await_running(self, other, sql):
        started = time.monotonic()
        prefix = sql.split(" WHERE ")[0]
        while time.monotonic() - started < 40:
            found = self.run(f"SELECT COUNT(*) FROM {self.t.processlist()} WHERE INFO LIKE '{prefix}%'", None, other)
            other.rollback()
            if found[0][0]:
                return
            time.sleep(0.01)
        raise AssertionError("the query to cancel never showed up in the process list")

    def kill_connection(self):
        victim, other = self.a.connect(), self.a.connect()
        self.run(f"KILL {self.a.thread_id(victim)}", None, other)
        other.close()
        try:
            self.run("SELECT 1", None, victim)
        except Exception:
            return
        raise AssertionError("a killed connection still answers")

    def errors(self):
        self.raises(1062, "23000", "INSERT INTO items VALUES (1, 'again')")
        self.raises(1064, "42000", "SELEC 1")
        self.raises(1146, "42S02", "SELECT * FROM no_such_table")
        self.raises(1644, "45000", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'")
        same(self.run("SELECT 'after'")[0][0], "after", "the connection after errors")
        self.main.rollback()

    def reconnects(self, **options):
        for i in range(50):
            connection = self.a.connect(**options)
            same(self.run("SELECT %s", [i], connection)[0][0], i, "answer")
            connection.close()

    def many_rows(self, cursor, number=200000):
        """A result read row by row."""
        cursor.execute(
            "SELECT a.id + 10 * b.id + 100 * c.id + 1000 * d.id + 10000 * e.id, a.name FROM items a, items b, items c, items d, items e, "
            f"(SELECT 1 UNION SELECT 2) f LIMIT {number}"
        )
        total = length = 0
        for row in cursor:
            total += 1
            length += len(row[1])
        cursor.close()
        same(total, number, "rows")
        same(length > 10 * number, True, "text of the rows")
