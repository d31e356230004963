"""Runs inside a sandbox before the tests: server programs that they need, fresh for each run, and their readiness.

Sent as source by `sandbox.pytest_run`. What is started here ends with the run, as every process of it does.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

FOLDER = "/tmp/.services"  # noqa: S108 - the sandbox's own
KEEP_WORDS = 600
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin", "/usr/sbin")


class ServiceProblem(Exception):
    """A server is not there or did not start (`kind` "missing"), or refused what the repository gives it ("seed")."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def program(*names: str) -> str:
    """The newest server program of one of these names; "" when there is none. Debian keeps PostgreSQL off the PATH."""
    for name in names:
        for place in PLACES:
            found = sorted(glob.glob(f"{place}/{name}"), key=lambda path: (len(path), path))
            if found:
                return found[-1]
    return ""


def _last_words(path: str) -> str:
    try:
        with open(path, errors="replace") as text:
            return " ".join(text.read()[-KEEP_WORDS:].split())
    except OSError:
        return ""


def _call(kind: str, what: str, argv: list[str], **options: Any) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, **options)
    except OSError as error:
        raise ServiceProblem("missing", f"{what}: {os.path.basename(argv[0])} does not start: {error}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout)[-KEEP_WORDS:].split())
        raise ServiceProblem(kind, f"{what}: {said or f'exit code {done.returncode}'}")


def _serve(service: dict[str, Any], argv: list[str], folder: str) -> None:
    """Start a server and wait until it answers as its protocol says."""
    log, end = os.path.join(folder, "log"), time.monotonic() + service["seconds"]
    with open(log, "wb") as out:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder)
    while not READY[service["kind"]](service):
        ended = process.poll() is not None
        if ended or time.monotonic() > end:
            why = "ended" if ended else f"did not answer within {service['seconds']:.0f} s"
            raise ServiceProblem("missing", f"{service['name']} {why}: {_last_words(log)}".rstrip(": "))
        time.sleep(0.05)


