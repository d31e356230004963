"""Shares with their intervals: what a detection rate is, in figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from agents.rehearsal.results import wilson
from measure.figures import CannotMeasure, Figure, Spread

HELDOUT = Path(__file__).parents[1] / "heldout"


class Share(NamedTuple):
    """`hits` of `total`."""

    hits: int
    total: int

    @property
    def percent(self) -> float:
        """Raises CannotMeasure for a share of nothing."""
        return 100 * self.hits / self.of_something()

    def of_something(self) -> int:
        """The total; raises CannotMeasure when it is nothing."""
        if not self.total:
            raise CannotMeasure("a share of no items at all was asked for; the set is empty")
        return self.total

    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson score interval, in percent: honest also near 0 and 100 and for few items."""
        low, high = wilson(self.hits, self.of_something())
        return 100 * low, 100 * high


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
