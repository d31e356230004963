"""Servers that tests need: fresh for each run, inside or beside the sandbox."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import docker
import pytest

from sandbox.base import Backend, SandboxLimits
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.docker import DockerBackend, connect
from sandbox.inside import services as inside
from sandbox.pytest_run import run_pytest
from sandbox.services import KINDS, Kind, Service, environment_of
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup
from tests.needs import missing
from tests.sandbox.server_images import TAG, server_image
from tests.tables import each_row

LIMITS = SandboxLimits(disk_mb=1024)
# What each server is asked without a client library: a row that is there only if nobody wrote before.
ASKS: dict[Kind, str] = {
    "postgresql": """
import os, glob, subprocess

def ask(sql):
    (psql, *_) = glob.glob("/usr/lib/postgresql/*/bin/psql")
    done = subprocess.run([psql, "-XAtc", sql], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()

def test_a_fresh_database():
    assert os.environ["DATABASE_URL"] == "postgresql://shop:s%2Fecret@127.0.0.1:5432/shop"
    ask("create table seen (n int)")
    assert ask("insert into seen values (7) returning n")[0] == "7"
""",
    "mysql": """
import os, subprocess

def ask(sql):
    host, user, database = (os.environ[f"MYSQL_{part}"] for part in ("HOST", "USER", "DATABASE"))
    env = {**os.environ, "MYSQL_PWD": "s/ecret"}
    argv = ["mariadb", "-N", "-h", host, "-u", user, database, "-e", sql]
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()

def test_a_fresh_database():
    ask("create table seen (n int)")
    ask("insert into seen values (7)")
    assert ask("select n from seen") == ["7"]
""",
    "redis": """
import os, socket

def ask(words):
    with socket.create_connection(("127.0.0.1", 6379)) as line:
        line.sendall(words)
        return line.recv(100)

def test_a_fresh_store():
    assert os.environ["REDIS_URL"] == "redis://127.0.0.1:6379/0"
    assert ask(b"INCR seen\\r\\n") == b":1\\r\\n"
""",
}
PROGRAMS = {"postgresql": ("postgres",), "mysql": ("mariadbd", "mysqld"), "redis": ("redis-server",)}


def wanted(kind: Kind, *seeds: str) -> Service:
    return Service(kind) if kind == "redis" else Service(kind, "", "shop", "s/ecret", "shop", seeds)


@pytest.fixture
def bubblewrap() -> Backend:
    made = BubblewrapBackend()
    state = made.availability()
    if not state.ok:
        missing(f"bubblewrap: {state.problem}; {state.hint}")
    return made


def run(backend: Backend, files: dict[str, str], *services: Service, times: int = 1) -> list[TestReport]:
    setup = TestSetup(services=services)
    with backend.open(limits=LIMITS) as box:
        box.put({path: text.encode() for path, text in files.items()})
        return [run_pytest(box, setup=setup) for _ in range(times)]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_each_run_has_a_fresh_server_of_this_machine(bubblewrap: Backend, kind: Kind) -> None:
    if not inside.program(*PROGRAMS[kind]):
        missing(f"no {' or '.join(PROGRAMS[kind])} on this machine")
    first, second = run(bubblewrap, {"test_it.py": ASKS[kind]}, wanted(kind), times=2)
    assert first.ok, first
    assert second.ok, second
    assert first.services[0].startswith(wanted(kind).facts.name)


@pytest.fixture
def docker_backend(docker_engine: str) -> Backend:
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    return DockerBackend()


@pytest.fixture
def engine(docker_backend: Backend) -> Iterator[docker.DockerClient]:
    client = connect(120)
    yield client
    client.close()


ASK_BY_SOCKET = """
import os, socket

def test_the_server_asks_for_a_login_and_nothing_else_is_in_reach():
    assert os.environ["PGUSER"] == "shop"
    with socket.create_connection(("127.0.0.1", 5432)) as line:
        body = (196608).to_bytes(4, "big") + b"user\\0shop\\0database\\0shop\\0\\0"
        line.sendall((len(body) + 4).to_bytes(4, "big") + body)
        assert line.recv(1) == b"R"
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
"""


def left(client: docker.DockerClient) -> list[str]:
    return [str(found["Image"]) for found in client.api.containers(all=True) if TAG in str(found["Image"])]


@pytest.mark.docker
def test_beside_a_container_runs_a_fresh_server_which_is_gone_after_the_run(
    docker_backend: Backend, engine: docker.DockerClient
) -> None:
    database = replace(wanted("postgresql", "db/one.sql"), image=server_image(engine, "postgresql"))
    store = replace(wanted("redis"), image=server_image(engine, "redis"))
    files = {"test_it.py": ASK_BY_SOCKET, "test_store.py": ASKS["redis"], "db/one.sql": "create table t (n int);\n"}
    for report in run(docker_backend, files, database, store, times=2):
        assert report.ok, report
        assert report.services == (f"PostgreSQL ({database.image})", f"Redis ({store.image})")
    assert left(engine) == []


@pytest.mark.docker
def test_a_seed_that_a_server_beside_refuses_is_the_failure_of_the_repository(
    docker_backend: Backend, engine: docker.DockerClient
) -> None:
    service = replace(wanted("postgresql", "db/one.sql"), image=server_image(engine, "postgresql"))
    (report,) = run(docker_backend, {"test_it.py": "", "db/one.sql": "create tabel t (n int);\n"}, service)
    assert not report.ok
    assert not report.void
    assert 'syntax error at or near "tabel"' in report.problem
    assert left(engine) == []


@pytest.mark.docker
def test_what_neither_engine_nor_sandbox_have_is_named_with_the_way_out(docker_backend: Backend) -> None:
    service = Service("mysql", image="mysql:8.4")
    (report,) = run(docker_backend, {"test_it.py": "def test(): pass\n"}, service)
    assert report.void == (
        "MySQL is needed for the tests. Install the package mariadb-server on this machine, "
        "or with Docker: docker pull mysql:8.4"
    )


@pytest.mark.bubblewrap
def test_a_seed_is_there_before_the_tests(bubblewrap: Backend) -> None:
    files = {
        "test_it.py": ASKS["postgresql"].replace("create table seen (n int)", "select 1"),
        "db/01.sql": "create table seen (n int, at timestamptz default now());\ninsert into seen values (1);\n",
    }
    (report,) = run(bubblewrap, files, wanted("postgresql", "db/01.sql"))
    assert report.ok, report


@pytest.mark.bubblewrap
def test_a_seed_that_the_server_refuses_is_the_failure_of_the_repository(bubblewrap: Backend) -> None:
    files = {"test_it.py": ASKS["postgresql"], "db/01.sql": "create tabel seen (n int);\n"}
    (report,) = run(bubblewrap, files, wanted("postgresql", "db/01.sql"))
    assert not report.ok
    assert not report.void
    assert report.problem.startswith("PostgreSQL, db/01.sql: ")
    assert 'syntax error at or near "tabel"' in report.problem


@pytest.mark.bubblewrap
def test_a_server_that_does_not_start_proves_nothing_of_the_code(bubblewrap: Backend) -> None:
    limits = replace(LIMITS, disk_mb=64)  # /tmp is a quarter of it: too little for a database
    with bubblewrap.open(limits=limits) as box:
        box.put({"test_it.py": ASKS["postgresql"].encode()})
        report = run_pytest(box, setup=TestSetup(services=(wanted("postgresql"),)))
    assert report.void.startswith("PostgreSQL")
    assert "No space left on device" in report.void


def test_the_address_of_the_first_database_is_the_one_that_most_programs_read() -> None:
    found = environment_of([wanted("postgresql"), wanted("mysql"), wanted("redis")])
    assert found["DATABASE_URL"] == "postgresql://shop:s%2Fecret@127.0.0.1:5432/shop"
    assert found["MYSQL_URL"] == "mysql://shop:s%2Fecret@127.0.0.1:3306/shop"
    assert found["REDIS_URL"] == "redis://127.0.0.1:6379/0"


@each_row(
    ("kind", "answer", "ready"),
    [
        ("postgresql", b"R\0\0\0\x08\0\0\0\0", True),
        ("postgresql", b"E\0\0\0\x50SFATAL\0C57P03\0Mthe database system is starting up\0\0", False),
        ("mysql", b"\x4a\0\0\0\x0a10.11.19-MariaDB\0", True),
        ("mysql", b"\x48\0\0\0\xff\x6a\x04Host is not allowed to connect", False),
        ("redis", b"+PONG\r\n", True),
        ("redis", b"-NOAUTH Authentication required.\r\n", True),
        ("redis", b"-LOADING Redis is loading the dataset in memory\r\n", False),
        ("redis", b"", False),
    ],
)
def test_a_server_is_ready_when_it_answers_as_its_protocol_says(kind: Kind, answer: bytes, ready: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line, suppress(OSError):  # it hangs up when it knows enough
                line.sendall(answer)
                line.shutdown(socket.SHUT_WR)
                line.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        told = wanted(kind).to_start() | {"port": server.getsockname()[1]}
        assert inside.READY[kind](told) is ready
        thread.join()
    assert inside.READY[kind](told) is False  # nobody listens
