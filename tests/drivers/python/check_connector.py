"""mysql-connector-python, twice: the pure Python protocol and the C extension (libmysqlclient)."""

import sys

if sys.argv[1] == "c":
    # The extension brings an OpenSSL newer than Debian's; whichever is loaded first serves the whole process.
    import _mysql_connector  # noqa: F401

import mysql.connector

from dbapi import Adapter, Checks
from suite import Suite, Target, same


class Connector(Adapter):
    def __init__(self, pure):
        self.target = Target()
        self.pure = pure

    def connect(self, user=None, password=None, db="", tls=None, socket=False, infile=False, compress=False, **more):
        t = self.target
        options = dict(user=user or t.user, password=password or t.password, charset="utf8mb4", use_pure=self.pure)
        options["database"] = t.db if db == "" else db
        if socket:
            options["unix_socket"] = t.socket
        else:
            options.update(host=t.host, port=t.port)
        options["ssl_disabled"] = not tls
        if tls == "verify":
            options.update(ssl_ca=t.ca, ssl_verify_cert=True)
        # autocommit is the server's default here as in the other programs; the driver turns it off.
        return mysql.connector.connect(allow_local_infile=infile, compress=compress, autocommit=True, **options, **more)

    def thread_id(self, connection):
        return connection.connection_id

    def error_of(self, error):
        return error.errno, error.sqlstate


def prepared(checks):
    """insert and select by COM_STMT_PREPARE and COM_STMT_EXECUTE."""

    def insert(sql, row):
        cursor = checks.main.cursor(prepared=True)
        cursor.execute(sql, row)
        cursor.close()

    def select(sql):
        cursor = checks.main.cursor(prepared=True)
        cursor.execute(sql)
        rows = list(cursor.fetchall())
        # A second execution of the same statement must read the same.
        cursor.execute(sql)
        same(list(cursor.fetchall()) == rows, True, "second execution")
        cursor.close()
        return rows

    return insert, select


def multi(checks):
    def execute(sql):
        cursor = checks.main.cursor()
        try:
            cursor.execute(sql)
            return checks.a.sets_of(cursor)
        finally:
            cursor.close()

    checks.multi_statements(execute)


def call_with_out_parameter(checks):
    checks.run("DROP PROCEDURE IF EXISTS twice")
    checks.run("CREATE PROCEDURE twice(IN a INT, OUT b INT) BEGIN SELECT a; SET b = 2 * a; END")
    cursor = checks.main.cursor()
    same(int(cursor.callproc("twice", (21, 0))[1]), 42, "OUT parameter")
    same([r.fetchall() for r in cursor.stored_results()], [[(21,)]], "result set")
    cursor.close()


def change_user(checks):
    """COM_CHANGE_USER to a new user and back, then COM_RESET_CONNECTION."""
    user = f"{checks.t.db}_c"[:32]
    checks.run(f"DROP USER IF EXISTS '{user}'@'%'")
    checks.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY 'change-1'")
    # Full authentication of caching_sha2_password needs TLS here, see logins().
    connection = checks.a.connect(tls="on" if checks.t.tls else None)
    try:
        checks.run("SET @left = 5", None, connection)
        connection.cmd_change_user(user, "change-1", "")
        got = checks.run("SELECT CURRENT_USER(), @left, DATABASE()", None, connection)[0]
        same((got[0].split("@")[0], got[1], got[2]), (user, None, None), "session after the change")
        connection.cmd_change_user(checks.t.user, checks.t.password, checks.t.db)
        same(checks.run("SELECT DATABASE()", None, connection)[0][0], checks.t.db, "schema")
        checks.run("SET @left = 6", None, connection)
        connection.cmd_reset_connection()
        same(checks.run("SELECT @left", None, connection)[0][0], None, "user variable after the reset")
    finally:
        connection.close()
        checks.run(f"DROP USER '{user}'@'%'")


def stream(checks):
    connection = checks.a.connect()
    checks.many_rows(connection.cursor(buffered=False))
    connection.close()


