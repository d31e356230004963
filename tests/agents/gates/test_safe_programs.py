"""Programs that do the dangerous things right: no gate may block one of them."""

from pathlib import Path

import pytest
import yaml

from agents.gates.base import GateReport, Severity
from agents.gates.run import run_gates
from tests.agents.gates.folders import needs_semgrep

pytestmark = [pytest.mark.slow, needs_semgrep]

FOLDER = Path(__file__).parent / "safe_programs"
PROGRAMS: dict[str, str] = {
    f"{file.stem}-{name}.py": text
    for file in sorted(FOLDER.glob("*.yaml"))
    for name, text in yaml.safe_load(file.read_text(encoding="utf-8")).items()
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    root = tmp_path_factory.mktemp("right")
    for name, text in PROGRAMS.items():
        (root / name).write_text(text, encoding="utf-8")
    return run_gates(root)


def test_every_program_was_looked_at(report: GateReport) -> None:
    assert len(PROGRAMS) >= 80
    assert [tool.problem for tool in report.tools.values() if tool.problem] == []
    assert report.tools["semgrep"].files_scanned == len(PROGRAMS)


@pytest.mark.slow
def test_no_right_program_is_blocked(report: GateReport) -> None:
    alarms = [f for f in report.findings if f.severity >= Severity.MEDIUM and f.tool != "style"]
    assert [f"{f.path}:{f.line} {f.rule}" for f in alarms] == []


WRONG = {
    "a check of something else": """
        if not name:
            abort(400)
        return open("/srv/" + name).read()
    """,
    "a helper that checks nothing": """
        path = build(name)
        return open(path).read()
    """,
    "a test of the ending only": """
        if name.rsplit(".", 1)[1] in ALLOWED:
            return open("/srv/" + name).read()
    """,
    "a cleaned copy beside the raw value": """
        clean = secure_filename(name)
        return open("/srv/" + name).read()
    """,
}


@pytest.mark.parametrize("why", WRONG)
def test_a_check_that_does_not_help_cleans_nothing(why: str, tmp_path: Path) -> None:
    (tmp_path / "view.py").write_text(
        "from flask import request\n\ndef build(name):\n    return '/srv/' + name\n\n"
        f"def view():\n        name = request.args['name']{WRONG[why]}"
    )
    report = run_gates(tmp_path, tools=["semgrep"])
    assert "py-path-traversal" in {finding.rule for finding in report.findings}
