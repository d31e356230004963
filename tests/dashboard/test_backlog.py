"""The backlog's page: what it says, and what its forms do."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from dashboard.presenters import night
from projects.models import BacklogHours, Project
from projects.services.backlog import hours, items
from projects.services.backlog.forecast import simulate
from tests.factories import make_project, make_user
from tests.texts import shows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]
DAY = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture
def project(client: Client, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project at noon: what "gets done today" depends on how much of the day is left."""
    monkeypatch.setattr(timezone, "now", lambda: DAY)
    made = make_project("Clinic")
    client.force_login(made.created_by)
    return made


def read(client: Client, project: Project, query: str = "") -> str:
    return client.get(f"/p/{project.pk}/backlog{query}").content.decode()


def post(client: Client, project: Project, where: str, **data: Any) -> Any:
    return client.post(f"/p/{project.pk}/backlog/{where}", data)


def queue(project: Project, *minutes: int | None) -> None:
    text = "\n".join(f"A-{n} Do the thing {n}" for n in range(1, len(minutes) + 1))
    made = items.add(project, items.from_text(text), by=project.created_by, source="pasted")
    for item, estimate in zip(made, minutes, strict=True):
        item.minutes = estimate
        item.save()
    items.change(project, [item.pk for item in made], by=project.created_by, do="assign")


def test_an_empty_backlog_says_how_to_begin(project: Project, client: Client) -> None:
    page = read(client, project)
    shows(page, "The backlog is empty", "Paste tickets, one per line")


def test_tickets_are_pasted_estimated_assigned_and_ordered(project: Project, client: Client) -> None:
    post(client, project, "add", text="A-1 <script>alert(1)</script>\nA-2 Second")
    first, second = project.backlog.all()
    assert "&lt;script&gt;" in read(client, project)
    assert "Two of the tickets wait to be assigned" in read(client, project)
    post(client, project, "items", do="estimate", minutes="1 h 30", item=[first.pk, second.pk])
    post(client, project, "items", do="assign", item=[first.pk, second.pk])
    post(client, project, "items", do=f"up:{second.pk}")
    assert list(project.backlog.values_list("key", "minutes")) == [("A-2", 90), ("A-1", 90)]
    assert "All two assigned tickets get done today" in read(client, project)


def test_a_csv_file_is_uploaded_with_what_was_pasted(project: Project, client: Client) -> None:
    file = SimpleUploadedFile("t.csv", b"key,title,minutes\nA-1,First,30\n")
    assert post(client, project, "add", file=file, text="A-2 Second").status_code == 302
    assert list(project.backlog.values_list("key", "source")) == [("A-1", "csv"), ("A-2", "pasted")]


@pytest.mark.parametrize(
    "data", [{}, {"do": "assign"}, {"do": "sell", "item": "1"}, {"do": "up:x"}, {"do": "up:" + "9" * 30}]
)
def test_what_makes_no_sense_is_refused(project: Project, client: Client, data: dict[str, str]) -> None:
    assert post(client, project, "items", **data).status_code in (404, 422)


def test_tickets_of_another_project_cannot_be_reached(project: Project, client: Client) -> None:
    other = make_project()
    queue(other, 30)
    item = other.backlog.get()
    assert post(client, project, "items", do=f"up:{item.pk}").status_code == 404
    assert post(client, project, "items", do="leave_out", item=[item.pk]).status_code == 422


def test_window_and_caps_are_set(project: Project, client: Client) -> None:
    hours_form = {"opens": "20:00", "closes": "06:00", "time_zone": "Europe/Vienna", "tokens": "5000", "money": "2"}
    assert post(client, project, "hours", **hours_form, machine_hours="1.5").status_code == 302
    stored = BacklogHours.objects.get(project=project)
    assert (stored.opens, stored.cap_tokens, stored.cap_minutes) == (time(20), 5_000, 90)
    assert stored.cap_cents is None  # no prices are configured, so no such cap could hold
    assert post(client, project, "hours", opens="20:00", time_zone="UTC").status_code == 422
    assert post(client, project, "hours", tokens="none", time_zone="UTC").status_code == 422


def test_money_can_be_capped_where_prices_are_configured(project: Project, client: Client, settings: Any) -> None:
    assert "Money a night" not in read(client, project)
    settings.KWH_PRICE, settings.WATTS = 0.3, 200.0
    assert "Money a night" in read(client, project)
    post(client, project, "hours", time_zone="UTC", money="2.50")
    assert BacklogHours.objects.get(project=project).cap_cents == 250