def _exchange(port: int, message: bytes, size: int) -> bytes:
    """The first bytes that a server answers; empty when it does not."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            if message:
                line.sendall(message)
            return line.recv(size)
    except OSError:
        return b""


def postgresql_ready(service: dict[str, Any]) -> bool:
    """The server takes a start-up message (message format 3.0): it asks for a password or lets us in.

    While it is starting it answers with an error instead, https://www.postgresql.org/docs/current/protocol-flow.html.
    """
    words = b"\0".join(part.encode() for part in ("user", service["user"], "database", service["database"])) + b"\0\0"
    body = (196608).to_bytes(4, "big") + words
    return _exchange(service["port"], (len(body) + 4).to_bytes(4, "big") + body, 1) == b"R"


def mysql_ready(service: dict[str, Any]) -> bool:
    """The server greets with protocol version 10 in its first packet; an error packet begins with 255."""
    greeting = _exchange(service["port"], b"", 5)
    return len(greeting) == 5 and greeting[4] == 10


def redis_ready(service: dict[str, Any]) -> bool:
    """PING is answered with PONG, or with the wish for a password; while data is loaded with another error."""
    return _exchange(service["port"], b"PING\r\n", 7).startswith((b"+PONG", b"-NOAUTH"))


READY: dict[str, Callable[[dict[str, Any]], bool]] = {
    "postgresql": postgresql_ready,
    "mysql": mysql_ready,
    "redis": redis_ready,
}


def start_postgresql(service: dict[str, Any], folder: str) -> None:
    server, data, name = program("postgres"), os.path.join(folder, "data"), service["name"]
    tools, user, database = os.path.dirname(server), service["user"], service["database"]
    own = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--wal-segsize=1", "--no-sync"]
    _call("missing", name, [f"{tools}/initdb", "-D", data, "-U", user, *own])
    if database not in ("postgres", "template0", "template1"):
        quoted = database.replace('"', '""')
        single = [server, "--single", "-D", data, "-F", "postgres"]
        _call("missing", name, single, input=f'CREATE DATABASE "{quoted}"\n')
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(service["port"]),
        "unix_socket_directories": folder,
        "fsync": "off",  # nothing outlives the run
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "shared_buffers": "16MB",
        "max_wal_size": "16MB",
        "min_wal_size": "2MB",
        "max_connections": "40",
    }
    words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    _serve(service, [server, "-D", data, *words], folder)
    for seed in service["seeds"]:
        psql = [f"{tools}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", str(service["port"])]
        _call("seed", f"{name}, {seed}", [*psql, "-U", user, "-d", database, "-f", seed])


def start_mysql(service: dict[str, Any], folder: str) -> None:
    server, data, name = program("mariadbd", "mysqld"), os.path.join(folder, "data"), service["name"]
    line, first = os.path.join(folder, "socket"), os.path.join(folder, "first.sql")
    if os.path.basename(server) == "mariadbd":
        own = ["--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db"]
        _call("missing", name, [program("mariadb-install-db", "mysql_install_db"), *own])
    else:
        _call("missing", name, [server, "--no-defaults", f"--datadir={data}", "--initialize-insecure"])
    user, password = (service[part].replace("\\", "\\\\").replace("'", "''") for part in ("user", "password"))
    table = service["database"].replace("`", "``")
    with open(first, "x") as text:  # each statement on a line of its own, as the server wants it
        text.write(f"CREATE DATABASE IF NOT EXISTS `{table}`;\n")
        for host in ("localhost", "127.0.0.1", "%"):
            if user == "root":
                text.write(f"CREATE USER IF NOT EXISTS 'root'@'{host}';\n")
                text.write(f"ALTER USER 'root'@'{host}' IDENTIFIED BY '{password}';\n")
            else:
                text.write(f"CREATE USER IF NOT EXISTS '{user}'@'{host}' IDENTIFIED BY '{password}';\n")
            text.write(f"GRANT ALL ON *.* TO '{user}'@'{host}' WITH GRANT OPTION;\n")
    own = ["--no-defaults", f"--datadir={data}", f"--socket={line}", f"--pid-file={folder}/pid"]
    own += [f"--port={service['port']}", "--bind-address=127.0.0.1", f"--init-file={first}", "--skip-name-resolve"]
    own += ["--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
    if os.path.basename(server) == "mariadbd":
        own += ["--innodb-log-file-size=4M"]
    _serve(service, [server, *own], folder)
    for seed in service["seeds"]:
        client = [program("mariadb", "mysql"), "--no-defaults", f"--socket={line}", "-u", service["user"]]
        with open(seed, "rb") as text:
            secret = {**os.environ, "MYSQL_PWD": service["password"]}
            _call("seed", f"{name}, {seed}", [*client, service["database"]], stdin=text, env=secret)


def start_redis(service: dict[str, Any], folder: str) -> None:
    own = ["--port", str(service["port"]), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
    if service["password"]:
        own += ["--requirepass", service["password"]]
    _serve(service, [program("redis-server", "valkey-server"), *own], folder)


START: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any], str], None]]] = {
    "postgresql": (("postgres",), start_postgresql),
    "mysql": (("mariadbd", "mysqld"), start_mysql),
    "redis": (("redis-server", "valkey-server"), start_redis),
}


def start_services(services: list[dict[str, Any]]) -> list[str]:
    """Start servers, wait for each, and say what they are. Raises ServiceProblem."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    said = []
    for service in services:
        names, start = START[service["kind"]]
        found = program(*names)
        if not found:
            raise ServiceProblem("missing", f"{service['name']} is needed for the tests. {service['cure']}")
        folder = os.path.join(FOLDER, service["kind"])
        os.makedirs(folder, 0o700)
        start(service, folder)
        said.append(f"{service['name']} ({found})")
    return said
