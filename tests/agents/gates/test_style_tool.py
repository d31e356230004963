"""Style is reported and never blocks; what nobody can check is said."""

from pathlib import Path

import pytest

from agents.gates.base import Severity
from agents.gates.run import run_gates
from tests.agents.gates.folders import program, write


def test_without_prettier_scripts_are_named_as_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.gates.style_tool.find_prettier", lambda: None)
    report = run_gates(write(tmp_path, {"a.js": "let a=1\n", "b.ts": "let b=1\n"}), tools=["style"])
    assert [(f.rule, f.severity) for f in report.findings] == [("style-not-checked", Severity.INFO)]
    assert report.findings[0].message.startswith("Not checked: the style of 2 ")
    assert report.verdict == "pass"


def test_what_prettier_would_write_differently_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = '#!/bin/sh\nfor name; do case "$name" in *.js) echo "$name";; esac; done\nexit 1\n'
    monkeypatch.setenv("AISWE_PRETTIER", str(program(tmp_path / "prettier", lists)))
    code = write(tmp_path / "code", {"a.js": "let a=1\n", "b.ts": "let b = 1;\n"})
    report = run_gates(code, tools=["style"])
    assert [(f.path, f.rule) for f in report.findings] == [("a.js", "format")]
    assert report.verdict == "pass"


def test_a_prettier_that_crashes_makes_the_style_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISWE_PRETTIER", str(program(tmp_path / "prettier", "#!/bin/sh\nexit 77\n")))
    code = write(tmp_path / "code", {"a.js": "let a = 1;\n"})
    assert "crashed" in run_gates(code, tools=["style"]).reasons[0]


@pytest.mark.parametrize(
    ("line", "rule"),
    [("ok = x is 'a'", "identity-of-value"), ("assert (x, 'must be')", "assert-always-true"), ("ok = x is None", "")],
)
def test_a_check_that_does_not_check_is_found(tmp_path: Path, line: str, rule: str) -> None:
    (tmp_path / "a.py").write_text(f"x = input()\n{line}\n")
    found = run_gates(tmp_path, tools=["syntax"]).findings
    assert [(f.rule, f.line, f.severity) for f in found] == ([(rule, 2, Severity.MEDIUM)] if rule else [])
