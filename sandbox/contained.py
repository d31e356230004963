"""Programs of an image build, each in mount and process namespaces of its own: what it mounts and starts ends with it.

The kernel ends the program when the builder dies, and with the program's first process all others and every mount.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.base import SandboxUnavailable

SILENT_SECONDS = 900.0  # a slow mirror says something now and then; a program that hangs does not
END_SECONDS = 20.0
KEPT_LINES = 40
KILLED_INSIDE = "unshare: sigprocmask unblock failed"  # what unshare 2.38 makes of a program that SIGKILL ended
NEEDED = ("setpriv", "unshare")
CONTAINED = [*("setpriv", "--pdeathsig", "KILL"), *("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL")]
# What went wrong, as programs say it, and what a person can do; the first that fits counts.
CAUSES = (
    (
        r"no space left on device|wrote only",
        "the disk is full",
        "free 3 GB, or set TMPDIR to a folder on a larger disk",
    ),
    (
        r"do not match the hashes|hash mismatch|expected sha256",
        "a package has another hash than the locked one",
        "the index serves other files than the ones that were locked: check AISWE_PYPI_INDEX and PIP_INDEX_URL",
    ),
    (
        r"name resolution|could not resolve|connection refused|unreachable|failed to establish|timed out|failed getting"
        r"|couldn't download|unable to connect|no matching distribution|invalid release file",
        "the packages could not be fetched",
        "check the network, or name a mirror: AISWE_DEBIAN_MIRROR, PIP_INDEX_URL, AISWE_NPM_REGISTRY",
    ),
)


class ImageNotMade(SandboxUnavailable):
    """Why there is no image, in one sentence; `hint` is what a person can do."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


def not_made(failing: str, lines: Sequence[str]) -> ImageNotMade:
    """The error for what a program printed before it failed: its own words, and what is known about them."""
    telling = [line for line in lines if re.match(r"E: |ERROR|error", line)] or list(lines)
    said = (telling[-1] if telling else "it printed nothing")[:300]
    text = "\n".join(lines).lower()
    for pattern, meaning, hint in CAUSES:
        if re.search(pattern, text):
            return ImageNotMade(f"{failing}: {meaning} ({said})", hint)
    return ImageNotMade(f"{failing}: {said}")


def run_contained(
    argv: Sequence[str],
    failing: str,
    heard: Callable[[str], None] = lambda _: None,
    silent: float = SILENT_SECONDS,
) -> None:
    """Run a program to its end; `heard` gets each line that it prints.

    Raises ImageNotMade with `failing` and the cause; then, as after any other exception, nothing of it is left.
    """
    for program in (*NEEDED, argv[0]):
        if shutil.which(program) is None:
            package = "util-linux" if program in NEEDED else program
            raise ImageNotMade(f"{failing}: {program} was not found", f"sudo apt-get install -y {package}")
    process = subprocess.Popen(
        [*CONTAINED, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
    )
    try:
        lines = _listen(process, failing, heard, silent)
        code = process.wait(END_SECONDS)
    finally:
        _end(process)
    if any(line.startswith(KILLED_INSIDE) for line in lines):
        code = -signal.SIGKILL
    if code < 0:
        killed = signal.Signals(-code).name
        raise ImageNotMade(f"{failing}: it was ended by {killed}", "see whether the machine ran out of memory")
    if code:
        raise not_made(failing, lines)


def _listen(process: subprocess.Popen[bytes], failing: str, heard: Callable[[str], None], silent: float) -> list[str]:
    assert process.stdout is not None  # noqa: S101  it was asked for
    kept: deque[str] = deque(maxlen=KEPT_LINES)
    rest, ear = b"", selectors.DefaultSelector()
    with ear:
        ear.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not ear.select(silent):
                raise ImageNotMade(
                    f"{failing}: it printed nothing for {silent / 60:.0f} minutes", "try again when the mirror answers"
                )
            piece = os.read(process.stdout.fileno(), 1 << 16)
            *whole, rest = re.split(rb"[\r\n]+", rest + piece)
            for line in [*whole, *([] if piece else [rest])]:
                if text := line.decode(errors="replace").strip():
                    kept.append(text)
                    heard(text)
            if not piece:
                return list(kept)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the first process inside, with which all others end, and wait until they have."""
    if process.stdout is not None:
        process.stdout.close()
    until = time.monotonic() + END_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError, ValueError):
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    if process.poll() is None:
        process.kill()
        process.wait()
