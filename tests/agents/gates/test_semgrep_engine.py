"""Engines started ahead scan as one started for the scan would, or the command does, or the gate blocks."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agents.gates import semgrep_engine
from agents.gates.base import GateReport, Policy
from agents.gates.run import run_gates
from agents.gates.semgrep_engine import SemgrepEngine
from agents.gates.semgrep_tool import find_semgrep
from tests.agents.gates.folders import needs_semgrep
from tests.aiswe_site.running import REPOSITORY, alive
from tests.waiting import eventually

pytestmark = needs_semgrep
EVIL = "import sys\n\neval(sys.argv[1])\n"
HELPED = "def checked(name):\n    return name.isalnum()\n"


@pytest.fixture(autouse=True)
def none_waits() -> Iterator[None]:
    semgrep_engine.retire()
    yield
    semgrep_engine.retire()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[SemgrepEngine]:
    """The engines that were started, in order."""
    engines: list[SemgrepEngine] = []

    class Noted(SemgrepEngine):
        def __init__(self, program: Path, rules: str) -> None:
            super().__init__(program, rules)
            engines.append(self)

    monkeypatch.setattr(semgrep_engine, "SemgrepEngine", Noted)
    return engines


@pytest.fixture
def scan(tmp_path: Path) -> Callable[..., GateReport]:
    def scan(text: str = EVIL, name: str = "app.py", seconds: float = 120) -> GateReport:
        folder = tmp_path / f"code-{name}"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        return run_gates(folder, tools=["semgrep"], policy=Policy(timeout_seconds=seconds))

    return scan


def rules_of(report: GateReport) -> list[tuple[str, int, str]]:
    return [(finding.path, finding.line, finding.rule) for finding in report.findings]


FOUND = [("app.py", 3, "py-dynamic-code")]


def core(folder: Path, engine: str, command: str) -> Path:
    """A Semgrep of our own making: its command, with an engine in the same environment."""
    place = folder / "lib" / "python3.11" / "site-packages" / "semgrep" / "bin" / "semgrep-core"
    for path, text in ((place, engine), (folder / "bin" / "semgrep", command)):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return folder / "bin" / "semgrep"


def test_an_engine_that_was_started_ahead_scans_once_and_the_next_waits(
    started: list[SemgrepEngine], scan: Callable[..., GateReport]
) -> None:
    assert [rules_of(scan()), rules_of(scan("x = 1\n")), rules_of(scan())] == [FOUND, [], FOUND]
    assert len(started) == 4  # one for each scan, and one that waits
    *used, waiting = started
    assert waiting.process.poll() is None
    assert not any(engine.folder.exists() or engine.process.poll() is None for engine in used)


def test_other_rules_are_never_judged_by_an_engine_that_waits_with_the_old_ones(
    started: list[SemgrepEngine], scan: Callable[..., GateReport]
) -> None:
    scan()
    scan(EVIL + HELPED)
    assert [engine.serves == started[-1].serves for engine in started] == [False, False, True, True]


def test_an_engine_that_was_killed_while_it_waited_is_replaced(
    started: list[SemgrepEngine], scan: Callable[..., GateReport]
) -> None:
    scan()
    os.killpg(started[-1].process.pid, signal.SIGKILL)
    assert rules_of(scan()) == FOUND


def test_two_scans_at_once_get_their_own_answers(scan: Callable[..., GateReport]) -> None:
    texts = {f"a{number}.py": "\n" * number + EVIL if number % 2 else "x = 1\n" for number in range(4)}
    with ThreadPoolExecutor(max_workers=4) as pool:
        reports = list(pool.map(lambda name: scan(texts[name], name), texts))
    wanted = [[(f"a{number}.py", 3 + number, "py-dynamic-code")] if number % 2 else [] for number in range(4)]
    assert [rules_of(report) for report in reports] == wanted
    assert [report.verdict for report in reports] == ["pass", "blocked", "pass", "blocked"]


BROKEN = {
    "silent": "exit 0",
    "garbage": "echo garbage",
    "no answer": "echo '{}'",
    "a list": "echo '[]'",
    "killed": "kill -9 $$",
    "failed": f"echo '{json.dumps({'version': '9', 'results': [], 'errors': [], 'paths': {'scanned': []}})}'; exit 2",
}


@pytest.mark.parametrize("engine", BROKEN.values(), ids=BROKEN)
def test_when_the_engine_fails_the_command_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: Callable[..., GateReport], engine: str
) -> None:
    asked = f"touch {tmp_path}/asked; echo 'no JSON either'"
    monkeypatch.setenv("AISWE_SEMGREP", str(core(tmp_path, engine, asked)))
    report = scan("x = 1\n")
    assert (tmp_path / "asked").exists()
    assert report.verdict == "blocked"
    assert report.reasons[0].startswith("semgrep crashed")


def test_the_command_finds_what_a_failed_engine_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: Callable[..., GateReport]
) -> None:
    monkeypatch.setenv("AISWE_SEMGREP", str(core(tmp_path, "exit 3", f'exec {find_semgrep()} "$@"')))
    assert rules_of(scan()) == FOUND


def test_an_engine_that_saw_nothing_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: Callable[..., GateReport]
) -> None:
    blind = json.dumps({"version": "9", "results": [], "errors": [], "paths": {"scanned": ["u00000.py"]}})
    monkeypatch.setenv("AISWE_SEMGREP", str(core(tmp_path, f"cat >/dev/null; echo '{blind}'", "exit 1")))
    report = scan("x = 1\n")
    assert report.verdict == "blocked"
    assert "did not catch its known-bad canary" in report.reasons[0]


def test_an_engine_that_hangs_is_ended_with_its_children_and_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: Callable[..., GateReport]
) -> None:
    hangs = f"sleep 300 & echo $! > {tmp_path}/pid; wait"
    monkeypatch.setenv("AISWE_SEMGREP", str(core(tmp_path, hangs, "exit 1")))
    report = scan("x = 1\n", seconds=2)
    assert report.reasons == ("semgrep timed out",)
    assert eventually(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_an_engine_is_told_no_secret_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scan: Callable[..., GateReport]
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "very-secret-value")
    monkeypatch.setenv(
        "AISWE_SEMGREP", str(core(tmp_path, f"test -e {tmp_path}/seen || env > {tmp_path}/seen", "exit 1"))
    )
    scan("x = 1\n")
    assert "HOME=" in (tmp_path / "seen").read_text()
    assert "very-secret-value" not in (tmp_path / "seen").read_text()


def test_an_engine_that_waited_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch, started: list[SemgrepEngine], scan: Callable[..., GateReport]
) -> None:
    monkeypatch.setattr(semgrep_engine, "IDLE_SECONDS", 0.05)
    scan()
    assert eventually(lambda: not started[-1].folder.exists())
    assert rules_of(scan()) == FOUND


CHILD = """
import os, sys, time
from pathlib import Path
from agents.gates import run, semgrep_engine
scan = lambda: run.run_gates(Path(sys.argv[1]), tools=["semgrep"]).verdict
waiting = lambda: print(semgrep_engine._spare._held[0].folder, flush=True)
assert scan() == "blocked"
if child := os.fork():
    waiting()
    os.waitpid(child, 0)
else:
    assert scan() == "blocked"
    print(os.getpid(), flush=True)
    waiting()
    time.sleep(600)
"""


def test_an_engine_ends_with_its_process_even_while_a_forked_child_lives(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(EVIL)
    command = [sys.executable, "-W", "ignore", "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        lines = [parent.stdout.readline().strip() for _ in range(3)]
        (child,) = [int(line) for line in lines if line.isdigit()]
        first, second = [Path(line) for line in lines if not line.isdigit()]
        both = [first.exists(), second.exists()]
        parent.kill()
        parent.wait()
        try:
            # The child prints its engine after its number, so which of the two it is depends on who was faster.
            assert both == [True, True]
            assert eventually(lambda: [first.exists(), second.exists()].count(True) == 1)
            assert alive(child)
        finally:
            os.kill(child, signal.SIGKILL)
    assert eventually(lambda: not (first.exists() or second.exists()))