def test_the_button_offers_the_least_change_that_helps(project: Project, client: Client) -> None:
    hours.save(project, by=project.created_by, window=(None, None), time_zone="UTC", caps={"minutes": 5})
    queue(project, 1, 7)
    page = read(client, project)
    shows(page, "One of two tickets gets done today", "Raise today’s hours cap to 10 min")
    assert post(client, project, "tonight", what="minutes", to="10").status_code == 302
    assert "All two assigned tickets" in read(client, project)


@pytest.mark.parametrize(("what", "to"), [("minutes", "1"), ("minutes", "x"), ("opens", "10"), ("closes", "soon")])
def test_tonight_can_only_be_more(project: Project, client: Client, what: str, to: str) -> None:
    hours.save(project, by=project.created_by, window=(None, None), time_zone="UTC", caps={"minutes": 5})
    assert post(client, project, "tonight", what=what, to=to).status_code == 422


def test_who_may_not_change_it_sees_no_controls(project: Project, client: Client) -> None:
    queue(project, 30)
    client.force_login(make_user(role="viewer", project=project))
    page = read(client, project)
    assert "Do the thing 1" in page
    assert "Assign to agents" not in page


def test_done_tickets_are_on_a_list_of_their_own(project: Project, client: Client) -> None:
    queue(project, 30)
    project.backlog.update(done_at=DAY)
    assert "Do the thing 1" not in read(client, project)
    assert "Do the thing 1" in read(client, project, "?show=done")


def windowed(project: Project, **caps: int) -> None:
    hours.save(project, by=project.created_by, window=(time(20), time(6)), time_zone="UTC", caps=caps)


def test_the_heading_is_the_answer(project: Project) -> None:
    windowed(project, minutes=100)
    queue(project, 60, 62, None)
    assert night.headline(simulate(project, DAY), 3) == (
        "One of three tickets gets done tonight",
        "The hours cap stops the agents at 21:00. With 25 min more, A-2 fits too. "
        "One ticket has no estimate: what follows may be later.",
    )


def test_the_heading_speaks_of_one_ticket_as_of_one(project: Project) -> None:
    windowed(project, minutes=30)
    queue(project, 60)
    forecast = simulate(project, DAY)
    assert night.headline(forecast, 1)[0] == "The one assigned ticket does not get done tonight"
    project.backlog.update(assigned_at=None)
    assert night.headline(simulate(project, DAY), 1)[0] == "One ticket waits to be assigned to the agents"


def test_the_strip_reaches_past_the_window_and_marks_the_cap(project: Project) -> None:
    windowed(project, minutes=400)
    queue(project, 300, 150, 200)
    strip = night.strip_of(simulate(project, DAY), [])
    assert [bar.css for bar in strip.bars] == ["blk", "out", "out"]
    assert strip.bars[2].x + strip.bars[2].width > strip.right
    assert strip.cut is not None
    assert strip.cut[1] == "hours cap, 01:00"
    assert strip.table[1:] == [
        ("01:00", "03:30", "A-2 Do the thing 2", "over the cap"),
        ("03:30", "06:50", "A-3 Do the thing 3", "over the window"),
    ]


def test_a_key_that_does_not_fit_its_block_is_cut_visibly(project: Project) -> None:
    windowed(project)
    queue(project, 30)
    project.backlog.update(key="CLINIC-118")
    assert [bar.name for bar in night.strip_of(simulate(project, DAY), []).bars] == ["CLIN…"]


def test_other_projects_are_shown_to_those_who_may_see_them(project: Project, client: Client) -> None:
    queue(project, 30)
    mine, foreign = make_project("Reminders", by=project.created_by), make_project("Secret plans")
    queue(mine, 30)
    queue(foreign, 30)
    page = read(client, project)
    assert "Reminders" in page
    assert "Secret plans" not in page


def test_a_night_over_a_change_of_clocks_has_true_hours(project: Project) -> None:
    hours.save(project, by=project.created_by, window=(time(20), time(6)), time_zone="Europe/Vienna", caps={})
    queue(project, 570)
    spring = simulate(project, datetime(2026, 3, 28, 12, tzinfo=UTC))  # nine hours that night
    autumn = simulate(project, datetime(2026, 10, 24, 12, tzinfo=UTC))  # eleven
    assert [len(found.outside) for found in (spring, autumn)] == [1, 0]
    assert autumn.night.span.closes - autumn.night.span.opens == timedelta(hours=11)