def warnings(checks):
    connection = checks.a.connect(get_warnings=True)
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS no_such_table")
    same(cursor.warnings[0][1], 1051, "warning")
    connection.close()


def attributes(checks):
    """Query attributes travel in front of the statement's text."""
    connection = checks.a.connect()
    cursor = connection.cursor()
    cursor.add_attribute("hidden", "DROP TABLE items; -- größe")
    cursor.add_attribute("number", 7)
    cursor.execute("SELECT COUNT(*) FROM items")
    same(cursor.fetchone()[0], 10, "count")
    connection.close()


def logins(suite, checks):
    t = checks.t
    suite.check("login-plain", lambda: checks.login(ciphered=False))
    # Neither form can ask for the public key: without TLS caching_sha2_password works only when the server
    # remembers the user, so a new one cannot log in, and a wrong password never leaves the driver.
    if not t.sha2:
        suite.check("login-new-user-plain", lambda: checks.login_new_user("p"))
    suite.check("login-compressed", lambda: checks.login(compress=True, compressed=True))
    if t.tls:
        suite.check("login-tls", lambda: checks.login(tls="on", ciphered=True))
        suite.check("login-compressed-tls", lambda: checks.login(tls="on", ciphered=True, compress=True, compressed=True))
        suite.check("login-new-user-tls", lambda: checks.login_new_user("t", tls="on"))
    if t.tls and t.ca:
        suite.check("login-verify-ca", lambda: checks.login(tls="verify", ciphered=True))
    if t.socket:
        suite.check("login-socket", lambda: checks.login(socket=True))
        suite.check("login-new-user-socket", lambda: checks.login_new_user("s", socket=True))
    suite.check("login-wrong-password", lambda: checks.login_wrong_password(tls="on" if t.tls else None))
    suite.check("login-unknown-schema", checks.login_unknown_schema)


def main():
    suite, checks = Suite(), Checks(Connector(sys.argv[1] == "pure"))
    pure = checks.a.pure
    # Bytes are sent without the introducer that a VECTOR asks for. In the binary protocol the pure form takes a
    # YEAR for a string and both lose the sign of a TIME; the extension overflows above 2^63 and rounds a DOUBLE up.
    checks.unknown = ("c_vector",)
    broken = ("c_time", "c_time6") + (("c_year",) if pure else ("c_bigint_u", "c_bit64", "c_double"))
    t = checks.t
    if t.tls:
        checks.a.connect(db=None, tls="on").close()  # the server remembers the user from here on
    suite.check("prepare", checks.prepare)
    logins(suite, checks)
    suite.check("types-text", checks.types_text)
    suite.check("types-prepared", lambda: checks.types(*prepared(checks), unknown=broken))
    suite.check("big-value", checks.big_value)
    # The pure protocol cuts a binary row of 16 MiB and more.
    if not pure:
        suite.check("big-value-prepared", lambda: checks.big_value(None, *prepared(checks)))
    # The pure protocol reads at most two compressed frames for a packet. The servers' frames have up to 16 MiB, Weir's
    # 128 KiB, for Weir never holds a whole value.
    if not pure or checks.t.direct:
        suite.check("big-value-compressed", lambda: checks.big_value_on(compress=True))
    suite.check("load-data-local", checks.load_data_local)
    suite.check("load-data-local-compressed", lambda: checks.load_data_local(compress=True))
    suite.check("procedure-results", checks.procedure_results)
    suite.check("procedure-out", call_with_out_parameter, checks)
    suite.check("multi-statements", multi, checks)
    suite.check("transaction", checks.transaction)
    suite.check("cancel", checks.cancel)
    suite.check("kill-connection", checks.kill_connection)
    suite.check("errors", checks.errors)
    suite.check("warnings", warnings, checks)
    if t.family == "mysql":
        suite.check("query-attributes", attributes, checks)
    suite.check("stream", stream, checks)
    suite.check("change-user", change_user, checks)
    suite.check("reconnects", checks.reconnects)
    suite.finish()


main()
