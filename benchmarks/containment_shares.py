"""Shares with their intervals: what a detection rate is, in figures."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import CannotMeasure, Figure, Spread

HELDOUT = Path(__file__).parent / "heldout"


class Share(NamedTuple):
    """`hits` of `total`."""

    hits: int
    total: int

    @property
    def percent(self) -> float:
        """Raises CannotMeasure for a share of nothing."""
        if not self.total:
            raise CannotMeasure("a share of no items at all was asked for; the set is empty")
        return 100 * self.hits / self.total

    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson score interval, in percent: honest also near 0 and 100 and for few items."""
        z, n, p = 1.959964, self.total, self.percent / 100
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)


def share_figure(
    name: str, share: Share, better: str = "", baseline: Share | None = None, against: str = "", note: str = ""
) -> Figure:
    """A row of the table: percent, with how many of how many and the interval."""
    low, high = share.interval()
    words = f"{share.hits:,} of {share.total:,}, [{low:.1f}–{high:.1f} %]"
    base = None if baseline is None else _percent(baseline)
    return Figure(name, _percent(share), base, against, better, f"{words}; {note}" if note else words)


def _percent(share: Share) -> Spread:
    return Spread(1, share.percent, share.percent, "%")


def given(options: Any, name: str) -> Path | None:
    """The path of option `--name`, else of AISWE_BENCH_NAME, else None. Raises CannotMeasure when nothing is there."""
    value = getattr(options, name, None) or os.environ.get(f"AISWE_BENCH_{name.upper()}")
    if not value:
        return None
    path = Path(value)
    if not path.exists():
        raise CannotMeasure(f"{path}, given for --{name}, does not exist")
    return path
