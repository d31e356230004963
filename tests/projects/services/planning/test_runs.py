import pytest

from agents.engine.waiting import WaitReason
from projects.errors import BadInput, IllegalMove, LeaseLost, NotAllowed, StaleVersion
from projects.models import Approval, Baseline, Event, Project, Run, Task
from projects.services.planning import documents, plans, runs
from projects.services.work import attempts, leases, tasks
from projects.services.work.approval_requests import ask
from projects.services.work.findings import record_findings
from projects.services.work.moves import move_run, move_task
from projects.services.work.usage import record_usage
from tests.factories import (
    bare_run,
    make_document,
    make_plan,
    make_project,
    make_run,
    make_task,
    make_user,
    owner_of,
    plan_content,
)
from tests.projects.threads import at_once
from tests.rows import emit, fresh
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def manager(run):
    return make_user(role="manager", project=run.project)


def test_planning_is_queued_once_while_it_is_open(enqueued, django_capture_on_commit_callbacks):
    document = make_document(confirmed=False)
    with django_capture_on_commit_callbacks(execute=True):
        run = runs.start_planning(document, by=owner_of(document.project))
        again = runs.start_planning(document, by=owner_of(document.project))
    assert run.pk == again.pk
    assert enqueued == [("projects.jobs.plan_run", (run.pk,))]
    assert (run.kind, run.status, run.document) == ("plan", "queued", document)
    move_run(run, "failed")
    assert runs.start_planning(document, by=owner_of(document.project)).pk != run.pk


def test_a_build_makes_the_tasks_with_their_needs_and_requirements(enqueued, django_capture_on_commit_callbacks):
    plan = make_plan(needs={"T-03": ["T-02"], "T-02": ["T-01"], "T-01": []})
    with django_capture_on_commit_callbacks(execute=True):
        run = runs.start_build(plan, by=owner_of(plan.project))
    assert enqueued == [("projects.jobs.schedule_run", (run.pk,))]
    assert run.plan_hash == plan.content_hash
    rows = list(run.tasks.prefetch_related("needs", "requirements"))
    assert [task.key for task in rows] == ["T-01", "T-02", "T-03"]
    assert [[need.key for need in task.needs.all()] for task in rows] == [[], ["T-01"], ["T-02"]]
    assert {task.key: sorted(r.key for r in task.requirements.all()) for task in rows}["T-03"] == ["FR-01", "FR-02"]
    assert rows[0].files == ["app/t_01.py"]


def test_only_an_approved_plan_is_built():
    plan = make_plan(approved=False)
    with pytest.raises(StaleVersion, match="proposed"):
        runs.start_build(plan, by=owner_of(plan.project))
    assert not Run.objects.filter(kind="build").exists()


def reject(plan):
    rejected = plan.document.requirements.get(key="FR-01")
    documents.set_requirement(rejected, by=owner_of(plan.project), status="rejected")


def add(plan):
    documents.add_requirement(plan.document, by=owner_of(plan.project), text="CSV.", kind="functional")


def replace(plan):
    data, name = b"FR-01 The user shall print.", plan.document.filename
    newer = documents.upload_document(plan.project, data, name, by=owner_of(plan.project))
    documents.confirm_requirements(documents.extract_written(newer), by=owner_of(plan.project))


@pytest.mark.parametrize(
    ("change", "words"),
    [(reject, "requirement FR-01, which does not exist"), (add, "MAN-01"), (replace, "v2 took the place of")],
)
def test_a_plan_whose_requirements_changed_after_the_approval_is_not_built(change, words):
    plan = make_plan()
    change(plan)
    with pytest.raises(StaleVersion, match=f"v1 is no longer valid: .*{words}"):
        runs.start_build(plan, by=owner_of(plan.project))
    assert not Run.objects.filter(kind="build").exists()


