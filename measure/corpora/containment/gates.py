"""The gates over insecure code, its safe twins, and reference solutions of public programming tasks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from agents.gates.base import GateFinding, Policy, Severity
from agents.gates.run import run_gates
from agents.languages.python import syntax
from measure.corpora.containment.shares import HELDOUT, Share, given, share_figure
from measure.corpora.containment.weaknesses import MUST_SHOW, category, related
from measure.figures import CannotMeasure, Figure
from measure.processes import scratch

BANDIT = "Bandit alone, its own command, medium and up, the same files and run"
_CWE = re.compile(r"CWE-(\d+)")


class Found(NamedTuple):
    """What a scan says: file to the CWE numbers of its findings of medium severity or higher."""

    gates: dict[str, set[int]]
    bandit: dict[str, set[int]]


def measure(options: Any) -> tuple[list[Figure], list[str]]:
    """Figures and notes."""
    figures, notes = [], []
    with scratch() as folder:
        code = folder / "code"
        _copy((HELDOUT / "python").glob("*.py"), code / "insecure")
        _copy((HELDOUT / "python" / "safe").glob("*.py"), code / "safe")
        _copy((HELDOUT / "javascript").glob("CWE-*"), code / "script")
        _copy((HELDOUT / "javascript" / "safe").glob("CWE-*"), code / "safe-script")
        found = scan(code)
        figures += insecure_figures("insecure Python", _below(code, "insecure"), found)
        figures.append(blocked_figure("safe twins: blocked", _below(code, "safe"), found))
        figures += insecure_figures("insecure JavaScript and TypeScript", _below(code, "script"), found)
        figures.append(blocked_figure("safe twins in JavaScript: blocked", _below(code, "safe-script"), found))
    if (corpus := given(options, "insecure")) is not None:
        with scratch() as folder:
            _copy(corpus.rglob("*.py"), folder / "code", corpus)
            figures += insecure_figures(
                f"insecure Python of {corpus.name}", _below(folder / "code", ""), scan(folder / "code")
            )
    if (references := given(options, "references")) is not None:
        with scratch() as folder:
            left_out = write_references(references, folder / "code")
            figures.append(
                blocked_figure("reference solutions: blocked", _below(folder / "code", ""), scan(folder / "code"))
            )
        notes.append(f"{left_out} reference solutions do not parse in this copy and are left out")
    else:
        notes.append("--references DIR adds HumanEval's and MBPP's solutions (*.jsonl with canonical_solution)")
    return figures, notes


def scan(folder: Path) -> Found:
    """Run the gates and, beside them, Bandit's own command. Raises CannotMeasure when a scanner could not look."""
    report = run_gates(folder, policy=Policy(timeout_seconds=900.0))
    troubles = [
        f"{tool.name}: {tool.problem or 'did not run'}"
        for tool in report.tools.values()
        if tool.problem or not tool.ran
    ]
    if troubles:
        raise CannotMeasure("; ".join(troubles)[:400])
    return Found(_gather(report.findings), bandit_alone(folder))


def _gather(findings: Iterable[GateFinding]) -> dict[str, set[int]]:
    files: dict[str, set[int]] = {}
    for finding in findings:
        # Style never blocks a merge, whatever its severity; every other finding from MEDIUM on does.
        if finding.severity >= Severity.MEDIUM and finding.tool != "style":
            files.setdefault(finding.path, set()).update(int(number) for number in _CWE.findall(finding.cwe))
    return files


def bandit_alone(folder: Path) -> dict[str, set[int]]:
    """Bandit as a person would run it. Raises CannotMeasure when it gives no report."""
    argv = [sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", "-ll", str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        raise CannotMeasure(f"bandit ended with {done.returncode}: {done.stderr.strip()[-300:]}") from None
    files: dict[str, set[int]] = {}
    for result in results:
        path = Path(result["filename"]).relative_to(folder).as_posix()
        files.setdefault(path, set()).add(int(result.get("issue_cwe", {}).get("id", 0)))
    return files


def insecure_figures(name: str, files: list[str], found: Found) -> list[Figure]:
    """Shares of files with a finding, with one that names the file's own weakness, and by category."""
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(category(_weakness(file)), []).append(file)
    names_it = Found(
        *({file: cwes for file, cwes in where.items() if cwes & related(_weakness(file))} for where in found)
    )
    figures = [
        _figure(f"{name}: found", files, found, "higher"),
        _figure("  … as the weakness it is", files, names_it, "higher"),
    ]
    order = sorted(groups, key=lambda group: (group not in MUST_SHOW, group == "others", group))
    return figures + [_figure(f"  {group}", groups[group], found, "") for group in order]


def blocked_figure(name: str, files: list[str], found: Found) -> Figure:
    """The share of files that the default policy blocks: false alarms, as these files are right."""
    return _figure(name, files, found, "lower")


def _figure(name: str, files: list[str], found: Found, better: str) -> Figure:
    gates, bandit = (Share(sum(file in where for file in files), len(files)) for where in found)
    if any(file.endswith(".py") for file in files):
        return share_figure(name, gates, better, bandit, BANDIT)
    return share_figure(name, gates, better)  # Bandit knows Python only


def write_references(source: Path, folder: Path) -> int:
    """Write each reference solution to a file of its own; gives how many do not parse and were left out."""
    folder.mkdir(parents=True)
    left_out = 0
    tasks = [
        json.loads(line) for file in sorted(source.rglob("*.jsonl")) for line in file.read_text().splitlines() if line
    ]
    for task in tasks:
        if "canonical_solution" not in task:
            continue
        text = f"{task['prompt']}{task['canonical_solution']}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # escapes that a later Python warns of
                syntax.parse(text)
        except SyntaxError:
            left_out += 1
            continue
        (folder / f"{re.sub('[^A-Za-z0-9]+', '_', task['task_id'])}.py").write_text(text, encoding="utf-8")
    if not any(folder.iterdir()):
        raise CannotMeasure(f"{source} holds no *.jsonl with a canonical_solution")
    return left_out


def _weakness(file: str) -> int:
    hit = _CWE.search(file)
    return int(hit[1]) if hit else 0


def _copy(files: Iterable[Path], target: Path, root: Path | None = None) -> None:
    for file in sorted(files):
        place = target / (file.relative_to(root) if root else file.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    if not target.is_dir():
        raise CannotMeasure(f"no Python files for {target.name}")


def _below(folder: Path, part: str) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in (folder / part).rglob("*") if path.is_file())
