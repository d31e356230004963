"""What the scheduler will do, and what a night has taken; the clock is always given."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.engine.waiting import WaitReason
from projects.models import Project, Run, Transition, Usage
from projects.services.backlog import hours, scheduler
from projects.services.backlog.forecast import simulate
from projects.services.insight.prices import parse_model_prices
from tests.projects.services.backlog.nights import DAY, NIGHT, begun, queue, spend, windowed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]


def test_minutes_at_work_count_inside_the_night_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    windowed(project, minutes=60)
    spend(project, 1, NIGHT + timedelta(hours=2))
    run = Run.objects.latest("pk")
    for new, at in (("running", NIGHT.replace(hour=19, minute=0)), ("finished", NIGHT.replace(hour=20, minute=45))):
        with monkeypatch.context() as clock:
            clock.setattr(timezone, "now", lambda at=at: at)
            Transition.objects.create(kind="run", object_id=run.pk, old="", new=new)
    night = hours.night_of(hours.hours_of(project), NIGHT)
    assert hours.used_in(project, night.span, NIGHT.replace(hour=23))["minutes"] == 45


def test_the_forecast_places_tickets_one_after_another(project: Project) -> None:
    windowed(project)
    queue(project, 95, 60, None)
    found = simulate(project, DAY)
    opens = DAY.replace(hour=20)
    assert [(block.start, block.end) for block in found.blocks] == [
        (opens, opens + timedelta(minutes=95)),
        (opens + timedelta(minutes=95), opens + timedelta(minutes=155)),
        (opens + timedelta(minutes=155), opens + timedelta(minutes=155)),
    ]
    assert found.outside == []
    assert found.total("minutes") == 155


def test_the_forecast_names_the_cap_and_the_least_change_that_helps(project: Project) -> None:
    windowed(project, minutes=100)
    queue(project, 60, 62, 10)
    found = simulate(project, DAY)
    assert [block.out for block in found.blocks] == ["", "minutes", "minutes"]
    assert found.offer == ("minutes", "125")
    hours.change_tonight(project, by=project.created_by, what="minutes", to="125", now=DAY)
    assert [block.out for block in simulate(project, DAY).blocks] == ["", "", "minutes"]
    tomorrow = simulate(project, DAY + timedelta(days=1))
    assert [block.out for block in tomorrow.blocks] == ["", "minutes", "minutes"]


def test_the_forecast_offers_to_move_the_end_where_the_window_is_short(project: Project) -> None:
    windowed(project)
    queue(project, 590, 30)
    found = simulate(project, DAY)
    assert [block.out for block in found.blocks] == ["", "window"]
    end = DAY.replace(hour=6, minute=20) + timedelta(days=1)
    assert found.offer == ("closes", end.isoformat())
    hours.change_tonight(project, by=project.created_by, what="closes", to=end.isoformat(), now=DAY)
    assert simulate(project, DAY).outside == []
    assert hours.closed(project, end - timedelta(minutes=1)) is None
    assert hours.closed(project, end) is not None


def test_the_forecast_and_the_scheduler_agree(project: Project) -> None:
    windowed(project, minutes=30)
    queue(project, 40)
    assert [block.out for block in simulate(project, NIGHT).blocks] == ["minutes"]
    scheduler.advance(project, NIGHT)
    assert begun(project) == []


def test_money_is_counted_at_the_configured_prices(project: Project, settings: Any) -> None:
    settings.MODEL_PRICES = parse_model_prices(["m=10/1/30"])
    windowed(project, cents=200)
    queue(project, 30)
    spend(project, 150_000, NIGHT)  # at ten dollars a million
    night = hours.night_of(hours.hours_of(project), NIGHT)
    assert hours.used_in(project, night.span, NIGHT)["cents"] == 150
    assert hours.closed(project, NIGHT) is None
    Usage.objects.update(prompt_tokens=200_000)
    assert hours.closed(project, NIGHT) == (WaitReason.NIGHT_CAP, "20:00 (UTC)")


def test_without_prices_no_cap_in_money_can_hold(project: Project) -> None:
    assert not hours.has_prices()
