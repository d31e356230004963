"""What a wall around untrusted code costs, over a bare process and over a wall that is built for each command."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.figures import CannotMeasure, Figure, Section, Spread
from benchmarks.processes import scratch
from sandbox.base import Backend, Sandbox, SandboxError
from sandbox.pytest_run import run_pytest
from sandbox.python_env import find_python
from sandbox.registry import open_backend

TITLE = "a sandbox: opened, used, closed; a test run in a warm one"
DEFAULT_N = 15
SECONDS = 25.0  # for each of the two groups
HELLO = ("python", "-c", "print('hello')")
TESTS = (
    "import pytest\n\nfrom calc import add\n\n\n"
    "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_a_sum(n):\n    assert add(n, n) == 2 * n\n"
)
FILES = {"calc.py": b"def add(a, b):\n    return a + b\n", "tests/test_calc.py": TESTS.encode()}


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when no sandbox works here."""
    n = options.n or DEFAULT_N
    env = find_python()
    if isinstance(env, str):
        raise CannotMeasure(env)
    try:
        backend = open_backend("auto")
    except SandboxError as problem:
        raise CannotMeasure(str(problem)) from None
    with scratch() as folder:
        for name, data in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        with backend.open(label="bench") as sandbox:
            hello = in_turns(n, _hellos(backend, sandbox, env.python, folder))
        with backend.open(label="bench") as sandbox:
            sandbox.put(FILES)
            run_pytest(sandbox, coverage_of=None)  # imports the test tools, as the first run of a task does
            tests = in_turns(n, _test_runs(sandbox, env.python, folder))
    bare, bare_tests = hello.pop("bare"), tests.pop("bare")
    section.figures = [
        *(Figure(name, spread, bare, "a bare process that says hello") for name, spread in hello.items()),
        *(Figure(name, spread, bare_tests, "bare `python -m pytest` on the same 3 tests") for name, spread in tests.items()),
    ]  # fmt: skip
    section.notes = [f"backend: {backend.name}; a sandbox serves a whole task, so opening is paid once per task"]
    if not docker_answers():
        section.notes.append("`docker run` was not measured: no Docker engine answers here")


def in_turns(n: int, ways: dict[str, Callable[[], Any]]) -> dict[str, Spread]:
    """Each way once per round, so that noise meets all of them; the first round is not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    began = time.monotonic()
    for turn in range(n + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if turn:
                found[name].append(1000 * (time.perf_counter() - start))
        if turn >= 3 and time.monotonic() - began > SECONDS:
            break
    return {name: Spread.of(samples, "ms") for name, samples in found.items()}


def _hellos(backend: Backend, warm: Sandbox, python: Path, folder: Path) -> dict[str, Callable[[], Any]]:
    def whole() -> None:
        with backend.open(label="bench") as sandbox:
            sandbox.exec(HELLO)

    ways: dict[str, Callable[[], Any]] = {
        "bare": lambda: _run([str(python), *HELLO[1:]], folder),
        "open + hello + close": whole,
        "hello in a fresh bubblewrap, built for it": lambda: _run([*cold_wall(folder), str(python), *HELLO[1:]], folder),
    }  # fmt: skip
    if docker_answers():
        ways["hello by `docker run`"] = lambda: _run([*docker_run(folder), *HELLO], folder)
    ways["hello in a warm sandbox"] = lambda: warm.exec(HELLO)
    return ways


def _test_runs(sandbox: Any, python: Path, folder: Path) -> dict[str, Callable[[], Any]]:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ways: dict[str, Callable[[], Any]] = {
        "bare": lambda: _run([str(python), *words], folder),
        "pytest in a warm sandbox": lambda: run_pytest(sandbox, coverage_of=None),
        "the same with branch coverage, as the engine runs it": lambda: run_pytest(sandbox),
        "pytest in a fresh bubblewrap, built for it": lambda: _run([*cold_wall(folder), str(python), *words], folder),
    }
    if docker_answers():
        ways["pytest by `docker run`"] = lambda: _run([*docker_run(folder), "python", *words], folder)
    return ways


def cold_wall(folder: Path) -> list[str]:
    """A plain bubblewrap line, as one would write it by hand."""
    if shutil.which("bwrap") is None:
        raise CannotMeasure("bubblewrap (bwrap) is not installed, so there is nothing to compare with")
    return [
        *("bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--die-with-parent"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--bind", str(folder), str(folder), "--chdir", str(folder)),
    ]


@cache
def docker_answers() -> bool:
    """True when an engine answers and has the sandbox's image."""
    from sandbox.registry import load_backend

    return load_backend("docker").availability().ok


def docker_run(folder: Path) -> list[str]:
    """A container for one command from the sandbox's own image."""
    from sandbox.images import image_name

    limits = ["--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "1g"]
    return ["docker", "run", "--rm", *limits, "-v", f"{folder}:/workspace", "-w", "/workspace", image_name()]


def _run(argv: list[str], folder: Path) -> None:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
    }
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise CannotMeasure(f"{argv[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
