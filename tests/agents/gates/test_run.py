"""The verdict: clean code passes, known-bad code blocks, and a scanner that proves nothing blocks."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agents.gates import run as gate_run
from agents.gates.base import Disposition, GateError, GateReport, Policy, Severity, ToolReport, content_mark
from agents.gates.feedback import feedback_text
from agents.gates.run import SCANNERS, run_gates
from agents.gates.scanner import Scan, Stage
from tests.agents.gates import samples
from tests.agents.gates.folders import needs_semgrep, program, until_tomorrow, write
from tests.aiswe_site.running import alive
from tests.tables import each_row
from tests.waiting import eventually


def scanned(root: Path, text: str, *tools: str, **options: Any) -> GateReport:
    """Run these gates, or all, on one file of Python."""
    return run_gates(write(root, {"a.py": text}), tools=tools or None, **options)


def mark_of(report: GateReport, severity: Severity) -> str:
    (finding,) = [finding for finding in report.findings if finding.severity == severity]
    return finding.fingerprint


@needs_semgrep
def test_ordinary_code_passes_every_gate(tmp_path: Path) -> None:
    files = {
        "app.py": samples.CLEAN_APP,
        "tests/test_app.py": samples.CLEAN_TESTS,
        "functions.py": samples.CLEAN_FUNCTIONS,
        "templates/list.html": samples.CLEAN_PAGE,
        "Dockerfile": samples.CLEAN_DOCKERFILE,
        "README.md": "# Todos\n\nRun `uvicorn app:app`.\n",
    }
    report = run_gates(write(tmp_path, files))
    assert report.reasons == ()
    assert report.verdict == "pass"
    assert not any(finding.tool == "style" and finding.severity > Severity.INFO for finding in report.findings)
    assert all(tool.ran for tool in report.tools.values())
    assert not any(finding.rule == "B101" for finding in report.findings)


@needs_semgrep
def test_known_bad_code_blocks_with_a_reason_that_names_the_place(tmp_path: Path) -> None:
    report = scanned(tmp_path, samples.BAD)
    assert report.verdict == "blocked"
    assert any("a.py:5" in reason for reason in report.reasons)
    assert {finding.tool for finding in report.findings if finding.severity >= Severity.HIGH} >= {"bandit", "semgrep"}


@needs_semgrep
def test_the_report_has_exactly_the_agreed_shape(tmp_path: Path) -> None:
    document = scanned(tmp_path, samples.BAD).to_json()
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"verdict", "reasons", "tools", "findings"}
    assert set(document["tools"]) == {*SCANNERS, "files"}
    assert all(set(tool) == {"ran", "version", "files_scanned"} for tool in document["tools"].values())
    wanted = {"tool", "rule", "severity", "confidence", "cwe", "path", "line", "message", "remediation", "fingerprint"}
    assert document["findings"]
    assert all(set(finding) == wanted for finding in document["findings"])
    assert all(finding["remediation"] for finding in document["findings"])


def test_style_is_reported_and_never_blocks(tmp_path: Path) -> None:
    report = scanned(tmp_path, "import os\nx = {  'a':1 }\n", "style")
    assert report.verdict == "pass"
    assert {finding.rule for finding in report.findings} >= {"F401", "format"}
    assert any(finding.tool == "style" and finding.severity > Severity.INFO for finding in report.findings)


def test_only_the_named_files_are_scanned(tmp_path: Path) -> None:
    write(tmp_path, {"good.py": "x = 1\n", "bad.py": samples.BAD})
    assert run_gates(tmp_path, tools=["bandit"], paths=["good.py"]).verdict == "pass"
    assert run_gates(tmp_path, tools=["bandit"], paths=["bad.py"]).verdict == "blocked"


@each_row(
    ("tools", "paths", "names"),
    [
        (["lint"], None, "lint"),
        ([], None, "no gate"),
        (["bandit"], ["../x.py"], "../x.py"),
        (["bandit"], ["/etc/passwd"], "/etc/passwd"),
        (["bandit"], ["gone.py"], "gone.py"),
    ],
)
def test_a_wrong_request_is_refused_naming_it(
    tmp_path: Path, tools: list[str], paths: list[str] | None, names: str
) -> None:
    with pytest.raises(GateError, match=names.replace(".", r"\.")):
        run_gates(tmp_path, tools=tools, paths=paths)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GateError, match="not a folder"):
        run_gates(tmp_path / "gone")


def test_nothing_to_scan_blocks(tmp_path: Path) -> None:
    assert run_gates(tmp_path, tools=["bandit"]).verdict == "blocked"


def test_a_missing_semgrep_blocks_and_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISWE_SEMGREP", str(tmp_path / "gone"))
    report = scanned(tmp_path, "x = 1\n", "semgrep")
    assert report.verdict == "blocked"
    assert not report.tools["semgrep"].ran
    assert "pip install" in report.reasons[0]


@each_row(
    "body",
    [
        "exit 0",
        "echo garbage",
        "echo '{}'",
        "echo '[]'",
        'echo \'{"version":"9","results":[],"errors":[],"paths":{"scanned":[]}}\'',
        "kill -9 $$",
        "echo boom >&2; exit 2",
    ],
)
def test_a_semgrep_that_answers_wrongly_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setenv("AISWE_SEMGREP", str(program(tmp_path / "semgrep.fake", f"#!/bin/sh\n{body}\n")))
    report = scanned(tmp_path / "code", "x = 1\n", "semgrep")
    assert report.verdict == "blocked"
    assert report.reasons[0].startswith("semgrep ")


@pytest.mark.slow
def test_a_semgrep_that_hangs_is_ended_with_its_children_and_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "pid"
    fake = program(tmp_path / "semgrep.fake", f"#!/bin/sh\nsleep 300 &\necho $! > {mark}\nwait\n")
    monkeypatch.setenv("AISWE_SEMGREP", str(fake))
    report = scanned(tmp_path / "code", "x = 1\n", "semgrep", policy=Policy(timeout_seconds=2))
    assert report.verdict == "blocked"
    assert "timed out" in report.reasons[0]
    assert eventually(lambda: not alive(int(mark.read_text())))


@needs_semgrep
def test_a_semgrep_that_misses_its_canary_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"id": "other", "languages": ["python", "js", "ts"], "severity": "HIGH", "message": "m", "metadata": {}}
    rules = json.dumps({"rules": [rule | {"pattern": "nothing_like_it"}]})
    monkeypatch.setattr("agents.gates.semgrep_tool.rules_json", lambda sources: rules)
    report = scanned(tmp_path, "x = 1\n", "semgrep")
    assert "canary" in report.reasons[0]


@each_row("name", [name for name in SCANNERS if name != "semgrep"])
def test_every_scanner_that_goes_silent_is_unmasked_by_its_canary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Silent(SCANNERS[name]):  # type: ignore[misc]
        def scan(self, stage: Stage) -> Scan:
            scan = super().scan(stage)
            scan.findings.clear()
            assert isinstance(scan, Scan)
            return scan

    monkeypatch.setattr(gate_run, "SCANNERS", {name: Silent})
    report = scanned(tmp_path, "x = 1\n")
    assert report.verdict == "blocked"
    assert "canary" in report.reasons[0]


@each_row("name", SCANNERS)
def test_every_scanner_that_crashes_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Crashing(SCANNERS[name]):  # type: ignore[misc]
        def scan(self, stage: Stage) -> Scan:
            raise RuntimeError("boom")

    monkeypatch.setattr(gate_run, "SCANNERS", {name: Crashing})
    report = scanned(tmp_path, "x = 1\n")
    assert report.verdict == "blocked"
    assert not report.tools[name].ran


@pytest.mark.parametrize("name", ["bandit", "secrets", "syntax", "style"])
def test_every_scanner_that_leaves_a_file_out_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Lazy(SCANNERS[name]):  # type: ignore[misc]
        def scan(self, stage: Stage) -> Scan:
            scan = super().scan(stage)
            assert isinstance(scan, Scan)
            scan.scanned = {unit for unit in scan.scanned if unit.startswith("canary")}
            return scan

    monkeypatch.setattr(gate_run, "SCANNERS", {name: Lazy})
    report = scanned(tmp_path, "x = 1\n")
    assert any("did not scan a.py" in reason for reason in report.reasons)


MEDIUM = "import tempfile\n\nname = tempfile.mktemp()\n"


def test_a_medium_finding_blocks_until_a_person_decides_or_where_a_policy_only_reports_it(tmp_path: Path) -> None:
    report = scanned(tmp_path, MEDIUM, "bandit")
    assert report.verdict == "blocked"
    decided = until_tomorrow(mark_of(report, Severity.MEDIUM))
    assert scanned(tmp_path, MEDIUM, "bandit", dispositions=decided).passed
    strict = Policy(medium="block")
    assert scanned(tmp_path, MEDIUM, "bandit", dispositions=decided, policy=strict).verdict == "blocked"
    assert scanned(tmp_path, MEDIUM, "bandit", policy=Policy(medium="report")).passed


@pytest.mark.parametrize(
    "disposition",
    [
        Disposition("was fine once", datetime.now(UTC) - timedelta(seconds=1)),
        Disposition("  ", datetime.now(UTC) + timedelta(days=1)),
        Disposition("no time zone", datetime.now() + timedelta(days=1)),
    ],
    ids=["expired", "without reason", "without time zone"],
)
def test_a_disposition_that_does_not_hold_has_no_effect(tmp_path: Path, disposition: Disposition) -> None:
    mark = mark_of(scanned(tmp_path, MEDIUM, "bandit"), Severity.MEDIUM)
    assert scanned(tmp_path, MEDIUM, "bandit", dispositions={mark: disposition}).verdict == "blocked"


def test_a_fingerprint_survives_line_moves_but_not_a_second_copy(tmp_path: Path) -> None:
    first = mark_of(scanned(tmp_path, MEDIUM, "bandit"), Severity.MEDIUM)
    moved = "# a comment\n\n" + MEDIUM.replace("name = ", "name  =  ")
    assert mark_of(scanned(tmp_path, moved, "bandit"), Severity.MEDIUM) == first
    marks = [f.fingerprint for f in scanned(tmp_path, MEDIUM + "name = tempfile.mktemp()\n", "bandit").findings]
    assert len(set(marks)) == 2
    assert first in marks


FLOW = """import os

