"""Two at once: of two decisions one wins, and of two workers on one task only the one that holds it writes."""

import json
import time

import pytest
from django.db import DatabaseError

from agents.engine.contracts import Stopped
from agents.events.effects import SystemNotice
from projects.engine import task_store
from projects.engine.event_log import DatabaseEventLog
from projects.engine.planning import DatabasePlanStore
from projects.engine.task_store import DatabaseTaskStore
from projects.errors import LeaseLost, LostRace, ProjectsError, StaleVersion
from projects.jobs import runs as run_jobs
from projects.jobs import upkeep
from projects.models import Attempt, Event, Plan, Run, Task
from projects.services.audit import chain
from projects.services.decisions import approvals
from projects.services.planning import plans, runs
from projects.services.work import leases, tasks
from projects.services.work.moves import move_run
from projects.workers.heartbeat import heartbeat
from tests.factories import make_plan, make_run, make_task, owner_of, plan_content
from tests.faults.stage import WITH_BACKGROUND
from tests.projects.jobs_driver import small_plan, small_replies
from tests.projects.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_a_yes_and_a_no_at_once_exactly_one_counts():
    for _ in range(12):
        plan = make_plan(approved=False)
        by = owner_of(plan.project)
        digest = plan.content_hash

        def yes(pk=plan.pk, by=by, digest=digest):
            plans.approve_plan(Plan.objects.get(pk=pk), content_hash=digest, by=by)

        def no(pk=plan.pk, by=by):
            plans.ask_for_changes(Plan.objects.get(pk=pk), by=by, comment="smaller tasks")

        results = at_once([yes, no, yes, no])
        lost = [result for result in results if result is not None]
        assert len(lost) == 3
        assert all(isinstance(result, (LostRace, StaleVersion)) for result in lost), lost
        plan.refresh_from_db()
        won = results.index(None)
        assert plan.status == (Plan.Status.APPROVED if won in (0, 2) else Plan.Status.REJECTED)
        (question,) = plan.project.approvals.all()
        assert question.status == ("approved" if won in (0, 2) else "rejected")


def test_an_old_version_cannot_be_approved_and_its_question_is_closed():
    plan = make_plan(approved=False)
    by = owner_of(plan.project)
    (question,) = approvals.pending_for(by)
    newer = plans.edit_plan(plan, content=plan_content({"T-01": []}), by=by, base_hash=plan.content_hash)
    with pytest.raises(ProjectsError):
        plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
    with pytest.raises(ProjectsError):
        approvals.decide(question, by=by, yes=True)
    with pytest.raises(StaleVersion):
        plans.approve_plan(newer, content_hash=plan.content_hash, by=by)
    newer.refresh_from_db()
    assert newer.status == Plan.Status.PROPOSED


def test_an_edit_after_the_approval_needs_an_approval_of_its_own():
    plan = make_plan()
    by = owner_of(plan.project)
    run = make_run(plan)
    edited = plans.edit_plan(plan, content=plan_content({"T-01": [], "T-09": []}), by=by, base_hash=plan.content_hash)
    assert edited.status == Plan.Status.PROPOSED
    with pytest.raises(StaleVersion):
        runs.start_build(edited, by=by)
    run.refresh_from_db()
    assert run.plan_hash == plan.content_hash  # what was approved is what is built
    assert set(run.tasks.values_list("key", flat=True)) == {"T-01", "T-02"}


def test_an_edit_and_an_approval_at_once_never_approve_what_nobody_saw():
    for number in range(8):
        plan = make_plan(approved=False)
        by = owner_of(plan.project)
        digest = plan.content_hash
        other = plan_content({"T-01": [], f"T-{number + 10}": []})
        at_once(
            [
                lambda pk=plan.pk, by=by, digest=digest: plans.approve_plan(
                    Plan.objects.get(pk=pk), content_hash=digest, by=by
                ),
                lambda pk=plan.pk, by=by, digest=digest, other=other: plans.edit_plan(
                    Plan.objects.get(pk=pk), content=other, by=by, base_hash=digest
                ),
            ]
        )
        for version in Plan.objects.filter(project=plan.project, status=Plan.Status.APPROVED):
            assert version.content_hash == digest


