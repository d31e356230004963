"""A file that breaks a scanner is named and blocks; everything else is scanned."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.gates import run as gate_run
from agents.gates import semgrep_engine
from agents.gates.base import own_finding
from agents.gates.run import SCANNERS, run_gates
from agents.gates.scanner import Scan, Stage, canary
from tests.agents.gates.folders import needs_semgrep

DEEP = {
    "parentheses.py": f"x = {'(' * 5_000}{')' * 5_000}\n",
    "chain.py": f"x = a{'.b' * 3_000}\n",
    "calls.py": f"f{'()' * 3_000}\n",
}
SHELL = "import os\nos.system(input())\n"


@needs_semgrep
def test_deeply_nested_files_are_each_named_and_the_rest_is_scanned(tmp_path: Path) -> None:
    for name, text in {**DEEP, "broken.js": "function( {{{\n", "bad.py": SHELL, "bad.js": "eval(text)\n"}.items():
        (tmp_path / name).write_text(text)
    report = run_gates(tmp_path, tools=["bandit", "semgrep", "syntax", "secrets"])
    for name in DEEP:
        assert any(name in reason for reason in report.reasons), name
        assert name in report.tools["bandit"].problem
    assert "broken.js: Syntax error at line 1" in report.tools["semgrep"].problem
    assert {("bandit", "bad.py"), ("semgrep", "bad.py"), ("semgrep", "bad.js")} <= {
        (finding.tool, finding.path) for finding in report.findings
    }
    assert "aiswe-gate-" not in str(report.reasons)


@pytest.mark.slow
@needs_semgrep
def test_a_file_that_keeps_semgrep_busy_is_named_and_the_rest_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    semgrep_engine.retire()
    monkeypatch.setattr(semgrep_engine, "RULE_SECONDS", 3)
    busy = f"import urllib.request\nurllib.request.urlopen({'+'.join(['a'] * 3_000)})\n"
    for name, text in {"busy.py": busy, "bad.py": SHELL}.items():
        (tmp_path / name).write_text(text)
    report = run_gates(tmp_path, tools=["semgrep"])
    semgrep_engine.retire()
    assert report.reasons[0] == "semgrep could not scan all of busy.py: Timeout at line 1"
    assert ("bad.py", "py-shell-command") in {(finding.path, finding.rule) for finding in report.findings}


@pytest.mark.parametrize("raises", [True, False], ids=["raises", "does not run"])
def test_a_file_that_crashes_a_scanner_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raises: bool
) -> None:
    class Fragile(SCANNERS["bandit"]):  # type: ignore[misc]
        def scan(self, stage: Stage) -> Scan:
            if any(b"boom" in unit.data for unit in stage.units):
                if raises:
                    raise RecursionError
                return Scan(problem="crashed")
            scan = super().scan(stage)
            assert isinstance(scan, Scan)
            return scan

    monkeypatch.setattr(gate_run, "SCANNERS", {"bandit": Fragile})
    for number in range(9):
        (tmp_path / f"m{number}.py").write_text(SHELL)
    for number in (2, 7):
        (tmp_path / f"m{number}.py").write_text("boom = 1\n")
    report = run_gates(tmp_path)
    assert report.reasons[0].startswith("bandit could not scan all of m2.py: crashed")
    assert "m7.py: crashed" in report.reasons[0]
    assert {f.path for f in report.findings if f.rule == "B605"} == {f"m{n}.py" for n in (0, 1, 3, 4, 5, 6, 8)}
    assert report.tools["bandit"].files_scanned == 7
    assert report.verdict == "blocked"


class BlindOnOne:
    """Fails on many files, and says nothing at all about one of them."""

    name = "bandit"
    languages = frozenset({"python"})
    canaries = (canary("bad.py", "python", "bad\n", "bad"),)

    def scan(self, stage: Stage) -> Scan:
        names = {unit.name for unit in stage.units}
        if len(names) > 2:
            return Scan(problem="out of memory")
        blind = any(unit.data == b"blind = 1\n" for unit in stage.units)
        bad = [own_finding("too-complex", unit.name, 1, why="") for unit in stage.units if unit.data == b"bad\n"]
        return Scan("1", ran=True, scanned=names, findings=[] if blind else [replace(one, rule="bad") for one in bad])


def test_every_part_of_a_scan_must_catch_the_canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_run, "SCANNERS", {"bandit": BlindOnOne})
    (tmp_path / "a.py").write_text("blind = 1\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    (reason,) = run_gates(tmp_path, tools=["bandit"]).reasons
    assert reason == "bandit did not catch its known-bad canary (bad): its silence proves nothing"
