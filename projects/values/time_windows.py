"""Hours of the day in a time zone: when people want quiet, and when agents may work. The time is always given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from projects.errors import BadInput


@cache
def zones() -> tuple[str, ...]:
    """The names of time zones that a person may choose from."""
    return tuple(sorted(name for name in available_timezones() if "/" in name or name == "UTC"))


def zone(name: str) -> ZoneInfo:
    """The time zone of that name. Raises BadInput."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f"{name!r} is not a time zone; an example is Europe/Vienna.") from None


@dataclass(frozen=True)
class Span:
    """One opening of a window: from `opens` until just before `closes`, both in UTC."""

    opens: datetime
    closes: datetime

    def holds(self, now: datetime) -> bool:
        """Whether `now` lies inside."""
        return self.opens <= now < self.closes


@dataclass(frozen=True)
class Window:
    """The same hours every day, like 20:00–06:00 in a time zone; across midnight when the end is the earlier time.

    Where clocks skip an hour, a time that does not exist is the one an hour later; of an hour that comes twice, the
    first counts.
    """

    start: time
    end: time
    zone_name: str

    def _span(self, day: date) -> Span:
        here = zone(self.zone_name)
        last = day if self.start < self.end else day + timedelta(days=1)
        first, second = datetime.combine(day, self.start, here), datetime.combine(last, self.end, here)
        return Span(first.astimezone(UTC), second.astimezone(UTC))

    def current_or_next(self, now: datetime) -> Span:
        """The opening that `now` lies in, else the next one."""
        today = now.astimezone(zone(self.zone_name)).date()
        spans = [self._span(today + timedelta(days=days)) for days in (-1, 0, 1, 2)]
        return next(span for span in spans if now < span.closes and span.opens < span.closes)

    def __str__(self) -> str:
        return f"{self.start:%H:%M}–{self.end:%H:%M}"
