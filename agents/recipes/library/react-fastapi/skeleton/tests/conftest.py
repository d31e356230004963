"""The running API: tests ask it over HTTP, as its users do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

START_S = 60.0
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the API, started for this test file with an empty folder for its data."""
    data = tmp_path_factory.mktemp("data")
    path = os.pathsep.join(part for part in (str(ROOT), *sys.path) if part)
    environment = {**os.environ, "DATA_DIR": str(data), "PYTHONPATH": path}
    # The API takes over a socket that listens already, so no other program can take its port.
    with socket.socket() as listening, (data / "api.log").open("w+b") as log:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        number = listening.fileno()
        command = [sys.executable, "-m", "uvicorn", "backend.main:app", "--fd", str(number)]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[number], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(url, process, log.name)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: str) -> None:
    """Wait until the API answers; fail with what it printed when it ended instead."""
    end = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            httpx.get(f"{url}/api/health", timeout=1.0, trust_env=False)
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    printed = Path(log).read_text(errors="replace")[-4_000:]
    pytest.fail(f"the API did not start:\n{printed}", pytrace=False)
