"""Known-bad code cannot talk, hide or configure its way past the gates."""

import base64
import json
import os
import stat
from pathlib import Path

import pytest

from agents.gates.base import GateReport, Policy
from agents.gates.run import run_gates
from tests.agents.gates.folders import needs_semgrep, write
from tests.agents.gates.samples import BAD
from tests.tables import each_row

pytestmark = [pytest.mark.slow, needs_semgrep]


def notebook(*cells: str) -> str:
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells], "nbformat": 4},
        indent=1,
    )


EVASIONS: dict[str, dict[str, str]] = {
    "nosec": {"app.py": BAD.replace("shell=True)", "shell=True)  # nosec")},
    "nosec with numbers": {"app.py": BAD.replace("shell=True)", "shell=True)  # nosec B602, B404")},
    "nosemgrep": {"app.py": BAD.replace("shell=True)", "shell=True)  # nosemgrep # nosec # noqa")},
    "unparsable file": {"app.py": BAD + "\ndef broken(:\n"},
    "bandit configuration": {
        "app.py": BAD,
        ".bandit": "[bandit]\nskips: B602,B404,B603\nexclude: /\n",
        "bandit.yaml": "skips: [B602]\n",
    },
    "semgrepignore": {"app.py": BAD, ".semgrepignore": "*\n", ".gitignore": "*\n"},
    "pyproject and setup.cfg": {
        "app.py": BAD,
        "pyproject.toml": "[tool.bandit]\nskips = ['B602']\nexclude_dirs = ['.']\n[tool.ruff]\nexclude = ['*']\n",
        "setup.cfg": "[bandit]\nskips = B602\n",
        "ruff.toml": "exclude = ['*']\n",
    },
    "text file": {"code.txt": BAD, "app.py": "x = 1\n"},
    "notebook": {"app.ipynb": notebook("x = 1\n", BAD)},
    "notebook shell escape": {"app.ipynb": notebook("command = input()\n", "!$command\n")},
    "template": {"page.mako": "<html>\n<%\nimport os\nos.system(command)\n%>\n</html>\n"},
    "script in a page": {"page.html": "<html><script>\neval(location.hash);\n</script></html>"},
    "no suffix": {"tool": "#!/usr/bin/env python3\n" + BAD},
    "ignored folders": {"node_modules/x/app.py": BAD},
    "build folder": {"build/lib/app.py": BAD},
    "tests folder": {"tests/helper.py": BAD},
    "hidden folder": {".hidden/app.py": BAD},
    "inside .git": {".git/app.py": BAD},
    "python window suffix": {"app.pyw": BAD},
    "upper case suffix": {"APP.PY": BAD},
    "other encoding": {"app.py": "# -*- coding: utf-7 -*-\nx = 1\n"},
    "reading direction": {"app.py": "access = 'user\u202e' # admin\n"},
    "look-alike letters": {"app.py": "𝐞𝐯𝐚𝐥(input())\n"},
    "name put together": {"app.py": "import os\ngetattr(os, 'sys' + 'tem')(input())\n"},
    "keyword in a dict": {"app.py": 'import subprocess\nsubprocess.run(input(), **{"shell": True})\n'},
    "code from a data file": {
        "app.py": "exec(open('notes.txt').read())\n",
        "notes.txt": "no code: just ( words\n" + BAD,
    },
    "start-up hook": {"x.pth": "import os; os.system('id')\n"},
    "decoded at run time": {
        "app.py": f"import base64\nexec(base64.b64decode({base64.b64encode(BAD.encode()).decode()!r}))\n"
    },
    "far right on a long line": {"app.py": "x = 1;" + " " * 5000 + "import os; os.system(input())\n"},
}


# What these do depends on where they stand; all others are scanned in one run, each in a folder of its own.
AT_THE_TOP = ["bandit configuration", "semgrepignore", "pyproject and setup.cfg", "ignored folders", "inside .git"]


@each_row("name", AT_THE_TOP)
def test_known_bad_code_is_blocked_despite(name: str, tmp_path: Path) -> None:
    write(tmp_path, EVASIONS[name])
    report = run_gates(tmp_path)
    assert report.verdict == "blocked"
    assert report.reasons
    # Blocked for the code, not because a scanner failed on an innocent file.
    assert all(tool.ran for tool in report.tools.values())


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    root = tmp_path_factory.mktemp("evasions")
    for name in EVASIONS.keys() - AT_THE_TOP:
        write(root / name.replace(" ", "-"), EVASIONS[name])
    return run_gates(root)


@each_row("name", EVASIONS.keys() - AT_THE_TOP)
def test_its_files_are_a_reason_to_block_despite(name: str, together: GateReport) -> None:
    assert all(tool.ran for tool in together.tools.values())
    assert [reason for reason in together.reasons if f"{name.replace(' ', '-')}/" in reason]


