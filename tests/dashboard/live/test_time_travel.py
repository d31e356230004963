"""The page of a run at one of its events is the page that somebody saw who watched it live."""

import re
from typing import Any

import pytest
from django.test import Client

from dashboard.live import time_travel
from projects.models import Run
from tests.dashboard.story import Story
from tests.factories import bare_run, owner_of
from tests.random_run import Actor
from tests.rows import emit
from tests.tables import each_row

pytestmark = pytest.mark.django_db
PANELS = {
    "head": r'<div id="run-status".*?</dl>\s*</div>',
    "why": r'<span id="run-why".*?</p>',
    "tasks": r'<ul class="tasks".*?</ul>',
    "merged": r'<h2 id="tasks-h".*?</h2>',
    "graph": r'<div id="graph".*?<g class="hold"',
    "rows": r'(?<= data-seq=")\d+',
}


def panels(client: Client, run: Run, query: str = "") -> dict[str, list[str]]:
    """The panels of the run's page as texts, and the numbers of the rows of its stream."""
    page = client.get(f"/runs/{run.pk}{query}").content.decode()
    # A row says the time of its move, an event its own, microseconds later.
    page = re.sub(r"<time.*?</time>", "<time>", page, flags=re.S)
    page = re.sub(r'<a class="button primary.*?</a>', "", page, flags=re.S)  # nothing is decided in the past
    page = re.sub(r' ?data-(since|clock)="[^"]*"|\d+:\d\d\b', "", page)  # the clocks of a live page count on
    page = re.sub(r'<rect class="fill"[^>]*>', "", page)  # so do the bars of tasks at work
    return {name: re.findall(pattern, page, flags=re.S) for name, pattern in PANELS.items()}


def test_at_every_tenth_event_the_page_is_what_a_live_viewer_saw(client: Client, enqueued: list[Any]) -> None:
    def look(run: Run) -> dict[str, list[str]]:
        client.force_login(owner_of(run.project))
        return panels(client, run)

    actor = Actor(7, look)
    for _ in range(90):
        actor.act()
    moments = sorted(actor.seen)[:-1]
    assert len(moments) > 40
    assert all(actor.seen[moments[-1]].values()), "every panel is found on the page"
    for seq in [*moments[::10], moments[-1]]:
        found = panels(client, actor.run, f"?at={seq}")
        for name, was in actor.seen[seq].items():
            assert found[name] == was, f"{name} at event {seq}"


def test_in_the_past_nothing_can_be_said_or_controlled_and_the_page_leads_back(story: Story, owner: Client) -> None:
    page = owner.get(f"/runs/{story.run.pk}?at=9").content.decode()
    assert ">at event 9<" in page
    assert f'href="/runs/{story.run.pk}">Back to live</a>' in page
    controls, dock = page.partition('id="controls"')[2].partition("</section>")[0], page.partition('id="dock"')[2]
    writing = re.findall(r"<button[^>]*>", controls) + re.findall(
        r'<input[^>]*name="text"[^>]*>|<button[^>]*Send', dock
    )
    assert len(writing) > 3
    assert all("disabled" in one for one in writing)
    assert "The past cannot be controlled" in controls
    assert "Go back to live to write to the agents" in dock
    assert 'data-frozen="1"' in page, "no socket is opened"


def test_filters_stay_in_the_past(story: Story, owner: Client) -> None:
    page = owner.get(f"/runs/{story.run.pk}?at=20&preset=errors").content.decode()
    rows = [int(seq) for seq in re.findall(PANELS["rows"], page)]
    assert rows
    assert max(rows) <= 20
    presets = page.partition('aria-label="Presets"')[2].partition("</nav>")[0]
    assert all("at=20" in link for link in re.findall(r'href="[^"]*"', presets))


