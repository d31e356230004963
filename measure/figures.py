"""What a measurement is: samples, a ratio to a baseline of the same run, and words for people."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class CannotMeasure(Exception):
    """Something that the measurement needs is missing or broke; the text names it and is safe to show."""


def quantile(samples: Sequence[float], share: float) -> float:
    """The sample that this share of them does not exceed, by nearest rank: one that occurred; 0.0 of none."""
    if not samples:
        return 0.0
    return sorted(samples)[max(0, math.ceil(share * len(samples)) - 1)]


@dataclass(frozen=True)
class Spread:
    """Samples of one quantity, in `unit`."""

    n: int
    median: float
    p95: float
    unit: str

    @classmethod
    def of(cls, samples: Sequence[float], unit: str) -> Spread:
        """Raises CannotMeasure for no samples at all."""
        if not samples:
            raise CannotMeasure(f"no samples (in {unit}) came about")
        return cls(len(samples), statistics.median(samples), quantile(samples, 0.95), unit)

    def to_json(self) -> dict[str, Any]:
        """Plain data, rounded to what was measured."""
        return {"n": self.n, "median": _round(self.median), "p95": _round(self.p95), "unit": self.unit}


@dataclass(frozen=True)
class Figure:
    """One measured quantity beside its baseline. `ratio` is measured median : baseline median."""

    name: str
    measured: Spread
    baseline: Spread | None = None
    against: str = ""  # what the baseline is, in words
    better: str = "lower"  # which way the ratio should go: lower, higher, or "" for a breakdown
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """None when there is no baseline, or one that took no time."""
        if self.baseline is None or not self.baseline.median:
            return None
        return self.measured.median / self.baseline.median

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "measured": self.measured.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "against": self.against,
            "ratio": None if self.ratio is None else _round(self.ratio),
            "better": self.better,
            "note": self.note,
        }

    @classmethod
    def read(cls, data: dict[str, Any]) -> Figure:
        """The figure a child process wrote with `to_json`."""
        base = data["baseline"]
        return cls(
            data["name"],
            Spread(**data["measured"]),
            None if base is None else Spread(**base),
            data["against"],
            data["better"],
            data["note"],
        )


@dataclass
class Section:
    """One benchmark's figures; `skipped` says why there are none."""

    name: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "skipped": self.skipped,
            "seconds": round(self.seconds, 1),
            "figures": [figure.to_json() for figure in self.figures],
            "notes": self.notes,
        }


def _round(value: float) -> float:
    """Four significant digits: more would claim what no run repeats."""
    return float(f"{value:.4g}")