def test_a_plan_that_a_build_merged_is_not_built_again(enqueued):
    run = make_run()
    run.tasks.update(status="merged")
    move_run(run, Run.Status.CANCELLED)
    again = runs.start_build(run.plan, by=owner_of(run.project))
    again.tasks.update(status="merged")
    move_run(again, Run.Status.RUNNING)
    move_run(again, Run.Status.FINISHED)
    with pytest.raises(IllegalMove, match=f"v1 is built: run {again.pk} merged all its tasks. For a change, upload"):
        runs.start_build(run.plan, by=owner_of(run.project))
    add(run.plan)
    with pytest.raises(IllegalMove, match=r"Open are MAN-01 \(not planned\): plan .* again"):
        runs.start_build(run.plan, by=owner_of(run.project))


@pytest.mark.django_db(transaction=True)
def test_many_who_start_a_build_at_once_start_one():
    plan = make_plan()
    person = owner_of(plan.project)
    started = at_once([lambda: runs.start_build(plans.Plan.objects.get(pk=plan.pk), by=person).pk] * 8)
    assert len(set(started)) == 1
    assert Task.objects.count() == 2


def test_one_build_at_a_time_in_a_project():
    run = make_run()
    plan = run.plan
    content = {**plan_content(), "notes": "other"}
    other = plans.edit_plan(plan, content=content, by=owner_of(plan.project), base_hash=plan.content_hash)
    plans.approve_plan(other, content_hash=other.content_hash, by=owner_of(plan.project))
    with pytest.raises(IllegalMove, match=f"Run {run.pk}"):
        runs.start_build(other, by=owner_of(plan.project))


def test_the_engine_starts_a_build_by_itself_only_where_autonomy_says_so():
    with pytest.raises(NotAllowed, match="a person"):
        runs.start_build(make_plan(), by=None)
    free = plans.propose_plan(make_document(make_project(autonomy="none")), content=plan_content())
    assert runs.start_build(free, by=None).started_by is None


def test_pause_and_resume_are_told_and_wake_the_workers(enqueued, django_capture_on_commit_callbacks):
    run = make_run()
    person = manager(run)
    runs.pause_run(run, by=person)
    assert (run.status, run.why) == ("paused", f"paused by {person.username}")
    with django_capture_on_commit_callbacks(execute=True):
        runs.resume_run(run, by=person)
    assert run.status == "running"
    assert ("projects.jobs.schedule_run", (run.pk,)) in enqueued
    with pytest.raises(NotAllowed):
        runs.pause_run(run, by=make_user(role="auditor", project=run.project))


def test_what_has_not_started_cannot_be_resumed():
    run = make_run(running=False)
    with pytest.raises(IllegalMove, match="not started"):
        runs.resume_run(run, by=manager(run))


def test_cancelling_stops_the_workers_closes_the_questions_and_is_final():
    run = make_run(needs={"T-01": [], "T-02": []})
    first, second = tasks.ready_tasks(run.pk)
    token = leases.claim(Task, first.pk, owner="worker:a:1", seconds=30)
    move_task(first, "running", token=token)
    move_task(second, "running")
    move_task(second, "merged")
    ask(run.project, kind="package", subject="requests", title="Install?", run=run, task=first)
    runs.cancel_run(run, by=manager(run))
    assert dict(run.tasks.values_list("key", "status")) == {"T-01": "cancelled", "T-02": "merged"}
    with pytest.raises(LeaseLost):
        leases.guard(Task, first.pk, token)
    assert Approval.objects.get(run=run).status == "closed"
    with pytest.raises(IllegalMove, match="it is over"):
        runs.resume_run(run, by=manager(run))


def test_what_a_person_says_is_in_the_stream():
    task = make_task()
    person = manager(task.run)
    event = runs.say(task.run, by=person, text="  prefer a set\nover a list ", task=task)
    assert (event.type, event.role, event.actor, event.task) == ("human.message", "user", person.username, task)
    assert event.payload == {"text": "prefer a set\nover a list"}
    with pytest.raises(BadInput):
        runs.say(task.run, by=person, text=" ")
    with pytest.raises(BadInput, match="another run"):
        runs.say(task.run, by=person, text="hello", task=make_task())
    with pytest.raises(NotAllowed):
        runs.say(task.run, by=make_user(role="viewer", project=task.run.project), text="hi")


