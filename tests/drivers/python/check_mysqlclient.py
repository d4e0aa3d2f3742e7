"""mysqlclient (MySQLdb) over the distribution's libmariadb: text protocol only, it offers no prepared statements."""

import MySQLdb
import MySQLdb.cursors

from dbapi import Adapter, Checks
from suite import Suite, Target, same


class MysqlClient(Adapter):
    def __init__(self):
        self.target = Target()

    def connect(self, user=None, password=None, db="", tls=None, socket=False, infile=False, compress=False, **more):
        t = self.target
        options = dict(user=user or t.user, password=password or t.password, charset="utf8mb4", compress=compress)
        database = t.db if db == "" else db
        if database:
            options["database"] = database
        if socket:
            options["unix_socket"] = t.socket
        else:
            options.update(host=t.host, port=t.port)
        if tls == "verify":
            options["ssl"] = {"ca": t.ca}
            options["ssl_mode"] = "VERIFY_IDENTITY"
        else:
            options["ssl_mode"] = "REQUIRED" if tls else "DISABLED"
        return MySQLdb.connect(local_infile=1 if infile else 0, **options, **more)

    def thread_id(self, connection):
        return connection.thread_id()

    def error_of(self, error):
        # mysqlclient does not keep the SQLSTATE.
        return error.args[0], None


def multi(checks):
    def execute(sql):
        cursor = checks.main.cursor()
        try:
            cursor.execute(sql)
            return checks.a.sets_of(cursor)
        finally:
            # Closing reads what is left of the results.
            cursor.close()

    checks.multi_statements(execute)


def change_user(checks):
    user = f"{checks.t.db}_c"[:32]
    checks.run(f"DROP USER IF EXISTS '{user}'@'%'")
    checks.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY 'change-1'")
    connection = checks.a.connect()
    try:
        checks.run("SET @left = 5", None, connection)
        connection.change_user(user, "change-1")
        got = checks.run("SELECT CURRENT_USER(), @left, DATABASE()", None, connection)[0]
        same((got[0].split("@")[0], got[1], got[2]), (user, None, None), "session after the change")
        connection.change_user(checks.t.user, checks.t.password, checks.t.db)
        same(checks.run("SELECT DATABASE()", None, connection)[0][0], checks.t.db, "schema")
    finally:
        connection.close()
        checks.run(f"DROP USER '{user}'@'%'")


def stream(checks):
    connection = checks.a.connect()
    checks.many_rows(connection.cursor(MySQLdb.cursors.SSCursor))
    connection.close()


def commands(checks):
    """COM_PING, COM_STATISTICS, COM_INIT_DB, COM_SET_OPTION through their own calls."""
    connection = checks.a.connect()
    connection.ping()
    same("Uptime" in str(connection.stat()), True, "statistics")
    connection.select_db("information_schema")
    same(checks.run("SELECT DATABASE()", None, connection)[0][0], "information_schema", "schema")
    connection.set_server_option(1)
    checks.raises(1064, "42000", "SELECT 1; SELECT 2", connection)
    connection.set_server_option(0)
    connection.close()


def logins(suite, checks):
    t = checks.t
    suite.check("login-plain", lambda: checks.login(ciphered=False))
    suite.check("login-new-user-plain", lambda: checks.login_new_user("p"))
    suite.check("login-compressed", lambda: checks.login(compress=True, compressed=True))
    if t.tls:
        suite.check("login-tls", lambda: checks.login(tls="on", ciphered=True))
        suite.check("login-compressed-tls", lambda: checks.login(tls="on", ciphered=True, compress=True, compressed=True))
        suite.check("login-new-user-tls", lambda: checks.login_new_user("t", tls="on"))
    # libmariadb of the distribution verifies the host name along with the certificate or nothing at all.
    if t.tls and t.ca and t.ca_names_host:
        suite.check("login-verify-identity", lambda: checks.login(tls="verify", ciphered=True))
    if t.socket:
        suite.check("login-socket", lambda: checks.login(socket=True))
        suite.check("login-new-user-socket", lambda: checks.login_new_user("s", socket=True))
    suite.check("login-wrong-password", checks.login_wrong_password)
    suite.check("login-unknown-schema", checks.login_unknown_schema)


def main():
    # Bytes are sent without the introducer that a VECTOR asks for.
    suite, checks = Suite(), Checks(MysqlClient(), unknown=("c_vector",))
    t = checks.t
    suite.check("prepare", checks.prepare)
    logins(suite, checks)
    suite.check("types-text", checks.types_text)
    suite.check("big-value", checks.big_value)
    suite.check("big-value-compressed", lambda: checks.big_value_on(compress=True))
    if t.tls:
        suite.check("big-value-tls", lambda: checks.big_value_on(tls="on"))
    suite.check("load-data-local", checks.load_data_local)
    suite.check("load-data-local-compressed", lambda: checks.load_data_local(compress=True))
    suite.check("procedure-results", checks.procedure_results)
    suite.check("multi-statements", multi, checks)
    suite.check("transaction", checks.transaction)
    suite.check("cancel", checks.cancel)
    suite.check("kill-connection", checks.kill_connection)
    suite.check("errors", checks.errors)
    suite.check("commands", commands, checks)
    suite.check("stream", stream, checks)
    suite.check("change-user", change_user, checks)
    suite.check("reconnects", checks.reconnects)
    suite.finish()


main()
