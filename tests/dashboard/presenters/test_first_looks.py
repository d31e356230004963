"""Which view a run opens with, and what a finished one says to look at first."""

import re

import pytest
from django.test import Client

from dashboard.presenters.first_looks import first_looks
from projects.models import Attempt, Finding, Task
from tests.dashboard.busy import busy
from tests.dashboard.story import Story, finish, tell

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return tell()


def page(story: Story, path: str = "") -> str:
    client = Client()
    client.force_login(story.owner)
    return client.get(f"/runs/{story.run.pk}{path}").content.decode()


def test_what_a_person_let_in_comes_before_many_tries_and_little_coverage(story: Story):
    Finding.objects.exclude(pk=story.finding.pk).delete()
    Finding.objects.filter(pk=story.finding.pk).update(disposition="accepted", reason="only the mail server calls it")
    finish(story, whole=True)
    Attempt.objects.filter(task=story.stuck, number=2).update(outcome="passed")
    found = first_looks(story.run)
    assert [look.kind for look in found][:2] == ["finding", "tries"]
    assert found[0].why == "HIGH finding of bandit, accepted: only the mail server calls it"
    assert found[1].what.startswith("T-02")
    assert "coverage" in {look.kind for look in found}
    assert "Look at first" in page(story)


def test_a_build_without_anything_odd_has_no_list(story: Story):
    run = busy(story.owner, 5)
    Task.objects.filter(run=run).update(status="merged")
    Attempt.objects.filter(task__run=run).exclude(number=1).delete()
    Attempt.objects.filter(task__run=run).update(outcome="passed", branch_coverage=95)
    assert first_looks(run) == []


def test_a_finished_build_opens_with_its_result_and_three_other_views(story: Story):
    assert 'class="hand-over' not in page(story)
    finish(story)
    html = page(story)
    assert 'class="hand-over' in html
    assert 'id="stream"' not in html
    views = re.findall(r"\?view=(\w+)[^>]*>(Result|Graph|Time|Stream)<", html)
    assert [name for name, _ in views] == ["result", "graph", "time", "stream"]
    assert 'id="stream"' in page(story, "?view=stream")
    assert 'id="stream"' in page(story, "?preset=errors"), "a filter looks into the stream"
    assert 'id="stream"' in page(story, "/e/6")
    assert 'id="graph"' in page(story, "?view=graph")


def test_a_running_build_shows_its_result_so_far_on_request(story: Story):
    html = page(story, "/result")
    assert "Not finished" in html
    assert f'href="/runs/{story.run.pk}?view=graph"' in html


def test_the_code_is_one_click_from_a_finished_run(story: Story):
    from tests.dashboard.story import add_code

    commit = add_code(story)
    finish(story, whole=True)
    html = page(story)
    band = html.partition('class="hand-over')[2].partition("</section>")[0]
    assert f'href="/p/{story.project.pk}/files/{commit}"' in band
    assert re.search(rf'href="/p/{story.project.pk}/[^"]*zip[^"]*"\s+download', band)
