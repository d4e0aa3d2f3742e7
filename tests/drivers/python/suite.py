"""The target of a run, the reporting of checks, and the test data: shared by the Python programs of the driver matrix."""

import datetime
import decimal
import json
import os
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
BIG_LINES = 20 * 1024 * 1024 // 8
ZERO = datetime.timedelta(0)


class Target:
    """Where to connect, as the environment says (see README.md)."""

    def __init__(self):
        env = os.environ
        self.host = env["WEIR_HOST"]
        self.port = int(env["WEIR_PORT"])
        self.socket = env.get("WEIR_SOCKET") or None
        self.user = env["WEIR_USER"]
        self.password = env["WEIR_PASSWORD"]
        self.db = env["WEIR_DB"]
        self.family = env["WEIR_FAMILY"]
        self.direct = env.get("WEIR_VIA", "direct") == "direct"
        self.tls = env.get("WEIR_TLS", "1") == "1"
        self.ca = env.get("WEIR_CA") or None
        self.ca_names_host = env.get("WEIR_CA_NAMES_HOST", "0") == "1"
        self.sha2 = self.family == "mysql" or not self.direct

    def processlist(self):
        """MySQL announces the removal of the table in information_schema, MariaDB has no other."""
        return "performance_schema.processlist" if self.family == "mysql" else "information_schema.processlist"


class Suite:
    """Runs checks, prints a line for each, counts."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, name, function, *arguments):
        try:
            function(*arguments)
        except BaseException as error:  # a check may raise whatever its driver raises
            if isinstance(error, KeyboardInterrupt):
                raise
            self.failed += 1
            where = traceback.extract_tb(error.__traceback__)
            line = next((f.lineno for f in reversed(where) if f.filename.startswith(os.path.dirname(HERE)) and f.name != "same"), 0)
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {name}: line {line}: {text[:600]}", flush=True)
        else:
            self.passed += 1
            print(f"ok {name}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)


def same(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got {str(got)[:250]!r}, wanted {str(wanted)[:250]!r}")


def big_text():
    """20 MiB in which every eight bytes differ, so that a lost or swapped packet shows."""
    return "".join("%07d\n" % i for i in range(BIG_LINES))


def columns(family):
    with open(os.path.join(HERE, "..", "types.json"), encoding="utf-8") as file:
        return [c for c in json.load(file) if c.get("family", family) == family]


def create_types(cols):
    body = ", ".join(f"{c['name']} {c['type']} NULL" for c in cols)
    return f"CREATE TABLE types (id INT PRIMARY KEY, {body}) CHARACTER SET utf8mb4"


def to_python(kind, text):
    """The value of a column as a Python program would hold it."""
    if text is None:
        return None
    if kind in ("int", "uint", "bit", "year"):
        return int(text)
    if kind == "decimal":
        return decimal.Decimal(text)
    if kind == "float":
        return float(text)
    if kind == "bytes":
        return bytes.fromhex(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "datetime":
        return datetime.datetime.fromisoformat(text)
    if kind == "time":
        return parse_time(text)
    return text


def parse_time(text):
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, fraction = seconds.partition(".")
    return sign * datetime.timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=int((fraction or "0").ljust(6, "0"))
    )


def canonical(kind, value):
    """One form for what the drivers give back in several."""
    if value is None:
        return None
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if kind == "bit":
        return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)
    if kind == "bytes" and isinstance(value, str):
        return value.encode()  # mysql-connector-python decodes a GEOMETRY whose bytes happen to be UTF-8
    if kind == "set":
        parts = value if isinstance(value, (set, frozenset)) else value.split(",")
        return sorted(p for p in parts if p)
    if kind == "json":
        return json.loads(value)
    if kind == "decimal":
        return format(value, "f")
    if kind in ("int", "uint", "year", "float"):
        same(isinstance(value, (int, float)), True, f"{kind} came as {type(value).__name__}")
    return value


def compare_types(cols, rows):
    """Compares the three rows that were inserted (the third is all NULL) with what was read."""
    same(len(rows), 3, "rows of types")
    for number, row in enumerate(rows):
        same(row[0], number + 1, "id")
        for index, col in enumerate(cols):
            text = col["values"][number] if number < 2 else None
            wanted = canonical(col["kind"], to_python(col["kind"], text))
            same(canonical(col["kind"], row[index + 1]), wanted, f"row {number + 1} {col['name']}")


def load_file():
    """A file for LOAD DATA LOCAL: (path, number of lines, sum of the ids, bytes of text)."""
    handle = tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False, encoding="utf-8", newline="")
    total = 0
    with handle:
        for i in range(1, 20001):
            text = f"größe 漢字 🐬 {i}"
            total += len(text.encode())
            handle.write(f"{i}\t{text}\n")
    return handle.name, 20000, 20000 * 20001 // 2, total
