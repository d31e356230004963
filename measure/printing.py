"""Figures for people and for programs."""

from __future__ import annotations

import json
import os
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from measure.figures import Figure, Section, Spread

_ARROWS = {"lower": "↓", "higher": "↑", "": ""}


def machine() -> dict[str, Any]:
    """What the figures were taken on; the load says how quiet it was."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": f"{os.uname().sysname} {os.uname().machine}",
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(pages / 2**30, 1),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def document(sections: list[Section]) -> dict[str, Any]:
    """Everything, as plain data."""
    return {"machine": machine(), "benchmarks": [section.to_json() for section in sections]}


def print_json(sections: list[Section]) -> None:
    """One JSON document on stdout."""
    Console(soft_wrap=True, highlight=False, markup=False).print(json.dumps(document(sections), indent=1))


def print_section(section: Section, console: Console) -> None:
    """A table with its notes."""
    console.rule(f"[bold]{section.name}[/bold] · {section.title}", align="left")
    if section.skipped:
        console.print(f"skipped: {section.skipped}", markup=False)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("what", overflow="fold")
    for head in ("ratio", "median", "p95", "n", "baseline"):
        table.add_column(head, justify="right", no_wrap=True)
    against: dict[str, str] = {}
    for figure in section.figures:
        mark = against.setdefault(figure.against, f"[{len(against) + 1}]") if figure.against else ""
        table.add_row(*(Text(cell) for cell in _cells(figure, mark)))
    console.print(table)
    for words, mark in against.items():
        console.print(f"  {mark} {words}", markup=False, style="dim")
    for note in section.notes:
        console.print(f"  {note}", markup=False, style="dim")
    console.print(f"  took {section.seconds:.0f} s\n", style="dim")


def _cells(figure: Figure, mark: str) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3g} × {_ARROWS[figure.better]}"
    base = "" if figure.baseline is None else f"{_value(figure.baseline.median, figure.baseline)} {mark}"
    spread = figure.measured
    return (
        figure.name + (f" ({figure.note})" if figure.note else ""),
        ratio,
        _value(spread.median, spread),
        _value(spread.p95, spread) if spread.n > 1 else "",
        str(spread.n),
        base,
    )


def _value(value: float, spread: Spread) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {spread.unit}"
