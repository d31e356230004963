"""Processes a measurement starts: with a home of their own, and all of them ended when it is over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure.figures import CannotMeasure

ROOT = Path(__file__).resolve().parents[1]
CHILD_SECONDS = 300.0


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(home: Path) -> dict[str, str]:
    """Ours without the product's settings, pointed at a home of its own, a model that nobody is, and no telemetry."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_", "CELERY"))}
    for name in ("DATABASE_URL", "REDIS_URL", "OLLAMA_HOST"):
        kept.pop(name, None)
    return kept | {
        "AISWE_HOME": str(home),
        "AISWE_LOG_LEVEL": "ERROR",
        "AISWE_OLLAMA_URL": "http://127.0.0.1:9",
        "DJANGO_SETTINGS_MODULE": "aiswe_site.settings",
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "PYTHONPATH": str(ROOT),
    }


def ended(process: subprocess.Popen[Any], seconds: float = 10.0) -> None:
    """End a process of ours: asked first, then killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


@contextmanager
def killed_after(process: subprocess.Popen[Any], seconds: float) -> Iterator[None]:
    """Kill a process of ours that has not ended by then: whoever reads from it then sees its end."""
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def ask_child(module: str, home: Path, options: dict[str, Any], seconds: float = CHILD_SECONDS) -> dict[str, Any]:
    """Run a module with options as JSON; its last line of output is its answer. Raises CannotMeasure."""
    argv = [sys.executable, "-m", module, json.dumps(options)]
    process = subprocess.Popen(
        argv,
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said, complaint = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise CannotMeasure(f"{module} did not end within {seconds:.0f} s") from None
    finally:
        ended(process)
    if process.returncode:
        raise CannotMeasure(f"{module} failed: {(complaint.strip() or said.strip())[-1500:]}")
    answer: dict[str, Any] = json.loads(said.splitlines()[-1])
    return answer


class ChildProcess:
    """A process that is given orders as JSON lines on stdin and answers on stdout, in order."""

    def __init__(self, module: str, home: Path, arguments: Sequence[str] = (), seconds: float = CHILD_SECONDS) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._limit = killed_after(self.process, seconds)

    def __enter__(self) -> ChildProcess:
        self._limit.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._limit.__exit__(None, None, None)
        ended(self.process)

    def answer(self) -> dict[str, Any]:
        """The next answer. Raises CannotMeasure when the process ended or refused."""
        assert self.process.stdout is not None  # noqa: S101
        line = self.process.stdout.readline()
        if not line:
            raise CannotMeasure("the measured site ended before it answered")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise CannotMeasure(str(found["error"]))
        return found

    def order(self, order: dict[str, Any]) -> None:
        """Give an order without waiting."""
        assert self.process.stdin is not None  # noqa: S101
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()


@contextmanager
def recording(scenario: Path, *, tokens_per_s: float, parallel: int) -> Iterator[str]:
    """The recorded model in a process of its own, so that its CPU time is not ours; gives its address."""
    argv = [
        *(sys.executable, "-m", "agents.llm.scripted_server", "--scenario", str(scenario)),
        *("--tokens-per-s", str(tokens_per_s), "--parallel", str(parallel)),
    ]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None  # noqa: S101
        url = process.stdout.readline().strip()
        if not url:
            raise CannotMeasure("the recorded model did not start")
        yield url
    finally:
        ended(process)
