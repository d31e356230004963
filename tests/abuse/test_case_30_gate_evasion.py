"""Case 30: known-bad code is dressed up in every way that is known to slip past scanners; each way is blocked.

Ways that need only a file or two (silencing comments, code in text, notebooks and templates) have their tests in
tests/agents/gates/test_evasions.py, tools that are missing, hang, crash or go silent in tests/agents/gates/test_run.py;
the ones below bend encodings, names, settings, folders and git.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agents.gates.base import GateReport, Policy
from agents.gates.run import SCANNERS, run_gates
from agents.gates.semgrep_tool import find_semgrep
from tests.agents.gates.samples import BAD, CLEAN_FUNCTIONS
from tests.tables import each_row

pytestmark = pytest.mark.skipif(
    find_semgrep() is None, reason="semgrep is not installed (requirements/semgrep.lock.txt)"
)

BYTES: dict[str, tuple[str, bytes]] = {
    "UTF-16": ("app.py", BAD.encode("utf-16")),
    "UTF-16 as a text file": ("notes.txt", BAD.encode("utf-16")),
    "UTF-8 with a mark": ("app.py", b"\xef\xbb\xbf" + BAD.encode()),
    "a coding line for UTF-7": ("app.py", b"# coding: utf-7\n" + BAD.encode("utf-7")),
    "a coding line for rot13": ("app.py", b"# coding: rot13\n" + BAD.encode()),
    "a coding line nobody knows": ("app.py", b"# coding: no-such-thing\n" + BAD.encode()),
    "a wrong coding line": ("app.py", b"# coding: ascii\nname = '\xc3\xa9'\n" + BAD.encode()),
    "a null byte": ("app.py", BAD.encode() + b"\0"),
    "a null byte before the code": ("app.py", b"\0\n" + BAD.encode()),
    "form feeds": ("app.py", b"\x0c\n\x0c" + BAD.encode().replace(b"\n\n", b"\n\x0c\n")),
    "carriage returns alone": ("app.py", BAD.encode().replace(b"\n", b"\r")),
    "half a character": ("app.py", b"# \xff\xfe\xfd\n" + BAD.encode()),
    "code after a page of blank lines": ("app.py", b"\n" * 60_000 + BAD.encode()),
    "more depth than a parser bears": ("app.py", b"x = " + b"[" * 5_000 + b"]" * 5_000 + b"\n" + BAD.encode()),
    "more nesting than a walker bears": ("app.py", b"x = " + b"-" * 4_000 + b"1\n" + BAD.encode()),
    "larger than is scanned": ("app.py", b"#" * 2_000_001 + b"\n" + BAD.encode()),
    "a stub file": ("app.pyi", BAD.encode()),
    "a suffix of Windows": ("app.PYW", BAD.encode()),
    "a program line and no suffix": ("bin/run", b"#!/usr/bin/env -S python3 -I\n" + BAD.encode()),
    "a data suffix": ("data.csv", BAD.encode()),
    "a backup suffix": ("app.py.bak", BAD.encode()),
    "a name with a line break": ("a\nb.py", BAD.encode()),
    "a name that is an option": ("--help.py", BAD.encode()),
    "a name in another encoding": (os.fsdecode(b"\xff\xfe.py"), BAD.encode()),
    "a name of two hundred characters": ("a" * 200 + ".py", BAD.encode()),
}


def only_bad(report: GateReport) -> None:
    """Blocked, and with reasons that a person can act on."""
    assert report.verdict == "blocked"
    assert report.reasons
    assert all(reason.strip() and "\n  File" not in reason for reason in report.reasons)


def folder_of(number: int, file: str) -> str:
    """The folder of a row, none for a name that would be an option: only there it begins a path."""
    return "" if file.startswith("-") else f"row{number}"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    """Of one tree that holds every disguise in a folder of its own: a scanner starts once, not for each."""
    root = tmp_path_factory.mktemp("bytes")
    for number, (file, data) in enumerate(BYTES.values()):
        place = root / folder_of(number, file) / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return run_gates(root, tools=["bandit", "syntax", "semgrep"])


@each_row(("number", "name"), list(enumerate(BYTES)))
def test_bytes_that_are_read_in_two_ways_do_not_hide_code(report: GateReport, number: int, name: str) -> None:
    only_bad(report)
    file, _ = BYTES[name]
    shown = f" {folder_of(number, file)}/" if folder_of(number, file) else f" {file}"
    assert [reason for reason in report.reasons if shown in reason], name


SETTINGS = {
    ".bandit": "[bandit]\nskips: B602\nexclude: /\ntargets: nowhere\n",
    ".semgrepignore": "*\n",
    ".semgrep.yml": "rules: []\n",
    ".semgrep/settings.yml": "has_shown_metrics_notification: true\n",
    "pyproject.toml": "[tool.bandit]\nskips = ['B602']\n[tool.ruff]\nexclude = ['*']\n[tool.black]\nexclude = '.*'\n",
    "setup.cfg": "[bandit]\nskips = B602\n[flake8]\nexclude = *\n",
    "tox.ini": "[bandit]\nskips = B602\n",
    "ruff.toml": "exclude = ['*']\n",
    ".gitignore": "*\n",
    ".ignore": "*\n",
    ".secrets.baseline": "{}\n",
    ".gitleaksignore": "*\n",
    ".prettierignore": "*\n",
    ".hadolint.yaml": "ignored: [DL3002]\n",
}


def test_every_settings_file_of_a_scanner_at_once_changes_nothing(tmp_path: Path) -> None:
    plain, dressed = tmp_path / "plain", tmp_path / "dressed"
    for root in (plain, dressed):
        root.mkdir()
        (root / "app.py").write_text(BAD)
    for name, text in SETTINGS.items():
        (dressed / name).parent.mkdir(exist_ok=True)
        (dressed / name).write_text(text)
    marks = [{f.fingerprint for f in run_gates(root, paths=["app.py"]).findings} for root in (plain, dressed)]
    assert marks[0] == marks[1] != set()
    only_bad(run_gates(dressed))


def test_settings_in_the_environment_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text(BAD)
    for name, value in {
        "SEMGREP_RULES": "p/none",
        "SEMGREP_BASELINE_COMMIT": "HEAD",
        "SEMGREP_SETTINGS_FILE": str(tmp_path / "x"),
        "RUFF_NO_CACHE": "0",
        "BANDIT_CONFIG": "x",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    only_bad(run_gates(tmp_path))


def test_git_runs_nothing_of_the_repository(tmp_path: Path) -> None:
    """Hooks, monitor, filters, attributes, a submodule and an alias: each would raise a flag if anything ran it."""
    root, flag = tmp_path / "root", tmp_path / "flag"
    root.mkdir()
    raise_flag = f"touch {flag}"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {raise_flag}\n\thooksPath = hooks\n\tpager = {raise_flag}\n\tsshCommand = "
        f"{raise_flag}\n"
        f'[filter "x"]\n\tclean = {raise_flag}\n\tsmudge = {raise_flag}\n\tprocess = {raise_flag}\n\trequired = true\n'
        f'[diff "x"]\n\ttextconv = {raise_flag}\n\tcommand = {raise_flag}\n'
        f'[submodule "m"]\n\tupdate = !{raise_flag}\n\turl = ext::{raise_flag}\n'
    )
    (root / ".gitattributes").write_text("* filter=x diff=x export-ignore -text\n")
    (root / ".gitmodules").write_text(
        f'[submodule "m"]\n\tpath = m\n\turl = ext::{raise_flag}\n\tupdate = !{raise_flag}\n'
    )
    (root / "hooks").mkdir()
    for hook in ("pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman"):
        (root / "hooks" / hook).write_text(f"#!/bin/sh\n{raise_flag}\n")
        (root / "hooks" / hook).chmod(0o755)
    for name in ("conftest.py", "sitecustomize.py", "setup.py", "noxfile.py"):
        (root / name).write_text(f"import os\nos.system({raise_flag!r})\n")
    (root / "Makefile").write_text(f"X := $(shell {raise_flag})\nall:\n\t{raise_flag}\n")
    (root / "package.json").write_text(json.dumps({"scripts": {"preinstall": raise_flag, "lint": raise_flag}}))
    (root / "eslint.config.js").write_text(f"require('child_process').execSync({raise_flag!r})\n")
    (root / "app.py").write_text(BAD)
    only_bad(run_gates(root))
    assert not flag.exists()


def test_a_file_that_git_ignores_or_does_not_track_is_scanned(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("secret_plans/\n")
    (tmp_path / ".git" / "info").mkdir(exist_ok=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("*\n")
    (tmp_path / "secret_plans").mkdir()
    (tmp_path / "secret_plans" / "app.py").write_text(BAD)
    assert any("secret_plans/app.py" in reason for reason in run_gates(tmp_path).reasons)


@each_row("name", SCANNERS)
def test_a_scanner_without_time_blocks(name: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(CLEAN_FUNCTIONS)
    report = run_gates(tmp_path, tools=[name], policy=Policy(timeout_seconds=-1.0))
    if report.verdict == "pass":
        # A scanner that needs no time to speak of may finish; then it must have proven that it looked.
        assert report.tools[name].ran
        assert not report.tools[name].problem
    else:
        assert name in report.reasons[0]


def test_one_bad_file_among_many_is_named(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"m{number:02}.py").write_text(CLEAN_FUNCTIONS)
    (tmp_path / "m31.py").write_text(CLEAN_FUNCTIONS + "\n\n" + BAD)
    report = run_gates(tmp_path, tools=["bandit", "semgrep"])
    only_bad(report)
    assert {finding.path for finding in report.findings if finding.severity >= 3} == {"m31.py"}