@each_row("at", ["0", "-3", "99999999", "x", "9" * 30, "1.5"])
def test_a_moment_that_never_was_is_now(story: Story, owner: Client, at: str) -> None:
    page = owner.get(f"/runs/{story.run.pk}?at={at}")
    assert page.status_code == 200
    assert b'id="scrub"' in page.content
    assert b">at event" not in page.content


def track(page: str) -> dict[str, Any]:
    """The slider on a page: its value and words, its marks by kind with their places, and where phases begin."""
    slider = re.search(r'aria-valuetext="([^"]*)"\s+min="1"\s+max="(\d+)"\s+value="(\d+)"', page)
    phases = re.search(r'data-phases="([^"]*)"', page)
    assert slider is not None
    assert phases is not None
    marks = re.findall(r'class="mark" x="([\d.]+)%" y="12">\s*<path class="mk-(\w+)"', page)
    return {
        "text": slider[1],
        "max": int(slider[2]),
        "value": int(slider[3]),
        "marks": {kind: {float(place) for place, one in marks if one == kind} for _, kind in marks},
        "phases": [int(seq) for seq in phases[1].split()],
    }


def test_the_slider_says_where_it_stands_and_marks_what_happened(story: Story, owner: Client) -> None:
    story.run.refresh_from_db()
    head = story.run.last_seq
    failed = story.run.events.get(type="task.failed")
    found = track(owner.get(f"/runs/{story.run.pk}?at={failed.seq}").content.decode())
    assert (found["value"], found["max"]) == (failed.seq, head)
    assert found["text"].startswith(f"event {failed.seq} of {head}, {failed.at:%H:%M:%S}, T-02 ")
    assert set(found["marks"]) == {"err", "dec", "ok", "need"}
    merged = story.run.events.get(type="task.done")
    assert list(found["marks"]["ok"]) == [pytest.approx(100 * (merged.seq - 1) / (head - 1), abs=0.7)]
    begun = story.run.events.filter(type__in=["task.started", "attempt.started"])
    assert found["phases"] == sorted(begun.values_list("seq", flat=True))

    live = track(owner.get(f"/runs/{story.run.pk}").content.decode())
    assert (live["value"], live["max"]) == (head, head)
    assert live == track(owner.get(f"/runs/{story.run.pk}/track").content.decode())


def test_a_long_run_has_one_mark_for_each_place(enqueued: list[Any]) -> None:
    run = bare_run()
    for number in range(400):
        emit(run.pk, "error" if number % 2 else "decision", summary="x")
    run.refresh_from_db()
    marks = time_travel.track(run, None, run.last_seq)["marks"]
    assert len(marks) <= time_travel.BARS + 1
    assert {kind for kind, _ in marks} == {"err"}, "where both happened, the error is shown"


def test_a_run_without_a_past_keeps_its_slider_back_until_there_is_one(client: Client, enqueued: list[Any]) -> None:
    def hidden() -> bool:
        form = re.search(r'<form class="scrub"[^>]*>', client.get(f"/runs/{run.pk}").content.decode())
        assert form is not None, "a page that was opened early has it when it is needed"
        return "hidden" in form[0]

    run = bare_run()
    client.force_login(owner_of(run.project))
    assert hidden()
    emit(run.pk, "decision", summary="x")
    assert hidden()
    assert client.get(f"/runs/{run.pk}/track").status_code == 200
    emit(run.pk, "decision", summary="x")
    assert not hidden()


def test_a_script_that_moves_the_slider_is_sent_what_follows_it_and_no_page(story: Story, owner: Client) -> None:
    part = owner.get(f"/runs/{story.run.pk}?at=9", headers={"HX-Request": "true"}).content.decode()
    page = owner.get(f"/runs/{story.run.pk}?at=9").content.decode()
    assert "<html" not in part
    names = re.findall(r'data-panel="(\w+)"', part)
    assert sorted(names) == sorted(re.findall(r'data-panel="(\w+)"', page))
    assert track(part) == track(page)
    assert re.findall(PANELS["rows"], part) == re.findall(PANELS["rows"], page)
