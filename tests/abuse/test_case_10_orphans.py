"""Case 10: a program that detaches itself, and a worker that is killed: nothing is left once the reaper has looked.

That the sandbox dies with its worker even without a reaper: tests/sandbox/test_contract.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import docker, images
from sandbox.base import Backend, Sandbox
from sandbox.bubblewrap import BubblewrapBackend, make_group
from sandbox.docker import DockerBackend
from sandbox.owners import lives, start_time
from sandbox.registry import reap_all
from tests.needs import missing
from tests.sandbox.conftest import SMALL
from tests.waiting import eventually

WORKER = """
import sys, time
from sandbox.base import SandboxLimits
from sandbox.pool import ReadyPool
from sandbox.registry import load_backend
pool = ReadyPool(load_backend(sys.argv[1]))
box = pool.open(limits=SandboxLimits(memory_mb=128), label="case 10")
while not pool.standing():
    time.sleep(0.05)
print("open", flush=True)
box.exec(["python", "-c", sys.argv[2]], seconds=200)
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.execvp("sleep", ["sleep", "{mark}"])
os.execvp("sleep", ["sleep", "{mark}"])
"""


@pytest.fixture
def mark() -> str:
    """A number of seconds that no other program sleeps."""
    return str(700_000 + os.getpid() % 100_000)


def running(mark: str) -> int:
    """Processes on this host that sleep that long."""
    count = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                count += folder.joinpath("cmdline").read_bytes() == f"sleep\0{mark}\0".encode()
            except OSError:
                continue
    return count


def containers(owner: str) -> int:
    """Containers that belong to a worker, running or not."""
    client = docker.connect()
    try:
        return len(client.api.containers(all=True, filters={"label": f"{docker.OWNER}={owner}"}))
    finally:
        client.close()


def test_a_daemon_ends_with_its_command(box: Sandbox, mark: str) -> None:
    source = DAEMON.format(mark=mark).replace(f'os.execvp("sleep", ["sleep", "{mark}"])\n', "", 2)
    box.exec(["python", "-c", source + f'os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "{mark}")'])
    assert running(mark) == 0


def test_after_a_killed_worker_and_the_reaper_nothing_is_left(backend: Backend, mark: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, backend.name, DAEMON.format(mark=mark)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"open\n"
        owner = f"{worker.pid}-{start_time(worker.pid)}"
        assert eventually(lambda: running(mark) >= 2)
        if backend.name == "docker":
            assert containers(owner) == 2  # the task's and the one that stood ready
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    assert set(reap_all()) >= {backend.name}
    assert eventually(lambda: running(mark) == 0)
    if backend.name == "docker":
        assert eventually(lambda: backend.reap() == 0 and containers(owner) == 0)
    assert not lives(owner)


@pytest.fixture
def dead() -> str:
    """The owner's mark of a worker that was."""
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = f"{process.pid}-{start_time(process.pid)}"
        assert lives(owner)
        process.kill()
        # A corpse that nobody has buried yet does not live either.
        assert eventually(lambda: not lives(owner))
    return owner


@pytest.mark.docker
def test_a_container_that_was_made_and_never_started_is_removed(
    docker_engine: str, monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    client = docker.connect()
    try:
        with monkeypatch.context() as then:
            then.setattr(images, "me", lambda: dead)
            kept = DockerBackend()._create(client, docker.image_name(), SMALL, "case 10", "")
        living = DockerBackend()._create(client, docker.image_name(), SMALL, "case 10", "")
        assert containers(dead) == 1
        assert DockerBackend().reap() >= 1
        assert containers(dead) == 0
        assert [one["Id"] for one in client.api.containers(all=True, filters={"id": living})] == [living]
        assert kept != living
        client.api.remove_container(living, force=True)
    finally:
        client.close()


@pytest.fixture
def stray() -> Iterator[subprocess.Popen[bytes]]:
    """A process that nobody ends."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


@pytest.mark.bubblewrap
def test_a_process_left_in_the_control_group_of_a_dead_worker_is_ended(
    stray: subprocess.Popen[bytes], dead: str
) -> None:
    group = make_group(f"{dead}-0", SMALL)
    if not group.folders:
        missing("no control group may be made here")
    for door in group.doors:
        Path(door).write_text(str(stray.pid))
    assert BubblewrapBackend().reap() >= 1
    assert stray.wait(10) == -signal.SIGKILL
    assert not any(folder.exists() for folder in group.folders)
