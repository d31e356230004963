"""A task that was given up: the heading, the evidence, the ways on with their costs, and the answer."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.presenters import failures
from projects.models import Approval, Attempt, Task
from projects.services.insight import try_costs
from projects.services.work import approval_requests
from tests.dashboard.story import Story
from tests.rows import fresh
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db
TRACE = """def test_mark():
        todo = {"done": False}
>       assert mark(todo) == {"done": True}
E       AssertionError: assert None == {'done': True}

tests/test_done.py:7: AssertionError
"""


def ask(story: Story) -> Approval:
    return approval_requests.ask(
        story.project, kind="escalation", subject="T-02#1", title="T-02 was not solved", run=story.run, task=story.stuck
    )


@each_row(
    ("message", "expected", "given"),
    [
        ("AssertionError: assert None == {'done': True}\n  more", "{'done': True}", "None"),
        ("assert 1 == 2", "2", "1"),
        ("AssertionError: 3 != 4 : sums differ", "4", "3"),
        ("expect(received).toBe(expected)\n\nExpected: 5\nReceived: 6", "5", "6"),
        ("ValueError: min() arg is an empty sequence", "", ""),
        ("", "", ""),
    ],
)
def test_both_sides_of_an_assertion_are_told_apart(message: str, expected: str, given: str) -> None:
    row = {"nodeid": "tests/test_a.py::test_a", "message": message}
    [one] = failures.failures_of(Attempt(tests={"failures": [row]}))
    assert (one.expected, one.given) == (expected, given)


def test_the_failing_line_is_marked_and_numbered() -> None:
    row = {"nodeid": "tests/test_done.py::test_mark", "message": "assert None == 1", "traceback": TRACE}
    [one] = failures.failures_of(Attempt(tests={"failures": [row]}))
    assert [(line.number, line.hit) for line in one.code] == [(5, False), (6, False), (7, True)]
    assert one.path == "tests/test_done.py"


@pytest.mark.parametrize("tests", [{"failures": "x"}, {"failures": [3]}, {"failures": [{"traceback": 7}]}, {}])
def test_a_report_of_any_shape_is_shown(tests: dict[str, object]) -> None:
    assert len(failures.failures_of(Attempt(tests=tests))) <= 1


def test_the_heading_is_the_question_else_what_fails_else_why(story: Story) -> None:
    failing = failures.failures_of(story.stuck.attempts.get(number=2))
    assert failures.heading_of(story.stuck, failing) == "test_mark expects {'done': True}, and the code gives None"
    story.stuck.escalation = "Nobody can say. Is 24 hours before the same clock time, or 24 times 60 minutes?\n\nmore"
    question = "Is 24 hours before the same clock time, or 24 times 60 minutes?"
    assert failures.heading_of(story.stuck, failing) == question
    story.stuck.escalation = "The limit is used up.\n\nmore"
    assert failures.heading_of(story.stuck, []) == "The limit is used up."


def test_the_evidence_stands_on_one_page_with_the_ways_on(page: Callable[..., str], story: Story) -> None:
    ask(story)
    text = page("task", story.stuck.pk)
    shows(text, "The test expects", "seen before: the approach has to change")
    for way in ("Retry with note", "Take the best version", "Raise a limit", "Skip the task", "Leave it"):
        assert text.count(way) >= 2, f"the button of {way} repeats its name"
    shows(text, "Silence decides nothing: the task waits, and so does what depends on it.", "T-04")


def test_an_answer_takes_one_click_from_the_inbox_and_one_to_give(owner: Client, story: Story) -> None:
    asked = ask(story)
    address = reverse("task", args=[story.stuck.pk])
    assert f'href="{address}"' in owner.get(reverse("approvals")).content.decode()
    assert owner.get(reverse("approval", args=[asked.pk]))["Location"] == address
    form = f'action="{reverse("approval", args=[asked.pk])}"'
    assert form in owner.get(address).content.decode()
    owner.post(reverse("approval", args=[asked.pk]), {"answer": "yes", "reason": "Return the dict."})
    story.stuck.refresh_from_db()
    assert (fresh(asked).status, story.stuck.status, story.stuck.note) == ("approved", "ready", "Return the dict.")


def test_costs_are_measured_and_say_on_how_many(story: Story) -> None:
    now = timezone.now()
    Attempt.objects.filter(finished_at__isnull=False).update(started_at=now, finished_at=now + timedelta(seconds=90))
    asked = ask(story)
    Approval.objects.filter(pk=asked.pk).update(
        requested_at=now, decided_at=now + timedelta(minutes=3), decided_by=story.owner, status="approved"
    )
    Task.objects.filter(pk=story.done.pk).update(generation=2)
    found = try_costs.try_cost(story.project)
    n = Attempt.objects.filter(task__run__project=story.project, finished_at__isnull=False).count()
    assert (found.tries, found.seconds) == (n, 90.0)
    assert (found.answers, found.minutes) == (1, 3.0)
    assert (found.retried, found.solved) == (1, 1)


def test_without_a_measurement_no_figure_is_made_up(story: Story, page: Callable[..., str]) -> None:
    Attempt.objects.update(finished_at=None)
    found = try_costs.try_cost(story.project)
    assert (found.seconds, found.tokens, found.minutes) == (None, None, None)
    assert found.money in (None, Decimal(0))
    assert "not measured yet" in page("task", story.stuck.pk)


def test_what_the_runner_said_is_text(story: Story, page: Callable[..., str]) -> None:
    hostile = "assert <script>alert(1)</script> == <img src=x>"
    row = {"nodeid": "t.py::<b>", "message": hostile, "traceback": ">  <script>alert(2)</script>\n"}
    story.stuck.attempts.filter(number=2).update(tests={"failed": 1, "failures": [row]})
    text = page("task", story.stuck.pk)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