def test_the_clock_of_the_why_line_starts_when_the_sentence_changes():
    run = bare_run()
    runs.set_wait(run, WaitReason.MODEL, "no answer")
    since = run.why_since
    runs.set_wait(run, WaitReason.MODEL, "no answer")
    assert run.why_since == since
    runs.set_wait(run, None)
    assert (run.why, run.why_since) == ("", None)


@each_row(
    ("states", "done", "status", "why"),
    [
        ("merged skipped cancelled", True, "finished", "1 merged, 2 left out"),
        ("merged merged", True, "finished", "2 merged"),
        ("merged ready escalated", False, "running", ""),
        ("merged running", False, "running", ""),
        ("merged escalated blocked", False, "needs_you", "needs you: T-02: escalated"),
        ("needs_you escalated", False, "needs_you", "needs you: T-01 (and 1 more): needs you"),
    ],
)
def test_a_run_is_over_when_all_is_settled_and_needs_you_when_nothing_moves(states, done, status, why):
    run = bare_run()
    for state in states.split():
        make_task(run, status=state)
    assert runs.finish_if_done(run.pk) is done
    assert (fresh(run).status, run.why) == (status, why)


@pytest.mark.parametrize("updates_base", [True, False])
def test_what_failed_at_import_and_was_mended_counts_in_the_next_run(updates_base):
    run = bare_run()
    Project.objects.filter(pk=run.project_id).update(updates_base=updates_base)
    run.refresh_from_db()
    tests = {"failing": {"t.py::test_a": "no", "t.py::test_b": "no"}}
    baseline = Baseline.objects.create(project=run.project, commit="c", status="ready", tests=tests)
    task = make_task(run, status="merged")
    task.attempts.create(number=1, outcome="passed", tests={"passed": 3, "fixed": ["t.py::test_a"]})
    assert runs.finish_if_done(run.pk)
    assert ("t.py::test_a" in fresh(baseline).tests["failing"]) is not updates_base
    assert "t.py::test_b" in baseline.tests["failing"]


def test_a_finished_run_is_finished_once():
    run = bare_run()
    make_task(run, status="merged")
    assert runs.finish_if_done(run.pk)
    assert runs.finish_if_done(run.pk)
    assert Event.objects.filter(run=run, type="run.finished").count() == 1


def test_totals_count_what_there_is():
    run = bare_run()
    task = make_task(run, status="merged")
    make_task(run)
    record_usage(
        run.pk, task_id=task.pk, key="a", role="coder", model="m", prompt_tokens=900, completion_tokens=100, seconds=2.0
    )
    record_usage(run.pk, key="b", role="planner", model="m", prompt_tokens=50, completion_tokens=50, seconds=3.0)
    for number, strategy, outcome in ((1, "first", "failed"), (2, "repair", "failed"), (3, "fresh", "passed")):
        attempts.start_attempt(task, number=number, strategy=strategy)
        attempts.finish_attempt(task, number=number, outcome=outcome)
    seen = {"tool": "bandit", "rule": "B1", "severity": "LOW", "confidence": "LOW", "path": "a", "message": "m"}
    found = [{"fingerprint": name, **seen} for name in ("x", "y")]
    record_findings(task, found, attempt=1, blocking=set())
    record_findings(task, found[:1], attempt=2, blocking=set())
    emit(run.pk, "adjudication", summary="the test was wrong", task_id=task.pk)
    numbers = runs.totals(run)
    assert numbers["tasks"]["merged"] == numbers["tasks"]["queued"] == 1
    assert set(numbers["tasks"]) == set(Task.Status.values)
    assert (numbers["tokens"], numbers["seconds"], numbers["tokens_per_s"], numbers["calls"]) == (1_100, 5.0, 30.0, 2)
    assert numbers["repairs"] == {"attempted": 2, "succeeded": 1}
    assert numbers["findings"] == {"raised": 2, "fixed": 1}
    assert numbers["tests_adjudicated"] == 1


def test_totals_before_the_first_call_claim_no_speed():
    numbers = runs.totals(bare_run())
    assert (numbers["tokens"], numbers["tokens_per_s"]) == (0, None)
