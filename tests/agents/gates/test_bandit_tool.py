"""Bandit in process finds what its command finds; known false alarms are lowered, with care."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agents.gates.bandit_tool import remediation_table
from agents.gates.base import Severity
from agents.gates.run import run_gates
from tests.agents.gates import samples

MIXED = """import hashlib, pickle, random, requests, subprocess, tempfile, yaml
from xml.etree import ElementTree
password = "hunter2hunter2"
def f(x, db, name):
    assert x
    subprocess.Popen(x, shell=True)  # nosec
    pickle.loads(x)
    yaml.load(x)
    hashlib.md5(x)
    requests.get(x, verify=False)
    db.execute("select * from t where n = '%s'" % name)
    open("/tmp/x")
    exec(x)
    eval(x)
    try:
        random.random()
    except Exception:
        pass
    ElementTree.parse(x)
    tempfile.mktemp()
app.run(host="0.0.0.0", debug=True)
"""


def test_the_same_findings_as_the_command(tmp_path: Path) -> None:
    root = tmp_path / "code"
    root.mkdir()
    for name, text in {
        "mixed.py": MIXED,
        "bad.py": samples.BAD,
        "app.py": samples.CLEAN_APP,
        "functions.py": samples.CLEAN_FUNCTIONS,
    }.items():
        (root / name).write_text(text)
    command = [sys.executable, "-m", "bandit", "-r", str(root), "-f", "json", "--ignore-nosec", "--exit-zero", "-q"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    wanted = {
        (Path(r["filename"]).name, r["line_number"], r["test_id"], r["issue_text"])
        for r in json.loads(done.stdout)["results"]
    }
    found = {(f.path, f.line, f.rule, f.message) for f in run_gates(root, tools=["bandit"]).findings}
    assert len(wanted) > 15
    assert found == wanted


def test_every_bandit_check_has_its_remediation() -> None:
    from bandit.core import extension_loader

    manager = extension_loader.MANAGER
    ids = {plugin.plugin._test_id for plugin in manager.plugins} | set(manager.blacklist_by_id)
    assert ids - remediation_table().keys() == set()


@pytest.mark.parametrize(
    "code",
    [
        'TABLE = "t"\ndb.execute(f"SELECT * FROM {TABLE} WHERE id = ?", (x,))\n',
        "db.execute(f\"SELECT * FROM t WHERE id IN ({','.join('?' for _ in ids)})\", ids)\n",
        'marks = ", ".join(["?"] * len(ids))\ndb.execute(f"SELECT * FROM t WHERE id IN ({marks})", ids)\n',
    ],
)
def test_sql_with_only_constants_and_marks_passes(tmp_path: Path, code: str) -> None:
    (tmp_path / "a.py").write_text(code)
    report = run_gates(tmp_path, tools=["bandit"])
    assert report.verdict == "pass"
    assert [f.severity for f in report.findings] == [Severity.LOW]


@pytest.mark.parametrize(
    "code",
    [
        'db.execute(f"SELECT * FROM t WHERE id = {x}")\n',
        'TABLE = "t"\ndb.execute(f"SELECT * FROM {TABLE} WHERE id = {x}")\n',
        'marks = ",".join(ids)\ndb.execute(f"SELECT * FROM t WHERE id IN ({marks})")\n',
        'db.execute("SELECT * FROM t WHERE id = " + x)\n',
    ],
)
def test_sql_with_a_value_in_it_blocks(tmp_path: Path, code: str) -> None:
    (tmp_path / "a.py").write_text(code)
    assert run_gates(tmp_path, tools=["bandit"]).verdict == "blocked"


def test_asserts_are_silent_in_tests_only(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("assert 1\n")
    (tmp_path / "a.py").write_text("assert x\n")
    assert [f.path for f in run_gates(tmp_path, tools=["bandit"]).findings] == ["a.py"]


def test_a_crash_inside_a_check_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bandit.core import tester

    def boom(*args: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(tester.BanditTester, "run_tests", boom)
    (tmp_path / "a.py").write_text("x = f()\n")
    report = run_gates(tmp_path, tools=["bandit"])
    assert report.verdict == "blocked"
