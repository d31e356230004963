"""Dangerous calls under another name are found by the gate or the firewall; their innocent twins are not."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from agents.firewall.judge import inspect
from agents.gates.base import GateReport, Severity
from agents.gates.run import run_gates
from tests.agents.gates.folders import write
from tests.tables import each_row

FOLDER = Path(__file__).parent / "aliased_snippets"
SNIPPETS: dict[str, dict[str, Any]] = {
    name: snippet
    for file in ("first.toml", "second.toml")
    for name, snippet in tomllib.loads((FOLDER / file).read_text("utf-8")).items()
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    root = tmp_path_factory.mktemp("aliased")
    for name, snippet in SNIPPETS.items():
        for kind in ("bad", "twin"):
            write(root / f"{name}-{kind}", snippet[kind])
    return run_gates(root, tools=["flow"])


def flagged(report: GateReport, name: str, kind: str) -> bool:
    found = [f for f in report.findings if f.path.startswith(f"{name}-{kind}/")]
    return any(f.severity >= Severity.MEDIUM for f in found)


def asked(name: str, kind: str) -> bool:
    return any(inspect("code", text).decision != "allow" for text in SNIPPETS[name][kind].values())


def test_eighty_snippets_are_there_and_nine_in_ten_are_found() -> None:
    assert len(SNIPPETS) == 80
    assert sum("not_found" not in snippet for snippet in SNIPPETS.values()) >= 72


@each_row("name", [name for name, snippet in SNIPPETS.items() if "not_found" not in snippet])
def test_a_call_under_another_name_is_found(name: str, report: GateReport) -> None:
    assert report.tools["flow"].problem == ""
    assert flagged(report, name, "bad") or asked(name, "bad")


@each_row("name", SNIPPETS)
def test_its_innocent_twin_is_not_blocked(name: str, report: GateReport) -> None:
    assert not flagged(report, name, "twin")
    assert asked(name, "twin") == ("twin_asks" in SNIPPETS[name])


SEVERITIES = {
    "a command that is not known": ("import os\ngo = os.system\ngo(input())\n", "aliased-command", Severity.HIGH),
    "a command that is written out": ("import os\ngo = os.system\ngo('ls')\n", "aliased-command", Severity.MEDIUM),
    "a name looked up as text": ("import os\nvars(os)['system']('ls')\n", "aliased-command", Severity.HIGH),
    "a program without a shell": (
        "import subprocess\ngo = subprocess.run\ngo(['ls'])\n",
        "aliased-process",
        Severity.LOW,
    ),
    "a program with a shell": (
        "import subprocess\ngo = subprocess.run\ngo(x, **{'shell': True})\n",
        "aliased-process",
        Severity.HIGH,
    ),
    "a shell as the program": (
        "import subprocess\ngo = subprocess.run\ngo(['sh', '-c', x])\n",
        "aliased-process",
        Severity.HIGH,
    ),
    "a part of a module that is not known": ("import os\ngetattr(os, x)()\n", "sensitive-attribute", Severity.MEDIUM),
    "a function handed to strangers": ("import os, lib\nlib.register(os.system)\n", "sensitive-lost", Severity.MEDIUM),
    "a function put into a table of strangers": (
        "import os, lib\nlib.table.update(run=os.system)\n",
        "sensitive-lost",
        Severity.MEDIUM,
    ),
    "YAML with an unsafe loader": (
        "import yaml\nread = yaml.load\nread(x, Loader=yaml.Loader)\n",
        "aliased-deserialiser",
        Severity.MEDIUM,
    ),
    "a module held by another one": ("import shutil\nshutil.os.system(x)\n", "aliased-command", Severity.HIGH),
    "text that a profiler runs": ("import cProfile\ncProfile.run(x)\n", "text-run-by-tool", Severity.MEDIUM),
}
QUIET = {
    "the plain call, which others report": "import os\nos.system(x)\nfrom subprocess import run as go\ngo(x)\n",
    "a callable that nobody knows": "def go(name, x, callbacks, self):\n    callbacks[name](x)\n    self.handler(x)\n",
    "a module that is not sensitive": "import math\ngetattr(math, x)()\n",
    "a constant of a sensitive module": "import os\nflag = getattr(os, 'O_BINARY', 0)\n",
    "text that a profiler runs and everybody sees": "import cProfile\ncProfile.run('main()')\n",
    "a function that timeit runs": "import timeit\ndef f():\n    pass\ntimeit.timeit(f)\n",
    "YAML with the safe loader": "import yaml\nread = yaml.load\nread(x, Loader=yaml.SafeLoader)\n",
    "a function of that name": "class A:\n    def system(self, x):\n        pass\nos = A()\ngo = os.system\ngo(x)\n",
    "what tells whether it can be called": "import os\ncallable(os.system)\nisinstance(x, type(eval))\n",
}


@pytest.fixture(scope="module")
def by_case(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Severity]]]:
    root = tmp_path_factory.mktemp("cases")
    texts = {**{why: row[0] for why, row in SEVERITIES.items()}, **QUIET}
    write(root, {f"case{number}.py": text for number, text in enumerate(texts.values())})
    found: dict[str, list[tuple[str, Severity]]] = {why: [] for why in texts}
    for finding in run_gates(root, tools=["flow"]).findings:
        if finding.severity > Severity.INFO:
            found[[*texts][int(finding.path[4:-3])]].append((finding.rule, finding.severity))
    return found


@each_row("why", SEVERITIES)
def test_it_is_as_serious_as(why: str, by_case: dict[str, list[tuple[str, Severity]]]) -> None:
    assert by_case[why] == [SEVERITIES[why][1:]]


@each_row("why", QUIET)
def test_it_says_nothing_about(why: str, by_case: dict[str, list[tuple[str, Severity]]]) -> None:
    assert by_case[why] == []


def test_code_too_tangled_to_be_followed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.languages.python.flow.resolve._LEAST_STEPS", -10_000)
    (tmp_path / "small.py").write_text("import os\ngo = os.system\ngo(x)\n")
    report = run_gates(tmp_path, tools=["flow"])
    assert report.verdict == "blocked"


def test_a_file_that_does_not_parse_is_left_to_the_syntax_gate(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert run_gates(tmp_path, tools=["flow"]).findings == ()


IMPORTED = {
    "an alias in an unchanged file": {"helpers.py": "from os import system as go\n"},
    "an alias that is handed on by a package": {
        "helpers/__init__.py": "from .tools import *\n",
        "helpers/tools/__init__.py": "from .shell import go\n",
        "helpers/tools/shell.py": "import os\ngo = os.system\n",
    },
    "an alias below src": {"src/helpers.py": "import os\n\ndef pick():\n    return os.system\n\ngo = pick()\n"},
}


@pytest.fixture(scope="module")
def of_changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for why, files in IMPORTED.items():
        root = tmp_path_factory.mktemp("imported")
        write(root, files | {"main.py": "from helpers import go\n\ngo(input())\n"})
        found[why] = [(one.path, one.rule) for one in run_gates(root, tools=["flow"], paths=["main.py"]).findings]
    return found


@pytest.mark.parametrize("why", IMPORTED)
def test_a_changed_file_is_read_together_with_what_it_imports(
    why: str, of_changed: dict[str, list[tuple[str, str]]]
) -> None:
    assert of_changed[why] == [("main.py", "aliased-command")]


def test_what_a_changed_file_imports_has_no_findings_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {"helpers.py": "import os\ngo = os.system\ngo(input())\n", "main.py": "import helpers\n"})
    report = run_gates(tmp_path, tools=["flow"], paths=["main.py"])
    assert (report.findings, report.tools["flow"].files_scanned) == ((), 1)


def test_imports_through_links_are_not_read(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"helpers.py": "from os import system as go\n"})
    text = "from folder.helpers import go\nfrom helpers import go as run\ngo(1)\nrun(1)\n"
    root = write(tmp_path / "root", {"main.py": text})
    (root / "folder").symlink_to(outside)
    (root / "helpers.py").symlink_to(outside / "helpers.py")
    assert run_gates(root, tools=["flow"], paths=["main.py"]).findings == ()


def test_two_files_of_one_module_name_are_both_scanned(tmp_path: Path) -> None:
    names = ("a.b/main.py", "a_b/main.py", "main.py", "main/__init__.py")
    write(tmp_path, dict.fromkeys(names, "import os\ngo = os.system\ngo(input())\n"))
    report = run_gates(tmp_path, tools=["flow"])
    assert report.tools["flow"].problem == ""
    assert len({one.path for one in report.findings if one.rule == "aliased-command"}) == 4


def test_odd_and_many_imports_break_nothing(tmp_path: Path) -> None:
    (tmp_path / "chain.py").write_text("".join(f"a{at}=a{at + 1}\n" for at in range(5_000)), encoding="utf-8")
    odd = f"import {'a' * 5_000}\nfrom {'.'.join('a' * 3_000)} import b\nfrom ..... import c\n"
    text = odd + "__import__('../../x')\n__import__('\\x00')\nfrom chain import a0\na0(1)\n"
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    (tmp_path / "many.py").write_text("".join(f"import x{at}\n" for at in range(20_000)), encoding="utf-8")
    main, many = (run_gates(tmp_path, tools=["flow"], paths=[path]) for path in ("main.py", "many.py"))
    assert (main.reasons, main.findings, many.reasons) == ((), (), ())
    assert [one.rule for one in many.findings] == ["imports-not-followed"]
