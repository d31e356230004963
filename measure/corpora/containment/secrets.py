"""The secrets gate over sham secrets of many kinds, over look-alikes, and over ordinary files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from agents.gates.base import Policy, Severity
from agents.gates.run import run_gates
from measure.corpora.containment.shares import Share, share_figure
from measure.corpora.heldout.lookalikes import clean_files, lookalikes
from measure.corpora.heldout.secrets import Sham, secrets
from measure.figures import CannotMeasure, Figure, Spread
from measure.processes import scratch


def measure(options: Any) -> tuple[list[Figure], list[str]]:
    """Figures and notes."""
    figures = recall_figures(list(secrets()))
    figures.append(lookalike_figure(list(lookalikes())))
    files = clean_files()
    with scratch() as folder:
        for number, file in enumerate(files):
            place = folder / "code" / f"{number:04}" / file.name
            place.parent.mkdir(parents=True)
            shutil.copyfile(file, place)
        hits = len(reported(folder / "code"))
    share = Share(hits, len(files))
    thousand = Spread(1, 10 * share.percent, 10 * share.percent, "per 1,000")
    low, high = (10 * end for end in share.interval())
    figures.append(
        Figure(
            "ordinary files reported", thousand, None, "", "lower", f"{hits} of {len(files):,}, [{low:.1f}–{high:.1f}]"
        )
    )
    return figures, ["ordinary files: Python's library and installed packages, without their tests"]


def recall_figures(shams: list[Sham]) -> list[Figure]:
    """Recall averaged by kind (a kind counts the same in however many files it is), and over files."""
    hits = _scan(shams)
    by_kind: dict[str, list[bool]] = {}
    for sham in shams:
        by_kind.setdefault(sham.kind, []).append(sham.path in hits)
    recall = 100 * fmean(fmean(found) for found in by_kind.values())
    whole = sum(all(found) for found in by_kind.values())
    none = sum(not any(found) for found in by_kind.values())
    note = f"{len(by_kind)} kinds; {whole} found in every placement, {none} in none"
    return [
        Figure("secrets: recall averaged by kind", Spread(1, recall, recall, "%"), None, "", "higher", note),
        share_figure("  files with a secret", Share(sum(sham.path in hits for sham in shams), len(shams)), "higher"),
    ]


def lookalike_figure(shams: list[Sham]) -> Figure:
    """The share of look-alikes that are reported: false alarms."""
    hits = _scan(shams)
    kinds = {sham.kind for sham in shams}
    note = f"{len(kinds)} classes, {len({sham.kind for sham in shams if sham.path in hits})} with an alarm"
    share = Share(sum(sham.path in hits for sham in shams), len(shams))
    return share_figure("look-alikes reported", share, "lower", note=note)


def _scan(shams: Iterable[Sham]) -> set[str]:
    with scratch() as folder:
        for sham in shams:
            place = folder / "code" / sham.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(sham.text, encoding="utf-8")
        return reported(folder / "code")


def reported(folder: Path) -> set[str]:
    """The files with a finding of medium severity or higher. Raises CannotMeasure when the scanner could not look."""
    report = run_gates(folder, tools=["secrets"], policy=Policy(timeout_seconds=900.0))
    troubles = [tool.problem or "did not run" for tool in report.tools.values() if tool.problem or not tool.ran]
    if troubles:
        raise CannotMeasure(f"secrets: {'; '.join(troubles)[:400]}")
    return {f.path for f in report.findings if f.tool == "secrets" and f.severity >= Severity.MEDIUM}
