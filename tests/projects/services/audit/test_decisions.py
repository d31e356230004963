"""Rows that decide something, compared with what the trails recorded of them."""

from __future__ import annotations

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

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _home(tmp_path: Any, settings: Any) -> None:
    settings.AISWE_HOME = tmp_path


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


def _approve(run: Run) -> None:
    Approval.objects.filter(subject="no").update(status="approved")


def _reopen(run: Run) -> None:
    Approval.objects.filter(subject="no").update(status="pending", decided_by=None, decided_at=None, reason="")


def _somebody_else(run: Run) -> None:
    Approval.objects.filter(subject="yes").update(decided_by=make_user("mallory"))


def _without_run(run: Run) -> None:
    Approval.objects.filter(subject="origin").update(status="rejected")


def _never_asked(run: Run) -> None:
    Approval.objects.filter(subject="open").update(status="approved", decided_by=run.project.created_by)


def _dispose(run: Run) -> None:
    Finding.objects.update(disposition="false_positive")


def _forget_disposition(run: Run) -> None:
    Finding.objects.update(disposition="", decided_by=None, reason="")


def _manager(run: Run) -> None:
    Membership.objects.create(project=run.project, user=make_user("mallory"), role="manager")


def _promote(run: Run) -> None:
    Membership.objects.filter(user__username="viewer").update(role="manager")


def _task_state(run: Run) -> None:
    run.tasks.filter(key="T-02").update(status="merged")


def _run_state(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="finished")


def _plan_state(run: Run) -> None:
    Plan.objects.filter(pk=run.plan_id).update(status="rejected")


def _plan_content(run: Run) -> None:
    plan = Plan.objects.get(pk=run.plan_id)
    plan.content["tasks"][0]["title"] = "Another thing"
    plan.save()


def _plan_person(run: Run) -> None:
    Plan.objects.filter(pk=run.plan_id).update(decided_by=make_user("mallory"))


def _history(run: Run) -> None:
    Transition.objects.filter(kind="task").update(actor="mallory")


def _history_cut(run: Run) -> None:
    Transition.objects.filter(kind="task", new="running").delete()


@each_row(
    ("edit", "row"),
    [
        (_approve, "approval"),
        (_reopen, "approval"),
        (_somebody_else, "approval"),
        (_without_run, "approval"),
        (_never_asked, "approval"),
        (_dispose, "finding"),
        (_forget_disposition, "finding"),
        (_manager, "role"),
        (_promote, "role"),
        (_task_state, "task"),
        (_run_state, "run"),
        (_plan_state, "plan"),
        (_plan_content, "plan"),
        (_plan_person, "plan"),
        (_history, "task"),
        (_history_cut, "task"),
    ],
)
@pytest.mark.usefixtures("unguarded")
@undone()
def test_an_edited_row_is_named(run: Run, edit: Any, row: str) -> None:
    edit(run)
    found = differences()
    assert found
    assert {each.row.split()[0] for each in found} == {row}


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
