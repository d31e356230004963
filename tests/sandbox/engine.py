"""A Docker engine of the tests' own, where none answers: its data stays between runs so that the image is built once.

Several test processes share it: the first one starts it, the last one stops it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import docker
import docker.errors


class NoEngine(Exception):
    """Why there is no engine here, in words."""


def answers(url: str | None = None) -> bool:
    """Whether an engine answers at `url`, or where the environment says."""
    try:
        client = docker.DockerClient(base_url=url, timeout=5) if url else docker.from_env(timeout=5)
        try:
            client.ping()
        finally:
            client.close()
    except (docker.errors.DockerException, OSError):
        return False
    return True


class OwnEngine:
    """dockerd with its own folders, socket and pid file; stopped by the process id it wrote."""

    def __init__(self) -> None:
        mine = f"-{os.geteuid()}" if os.geteuid() else ""
        place = os.environ.get("AISWE_TEST_DOCKER") or str(Path(tempfile.gettempdir()) / f"aiswe-test-docker{mine}")
        self.folder = Path(place).resolve()
        self.url = f"unix://{self.folder}/docker.sock"
        self._used: IO[bytes] | None = None  # locked (shared) as long as this process uses the engine

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One process at a time: for starting, stopping and building the image."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "door").open("wb") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            yield

    def start(self) -> str:
        """Start it, unless it runs, and return its address; raises NoEngine when that is not possible here."""
        if os.geteuid() != 0:
            raise NoEngine("no Docker engine answers and only root can start one")
        program = shutil.which("dockerd")
        if program is None:
            raise NoEngine("no Docker engine answers and dockerd is not installed (apt-get install docker.io)")
        with self.alone():
            self._used = (self.folder / "users").open("wb")
            fcntl.flock(self._used, fcntl.LOCK_SH)
            if not answers(self.url):
                self._launch(program)
        return self.url

    def _launch(self, program: str) -> None:
        words = [
            *(program, "--data-root", self.folder / "data", "--exec-root", self.folder / "exec"),
            *("--pidfile", self.folder / "docker.pid", "-H", self.url, "--bridge", "none", "--iptables=false"),
        ]
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        for _ in range(150):
            if answers(self.url):
                return
            if process.poll() is not None:
                break
            time.sleep(0.2)
        if process.poll() is None:
            process.kill()
            process.wait(5)
        said = (self.folder / "log").read_text(errors="replace")[-300:]
        raise NoEngine(f"dockerd did not start: {said}")

    def stop(self) -> None:
        """Leave it; the last one to leave stops it."""
        if self._used is None:
            return
        with self._used as used, self.alone(), suppress(BlockingIOError):
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._end()
        self._used = None

    def _end(self) -> None:
        with suppress(OSError, ValueError):
            pid = int((self.folder / "docker.pid").read_text())
            if _runs(pid):
                os.kill(pid, signal.SIGTERM)
            for _ in range(100):
                if not _runs(pid):
                    return
                time.sleep(0.2)
            os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    """Whether that process is a dockerd that lives; a child of ours that ended is collected."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "dockerd\n"
    except OSError:
        return False
