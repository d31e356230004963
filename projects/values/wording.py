"""Numbers as people read them, on pages, in mails and on the command line."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

from agents.events.base import counted

__all__ = ["counted", "dollars", "duration_in_minutes", "rounded", "span", "words"]
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


def words(number: int) -> str:
    """A small number as a word."""
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def rounded(number: int) -> str:
    """A count in few letters: 812, 21k, 1.9M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            few = f"{number / size:.1f}".removesuffix(".0") if number < 10 * size else str(number // size)
            return few + letter
    return str(number)


def dollars(amount: Decimal | None) -> str:
    """Money; less than a cent is said to its hundredth, and "–" is said where it is not known."""
    if amount is None:
        return "–"
    if 0 < amount < Decimal("0.0001"):
        return "under $0.0001"
    return f"${amount:,.4f}" if 0 < amount < Decimal("0.01") else f"${amount:,.2f}"


def duration_in_minutes(value: float) -> str:
    """Minutes with one digit; "0 min" is said of nothing alone."""
    return "under 0.1 min" if 0 < value < 0.05 else f"{value:.1f} min" if value else "0 min"


def span(seconds: float | timedelta | None) -> str:
    """A duration in words: 0.4 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if isinstance(seconds, timedelta):
        seconds = seconds.total_seconds()
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return "–"
    whole = round(seconds)
    if seconds < 10:
        return f"{float(seconds):.1f} s"
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )
