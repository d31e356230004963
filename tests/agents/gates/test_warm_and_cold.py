"""The gate's own way of calling its tools gives what their commands give, and one scan leaves nothing to the next."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.gates import semgrep_engine, semgrep_tool
from agents.gates.bandit_tool import BanditScanner
from agents.gates.base import Policy, Severity
from agents.gates.run import run_gates
from agents.gates.scanner import Stage
from agents.gates.semgrep_tool import SemgrepScanner, find_semgrep, rules_json
from agents.gates.source import Unit
from measure.performance.stories import change_of_500_lines
from tests.agents.gates import samples
from tests.agents.gates.folders import needs_semgrep
from tests.agents.gates.test_bandit_tool import MIXED
from tests.agents.gates.test_rules import SAMPLES, _program
from tests.sizes import WHOLE, scaled

pytestmark = [pytest.mark.slow, pytest.mark.whole]

LANGUAGES = {
    "py": ("python", ".py"),
    "js": ("javascript", ".js"),
    "tpl": ("template", ".html"),
    "tf": ("terraform", ".tf"),
}
LANGUAGES |= {"go": ("go", ".go"), "java": ("java", ".java"), "kt": ("kotlin", ".kt"), "rb": ("ruby", ".rb")}
LANGUAGES |= {"php": ("php", ".php"), "c": ("c", ".c"), "rs": ("rust", ".rs"), "lua": ("lua", ".lua")}


def python_lines() -> list[str]:
    return [text for name, text in change_of_500_lines().items() if name.endswith(".py")]


def varied() -> list[Unit]:
    """Mistakes that our rules are about, ordinary code, and code with comments that ask for silence."""
    wrong = [(rule, text) for rule, kinds in sorted(SAMPLES.items()) for text in kinds["wrong"]]
    wrong = wrong[:: 1 if WHOLE else 8]
    units = [
        Unit(f"u{number:04d}{suffix}", rule, language, _program(text).encode())
        for number, (rule, text) in enumerate(wrong)
        for language, suffix in [LANGUAGES[rule.partition("-")[0]]]
    ]
    ordinary = [samples.CLEAN_APP, samples.CLEAN_FUNCTIONS, samples.BAD, MIXED, *python_lines()]
    units += [Unit(f"v{number:04d}.py", f"v{number}", "python", code.encode()) for number, code in enumerate(ordinary)]
    page = Unit("w0002.html", "w", "template", samples.CLEAN_PAGE.encode())
    return [*units, Unit("w0001.py", "w", "python", b"eval(x)  # nosemgrep\n"), page]


def stage(folder: Path, units: list[Unit]) -> Stage:
    folder.mkdir()
    return Stage(folder, units, Policy(), time.monotonic() + 120)


@needs_semgrep
def test_semgrep_finds_what_its_command_finds_with_the_same_rules(tmp_path: Path) -> None:
    program, units = find_semgrep(), varied()
    ours = SemgrepScanner().scan(stage(tmp_path / "own", units))
    assert (ours.ran, ours.problem) == (True, "")
    (tmp_path / "rules.json").write_text(rules_json())
    code = tmp_path / "own" / "code"
    command = [
        *(str(program), "scan", "--json", "--quiet", "--metrics", "off", "--disable-version-check", "--disable-nosem"),
        *("--no-git-ignore", "--config", str(tmp_path / "rules.json"), str(code)),
    ]
    home = {
        "HOME": str(tmp_path),
        "PATH": f"{program.parent if program else ''}:/usr/bin:/bin",
        "SEMGREP_SEND_METRICS": "off",
    }
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=home, check=False)
    answer = json.loads(done.stdout)
    wanted = {
        (Path(r["path"]).name, r["start"]["line"], r["check_id"].rpartition(".")[2], r["extra"]["severity"])
        for r in answer["results"]
    }
    assert len(wanted) > scaled(40, 4)
    assert {(*row[:3], Severity.read(row[3])) for row in wanted} == {
        (f.unit, f.line, f.rule, f.severity) for f in ours.findings
    }
    assert {Path(path).name for path in answer["paths"]["scanned"]} >= {unit.name for unit in units}


UNREADABLE = {
    "o0001.py": "def broken(:\n    eval(x)\n",
    "o0002.py": "eval(x)\n\nif x ==== 3:\n    pass\n",
    "o0003.py": "x = 1\0\neval(x)\n",
    "o0004.py": 'x = "{{ a|safe }}"\n',
    "o0005.py": "",
    "o0006.js": "function ( { eval(x) \n ))) let = = ;\n",
    "o0007.ts": "function f(a: string) { eval(a) }\nlet x = = 3;\n",
}


@needs_semgrep
def test_an_engine_started_ahead_and_the_command_agree_also_on_what_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    languages = {".py": "python", ".js": "javascript", ".ts": "typescript"}
    odd = [Unit(name, name, languages[name[-3:]], text.encode()) for name, text in UNREADABLE.items()]
    asked: list[object] = []
    run = semgrep_tool._run
    monkeypatch.setattr(semgrep_tool, "_run", lambda *given: (asked.append(given), run(*given))[1])
    scans = []
    for folder in ("engine", "command"):
        if folder == "command":
            monkeypatch.setattr(semgrep_engine, "find_engine", lambda program: None)
        scan = SemgrepScanner().scan(stage(tmp_path / folder, [*varied(), *odd]))
        scans.append((scan.version, scan.ran, set(scan.findings), scan.scanned, scan.problem, scan.failures))
        assert len(asked) == (folder == "command")
    assert scans[0] == scans[1]
    assert scans[0][5]["o0002.py"] == "Syntax error at line 3"


def test_bandit_in_process_finds_what_its_command_finds_in_a_varied_folder(tmp_path: Path) -> None:
    units = [unit for unit in varied() if unit.language == "python"]
    ours = BanditScanner().scan(stage(tmp_path / "own", units))
    code = tmp_path / "own" / "code"
    command = [sys.executable, "-m", "bandit", "-r", str(code), "-f", "json", "--ignore-nosec", "--exit-zero", "-q"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    wanted = {
        (Path(r["filename"]).name, r["line_number"], r["test_id"], r["issue_severity"], r["issue_confidence"])
        for r in json.loads(done.stdout)["results"]
    }
    assert len(wanted) > scaled(20, 4)
    assert {(f.unit, f.line, f.rule, f.severity.name, f.confidence) for f in ours.findings} == wanted


@needs_semgrep
def test_a_scan_leaves_nothing_behind_for_the_next(tmp_path: Path) -> None:
    """Whatever a hostile change does to one scan, the same process judges the next change as if it were the first."""
    folders = {
        "clean": samples.CLEAN_FUNCTIONS,
        "bad": samples.BAD,
        "broken": "def broken(:\n",
        "deep": "x = " + "(" * 3000 + ")" * 3000 + "\n",
        "settings": "# nosec\n# nosemgrep\n# bandit: skip\n",
    }
    for name, code in folders.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text(code)
        (tmp_path / name / ".bandit").write_text("[bandit]\nskips: B602\n")
    alone = {name: run_gates(tmp_path / name).to_json() for name in ("clean", "bad")}
    assert (alone["clean"]["verdict"], alone["bad"]["verdict"]) == ("pass", "blocked")
    for hostile in ("broken", "deep", "settings"):
        run_gates(tmp_path / hostile)
        assert run_gates(tmp_path / "bad", tools=["bandit", "semgrep"]).verdict == "blocked"
    assert {name: run_gates(tmp_path / name).to_json() for name in alone} == alone
