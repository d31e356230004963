"""The scheduler obeys window, caps and order; the clock is always given."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from agents.engine.waiting import Waiting, WaitReason
from projects.engine.event_log import DatabaseEventLog
from projects.errors import BadInput
from projects.jobs import runs as run_jobs
from projects.models import BacklogItem, Plan, Project, Run, SiteEvent, Task
from projects.services.backlog import hours, items, scheduler
from projects.services.backlog.forecast import State, progress_of
from projects.services.planning import plans, runs
from projects.services.planning.deleting import delete_project
from projects.services.work import leases
from projects.services.work.moves import move_run, move_task
from tests.factories import make_document, make_plan, make_project, make_run, make_user
from tests.projects.services.backlog.nights import DAY, NIGHT, begun, merged, planned, queue, spend, windowed
from tests.rows import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]


def test_nothing_begins_outside_of_the_window(project: Project) -> None:
    windowed(project)
    queue(project, 30)
    scheduler.advance(project, DAY)
    assert begun(project) == []
    scheduler.advance(project, NIGHT)
    assert begun(project) == ["A-1"]


def test_the_window_is_the_one_of_its_time_zone(project: Project) -> None:
    hours.save(project, by=project.created_by, window=(time(20), time(6)), time_zone="Asia/Tokyo", caps={})
    queue(project, 30)
    scheduler.advance(project, NIGHT)  # half past five in the morning there
    assert begun(project) == ["A-1"]
    other = make_project()
    hours.save(other, by=other.created_by, window=(time(20), time(6)), time_zone="America/New_York", caps={})
    queue(other, 30)
    scheduler.advance(other, NIGHT)  # half past three in the afternoon there
    assert begun(other) == []


@pytest.mark.parametrize(("now", "opens"), [("2026-03-28T19:30", True), ("2026-03-29T18:30", True)])
def test_the_window_keeps_its_hour_when_clocks_change(project: Project, now: str, opens: bool) -> None:
    """20:00 in Vienna is 19:00 UTC on the 28th of March and 18:00 on the 29th."""
    hours.save(project, by=project.created_by, window=(time(20), time(6)), time_zone="Europe/Vienna", caps={})
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert (hours.closed(project, moment) is None) is opens
    assert hours.closed(project, moment - timedelta(hours=1)) is not None


def test_a_ticket_becomes_a_document_of_one_requirement_and_a_planning(project: Project) -> None:
    [item] = queue(project, 30)
    scheduler.advance(project, DAY)
    assert fresh(item).document is not None
    assert item.document.status == "confirmed"
    assert item.document.requirements.get().text == "Do the thing 1"
    run = Run.objects.get(document=item.document)
    assert (run.kind, run.started_by) == (Run.Kind.PLAN, project.created_by)
    told = SiteEvent.objects.get(action="backlog.begun")
    assert (told.actor, told.detail) == ("scheduler", {"item": "A-1", "run": run.pk})


def test_criteria_in_a_tickets_text_are_criteria_of_its_requirement(project: Project) -> None:
    text = "It has a head line.\n\n## Acceptance criteria\n\n- 100 orders in 2 s\n- No empty lines"
    items.add(project, [{"key": "A-1", "title": "Export", "text": text}], by=project.created_by, source="jira")
    items.change(project, [project.backlog.get().pk], by=project.created_by, do="assign")
    scheduler.advance(project, DAY)
    assert project.documents.get().requirements.get().acceptance == ["100 orders in 2 s", "No empty lines"]


def test_tickets_are_done_one_after_another(project: Project) -> None:
    first, second = queue(project, 30, 30)
    scheduler.advance(project, DAY)
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1"]
    planned(first, approved=False)
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1"]  # its plan waits for a person
    assert progress_of(first).state == State.NEEDS_YOU
    plan = Plan.objects.get(document=first.document)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=project.created_by)
    scheduler.advance(project, DAY)
    build = Run.objects.get(plan=plan, kind=Run.Kind.BUILD)
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1"]
    merged(build)
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1", "A-2"]
    assert fresh(first).done_at == DAY
    assert progress_of(first).run == build
    assert second.done_at is None


def test_an_approved_plan_is_built_inside_the_window_only(project: Project) -> None:
    windowed(project)
    [item] = queue(project, 30)
    scheduler.advance(project, NIGHT)
    planned(item)
    scheduler.advance(project, DAY)
    assert progress_of(item).state == State.APPROVED
    scheduler.advance(project, NIGHT)
    assert Run.objects.filter(document=item.document, kind=Run.Kind.BUILD).exists()


def test_the_level_of_the_ticket_decides_whether_a_person_is_asked(project: Project) -> None:
    [item] = queue(project, 30, autonomy="gates_only")
    scheduler.advance(project, DAY)
    plan = planned(item, approved=False)
    assert fresh(plan).status == Plan.Status.APPROVED
    assert runs.start_build(plan, by=None).autonomy == "gates_only"


def test_a_stricter_ticket_asks_in_a_project_without_approvals() -> None:
    project = make_project(autonomy="none")
    [item] = queue(project, 30, autonomy="plan_gates")
    scheduler.advance(project, DAY)
    plan = planned(item, approved=False)
    assert fresh(plan).status == Plan.Status.PROPOSED


def test_what_a_person_started_is_not_got_in_the_way_of(project: Project) -> None:
    make_run(make_plan(make_document(project)))
    queue(project, 30)
    scheduler.advance(project, DAY)
    assert begun(project) == []
    assert scheduler.held_up_by(project).startswith("run ")


def test_a_plan_that_a_person_has_yet_to_decide_is_not_superseded(project: Project) -> None:
    make_plan(make_document(project), approved=False)
    queue(project, 30)
    scheduler.advance(project, DAY)
    assert begun(project) == []


def test_what_does_not_fit_into_the_rest_of_the_window_waits_and_nothing_overtakes_it(project: Project) -> None:
    windowed(project)
    queue(project, 600, 10)
    scheduler.advance(project, NIGHT)  # nine and a half hours are left
    assert begun(project) == []


def test_without_an_estimate_a_ticket_takes_its_turn(project: Project) -> None:
    windowed(project)
    queue(project, None)
    scheduler.advance(project, NIGHT)
    assert begun(project) == ["A-1"]


def test_a_cap_that_is_used_up_ends_the_night(project: Project) -> None:
    windowed(project, tokens=1_000)
    queue(project, 30)
    spend(project, 1_000, NIGHT)
    assert hours.closed(project, NIGHT) == (WaitReason.NIGHT_CAP, "20:00 (UTC)")
    scheduler.advance(project, NIGHT)
    assert begun(project) == ["Z-1"]
    scheduler.advance(project, NIGHT + timedelta(days=1))  # the next night has a cap of its own
    assert begun(project) == ["A-1", "Z-1"]


def test_a_run_at_work_rests_when_the_window_ends(project: Project) -> None:
    windowed(project)
    [item] = queue(project, 30)
    scheduler.advance(project, NIGHT)
    planned(item)
    scheduler.advance(project, NIGHT)
    run = Run.objects.get(document=item.document, kind=Run.Kind.BUILD)
    assert hours.rests(run.pk, NIGHT) is None
    assert hours.rests(run.pk, DAY) == (WaitReason.WINDOW, "20:00 (UTC)")
    own = make_run(make_plan(make_document(make_project())))
    assert hours.rests(own.pk, DAY) is None  # a person started it


@pytest.mark.django_db(transaction=True)
def test_it_rests_between_two_steps_with_its_own_sentence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    [item] = queue(project, 30)
    scheduler.advance(project, NIGHT)
    planned(item)
    scheduler.advance(project, NIGHT)
    run = Run.objects.get(document=item.document, kind=Run.Kind.BUILD)
    move_run(run, Run.Status.RUNNING)
    task = run.tasks.get()
    move_task(task, Task.Status.READY)
    token = leases.claim(Task, task.pk, owner="w", seconds=60)
    move_task(task, Task.Status.RUNNING, token=token)
    log = DatabaseEventLog(run, actor="w", token=token, task=task)
    log.rest()  # at any hour
    shut = pytest.MonkeyPatch()
    shut.setattr(hours, "closed", lambda project, now: (WaitReason.WINDOW, "20:00 (UTC)"))

    def build(*_: Any, **__: Any) -> Any:
        log.rest()

    monkeypatch.setattr(run_jobs.building, "build", build)
    run_jobs._build(task, "w", token)
    task.refresh_from_db()
    assert (task.status, task.why) == ("ready", "waiting for the window until 20:00 (UTC)")
    with pytest.raises(Waiting):
        log.rest()
    leases.release(Task, task.pk, token=token)
    run_jobs.schedule_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.why) == ("running", "waiting for the window until 20:00 (UTC)")
    assert fresh(task).status == "ready"
    shut.undo()
    run_jobs.schedule_run(run.pk)
    assert fresh(run).wait_reason == ""


@pytest.mark.django_db(transaction=True)
def test_planning_outside_the_window_says_what_it_waits_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    [item] = queue(project, 30)
    scheduler.advance(project, NIGHT)
    monkeypatch.setattr(hours, "closed", lambda project, now: (WaitReason.NIGHT_CAP, "20:00 (UTC)"))
    item.refresh_from_db()
    run = Run.objects.get(document=item.document)
    run_jobs.plan_run(run.pk)
    assert (fresh(run).status, run.why) == ("queued", "tonight's cap is used up; waiting until 20:00 (UTC)")


def test_a_cancelled_build_leaves_its_ticket_out_and_the_next_begins(project: Project) -> None:
    first, _ = queue(project, 30, 30)
    scheduler.advance(project, DAY)
    planned(first)
    scheduler.advance(project, DAY)
    runs.cancel_run(Run.objects.get(document=first.document, kind=Run.Kind.BUILD), by=project.created_by)
    scheduler.advance(project, DAY)
    assert "was cancelled" in fresh(first).left_out
    assert "A-2" in begun(project)


def test_a_ticket_that_nobody_brings_on_can_be_left_out_once_its_run_is_over(project: Project) -> None:
    first, _ = queue(project, 30, 30)
    scheduler.advance(project, DAY)
    first.refresh_from_db()
    run = Run.objects.get(document=first.document)
    with pytest.raises(BadInput, match=f"Run {run.pk} works on A-1"):
        items.change(project, [first.pk], by=project.created_by, do="leave_out")
    move_run(run, Run.Status.FAILED, reason="no reply")
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1"]
    items.change(project, [first.pk], by=project.created_by, do="leave_out")
    scheduler.advance(project, DAY)
    assert begun(project) == ["A-1", "A-2"]


def test_a_project_with_a_backlog_can_be_deleted(project: Project) -> None:
    [item] = queue(project, 30)
    windowed(project)
    scheduler.advance(project, NIGHT)
    runs.cancel_run(Run.objects.get(project=project), by=project.created_by)
    delete_project(project, by=make_user(superuser=True), named=project.slug)
    assert not BacklogItem.objects.filter(pk=item.pk).exists()


def test_a_ticket_whose_assigner_lost_the_right_is_left_out_with_the_reason(project: Project) -> None:
    queue(project, 30)
    project.memberships.all().delete()
    scheduler.advance(project, DAY)
    assert "does not include run.start" in project.backlog.get().left_out


def test_the_sweep_passes_over_archived_projects_and_goes_on_after_a_refusal(project: Project) -> None:
    queue(project, 30)
    Project.objects.filter(pk=project.pk).update(archived_at=DAY)
    other = make_project()
    queue(other, 30)
    scheduler.advance_all(DAY)
    assert begun(project) == []
    assert begun(other) == ["A-1"]
