"""A document that replaces another one ends the planning of that one."""

from typing import Any

import pytest

from agents.engine.waiting import WaitReason
from projects.models import Project, Run
from projects.services.planning import documents, runs
from projects.services.work.moves import move_run
from tests.factories import PRD, make_project, owner_of
from tests.rows import fresh

pytestmark = pytest.mark.django_db


def planning_of(project: Project, text: str = PRD, name: str = "todo.md") -> Run:
    document = documents.upload_document(project, text.encode(), name, by=owner_of(project))
    return runs.start_planning(document, by=owner_of(project))


@pytest.mark.parametrize("status", ["queued", "running", "paused", "needs_you"])
def test_whatever_the_planning_does_it_ends_and_says_what_took_its_place(status: str, enqueued: list[Any]) -> None:
    run = planning_of(make_project())
    if status != "queued":
        move_run(run, "running")
    if status not in ("queued", "running"):
        move_run(run, status, wait=WaitReason.CONFIRMATION if status == "needs_you" else None)
    newer = planning_of(run.project, f"{PRD}\nFR-03 The user shall print.\n")
    assert (fresh(run).status, run.why) == ("cancelled", "todo.md v2 took the place of todo.md v1")
    assert newer.status == "queued"


def test_the_planning_of_other_documents_and_what_is_over_stay_as_they_are(enqueued: list[Any]) -> None:
    beside = planning_of(make_project(), "FR-09 The user shall sort.", "other.md")
    run = planning_of(beside.project)
    move_run(run, "running")
    move_run(run, "finished", reason="plan proposed")
    planning_of(run.project, f"{PRD}\nFR-03 The user shall print.\n")
    for one in (run, beside):
        one.refresh_from_db()
    assert (run.status, run.why, beside.status) == ("finished", "plan proposed", "queued")
