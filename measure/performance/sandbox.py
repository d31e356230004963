"""What a wall around untrusted code costs, over a bare process and over a wall that is built for each command."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.processes import scratch
from sandbox.base import Backend, SandboxError
from sandbox.pool import ReadyPool
from sandbox.pytest_run import run_pytest
from sandbox.python_env import find_python
from sandbox.registry import BACKENDS, open_backend

TITLE = "a sandbox: opened, used, closed; a test run in a warm one"
DEFAULT_N = 15
SECONDS = 30.0  # for each of the two groups
BARE, DOCKER_RUN = "bare", "`docker run`, one container for each"
HELLO = ("python", "-c", "print('hello')")
TESTS = (
    "import pytest\n\nfrom calc import add\n\n\n"
    "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_a_sum(n):\n    assert add(n, n) == 2 * n\n"
)
FILES = {"calc.py": b"def add(a, b):\n    return a + b\n", "tests/test_calc.py": TESTS.encode()}


@dataclass(frozen=True)
class Way:
    """One way of doing it; `before` is done first and not measured."""

    run: Callable[[], Any]
    before: Callable[[], Any] = bool


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when no sandbox works here."""
    n = options.n or DEFAULT_N
    env = find_python()
    if isinstance(env, str):
        raise CannotMeasure(env)
    with scratch() as folder, ExitStack() as opened:
        folder.chmod(0o755)  # the user of a container is another one
        for name, data in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        engine = opened.enter_context(docker_engine())
        backends = []
        for name in BACKENDS:
            try:
                backends.append(open_backend(name))  # looks at it from inside: what is measured does hold
            except SandboxError as problem:
                section.notes.append(str(problem))
        if not backends:
            raise CannotMeasure(section.notes[-1])
        hello = in_turns(n, _hellos(backends, env.python, folder, bool(engine), opened))
        tests = in_turns(n, _test_runs(backends, env.python, folder, bool(engine), opened))
    section.figures = [
        *_figures(hello, BARE, "a bare process that says hello"),
        *_figures(hello, DOCKER_RUN, "the same by a hardened `docker run`"),
        *_figures(tests, BARE, "bare `python -m pytest` on the same 3 tests"),
        *_figures(tests, DOCKER_RUN, "the same by a hardened `docker run`"),
    ]
    section.notes.append(
        "a sandbox serves a whole task, so opening is paid once per task; its walls are checked before"
    )
    if not engine:
        section.notes.append("`docker run` was not measured: no Docker engine answers, and none could be started")


def _figures(found: dict[str, Spread], baseline: str, words: str) -> list[Figure]:
    """What was measured beside one of the baselines, the tail's ratio as a note."""
    base = found.get(baseline)
    if base is None:
        return []
    return [
        Figure(name, spread, base, words, note=f"p95 {spread.p95 / base.p95:.2g} ×")
        for name, spread in found.items()
        if name not in (baseline, BARE)
    ]


def in_turns(n: int, ways: dict[str, Way]) -> dict[str, Spread]:
    """Each way once per round, so that noise meets all of them; the first round is not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    began = time.monotonic()
    for turn in range(n + 1):
        for name, way in ways.items():
            way.before()
            start = time.perf_counter()
            way.run()
            if turn:
                found[name].append(1000 * (time.perf_counter() - start))
        if turn >= 3 and time.monotonic() - began > SECONDS:
            break
    return {name: Spread.of(samples, "ms") for name, samples in found.items()}


def _hellos(backends: list[Backend], python: Path, folder: Path, engine: bool, opened: ExitStack) -> dict[str, Way]:
    ways = {BARE: Way(lambda: _run([str(python), *HELLO[1:]], folder))}
    for backend in backends:
        pool = opened.enter_context(ReadyPool(backend))
        pool.prepare()
        warm = opened.enter_context(backend.open(label="bench"))
        ways[f"{backend.name}: open + hello + close"] = Way(partial(_whole, backend))
        ways[f"{backend.name}: the same from those that stand ready"] = Way(
            partial(_whole, pool), before=partial(_until_ready, pool)
        )
        ways[f"{backend.name}: hello in a warm one"] = Way(partial(warm.exec, HELLO))
    if shutil.which("bwrap"):
        ways["a plain bubblewrap line, built for it"] = Way(
            lambda: _run([*cold_wall(folder), str(python), *HELLO[1:]], folder)
        )
    if engine:
        ways[DOCKER_RUN] = Way(lambda: _run([*docker_run(folder), *HELLO], folder))
    return ways


def _whole(backend: Backend | ReadyPool) -> None:
    with backend.open(label="bench") as sandbox:
        sandbox.exec(HELLO)


def _until_ready(pool: ReadyPool) -> None:
    """The next one is made while a task works; here it is waited for outside of the measurement."""
    end = time.monotonic() + 20
    while not pool.standing():
        if time.monotonic() > end:
            raise CannotMeasure(f"no {pool.name} sandbox was ready within 20 s")
        time.sleep(0.005)
    time.sleep(0.05)


def _test_runs(backends: list[Backend], python: Path, folder: Path, engine: bool, opened: ExitStack) -> dict[str, Way]:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ways = {BARE: Way(lambda: _run([str(python), *words], folder))}
    for backend in backends:
        warm = opened.enter_context(backend.open(label="bench"))
        warm.put(FILES)
        run_pytest(warm, coverage_of=())  # imports the test tools, as the first run of a task does
        ways[f"{backend.name}: pytest in a warm sandbox"] = Way(partial(run_pytest, warm, coverage_of=()))
        ways[f"{backend.name}: with branch coverage, as the engine runs it"] = Way(partial(run_pytest, warm))
    if shutil.which("bwrap"):
        ways["pytest in a plain bubblewrap line"] = Way(lambda: _run([*cold_wall(folder), str(python), *words], folder))
    if engine:
        ways[DOCKER_RUN] = Way(lambda: _run([*docker_run(folder), "python", *words], folder))
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


@contextmanager
def docker_engine() -> Iterator[str]:
    """The address of an engine that has the sandbox's image: the one that answers, else one of the tests' own; empty
    for none.
    """
    from sandbox.docker import connect
    from sandbox.images import build_image
    from tests.sandbox.engine import NoEngine, OwnEngine, answers

    own, before = OwnEngine(), os.environ.get("DOCKER_HOST")
    try:
        if not answers():
            os.environ["DOCKER_HOST"] = own.start()
        client = connect(900)
        try:
            with own.alone():
                build_image(client)
        finally:
            client.close()
    except (NoEngine, SandboxError):
        yield ""
    else:
        yield os.environ.get("DOCKER_HOST", "") or "unix:///var/run/docker.sock"
    finally:
        if before is None:
            os.environ.pop("DOCKER_HOST", None)
        else:
            os.environ["DOCKER_HOST"] = before
        own.stop()


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
    } | {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise CannotMeasure(f"{argv[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
