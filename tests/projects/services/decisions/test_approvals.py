import random
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.engine.waiting import WaitReason
from projects.errors import BadInput, LostRace, NotAllowed, ProjectsError, StaleVersion
from projects.models import Approval, Event, Plan
from projects.services.decisions import approvals
from projects.services.planning import plans
from projects.services.work import approval_requests, findings
from projects.services.work.moves import move_run, move_task
from tests.factories import (
    bare_run,
    make_document,
    make_finding,
    make_plan,
    make_project,
    make_task,
    make_user,
    owner_of,
    plan_content,
)
from tests.projects.threads import at_once
from tests.rows import fresh, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def question(task=None, *, subject="requests", kind="package"):
    task = task or make_task(status="running")
    return approval_requests.ask(
        task.run.project, kind=kind, subject=subject, title=f"Install {subject}?", run=task.run, task=task
    )


def developer(approval):
    return make_user(role="developer", project=approval.project)


def test_asking_again_is_the_same_question_while_it_waits_and_another_once_it_is_decided():
    task = make_task(status="running")
    first = question(task)
    assert question(task).pk == first.pk
    assert Event.objects.filter(run=task.run, type="approval.requested").count() == 1
    approvals.decide(first, by=developer(first), yes=False, reason="not this one")
    assert question(task).pk != first.pk


def test_a_subject_that_is_too_long_for_its_row_is_told_from_one_that_begins_alike():
    task, names = make_task(status="running"), ", ".join(f"package-{number}" for number in range(40))
    asked = question(task, subject=names)
    approvals.decide(asked, by=developer(asked), yes=True)
    project = task.run.project
    assert approvals.answer_to(project, kind="package", subject=names) == Approval.Status.APPROVED
    assert approvals.answer_to(project, kind="package", subject=f"{names}, more") is None


@pytest.mark.django_db(transaction=True)
def test_many_who_ask_at_once_ask_one_question():
    task = make_task(status="running")
    asked = at_once([lambda: question(task).pk] * 12)
    assert len(set(asked)) == 1


def test_silence_is_no_answer_and_nobody_asked_is_none():
    task = make_task(status="running")
    project = task.run.project
    assert approvals.answer_to(project, kind="package", subject="requests") is None
    asked = question(task)
    assert approvals.answer_to(project, kind="package", subject="requests") == "pending"
    approvals.decide(asked, by=developer(asked), yes=True)
    assert approvals.answer_to(project, kind="package", subject="requests") == "approved"
    assert approvals.answer_to(project, kind="package", subject="requests2") is None
    assert approvals.answer_to(project, kind="package", subject="requests", run=bare_run(project)) is None


def test_a_no_needs_a_reason_is_told_with_who_and_why_and_stands():
    asked = question()
    person = developer(asked)
    with pytest.raises(BadInput, match="Give a reason"):
        approvals.decide(asked, by=person, yes=False, reason=" ")
    approvals.decide(asked, by=person, yes=False, reason="too large")
    event = Event.objects.get(run=asked.run, type="approval.decided")
    assert (event.actor, event.outcome, event.payload["reason"]) == (person.username, "fail", "too large")
    assert (asked.status, asked.decided_by, asked.reason) == ("rejected", person, "too large")
    with pytest.raises(LostRace, match="rejected"):
        approvals.decide(asked, by=person, yes=True)


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_who_only_watches_decides_nothing(role):
    asked = question()
    with pytest.raises(NotAllowed):
        approvals.decide(asked, by=make_user(role=role, project=asked.project), yes=True)
    assert Approval.objects.get(pk=asked.pk).status == "pending"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_yes_and_no_at_once_exactly_one_counts_in_two_hundred_interleavings():
    task = make_task(status="running")
    person = make_user(role="developer", project=task.run.project)
    order = random.Random(26)
    for number in range(200):
        asked = question(task, subject=f"package{number}")
        copies = [Approval.objects.get(pk=asked.pk) for _ in range(2)]
        calls = [
            lambda c=copies[0]: approvals.decide(c, by=person, yes=True).status,
            lambda c=copies[1]: approvals.decide(c, by=person, yes=False, reason="no").status,
        ]
        order.shuffle(calls)
        results = at_once(calls)
        winners = [result for result in results if isinstance(result, str)]
        assert len(winners) == 1
        assert sum(isinstance(result, LostRace) for result in results) == 1
        assert Approval.objects.get(pk=asked.pk).status == winners[0]
        told = Event.objects.filter(type="approval.decided", payload__approval=asked.pk)
        assert [event.payload["answer"] for event in told] == winners


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_approving_and_editing_a_plan_at_once_never_approves_what_was_not_seen():
    order = random.Random(2600)
    document = make_document()
    person = owner_of(document.project)
    for number in range(20):
        plan = plans.propose_plan(document, content={**plan_content(), "notes": f"start {number}"})
        edited = {**plan_content(), "notes": f"edited {number}"}
        calls = [
            lambda p=plan: plans.approve_plan(Plan.objects.get(pk=p.pk), content_hash=p.content_hash, by=person),
            lambda p=plan, e=edited: plans.edit_plan(p, content=e, by=person, base_hash=p.content_hash),
            lambda p=plan: plans.ask_for_changes(Plan.objects.get(pk=p.pk), by=person, comment="smaller"),
        ]
        order.shuffle(calls)
        results = at_once(calls)
        assert all(isinstance(result, (Plan, ProjectsError)) for result in results), results
        approved = Plan.objects.filter(project=document.project, status="approved")
        assert all(row.content["notes"] == f"start {row.content['notes'].split()[1]}" for row in approved)
        assert fresh(plan).status in ("approved", "superseded", "rejected")