def two_workers():
    """A task that one worker held until its lease ran out and another took: event logs, task, new token."""
    task = make_task(status="ready")
    run = task.run
    old = leases.claim(Task, task.pk, owner="worker:a:1:1", seconds=60)
    tasks.move_task(task, Task.Status.RUNNING, token=old)
    first = DatabaseEventLog(run, actor="worker:a:1:1", token=old, task=task)
    first.emit(SystemNotice(summary="begun by the first", text=""), key="step-1")
    Task.objects.filter(pk=task.pk).update(lease_until=task.run.created_at)  # it slept past its lease
    new = leases.claim(Task, task.pk, owner="worker:b:2:2", seconds=60)
    second = DatabaseEventLog(run, actor="worker:b:2:2", token=new, task=task)
    return task, first, second, old, new


def test_a_worker_that_slept_past_its_lease_writes_nothing_more(caplog):
    task, first, second, old, new = two_workers()
    second.emit(SystemNotice(summary="done by the second", text=""), key="step-2")
    tasks.move_task(task, Task.Status.MERGED, token=new)
    task_store = DatabaseTaskStore(task, actor="worker:a:1:1", event_log=first)
    for write in (
        lambda: first.emit(SystemNotice(summary="late", text=""), key="step-3"),
        lambda: task_store.start_attempt(1, "first", None),
        lambda: task_store.finish_attempt(1, "passed"),
    ):
        with pytest.raises(Stopped):
            write()
    assert first.stopped()
    stale = Task.objects.get(pk=task.pk)
    for write in (
        lambda: tasks.move_task(stale, Task.Status.READY, token=old),
        lambda: tasks.escalate_task(stale, token=old, text="late"),
        lambda: leases.renew(Task, task.pk, token=old, seconds=60),
    ):
        with pytest.raises(ProjectsError):
            write()
    assert leases.release(Task, task.pk, token=old) is False
    assert list(Event.objects.filter(run=task.run, type="system").values_list("summary", flat=True)) == [
        "begun by the first",
        "done by the second",
    ]
    assert not Attempt.objects.filter(task=task).exists()
    assert chain.verify_chain(task.run_id).ok


def test_a_worker_that_lost_its_task_in_mid_job_ends_quietly_and_on_the_log(monkeypatch, caplog):
    """Through the job itself: the task is another's when the step comes back with an error."""
    task = make_task(status="ready")

    def slept(task, *, actor, token):
        Task.objects.filter(pk=task.pk).update(lease_until=task.run.created_at)
        leases.claim(Task, task.pk, owner="worker:b:2:2", seconds=60)
        raise ValueError("the floor is gone")

    monkeypatch.setattr(run_jobs.building, "build", slept)
    with caplog.at_level("INFO", "aiswe.jobs"):
        run_jobs.run_task(task.pk)
    assert "now belongs to another worker" in caplog.text
    task.refresh_from_db()
    assert task.status == Task.Status.RUNNING
    assert task.lease_owner == "worker:b:2:2"
    assert not Event.objects.filter(run=task.run, type="error").exists()


def test_a_database_that_stumbles_does_not_end_the_heartbeat(settings):
    settings.LEASE_SECONDS = 0.03
    beats = []

    def renew():
        beats.append(len(beats))
        if len(beats) == 1:
            raise DatabaseError("database is locked")
        if len(beats) == 3:
            raise LeaseLost("taken")

    with heartbeat(renew):
        for _ in range(200):
            if len(beats) >= 3:
                break
            time.sleep(0.01)
    assert len(beats) == 3


def test_fifty_claims_of_one_task_have_one_winner():
    task = make_task(status="ready")
    results = at_once([lambda n=n: leases.claim(Task, task.pk, owner=f"worker:x:{n}:1", seconds=60) for n in range(50)])
    assert [result for result in results if isinstance(result, int)] == [1]
    assert sum(isinstance(result, LostRace) for result in results) == 49


