"""Rows that decide something, compared with what the trails recorded of them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from projects.models import Approval, Finding, Membership, Plan, Run, Task, Transition
from projects.models.project import Role
from projects.services.audit.checkpoints import note_heads
from projects.services.audit.decisions import differences, snapshot
from projects.services.decisions import approvals
from projects.services.planning import plans, projects
from projects.services.work import approval_requests, findings
from projects.services.work.moves import move_run, move_task
from tests.factories import make_document, make_finding, make_plan, make_project, make_run, make_user, plan_content
from tests.rows import emit, undone
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


@pytest.fixture
def run() -> Run:
    """A build in which people decided all kinds of things."""
    note_heads()  # nothing yet
    make_user("somebody", role="", project=None)
    run = make_run()
    emit(run.pk, "cmd", summary="begun")
    note_heads()
    owner = run.project.created_by
    projects.add_member(run.project, make_user("viewer"), Role.VIEWER, by=owner)
    taken = make_user("taken")
    projects.add_member(run.project, taken, Role.AUDITOR, by=owner)
    projects.remove_member(run.project, taken, Role.AUDITOR, by=owner)
    task = run.tasks.get(key="T-01")
    move_task(task, Task.Status.READY)
    move_task(task, Task.Status.RUNNING, reason="a\nreason   on two lines " + "and long " * 60)
    for subject, yes in (("yes", True), ("no", False)):
        asked = approval_requests.ask(run.project, kind="package", subject=subject, title=subject, run=run, task=task)
        approvals.decide(asked, by=owner, yes=yes, reason="it is fine")
    without_run = approval_requests.ask(run.project, kind="push", subject="origin", title="Push?")
    approvals.decide(without_run, by=owner, yes=True)
    approval_requests.ask(run.project, kind="package", subject="open", title="open", run=run, task=task)
    projects.add_member(run.project, owner, Role.SECURITY, by=owner)
    finding = make_finding(task, severity="LOW")
    findings.dispose(finding, by=owner, disposition="accepted", reason="it is a test")
    document = make_document(make_project("Other", by=owner))
    plan = plans.propose_plan(document, content=plan_content())
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner)
    return run


def test_what_was_decided_through_the_services_agrees(run: Run) -> None:
    make_plan(approved=False)
    assert differences() == []
    assert differences(run.pk) == []
    move_run(run, Run.Status.PAUSED, reason="paused")
    move_run(run, Run.Status.CANCELLED)
    assert differences() == []


def _other_content(run: Run) -> None:
    plan = Plan.objects.get(pk=run.plan_id)
    plan.content["tasks"][0]["title"] = "Another thing"
    plan.save()


def _asked(subject: str, **values: Any) -> None:
    Approval.objects.filter(subject=subject).update(**values)


EDITS: dict[str, Callable[[Run], object]] = {
    "approval: a no is a yes": lambda run: _asked("no", status="approved"),
    "approval: a no is open": lambda run: _asked("no", status="pending", decided_by=None, decided_at=None, reason=""),
    "approval: of somebody else": lambda run: _asked("yes", decided_by=make_user("mallory")),
    "approval: without a run": lambda run: _asked("origin", status="rejected"),
    "approval: never asked": lambda run: _asked("open", status="approved", decided_by=run.project.created_by),
    "finding: disposed of": lambda run: Finding.objects.update(disposition="false_positive"),
    "finding: forgotten": lambda run: Finding.objects.update(disposition="", decided_by=None, reason=""),
    "role: a manager": lambda run: run.project.memberships.create(user=make_user("mallory"), role="manager"),
    "role: promoted": lambda run: Membership.objects.filter(user__username="viewer").update(role="manager"),
    "task: its state": lambda run: run.tasks.filter(key="T-02").update(status="merged"),
    "task: its history": lambda run: Transition.objects.filter(kind="task").update(actor="mallory"),
    "task: its history cut": lambda run: Transition.objects.filter(kind="task", new="running").delete(),
    "run: its state": lambda run: Run.objects.filter(pk=run.pk).update(status="finished"),
    "plan: its state": lambda run: Plan.objects.filter(pk=run.plan_id).update(status="rejected"),
    "plan: its content": _other_content,
    "plan: its person": lambda run: Plan.objects.filter(pk=run.plan_id).update(decided_by=make_user("mallory")),
}


@each_row(("what", "edit"), EDITS.items())
@pytest.mark.usefixtures("unguarded")
@undone()
def test_an_edited_row_is_named(run: Run, what: str, edit: Callable[[Run], object]) -> None:
    edit(run)
    found = differences()
    assert found
    assert {each.row.split()[0] for each in found} == {what.partition(":")[0]}


@pytest.mark.django_db(transaction=True)
def test_a_writer_is_not_held_up_and_its_rows_raise_no_alarm() -> None:
    from tests.projects.threads import at_once

    run = make_run()
    with snapshot():
        assert differences() == []
        at_once([lambda: move_run(Run.objects.get(pk=run.pk), Run.Status.PAUSED, reason="meanwhile")])
        assert Run.objects.get(pk=run.pk).status == Run.Status.RUNNING, "the snapshot is of one moment"
        assert differences() == []
    assert not connection.in_atomic_block
    assert Run.objects.get(pk=run.pk).status == Run.Status.PAUSED
    assert differences() == []
