"""Weeks as reports count them: ISO weeks, from Monday 00:00 UTC to the next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from projects.errors import BadInput

_WRITTEN = re.compile(r"(\d{4})-?W(\d{1,2})", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Week:
    """One ISO week."""

    year: int
    number: int

    @classmethod
    def of(cls, moment: datetime) -> Week:
        """The week that a moment is in."""
        year, number, _ = moment.astimezone(UTC).isocalendar()
        return cls(year, number)

    @classmethod
    def parse(cls, text: str) -> Week:
        """The week written as 2026-W48. Raises BadInput for anything else."""
        found = _WRITTEN.fullmatch(text.strip())
        try:
            if found is None or not 2000 <= int(found[1]) <= 2999:
                raise ValueError(text)
            date.fromisocalendar(int(found[1]), int(found[2]), 1)
        except ValueError:
            raise BadInput("Write the week as year and number, like 2026-W48.") from None
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"

    @property
    def start(self) -> datetime:
        """Its first moment."""
        return datetime.combine(date.fromisocalendar(self.year, self.number, 1), datetime.min.time(), UTC)

    @property
    def end(self) -> datetime:
        """The first moment after it."""
        return self.start + timedelta(days=7)

    @property
    def days(self) -> str:
        """Its days in words: 23–29 November 2026."""
        first, last = self.start, self.end - timedelta(days=1)
        if first.year != last.year:
            return f"{first.day} {first:%B %Y} – {last.day} {last:%B %Y}"
        if first.month != last.month:
            return f"{first.day} {first:%B} – {last.day} {last:%B %Y}"
        return f"{first.day}–{last.day} {last:%B %Y}"

    def shifted(self, weeks: int) -> Week:
        """The week so many weeks later."""
        return Week.of(self.start + timedelta(weeks=weeks))
