"""PyMySQL: text protocol only (it has no binary prepared statements and no compression)."""

import ssl

import pymysql
from pymysql.constants import CLIENT
from pymysql.cursors import SSCursor

from dbapi import Adapter, Checks
from suite import Suite, Target, same


class PyMySQL(Adapter):
    def __init__(self):
        self.target = Target()

    def connect(self, user=None, password=None, db="", tls=None, socket=False, infile=False, flags=0):
        t = self.target
        options = dict(user=user or t.user, password=password or t.password, client_flag=flags, charset="utf8mb4")
        options["database"] = t.db if db == "" else db
        if socket:
            options["unix_socket"] = t.socket
        else:
            options.update(host=t.host, port=t.port)
        if tls:
            options["ssl"] = context(t.ca if tls == "verify" else None)
        else:
            options["ssl_disabled"] = True
        return pymysql.connect(local_infile=infile, max_allowed_packet=64 << 20, **options)

    def thread_id(self, connection):
        return connection.thread_id()

    def error_of(self, error):
        # PyMySQL does not keep the SQLSTATE; the class of the exception stands for it.
        return error.args[0], None


def context(ca):
    made = ssl.create_default_context(cafile=ca)
    made.check_hostname = False
    if ca is None:
        made.verify_mode = ssl.CERT_NONE
    return made


def stream(checks):
    connection = checks.a.connect()
    checks.many_rows(connection.cursor(SSCursor))
    connection.close()


def warnings(checks):
    cursor = checks.main.cursor()
    cursor.execute("DROP TABLE IF EXISTS no_such_table")
    same(cursor.warning_count, 1, "warning count")
    same(checks.run("SHOW WARNINGS")[0][1], 1051, "warning")
    cursor.close()


def multi(checks):
    connection = checks.a.connect(flags=CLIENT.MULTI_STATEMENTS)

    def execute(sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return checks.a.sets_of(cursor)

    checks.multi_statements(execute)
    connection.close()


def plugin(checks):
    """A user's first login goes by caching_sha2_password, named in the greeting or switched to: the driver makes its scramble."""
    scramble, made = pymysql._auth.scramble_caching_sha2, []

    def counted(*arguments):
        made.append(scramble(*arguments))
        return made[-1]

    pymysql._auth.scramble_caching_sha2 = counted
    try:
        checks.login_new_user("q")
    finally:
        pymysql._auth.scramble_caching_sha2 = scramble
    same(len(made) > 0, True, "a scramble of caching_sha2_password was sent")



def main():
    # PyMySQL does not know the type VECTOR and decodes its bytes as ASCII.
    suite, checks = Suite(), Checks(PyMySQL(), unknown=("c_vector",))
    t = checks.t
    suite.check("prepare", checks.prepare)
    suite.check("login-plain", lambda: checks.login(ciphered=False))
    suite.check("login-new-user-plain", lambda: checks.login_new_user("p"))
    if t.tls:
        suite.check("login-tls", lambda: checks.login(tls="on", ciphered=True))
        suite.check("login-new-user-tls", lambda: checks.login_new_user("t", tls="on"))
    if t.tls and t.ca:
        suite.check("login-verify-ca", lambda: checks.login(tls="verify", ciphered=True))
    if t.socket:
        suite.check("login-socket", lambda: checks.login(socket=True))
        suite.check("login-new-user-socket", lambda: checks.login_new_user("s", socket=True))
    if t.sha2:
        suite.check("plugin-caching-sha2", plugin, checks)
    suite.check("login-wrong-password", checks.login_wrong_password)
    suite.check("login-unknown-schema", checks.login_unknown_schema)
    suite.check("types-text", checks.types_text)
    suite.check("big-value", checks.big_value)
    if t.tls:
        suite.check("big-value-tls", lambda: checks.big_value_on(tls="on"))
    suite.check("load-data-local", checks.load_data_local)
    suite.check("procedure-results", checks.procedure_results)
    suite.check("multi-statements", multi, checks)
    suite.check("transaction", checks.transaction)
    suite.check("cancel", checks.cancel)
    suite.check("kill-connection", checks.kill_connection)
    suite.check("errors", checks.errors)
    suite.check("warnings", warnings, checks)
    suite.check("stream", stream, checks)
    suite.check("reconnects-tls", lambda: checks.reconnects(tls="on")) if t.tls else None
    suite.check("reconnects", checks.reconnects)
    suite.finish()


main()
