"""A Docker engine of the tests' own, where none answers: its data stays between runs so that the image is built once."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

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
    """dockerd with its own folders, socket and pid file; stopped by its own pid."""

    def __init__(self) -> None:
        place = os.environ.get("AISWE_TEST_DOCKER") or str(Path(tempfile.gettempdir()) / "aiswe-test-docker")
        self.folder = Path(place).resolve()
        self.url = f"unix://{self.folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it and return its address; raises NoEngine when that is not possible here."""
        if os.geteuid() != 0:
            raise NoEngine("no Docker engine answers and only root can start one")
        program = shutil.which("dockerd")
        if program is None:
            raise NoEngine("no Docker engine answers and dockerd is not installed")
        self.folder.mkdir(parents=True, exist_ok=True)
        if answers(self.url):
            return self.url  # another test run's; it stops it
        words = [
            program,
            "--data-root",
            "data",
            "--exec-root",
            "exec",
            "--pidfile",
            "docker.pid",
            "-H",
            self.url,
            "--bridge",
            "none",
            "--iptables=false",
        ]
        words = [str(self.folder / word) if word in ("data", "exec", "docker.pid") else word for word in words]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        for _ in range(150):
            if answers(self.url):
                return self.url
            if self._process.poll() is not None:
                break
            time.sleep(0.2)
        said = (self.folder / "log").read_text(errors="replace")[-300:]
        self.stop()
        raise NoEngine(f"dockerd did not start: {said}")

    def stop(self) -> None:
        """Stop it, if it is ours."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5)
            self._process = None
