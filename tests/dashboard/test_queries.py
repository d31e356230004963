"""Pages with long lists ask the database as often for a long list as for a short one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from projects.models import BacklogItem
from projects.services.accounts import api_tokens
from projects.services.backlog import items
from projects.services.work.usage import record_usage
from tests.dashboard.story import Story
from tests.factories import make_plan, make_project, make_requirement, make_task
from tests.rows import emit, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def calls(story: Story, number: int) -> None:
    """Tasks with a model call each, and model calls of one task and of none, announced as the engine does."""
    for n in range(number):
        task = make_task(story.run, key=f"X-{story.run.tasks.count()}")
        for owner in (task, story.stuck, None):
            key = f"{n}/{task.key}/{owner and owner.key}"
            pk = owner.pk if owner else None
            said = {"phase": "intent", "of": f"{key}:usage", "again": False}
            emit(story.run.pk, "effect.intent", summary="a call", payload=said, key=f"{key}:intent", task_id=pk)
            usage = {"prompt_tokens": 9, "completion_tokens": 1, "filled_by": {"map": 9}}
            emit(story.run.pk, "llm.usage", summary="9", payload=usage, key=f"{key}:usage", task_id=pk, role="coder")
            emit(story.run.pk, "thought", summary="so", key=key, task_id=pk, blobs={"prompt": ["a", f"b{n}"]})
            record_usage(story.run.pk, key=key, role="coder", model="m", task_id=pk, prompt_tokens=9)


@pytest.mark.parametrize(
    ("name", "most"), [("audit-run", 16), ("run-tokens", 18), ("task-tokens", 18), ("run", 30), ("audit", 12)]
)
def test_a_longer_list_takes_no_more_queries(
    name: str, most: int, story: Story, owner: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    address = reverse(name, args=[] if name == "audit" else [(story.stuck if name == "task-tokens" else story.run).pk])
    calls(story, 2)
    few = queries(owner, address)
    calls(story, 12)
    with django_assert_max_num_queries(min(few, most)):
        assert owner.get(address).status_code == 200


def lengthen(story: Story, number: int) -> None:
    """More of what the pages of a project and of a person list."""
    project, owner = story.project, story.owner
    begun = project.backlog.count()
    text = "\n".join(f"Q-{begun + n} Do it" for n in range(number))
    made = items.add(project, items.from_text(text), by=owner, source="pasted")
    BacklogItem.objects.filter(pk__in=[item.pk for item in made]).update(minutes=20)
    items.change(project, [item.pk for item in made], by=owner, do="assign")
    for n in range(number):
        key = f"Q-{begun + n}"
        requirement = make_requirement(story.document, key, status="accepted")
        make_task(story.run, key=key).requirements.add(requirement)
        api_tokens.make_token(owner, name=key, scopes=["read"], days=1)
        make_plan(story.document, approved=False)
        make_project(key, by=owner)


@each_row(
    "address",
    [
        *("/", "/p/{project}/", "/p/{project}/backlog", "/p/{project}/reqs", "/p/{project}/plan", "/p/{project}/trace"),
        *("/account", "/account/notifications", "/reports", "/reports/weekly", "/find?q=Q-"),
    ],
)
@undone()
def test_lists_of_a_project_and_of_a_person_take_constant_queries(address: str, story: Story, owner: Client) -> None:
    address = address.format(project=story.project.pk)
    lengthen(story, 2)
    few = queries(owner, address)
    lengthen(story, 6)
    assert queries(owner, address) <= few
