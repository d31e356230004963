"""Rows of measure.trials.compare as the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FIGURES = ("what", "tasks", "resolved %", "at first %", "self-corrected %", "iterations", "tokens a task")
DIFFERENCES = ("resolved, points", "iterations ±", "tokens ±")
CAPTION = (
    "Intervals are 95 %. Differences are to the first row, on the same tasks and seeds; "
    "one whose interval contains 0 may be chance."
)


def figures(row: Mapping[str, Any]) -> list[str]:
    """What a side came to, as cells under FIGURES."""
    tokens = row["tokens"]
    return [
        row["name"],
        f"{row['tasks']}",
        share(row["resolved"]),
        share(row["first_try"]),
        share(row["self_correction"]),
        f"{row['iterations']['mean']:.2f}",
        f"{tokens['sent'] + tokens['generated']:,.0f}",
    ]


def differences(row: Mapping[str, Any]) -> list[str]:
    """How it differs from the first side, as cells under DIFFERENCES; empty for the first."""
    gap = row.get("against_first")
    if not gap:
        return [""] * len(DIFFERENCES)
    return [change(gap["resolved"], 100, 1), change(gap["iterations"], 1, 2), change(gap["tokens"], 1, 0)]


def share(value: Sequence[float] | None) -> str:
    """45.1 (37.7–52.8), in percent."""
    return "–" if value is None else f"{100 * value[0]:.1f} ({100 * value[1]:.1f}–{100 * value[2]:.1f})"


def change(value: Sequence[float], times: float, digits: int) -> str:
    """+8.5 (+2.1 … +14.9), times `times`."""
    # Adding 0.0 makes -0.0 a plain zero.
    middle, low, high = (f"{round(times * each, digits) + 0.0:+,.{digits}f}" for each in value)
    return f"{middle} ({low} … {high})"


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """All rows as a table in Markdown."""
    head = [*FIGURES, *DIFFERENCES]
    lines = [head, ["---"] * len(head), *([*figures(row), *differences(row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
