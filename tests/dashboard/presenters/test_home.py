"""The home page: what needs the person, the week, the projects, the spending."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.drawing import minigraph
from dashboard.drawing.minigraph import MiniCell
from projects.models import Approval, Run, Task
from projects.services.insight.attention import waiting_for
from projects.services.work.usage import record_usage
from tests.dashboard.story import Story, tell
from tests.factories import make_project, make_run, make_user

pytestmark = pytest.mark.django_db


def test_the_heading_is_the_answer_and_one_button_is_filled(page, story: Story) -> None:
    text = page("projects")
    waiting = Approval.objects.filter(status="pending").count()
    assert waiting == 2
    assert "Two decisions wait for you" in text
    assert text.count("button primary") == 1
    assert text.count('<li class="need') == 2


def test_what_waits_longer_with_more_behind_it_comes_first(story: Story) -> None:
    # T-03 has waited 10 min, and T-04 needs it; the plan has waited 4 min with two tasks: 10 × 1 against 4 × 2.
    now = timezone.now()
    Approval.objects.filter(kind="package").update(requested_at=now - timedelta(minutes=10))
    Approval.objects.filter(kind="plan", status="pending").update(requested_at=now - timedelta(minutes=4))
    assert [(one.kind, one.behind) for one in waiting_for(story.owner, now)] == [("Package", 1), ("Plan", 2)]
    Approval.objects.filter(kind="plan", status="pending").update(requested_at=now - timedelta(minutes=6))
    assert [one.kind for one in waiting_for(story.owner, now)] == ["Plan", "Package"]


def test_without_questions_the_heading_says_so(client: Client, enqueued) -> None:
    run = make_run()
    client.force_login(run.project.created_by)
    text = client.get("/").content.decode()
    assert "Nothing is waiting for you; work goes on in one project" in text
    assert "need first" not in text
    Run.objects.update(status="finished")
    assert "and nothing is running" in client.get("/").content.decode()


def test_each_project_has_a_picture_whose_label_gives_the_counts(page, story: Story) -> None:
    text = page("projects")
    labels = re.findall(r'class="mini-graph"[^>]*aria-label="([^"]*)"', text)
    assert "4 tasks: 1 merged, 1 escalated, 1 running, 1 queued" in labels
    assert "2 tasks: 2 proposed" in labels


def test_the_cost_of_a_feature_is_one_click_away(page, story: Story) -> None:
    record_usage(story.run.pk, key="x", role="coder", model="m", task_id=story.done.pk, prompt_tokens=9)
    text = page("projects")
    assert '<a class="small" href="/reports/weekly#cost">By feature</a>' in text
    assert 'id="cost"' in page("report-weekly")


def test_no_price_is_no_zero(page, story: Story) -> None:
    record_usage(story.run.pk, key="x", role="coder", model="m", task_id=story.done.pk, prompt_tokens=9, seconds=2)
    text = page("projects")
    assert "No money is stated" in text
    assert "$0.00" not in text


def test_a_viewer_of_nothing_is_shown_the_way_in(client: Client) -> None:
    client.force_login(make_user("new"))
    text = client.get("/").content.decode()
    assert text.index("Watch the demo") < text.index("New project")


def test_home_takes_the_same_number_of_queries_for_one_project_as_for_six(story: Story, client: Client) -> None:
    owner = story.owner
    client.force_login(owner)
    client.get("/")
    with CaptureQueriesContext(connection) as few:
        client.get("/")
    for number in range(5):
        run = tell(owner, f"Todo {number}").run
        record_usage(run.pk, key="x", role="coder", model="m", prompt_tokens=9)
    with CaptureQueriesContext(connection) as many:
        client.get("/")
    assert len(many) == len(few)


def test_a_picture_shows_states_by_shape() -> None:
    states = ("merged", "running", "needs_you", "queued", "skipped", "proposed")
    text = str(minigraph.draw({n: MiniCell(state, [n - 1] if n else []) for n, state in enumerate(states)}))
    for shape in ("merged", "running", "asks", "waits", "through", "proposed", "mark"):
        assert f'class="{shape}"' in text
    assert text.count('class="edge"') == 5


def test_a_picture_of_two_hundred_tasks_and_of_a_circle_can_be_drawn() -> None:
    wide = minigraph.draw({n: MiniCell("queued", [n - 8] if n >= 8 else []) for n in range(200)})
    assert wide.count("<rect") == 200
    assert minigraph.draw({1: MiniCell("queued", [2]), 2: MiniCell("queued", [1])}).count("<rect") == 2
    long = minigraph.draw({n: MiniCell("queued", [n - 1] if n else []) for n in range(300)})
    assert "<svg" not in long
    assert "300 tasks: 300 queued" in long


def test_archived_projects_are_folded(page, story: Story) -> None:
    project = make_project("Old one", by=story.owner)
    type(project).objects.filter(pk=project.pk).update(archived_at=timezone.now())
    assert "1 archived project" in page("projects")
    assert Task.objects.count() > 0


def test_numbers_come_with_the_first_work(client: Client, enqueued) -> None:
    project = make_project("New")
    client.force_login(project.created_by)
    text = client.get("/").content.decode()
    assert "Nothing was built in the last six weeks" in text
    assert 'class="tiles"' not in text
    assert "Spend" not in text
    assert "mini-legend" not in text