LIMIT = 3


def clean(name):
    return name.strip("./")


def show(name):
    path = clean(name)
    os.system("cat " + path)


def other(name):
    return name * LIMIT
"""


@each_row(
    ("old", "new", "holds"),
    [
        ("path = clean(name)", "path = name", False),
        ('name.strip("./")', "name", False),
        ("def show(name)", "def show(name=input())", False),
        ("LIMIT = 3", "LIMIT = 4", True),
        ("return name * LIMIT", "return name", True),
        ("import os\n", "import os\n\n# a remark\n", True),
        ("    path = clean", "    print(1)\n    path = clean", True),
    ],
)
def test_a_disposition_ends_when_what_flows_into_the_line_changes(
    tmp_path: Path, old: str, new: str, holds: bool
) -> None:
    decided = until_tomorrow(mark_of(scanned(tmp_path, FLOW, "bandit"), Severity.HIGH))
    assert old in FLOW
    assert scanned(tmp_path, FLOW.replace(old, new), "bandit", dispositions=decided).passed is holds


SCRIPT = """#!/bin/sh
place=$HOME
other=1

remove() {
  rm -rf "$place"
}

show() {
  echo "$other"
}
remove
"""


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [("place=$HOME", "place=$HOME/..", False), ("other=1", "other=2", True), ('echo "$other"', "date", True)],
)
def test_in_other_languages_the_function_and_the_names_of_the_line_count(
    tmp_path: Path, old: str, new: str, holds: bool
) -> None:
    found = run_gates(write(tmp_path, {"run": SCRIPT}), tools=["commands"]).findings
    decided = until_tomorrow(*(finding.fingerprint for finding in found))
    assert run_gates(tmp_path, tools=["commands"], dispositions=decided).passed
    assert decided
    write(tmp_path, {"run": SCRIPT.replace(old, new)})
    assert run_gates(tmp_path, tools=["commands"], dispositions=decided).passed is holds


def test_a_disposition_of_a_file_ends_when_the_file_changes(tmp_path: Path) -> None:
    (tmp_path / "data.zip").write_bytes(b"PK 1")
    decided = until_tomorrow(*(f.fingerprint for f in run_gates(tmp_path, tools=["secrets"]).findings))
    assert run_gates(tmp_path, tools=["secrets"], dispositions=decided).passed
    (tmp_path / "data.zip").write_bytes(b"PK 2")
    assert not run_gates(tmp_path, tools=["secrets"], dispositions=decided).passed


def test_the_same_code_in_another_file_has_the_same_content_mark(tmp_path: Path) -> None:
    first = mark_of(scanned(tmp_path, FLOW, "bandit"), Severity.HIGH)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    second = mark_of(run_gates(tmp_path, tools=["bandit"]), Severity.HIGH)
    assert first != second
    assert content_mark(first) == content_mark(second) != ""


def test_a_high_disposition_can_be_forbidden_by_policy(tmp_path: Path) -> None:
    decided = until_tomorrow(mark_of(scanned(tmp_path, samples.BAD, "bandit"), Severity.HIGH))
    assert scanned(tmp_path, samples.BAD, "bandit", dispositions=decided).passed
    strict = Policy(high_may_be_disposed=False)
    assert scanned(tmp_path, samples.BAD, "bandit", dispositions=decided, policy=strict).verdict == "blocked"


def test_feedback_says_what_to_do_first_and_is_bounded(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": samples.BAD, "b.py": "def f(:\n"})
    text = feedback_text(run_gates(tmp_path, tools=["bandit", "syntax"]))
    assert "1. " in text
    assert "a.py:5" in text
    assert "b.py:1" in text
    first = text.split("1. ")[1]
    assert first.index("at ") > 10
    assert len(feedback_text(run_gates(tmp_path, tools=["bandit"]), limit=100)) <= 100


def test_feedback_is_empty_when_there_is_nothing_to_do() -> None:
    assert feedback_text(GateReport("pass", (), {"style": ToolReport("style", True)}, ())) == ""


def test_no_secret_of_the_environment_reaches_semgrep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    monkeypatch.setenv("AISWE_SEMGREP", str(program(tmp_path / "semgrep.fake", f"#!/bin/sh\nenv > {seen}\n")))
    monkeypatch.setenv("GITHUB_TOKEN", "very-secret-value")
    scanned(tmp_path / "code", "x = 1\n", "semgrep")
    assert "very-secret-value" not in seen.read_text()
    assert "SEMGREP_SEND_METRICS=off" in seen.read_text()


def test_severity_words_of_every_tool_are_understood() -> None:
    read: Callable[[str], Severity] = Severity.read
    assert [read(w) for w in ("info", "LOW", "Warning", "ERROR", "critical")] == list(Severity)
    assert read("something new") is Severity.HIGH


def test_the_scratch_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    scanned(tmp_path / "code", "x = 1\n", "bandit", "style")
    assert os.listdir(scratch) == []
