"""The whole way, walked by a person in a browser on the real server: from a document to a merged, tested repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.gates.semgrep_tool import find_semgrep
from tests.agents.scenario_replay import SCENARIOS, sandbox_python
from tests.aiswe_site.running import REPOSITORY, environment
from tests.e2e.conftest import CHROMIUM

pytestmark = [pytest.mark.stage, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1500)]

TRIAL = REPOSITORY / "scripts" / "trial.py"


def missing() -> str:
    """What this machine lacks for it, "" when nothing."""
    if not CHROMIUM.exists():
        return f"no Chromium at {CHROMIUM}; install it or name it in CHROMIUM"
    if not sandbox_python().is_file():
        return f"{sandbox_python()} is missing: make install makes it"
    return "" if find_semgrep() else "semgrep is missing: the gate blocks everything without it"


def test_a_document_uploaded_by_a_person_ends_as_a_tested_repository(tmp_path: Path) -> None:
    if reason := missing():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    prd = tmp_path / "household.md"
    prd.write_bytes((SCENARIOS / "household" / "prd.md").read_bytes())
    done = subprocess.run(
        [
            *(sys.executable, str(TRIAL), "--prd", str(prd), "--scenario", "household"),
            *("--home", str(tmp_path / "home"), "--tokens-per-s", "3000"),
        ],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["ok"], found | {"log": done.stderr[-2000:]}
    assert done.returncode == 0
    assert found["complaints"] == []
    assert found["merged"] == found["tasks"] == found["commits_of_tasks"] == 9
    assert found["works"] == {"ok": True, "health": '{"status":"ok"}'}


def test_a_trial_with_a_recording_that_is_not_there_says_so(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    prd = tmp_path / "any.md"
    prd.write_text("# A\n\nFR-01 The API shall add.\n")
    done = subprocess.run(
        [
            *(sys.executable, str(TRIAL), "--prd", str(prd), "--scenario", "nowhere"),
            *("--home", str(tmp_path / "home"), "--timeout", "60"),
        ],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"]) == (1, False)
    assert "nowhere is not a scenario" in found["problem"]
