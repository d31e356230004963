"""Windows at fixed times: across midnight, across time zones, and on the days when clocks change."""

from datetime import UTC, datetime, time

import pytest

from projects.errors import BadInput
from projects.values.time_windows import Span, Window, zone, zones
from tests.tables import each_row

NIGHT = Window(time(20), time(6), "Europe/Vienna")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def is_open_at(window: Window, now: datetime) -> bool:
    return window.current_or_next(now).holds(now)


@each_row(
    ("now", "is_open"),
    [
        ("2026-11-25T18:59:59", False),  # Vienna is an hour ahead in winter
        ("2026-11-25T19:00:00", True),
        ("2026-11-26T04:59:59", True),
        ("2026-11-26T05:00:00", False),
        ("2026-07-01T18:00:00", True),  # and two hours in summer
        ("2026-07-02T04:00:00", False),
    ],
)
def test_a_night_is_open_by_the_clock_on_the_wall(now: str, is_open: bool) -> None:
    assert is_open_at(NIGHT, at(now)) is is_open


def test_the_next_opening_is_named_while_it_is_closed() -> None:
    span = NIGHT.current_or_next(at("2026-11-25T12:00:00"))
    assert span == Span(at("2026-11-25T19:00:00"), at("2026-11-26T05:00:00"))


def test_the_same_moment_is_night_in_one_zone_and_day_in_another() -> None:
    now = at("2026-11-25T20:00:00")
    assert is_open_at(NIGHT, now)
    assert not is_open_at(Window(time(20), time(6), "America/Los_Angeles"), now)
    assert is_open_at(Window(time(0), time(6), "Asia/Kolkata"), now)  # 01:30 there, five and a half hours ahead


def test_the_night_in_which_clocks_go_forward_is_an_hour_shorter() -> None:
    span = NIGHT.current_or_next(at("2026-03-28T22:00:00"))
    assert (span.closes - span.opens).total_seconds() == 9 * 3600


def test_the_night_in_which_clocks_go_back_is_an_hour_longer() -> None:
    span = NIGHT.current_or_next(at("2026-10-24T22:00:00"))
    assert (span.closes - span.opens).total_seconds() == 11 * 3600


def test_a_beginning_that_the_clock_skips_is_an_hour_later() -> None:
    early = Window(time(2, 30), time(6), "Europe/Vienna")
    assert early.current_or_next(at("2026-03-28T22:00:00")).opens == at("2026-03-29T01:30:00")  # 03:30 on the wall


def test_a_window_that_the_skipped_hour_swallows_opens_the_day_after() -> None:
    gone = Window(time(2, 15), time(2, 45), "Europe/Vienna")
    assert gone.current_or_next(at("2026-03-29T00:00:00")).opens >= at("2026-03-29T01:15:00")


def test_of_an_hour_that_comes_twice_the_first_counts() -> None:
    late = Window(time(20), time(2, 30), "Europe/Vienna")
    assert late.current_or_next(at("2026-10-24T22:00:00")).closes == at("2026-10-25T00:30:00")


def test_a_window_within_one_day_is_closed_at_night() -> None:
    day = Window(time(9), time(17), "UTC")
    assert is_open_at(day, at("2026-11-25T09:00:00"))
    assert day.current_or_next(at("2026-11-25T17:00:00")).opens == at("2026-11-26T09:00:00")


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInput, match="Europe/Vienna"):
        zone("../../etc/passwd")
    assert "Europe/Vienna" in zones()