def test_an_unparsable_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\ndef broken(:\n")
    report = run_gates(tmp_path, tools=["syntax"])
    assert any("app.py:2" in reason for reason in report.reasons)


def test_a_notebook_finding_points_into_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "app.ipynb").write_text(notebook("x = 1\n", "import os\nos.system(x)\n"))
    (finding,) = [f for f in run_gates(tmp_path, tools=["bandit"]).findings if f.rule == "B605"]
    assert "os.system" in (tmp_path / "app.ipynb").read_text().splitlines()[finding.line - 1]


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text(BAD)
    root = tmp_path / "root"
    root.mkdir()
    (root / "ok.py").write_text("x = 1\n")
    (root / "link.py").symlink_to("../outside/secret.py")
    (root / "folder").symlink_to("../outside")
    (root / "loop").symlink_to(".")
    report = run_gates(root, tools=["bandit"])
    assert report.verdict == "blocked"
    assert {f.path for f in report.findings} == {"link.py", "folder", "loop"}
    assert report.tools["bandit"].files_scanned == 1


def test_a_pipe_does_not_hang_the_gate(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "app.py")
    report = run_gates(tmp_path, tools=["bandit"])
    assert any(f.rule == "special-file" for f in report.findings)


def test_git_hooks_and_fsmonitor_are_never_run(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    root = tmp_path / "root"
    hooks = root / ".git" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("pre-commit", "post-checkout", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {flag}\n")
        (hooks / name).chmod(0o755)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = touch {flag}\n\thooksPath = .git/hooks\n\trepositoryformatversion = 0\n"
    )
    (root / "app.py").write_text(BAD)
    (root / "conftest.py").write_text(f"open({str(flag)!r}, 'w').close()\n")
    assert run_gates(root).verdict == "blocked"
    assert not flag.exists()


@each_row(
    ("name", "data"),
    [
        ("x.so", b"\x7fELF\0\0"),
        ("tool", b"\x7fELF\0\0"),
        ("m.pyc", b"\xcb\r\r\n\0"),
        ("data.pkl", b"\x80\x04."),
        ("x.zip", b"PK\x03\x04"),
    ],
)
def test_files_that_nobody_can_review_block(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert run_gates(tmp_path, tools=["bandit"]).verdict == "blocked"


def test_a_picture_is_noted_and_passes(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    report = run_gates(tmp_path, tools=["bandit"])
    assert report.verdict == "pass"
    assert [f.rule for f in report.findings] == ["binary"]


def test_a_file_that_is_too_large_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 10)
    assert run_gates(tmp_path, tools=["bandit"]).verdict == "pass"
    assert "larger than" in run_gates(tmp_path, tools=["bandit"], policy=Policy(max_file_bytes=20)).reasons[0]


@pytest.mark.parametrize("limits", [{"max_files": 3}, {"max_total_bytes": 150}], ids=["files", "bytes"])
def test_a_large_folder_is_scanned_in_parts_up_to_a_limit(tmp_path: Path, limits: dict[str, int]) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "link").symlink_to("../m0.py")
    for number in range(7):
        (tmp_path / f"m{number}.py").write_text("x = 1\n" * 9)
    (tmp_path / "z" / "bad.py").write_text(BAD)
    report = run_gates(tmp_path, tools=["bandit", "secrets"], policy=Policy(**limits))
    assert {name: tool.files_scanned for name, tool in report.tools.items()} == {"bandit": 8, "secrets": 8, "files": 8}
    assert not any(tool.problem for tool in report.tools.values())
    assert {f.path for f in report.findings if f.tool == "bandit"} == {"z/bad.py"}
    assert [f.path for f in report.findings if f.rule == "link"] == ["z/link"]
    assert "more than 2 parts" in run_gates(tmp_path, tools=["bandit"], policy=Policy(**limits, max_parts=2)).reasons[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_blocks(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    (tmp_path / "app.py").chmod(stat.S_IWUSR)
    assert "could not be read" in run_gates(tmp_path, tools=["bandit"]).reasons[0]


def test_dependencies_are_scanned_unless_the_policy_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.py").write_text(BAD)
    (tmp_path / "app.py").write_text("x = 1\n")
    assert run_gates(tmp_path, tools=["bandit"]).verdict == "blocked"
    report = run_gates(tmp_path, tools=["bandit"], policy=Policy(skip_dependencies=True))
    assert report.verdict == "pass"
    assert [f.rule for f in report.findings] == ["dependencies-skipped"]


def test_a_byte_order_mark_hides_no_first_word_from_semgrep(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("\ufeffeval(input())\n")
    assert [f.rule for f in run_gates(tmp_path, tools=["semgrep"]).findings] == ["py-dynamic-code"]
