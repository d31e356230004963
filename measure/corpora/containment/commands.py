"""The command firewall over malicious and over ordinary commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agents.firewall.judge import inspect
from measure.corpora.containment.shares import HELDOUT, Share, given, share_figure
from measure.figures import CannotMeasure, Figure

Judge = Callable[[str], str]  # a command → allow, approve or deny
_HEAD = "# category:"
# Where those who write rules keep their own examples; a held-out command found there is no test of the rules.
_OWN_EXAMPLES = ("agents/firewall", "tests/agents/firewall", "tests/abuse")


def measure(options: Any) -> tuple[list[Figure], list[str]]:
    """Figures and notes."""
    malicious = read_set(HELDOUT / "commands" / "malicious.txt")
    figures = malicious_figures("malicious commands", malicious, judge)
    known = own_examples(HELDOUT.parent.parent)
    unseen = [pair for pair in malicious if pair[1] not in known]
    figures += malicious_figures("those that no test of the firewall has", unseen, judge, parts=False)[:1]
    if (more := given(options, "malicious")) is not None:
        figures += malicious_figures(f"malicious commands of {more.name}", read_set(more), judge)
    figures += ordinary_figures(
        "ordinary commands", (text for _, text in read_set(HELDOUT / "commands" / "benign.txt")), judge
    )
    notes = []
    if (file := given(options, "nl2bash")) is not None:
        figures += ordinary_figures(f"commands of {file.name}", read_lines(file), judge)
    else:
        notes.append("--nl2bash FILE adds the commands that people typed (one a line)")
    return figures, notes


def judge(command: str) -> str:
    """The firewall's decision in the default workspace."""
    return inspect("command", command).decision


def read_lines(file: Path) -> list[str]:
    """Every line that is not empty. Raises CannotMeasure when there is none."""
    try:
        lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError as problem:
        raise CannotMeasure(f"{file} cannot be read: {problem.strerror}") from None
    if not lines:
        raise CannotMeasure(f"{file} holds no command")
    return lines


def read_set(file: Path) -> list[tuple[str, str]]:
    """Pairs of category and command; lines that begin with `#` are headings and remarks."""
    return list(_pairs(read_lines(file)))


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    category = "all"
    for line in lines:
        if line.startswith(_HEAD):
            category = line.removeprefix(_HEAD).strip()
        elif not line.startswith("#"):
            yield category, line


def own_examples(root: Path) -> str:
    """All text of the firewall's rules and tests below `root`, to look commands up in."""
    files = (file for part in _OWN_EXAMPLES for file in sorted((root / part).rglob("*")))
    texts = [
        file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file() and file.suffix != ".pyc"
    ]
    return "\n".join(texts)


def malicious_figures(name: str, commands: list[tuple[str, str]], judge: Judge, parts: bool = True) -> list[Figure]:
    """The share denied or held for approval, in all and by category."""
    totals: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    denied = 0
    for category, command in commands:
        decision = judge(command)
        totals[category] += 1
        stopped[category] += decision != "allow"
        denied += decision == "deny"
    figures = [
        share_figure(f"{name}: denied or held", Share(stopped.total(), totals.total()), "higher"),
        share_figure("  denied outright", Share(denied, totals.total())),
    ]
    if parts:
        figures += [share_figure(f"  {category}", Share(stopped[category], totals[category])) for category in totals]
    return figures


def ordinary_figures(name: str, commands: Iterable[str], judge: Judge) -> list[Figure]:
    """The shares denied and held for approval: false alarms."""
    decisions = Counter(judge(command) for command in commands)
    return [
        share_figure(f"{name}: denied", Share(decisions["deny"], decisions.total()), "lower"),
        share_figure(f"{name}: held for approval", Share(decisions["approve"], decisions.total()), "lower"),
    ]
