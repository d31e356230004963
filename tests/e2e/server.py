"""Starting, ordering about and stopping the site that the browser tests look at."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.prepared import prepared

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Site:
    """One server process; it can be killed and started again on the same port with the same data."""

    def __init__(self, home: Path) -> None:
        self.home, self.port = prepared(home), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AISWE_", "DJANGO_"))}
        kept.pop("DATABASE_URL", None)
        kept.pop("REDIS_URL", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.serve", str(self.port)],
            cwd=ROOT,
            env={
                **kept,
                "AISWE_HOME": str(self.home),
                "AISWE_EMBEDDING": "hashing",
                "AISWE_LOG_LEVEL": "ERROR",
                "PYTHONPATH": str(ROOT),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()
        while self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/sign-in", timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the site ended before it answered")

    def _answer(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the site ended"
        found: dict[str, Any] = json.loads(line)
        assert "error" not in found, found["error"]
        return found

    def do(self, what: str, **how: Any) -> dict[str, Any]:
        """Have the site do something, and wait for its answer."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **how}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def kill(self) -> None:
        """As a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None