def test_an_answer_that_comes_before_the_task_begins_to_wait_is_not_lost(still, index, monkeypatch):
    """The person answers between the question and the move to “needs you”."""
    index.add_wheel("leftpaddingxyz", {"leftpaddingxyz.py": ""})
    asked = task_store.DatabaseTaskStore.ask

    def answered_at_once(self, **question):
        answer = asked(self, **question)
        if answer == "pending":
            waiting = still.project.approvals.get(status="pending")
            approvals.decide(waiting, by=owner_of(still.project), yes=False, reason="Do without it.")
        return answer

    monkeypatch.setattr(task_store.DatabaseTaskStore, "ask", answered_at_once)
    first = "```python path=calc.py\nimport leftpaddingxyz\n\n\ndef add(a, b):\n    return a - b\n```\n"
    right = "```python path=calc.py\ndef add(a, b):\n    return a + b\n```\n"
    still.build(
        "T-01",
        T_01__coder_code=first,
        T_01__coder_repair="## Diagnosis\nCause: package\nEvidence: x\nHypothesis: y\nPlan: z\n" + right,
    )
    assert still.task().status == Task.Status.MERGED
    assert still.run.status == Run.Status.FINISHED
    assert still.is_sound()


def test_a_question_that_waits_holds_one_task_while_others_run(still, index):
    index.add_wheel("leftpaddingxyz", {"leftpaddingxyz.py": ""})
    odd = "```python path=calc.py\nimport leftpaddingxyz\n\n\ndef add(a, b):\n    return a + b\n```\n"
    run = still.build("T-01", "T-02", content=_independent(), T_01__coder_code=odd)
    assert still.statuses() == {"T-01": "needs_you", "T-02": "merged"}
    assert run.status == Run.Status.NEEDS_YOU
    assert run.why == "needs you: T-01: wants to install leftpaddingxyz"


def _independent():
    plan = json.loads(small_plan("T-01", "T-02"))
    for task in plan["tasks"]:
        task["needs"] = []
    return json.dumps(plan)


@pytest.mark.parametrize("status", [Run.Status.QUEUED, Run.Status.RUNNING])
def test_the_sweep_finds_runs_that_nobody_woke(still, status):
    still.build("T-01", T_01__coder_code="No idea.", T_01__coder_again="None.", T_01__coder_again_2="None.")
    run = make_run(running=False)
    still.driver.waiting.clear()  # the broker lost everything
    if status == Run.Status.RUNNING:
        move_run(run, Run.Status.RUNNING)
    still.driver.waiting.clear()
    upkeep.sweep()
    assert ("projects.jobs.schedule_run", (run.pk,)) in still.driver.waiting


def test_a_planning_worker_that_died_before_or_after_its_record_is_replaced(still, monkeypatch):
    class Killed(BaseException):
        pass

    kept = DatabasePlanStore.record

    def dies(after):
        def record(self, *args):
            if after:
                kept(self, *args)
            raise Killed

        return record

    for after in (False, True):
        monkeypatch.setattr(DatabasePlanStore, "record", dies(after))
        replies = small_replies("T-01")
        with pytest.raises(Killed):
            run_jobs.plan_run(still.project.runs.get().pk) if after else still.upload(replies, WITH_BACKGROUND)
        still.driver.waiting.clear()
    monkeypatch.setattr(DatabasePlanStore, "record", kept)
    still.run = still.project.runs.get()
    assert still.run.lease_owner == ""
    still.sweep()
    assert still.run.status == Run.Status.NEEDS_YOU
    assert still.run.document.requirements.filter(origin="explicit").count() == 2
    assert still.runner.calls == ["planner"]  # what was paid for before the death was not asked again
    assert leases.claim(Run, still.run.pk, owner="x", seconds=1)
    assert still.is_sound()
