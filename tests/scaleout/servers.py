"""Servers for tests, started from Debian's programs on 127.0.0.1 and stopped by their own process id."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    """Wait until the server listens; its log says why it does not."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up and server.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2_000:]}")


def stop(server: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ask the server to end; make sure after ten seconds."""
    if server.poll() is None:
        server.send_signal(how)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


def postgresql_programs() -> Path | None:
    """The newest PostgreSQL's bin folder."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


@contextmanager
def postgresql(programs: Path) -> Iterator[str]:
    """A fresh PostgreSQL; gives the DATABASE_URL of its superuser and removes everything afterwards."""
    home = Path(tempfile.mkdtemp(prefix="aiswe-pg-"))
    log, port = home / "log", free_port()
    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        user = nobody.pw_uid
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
    kwargs = {"user": user, "cwd": home, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(home)}}
    server = None
    try:
        subprocess.run(
            [programs / "initdb", "-D", home / "data", "-U", "aiswe", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            timeout=120,
            **kwargs,
        )
        with log.open("wb") as out:
            server = subprocess.Popen(
                [
                    *(programs / "postgres", "-D", home / "data", "-p", str(port), "-h", "127.0.0.1", "-k", home),
                    *("-c", "fsync=off", "-c", "max_connections=200"),
                ],
                stdout=out,
                stderr=out,
                **kwargs,
            )
        wait_for(port, server, log)
        yield f"postgresql://aiswe@127.0.0.1:{port}/postgres"
    finally:
        if server is not None:
            stop(server, signal.SIGINT)  # fast shutdown: open connections are closed
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def redis(program: str) -> Iterator[str]:
    """A fresh Redis that keeps nothing; gives its REDIS_URL."""
    home = Path(tempfile.mkdtemp(prefix="aiswe-redis-"))
    log, port = home / "log", free_port()
    with log.open("wb") as out:
        server = subprocess.Popen(
            [
                program,
                "--port",
                str(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(home),
            ],
            stdout=out,
            stderr=out,
        )
    try:
        wait_for(port, server, log)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        stop(server, signal.SIGTERM)
        shutil.rmtree(home, ignore_errors=True)
