"""The scheduler obeys window, caps and order; the clock is always given."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.engine.waiting import Waiting, WaitReason
from projects import jobs
from projects.engine.event_log import DatabaseEventLog
from projects.errors import BadInput
from projects.models import BacklogItem, Plan, Project, Run, SiteEvent, Task, Transition, Usage
from projects.services.backlog import hours, items, scheduler
from projects.services.backlog.forecast import State, progress_of, simulate
from projects.services.insight.prices import parse_model_prices
from projects.services.planning import plans
from projects.services.planning.deleting import delete_project
from projects.services.work import leases, runs
from projects.services.work.moves import move_run, move_task
from tests.factories import make_document, make_plan, make_project, make_run, make_user, plan_content

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]
DAY, NIGHT = datetime(2026, 11, 25, 12, tzinfo=UTC), datetime(2026, 11, 25, 20, 30, tzinfo=UTC)


@pytest.fixture
def project() -> Project:
    return make_project("Clinic")


def windowed(project: Project, **caps: int | None) -> None:
    window = (time(20), time(6))
    hours.save(project, by=project.created_by, window=window, time_zone="UTC", caps=caps)


def queue(project: Project, *minutes: int | None, autonomy: str = "") -> list[BacklogItem]:
    text = "\n".join(f"A-{n} Do the thing {n}" for n in range(1, len(minutes) + 1))
    made = items.add(project, items.from_text(text), by=project.created_by, source="pasted")
    for item, estimate in zip(made, minutes, strict=True):
        item.minutes, item.autonomy = estimate, autonomy
        item.save()
    items.change(project, [item.pk for item in made], by=project.created_by, do="assign")
    return made


def begun(project: Project) -> list[str]:
    return list(project.backlog.exclude(document=None).values_list("key", flat=True))


def planned(item: BacklogItem, *, approved: bool = True) -> Plan:
    """What the planner does."""
    item.refresh_from_db()
    assert item.document is not None
    run = Run.objects.get(document=item.document, kind=Run.Kind.PLAN)
    move_run(run, Run.Status.RUNNING)
    content = plan_content({"T-01": []})
    content["tasks"][0]["requirements"] = [item.document.requirements.get().key]
    plan = plans.propose_plan(item.document, content=content, run=run)
    move_run(run, Run.Status.FINISHED)
    if approved:
        plans.approve_plan(plan, content_hash=plan.content_hash, by=item.project.created_by)
    return plan


def merged(run: Run) -> None:
    move_run(run, Run.Status.RUNNING)
    for task in run.tasks.all():
        for step in (Task.Status.RUNNING, Task.Status.MERGED):
            if task.status == Task.Status.QUEUED:
                move_task(task, Task.Status.READY)
            move_task(task, step)
    move_run(run, Run.Status.FINISHED)


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
    item.refresh_from_db()
    assert item.document is not None
    assert item.document.status == "confirmed"
    assert item.document.requirements.get().text == "Do the thing 1"
    run = Run.objects.get(document=item.document)
    assert (run.kind, run.started_by) == (Run.Kind.PLAN, project.created_by)
    told = SiteEvent.objects.get(action="backlog.begun")
    assert (told.actor, told.detail) == ("scheduler", {"item": "A-1", "run": run.pk})


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
    first.refresh_from_db()
    assert first.done_at == DAY
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
    plan.refresh_from_db()
    assert plan.status == Plan.Status.APPROVED
    assert runs.start_build(plan, by=None).autonomy == "gates_only"


def test_a_stricter_ticket_asks_in_a_project_without_approvals() -> None:
    project = make_project(autonomy="none")
    [item] = queue(project, 30, autonomy="plan_gates")
    scheduler.advance(project, DAY)
    plan = planned(item, approved=False)
    plan.refresh_from_db()
    assert plan.status == Plan.Status.PROPOSED


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


def spend(project: Project, tokens: int, at: datetime) -> None:
    document = make_document(project)
    item = items.add(project, items.from_text("Z-1 Earlier"), by=project.created_by, source="pasted")[0]
    BacklogItem.objects.filter(pk=item.pk).update(document=document, done_at=at)
    run = Run.objects.create(project=project, document=document, status=Run.Status.FINISHED, finished_at=at)
    usage = Usage.objects.create(run=run, key="a", role="coder", model="m", prompt_tokens=tokens)
    Usage.objects.filter(pk=usage.pk).update(at=at)


def test_a_cap_that_is_used_up_ends_the_night(project: Project) -> None:
    windowed(project, tokens=1_000)
    queue(project, 30)
    spend(project, 1_000, NIGHT)
    assert hours.closed(project, NIGHT) == (WaitReason.NIGHT_CAP, "20:00 (UTC)")
    scheduler.advance(project, NIGHT)
    assert begun(project) == ["Z-1"]
    scheduler.advance(project, NIGHT + timedelta(days=1))  # the next night has a cap of its own
    assert begun(project) == ["A-1", "Z-1"]


def test_minutes_at_work_count_inside_the_night_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    windowed(project, minutes=60)
    spend(project, 1, NIGHT + timedelta(hours=2))
    run = Run.objects.latest("pk")
    for new, at in (("running", NIGHT.replace(hour=19, minute=0)), ("finished", NIGHT.replace(hour=20, minute=45))):
        with monkeypatch.context() as clock:
            clock.setattr(timezone, "now", lambda at=at: at)
            Transition.objects.create(kind="run", object_id=run.pk, old="", new=new)
    night = hours.night_of(hours.hours_of(project), NIGHT)
    assert hours.used_in(project, night.span, NIGHT.replace(hour=23))["minutes"] == 45


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
def test_it_rests_between_two_steps_with_a_sentence_of_its_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    monkeypatch.setattr(jobs.building, "build", build)
    jobs._build(task, "w", token)
    task.refresh_from_db()
    assert (task.status, task.why) == ("ready", "waiting for the window until 20:00 (UTC)")
    with pytest.raises(Waiting):
        log.rest()
    leases.release(Task, task.pk, token=token)
    jobs.schedule_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.why) == ("running", "waiting for the window until 20:00 (UTC)")
    task.refresh_from_db()
    assert task.status == "ready"
    shut.undo()
    jobs.schedule_run(run.pk)
    run.refresh_from_db()
    assert run.wait_reason == ""


@pytest.mark.django_db(transaction=True)
def test_planning_outside_of_the_window_says_what_it_waits_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    [item] = queue(project, 30)
    scheduler.advance(project, NIGHT)
    monkeypatch.setattr(hours, "closed", lambda project, now: (WaitReason.NIGHT_CAP, "20:00 (UTC)"))
    item.refresh_from_db()
    run = Run.objects.get(document=item.document)
    jobs.plan_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.why) == ("queued", "tonight's cap is used up; waiting until 20:00 (UTC)")


def test_a_cancelled_build_leaves_its_ticket_out_and_the_next_begins(project: Project) -> None:
    first, _ = queue(project, 30, 30)
    scheduler.advance(project, DAY)
    planned(first)
    scheduler.advance(project, DAY)
    runs.cancel_run(Run.objects.get(document=first.document, kind=Run.Kind.BUILD), by=project.created_by)
    scheduler.advance(project, DAY)
    first.refresh_from_db()
    assert "was cancelled" in first.left_out
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


def test_the_forecast_places_tickets_one_after_another(project: Project) -> None:
    windowed(project)
    queue(project, 95, 60, None)
    found = simulate(project, DAY)
    opens = DAY.replace(hour=20)
    assert [(block.start, block.end) for block in found.blocks] == [
        (opens, opens + timedelta(minutes=95)),
        (opens + timedelta(minutes=95), opens + timedelta(minutes=155)),
        (opens + timedelta(minutes=155), opens + timedelta(minutes=155)),
    ]
    assert found.outside == []
    assert found.total("minutes") == 155


def test_the_forecast_names_the_cap_and_the_least_change_that_helps(project: Project) -> None:
    windowed(project, minutes=100)
    queue(project, 60, 62, 10)
    found = simulate(project, DAY)
    assert [block.out for block in found.blocks] == ["", "minutes", "minutes"]
    assert found.offer == ("minutes", "125")
    hours.change_tonight(project, by=project.created_by, what="minutes", to="125", now=DAY)
    assert [block.out for block in simulate(project, DAY).blocks] == ["", "", "minutes"]
    tomorrow = simulate(project, DAY + timedelta(days=1))
    assert [block.out for block in tomorrow.blocks] == ["", "minutes", "minutes"]


def test_the_forecast_offers_to_move_the_end_where_the_window_is_short(project: Project) -> None:
    windowed(project)
    queue(project, 590, 30)
    found = simulate(project, DAY)
    assert [block.out for block in found.blocks] == ["", "window"]
    end = DAY.replace(hour=6, minute=20) + timedelta(days=1)
    assert found.offer == ("closes", end.isoformat())
    hours.change_tonight(project, by=project.created_by, what="closes", to=end.isoformat(), now=DAY)
    assert simulate(project, DAY).outside == []
    assert hours.closed(project, end - timedelta(minutes=1)) is None
    assert hours.closed(project, end) is not None


def test_the_forecast_and_the_scheduler_agree(project: Project) -> None:
    windowed(project, minutes=30)
    queue(project, 40)
    assert [block.out for block in simulate(project, NIGHT).blocks] == ["minutes"]
    scheduler.advance(project, NIGHT)
    assert begun(project) == []


def test_money_is_counted_at_the_configured_prices(project: Project, settings: Any) -> None:
    settings.MODEL_PRICES = parse_model_prices(["m=10/1/30"])
    windowed(project, cents=200)
    queue(project, 30)
    spend(project, 150_000, NIGHT)  # at ten dollars a million
    night = hours.night_of(hours.hours_of(project), NIGHT)
    assert hours.used_in(project, night.span, NIGHT)["cents"] == 150
    assert hours.closed(project, NIGHT) is None
    Usage.objects.update(prompt_tokens=200_000)
    assert hours.closed(project, NIGHT) == (WaitReason.NIGHT_CAP, "20:00 (UTC)")


def test_without_prices_no_cap_in_money_can_hold(project: Project) -> None:
    assert not hours.has_prices()
