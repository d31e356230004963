"""Starting the real command in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.prepared import prepared

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "aiswe_site.cli"]
WAIT_S = 120.0  # how long anything here may take on a busy machine; nothing asserts on it


def environment(home: Path) -> dict[str, str]:
    """An environment with a data folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_"))}
    return {**kept, "AISWE_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}


def aiswe(*words: str, home: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command to its end, in a home that has its database, unless the command is to make the home."""
    if words[:1] != ("restore",):
        prepared(home)
    return subprocess.run(
        [*COMMAND, *words], env=environment(home), input=stdin, capture_output=True, text=True, timeout=WAIT_S
    )


class Up:
    """A running `aiswe up`; `lines` is what it said so far, on either stream."""

    def __init__(self, process: subprocess.Popen[str], home: Path) -> None:
        self.process, self.home = process, home
        self.lines: list[str] = []
        self._news = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line)
                self._news.notify_all()
        self.process.wait()
        with self._news:
            self._news.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until a line matches."""

        def found() -> re.Match[str] | None:
            return next((m for line in self.lines if (m := re.search(pattern, line))), None)

        with self._news:
            self._news.wait_for(lambda: found() or self.process.poll() is not None, WAIT_S)
            match = found()
        assert match is not None, f"no line matches {pattern!r} in:\n{''.join(self.lines)}"
        return match

    @property
    def address(self) -> str:
        """Where it serves."""
        return self.wait_for(r"AI SWE is up: (http://\S+/)")[1]

    @property
    def worker(self) -> int:
        """Process id of the child."""
        return int((self.home / "run" / "worker.pid").read_text())

    def answers(self) -> int:
        """The status of an address that needs no page of ours."""
        try:
            with urllib.request.urlopen(self.address + "static/admin/css/base.css", timeout=WAIT_S) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send it a signal and wait for its exit code."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)


@contextlib.contextmanager
def up(home: Path, *words: str) -> Iterator[Up]:
    """`aiswe up` on a free port; stopped at the end whatever happens."""
    process = subprocess.Popen(
        [*COMMAND, "up", *(words or ("--port", "0"))],
        env=environment(prepared(home)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    server = Up(process, home)
    try:
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        server.reader.join(WAIT_S)  # a worker that outlives its parent for a moment still holds the pipe
        assert process.stdout is not None
        process.stdout.close()


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