def test_a_waiting_task_goes_on_when_its_last_question_is_answered(enqueued, django_capture_on_commit_callbacks):
    task = make_task(status="running")
    first, second = question(task), question(task, subject="flask")
    move_task(task, "needs_you")
    run = task.run
    run.refresh_from_db()
    move_run(run, "needs_you", wait=WaitReason.TASKS, reason="T-01")
    with django_capture_on_commit_callbacks(execute=True):
        approvals.decide(first, by=developer(first), yes=True)
    assert fresh(task).status == "needs_you"
    with django_capture_on_commit_callbacks(execute=True):
        approvals.decide(second, by=developer(second), yes=False, reason="no")
    assert (fresh(task).status, fresh(run).status) == ("ready", "running")
    assert enqueued[-1] == ("projects.jobs.schedule_run", (run.pk,))


def test_the_badge_counts_what_the_person_may_decide():
    task = make_task(status="running")
    project = task.run.project
    question(task)
    make_plan(make_document(project), approved=False)
    kinds = {
        role: sorted(approvals.pending_for(make_user(role=role, project=project)).values_list("kind", flat=True))
        for role in ("manager", "architect", "developer", "security", "auditor", "viewer")
    }
    assert kinds == {
        "manager": ["package"],
        "architect": ["package", "plan"],
        "developer": ["package"],
        "security": ["package"],
        "auditor": [],
        "viewer": [],
    }
    assert approvals.pending_for(make_user(superuser=True)).count() == 2
    assert approvals.pending_for(make_user(role="architect", project=make_project())).count() == 0


@each_row(("yes", "reason", "status"), [(True, "", "approved"), (False, "split T-02", "rejected")])
@undone()
def test_an_answer_in_the_inbox_is_one_to_exactly_the_plan_that_was_shown(yes, reason, status):
    plan = make_plan(approved=False)
    asked = Approval.objects.get(kind="plan", subject=plan.content_hash)
    approvals.decide(asked, by=owner_of(plan.project), yes=yes, reason=reason)
    assert (fresh(plan).status, plan.comment, asked.status) == (status, reason, status)


def severe():
    finding = make_finding()
    project = finding.task.run.project
    return finding, make_user(role="security", project=project), make_user(role="security", project=project)


def override(finding, first, **more):
    return findings.dispose(
        finding,
        by=first,
        disposition="override",
        reason="the input is a constant",
        expires_at=timezone.now() + timedelta(days=30),
        **more,
    )


def test_a_severe_finding_blocks_until_a_second_person_says_yes():
    finding, first, second = severe()
    override(finding, first)
    assert (fresh(finding).blocks, finding.disposition) == (True, "")
    asked = Approval.objects.get(kind="gate", subject=finding.fingerprint)
    assert approvals.pending_for(first).count() == 0
    assert list(approvals.pending_for(second)) == [asked]
    with pytest.raises(NotAllowed, match="second person"):
        approvals.decide(asked, by=first, yes=True)
    approvals.decide(asked, by=second, yes=True)
    assert (fresh(finding).blocks, finding.disposition) == (False, "override")
    assert (finding.decided_by, finding.seconded_by) == (first, second)


def test_a_named_second_person_is_the_only_one_who_can_agree():
    finding, first, second = severe()
    third = make_user(role="security", project=finding.task.run.project)
    override(finding, first, second=second)
    asked = Approval.objects.get(kind="gate")
    with pytest.raises(NotAllowed, match=second.username):
        approvals.decide(asked, by=third, yes=True)
    approvals.decide(asked, by=second, yes=True)
    assert fresh(finding).seconded_by == second


def test_a_second_person_who_says_no_leaves_the_finding_blocking():
    finding, first, second = severe()
    override(finding, first)
    approvals.decide(Approval.objects.get(kind="gate"), by=second, yes=False, reason="it is not a constant")
    assert fresh(finding).blocks
    assert finding.disposition == ""


def test_an_override_by_somebody_who_lost_the_right_does_not_hold():
    finding, first, second = severe()
    override(finding, first)
    first.memberships.all().delete()
    with pytest.raises(StaleVersion, match=first.username):
        approvals.decide(Approval.objects.get(kind="gate"), by=second, yes=True)
    assert fresh(finding).blocks
    assert Approval.objects.get(kind="gate").status == "pending"


def test_a_gate_question_of_the_engine_is_decided_by_whoever_decides_approvals():
    asked = question(kind="gate", subject="T-01#1:abc")
    person = developer(asked)
    assert list(approvals.pending_for(person)) == [asked]
    assert approvals.decide(asked, by=person, yes=True).status == "approved"
