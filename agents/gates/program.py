"""Programs that scan: found, and run with nothing of this process's environment and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agents.gates.scanner import Scan, Stage

MAX_OUTPUT = 64 * 1024 * 1024


def find_program(name: str, *, variable: str = "", beside: Path | None = None) -> Path | None:
    """The program that an environment variable names, else the one beside the product, else the one on PATH."""
    if named := os.environ.get(variable):
        return Path(named) if os.access(named, os.X_OK) else None
    found = beside if beside and os.access(beside, os.X_OK) else shutil.which(name)
    return Path(found) if found else None


def run_program(stage: Stage, arguments: list[str], folder: Path, **environment: str) -> tuple[int, bytes]:
    """Exit code and output of a program, run in `folder` until the stage's deadline.

    No tokens, proxies or settings are passed on. Raises TimeoutError, OSError when it does not start, and ValueError
    for too much output.
    """
    output = stage.scratch / "out"
    with output.open("wb") as sink:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env={"PATH": os.defpath, "HOME": str(stage.scratch), **environment},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with killed_at(process, stage.deadline):
            process.wait()
    if output.stat().st_size > MAX_OUTPUT:
        raise ValueError("too much output")
    return process.returncode, output.read_bytes()


@contextmanager
def killed_at(process: subprocess.Popen[bytes], deadline: float) -> Iterator[None]:
    """Kill the process with its session at the deadline, and at the end; raise TimeoutError if the deadline did it.

    A thread that sleeps until then wakes nobody; waiting with a time limit asks again and again, up to 50 ms apart.
    """
    late = threading.Event()

    def end() -> None:
        late.set()
        if process.returncode is None:
            _kill(process)

    timer = threading.Timer(max(0.1, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        end_group(process)
    if late.is_set():
        raise TimeoutError


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process's session, which holds whatever it started, and wait for it."""
    _kill(process)
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    # macOS refuses for a group that is only zombies.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def failures_as_problems(scan: Scan, hint: str = "") -> Iterator[None]:
    """Name what goes wrong with a program or its answer in the scan, which blocks."""
    try:
        yield
        return
    except TimeoutError:
        scan.problem = "timed out"
    except OSError as error:
        scan.problem = f"could not be started ({error.strerror or error}){hint}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        scan.problem = f"crashed: its answer is not the expected JSON ({type(error).__name__})"
    scan.ran = False
