"""Tasks that are not solved, limits that are reached, parts that are gone: a person can always go on from there."""

from dataclasses import replace

import pytest

from agents.engine.limits import LIMITS
from projects.engine.budgets import seconds_at_work
from projects.jobs.runs import run_task
from projects.models import Attempt, Run, Task, Transition, Usage
from projects.services.planning import projects, runs
from projects.services.work import tasks
from sandbox.base import SandboxError, SandboxUnavailable
from tests.factories import bare_run, owner_of
from tests.projects.jobs_driver import reply, small_replies

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = reply("calc.py", "def add(a, b):\n    return a * b\n")


def repaired(number):
    """A diagnosis and another wrong file: the same words would be the same file, which is no new try."""
    return (
        f"## Diagnosis\nCause: guess {number}\nEvidence: 6 == 5\nHypothesis: another operator\nPlan: change it\n\n"
        + reply("calc.py", f"def add(a, b):\n    return a * b + 0 * {number}\n")
    )


def never_right():
    """What a coder says who never finds it."""
    said = {"T_01__coder_code": WRONG, "T_01__tester_adjudicate": "Verdict: code\nReason: FR-01 asks for a sum.\n"}
    for approach in ("", "-a2", "-a3", "-a4", "-a5", "-a6"):
        said[f"T_01__coder_code{approach}"] = WRONG
        for number in ("", "-2", "-3"):
            said[f"T_01__coder_repair{approach}{number}"] = repaired(len(said))
    return said


def test_a_task_that_never_passes_is_escalated_after_exactly_five_repairs(still):
    run = still.build("T-01", "T-02", "T-03", **never_right())
    task = still.task()
    assert Attempt.objects.filter(task=task).count() == 1 + 5
    assert task.status == Task.Status.ESCALATED
    assert "after 5 of 5 repairs" in task.escalation
    assert "try 6" in task.escalation
    assert still.statuses() == {"T-01": "escalated", "T-02": "blocked", "T-03": "blocked"}
    assert all("waits for T-01" in still.task(key).why for key in ("T-02", "T-03"))
    assert run.status == Run.Status.NEEDS_YOU
    assert run.why.startswith("needs you: T-01")
    assert "T-01" in still.question().title
    assert still.is_sound()


def test_leaving_the_task_out_lets_the_rest_be_built_and_the_run_end(still):
    still.build("T-01", "T-02", **never_right())
    tasks.skip_task(still.task(), by=owner_of(still.project), reason="Done by hand.")
    still.work()
    assert still.statuses() == {"T-01": "skipped", "T-02": "merged"}
    assert still.run.status == Run.Status.FINISHED
    assert "1 left out" in still.run.why
    assert not still.run.approvals.filter(status="pending").exists()


def test_a_person_allows_more_repairs_and_the_retry_goes_on(still):
    still.build("T-01", limits={"max_retries": 0}, **never_right())
    assert Attempt.objects.filter(task=still.task()).count() == 1
    assert still.task().status == Task.Status.ESCALATED
    projects.update_settings(still.project, by=owner_of(still.project), limits={"max_retries": 1})
    still.say(T_01__coder_repair=repaired(1).replace("a * b + 0 * 1", "a + b"))
    still.retry()
    assert still.task().status == Task.Status.MERGED
    assert list(Attempt.objects.filter(task=still.task()).values_list("number", flat=True)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("limit", "words"), [("task_tokens", "tokens of this task"), ("run_tokens", "tokens of this run")]
)
def test_a_used_up_budget_stops_before_the_call_and_raising_it_goes_on(still, monkeypatch, limit, words):
    monkeypatch.setitem(LIMITS, limit, replace(LIMITS[limit], low=1))  # the recorded words are few
    still.build("T-01", limits={limit: 500})
    task = still.task()
    assert task.status == Task.Status.ESCALATED
    assert words in task.escalation
    assert "limits" in task.escalation  # the way out
    used = list(Usage.objects.filter(run=still.run).order_by("pk").values_list("prompt_tokens", "completion_tokens"))
    assert sum(map(sum, used)) >= 500 > sum(map(sum, used[:-1]))  # no call was begun over the limit
    calls = len(still.runner.calls)
    still.retry("Try with the same budget.")
    assert still.task().status == Task.Status.ESCALATED
    assert len(still.runner.calls) == calls
    projects.update_settings(still.project, by=owner_of(still.project), limits={limit: 1_000_000})
    still.retry()
    assert still.task().status == Task.Status.MERGED
    assert still.run.status == Run.Status.FINISHED
    assert still.is_sound()


def test_a_planning_budget_is_the_projects_and_raising_it_goes_on(still, settings):
    from projects.services.planning import documents

    document, _ = still.upload(small_replies("T-01"))
    projects.update_settings(still.project, by=owner_of(still.project), limits={"run_tokens": 1_000})
    Usage.objects.create(run=still.run, key="earlier", role="planner", prompt_tokens=1_000)
    documents.confirm_requirements(document, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.FAILED
    assert "1,000 tokens of this run" in still.run.why
    document.refresh_from_db()
    assert document.status == "confirmed"
    projects.update_settings(still.project, by=owner_of(still.project), limits={"run_tokens": 1_000_000})
    runs.resume_run(still.run, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.FINISHED
    assert still.plan().status == "proposed"


@pytest.mark.django_db
def test_a_night_in_which_a_run_waits_for_a_person_costs_no_time():
    from datetime import timedelta

    from django.utils import timezone

    run = bare_run()
    start = timezone.now() - timedelta(days=3)
    hours = [
        ("queued", "running", 0),
        ("running", "needs_you", 1),
        ("needs_you", "running", 50),
        ("running", "paused", 52),
    ]
    for old, new, hour in hours:
        row = Transition(kind="run", object_id=run.pk, old=old, new=new)
        row._state.adding = True
        Transition.objects.bulk_create([row])
        _date(row, start + timedelta(hours=hour))
    assert seconds_at_work(run.pk) == pytest.approx(3 * 3_600)


def _date(row, moment):
    """Set the moment of a row of an insert-only table, as time would have."""
    from django.db import connection

    from projects.models.insert_only import create_statements, drop_statements
    from tests.rows import run_statements

    run_statements(connection, drop_statements(connection.vendor))
    Transition.objects.filter(pk=row.pk).update(at=moment)
    run_statements(connection, create_statements(connection.vendor))


def test_a_sandbox_engine_that_is_gone_makes_the_task_wait_and_it_goes_on_when_it_is_back(still, monkeypatch):
    from projects.engine import building

    backend = building.open_backend("")
    backend.broken = SandboxUnavailable("no Docker engine answers")
    run = still.build("T-01")
    assert still.task().status == Task.Status.READY
    assert still.task().why == "waiting for the sandbox: no Docker engine answers"
    assert "waiting for the sandbox" in run.why
    backend.broken = None
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()


def test_while_the_sandbox_image_is_made_the_task_waits_for_it_and_then_goes_on(still, monkeypatch):
    from projects.engine import building, sandboxes
    from sandbox import image_builder
    from sandbox.base import SandboxPreparing
    from sandbox.build_state import ImageBuild

    backend, seen = building.open_backend(""), [5, 40, 80]

    def ensure(again=False):
        return ImageBuild("box:1", "building", percent=seen.pop(0), step="packing") if seen else None

    monkeypatch.setattr(image_builder, "ensure_image", ensure)
    monkeypatch.setattr(sandboxes, "open_backend", _raise(SandboxPreparing("the sandbox image is being made")))
    backend.broken = SandboxUnavailable("the engine has no image")  # nobody had begun with it yet
    run = still.build("T-01")
    assert still.task().why == "waiting for the sandbox image, 5 % (packing)"
    assert "waiting for the sandbox image, 5 %" in run.why
    backend.broken = SandboxPreparing("the sandbox image is being made")
    still.sweep()
    still.sweep()
    assert still.task().why == "waiting for the sandbox image, 80 % (packing)"
    backend.broken = None
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.task().attempts.count() == 1


def test_a_sandbox_that_breaks_while_an_image_is_made_for_later_is_not_blamed_on_the_image(still, monkeypatch):
    from projects.engine import building, sandboxes

    monkeypatch.setattr(sandboxes, "tend_image", lambda project: "40 % (packing)")
    monkeypatch.setattr(sandboxes, "open_backend", lambda name, checked: None)  # bubblewrap serves
    building.open_backend("").broken = SandboxUnavailable("bwrap ended")
    still.build("T-01")
    assert still.task().why == "waiting for the sandbox: bwrap ended"


def test_an_engine_that_dies_between_two_steps_is_waited_for_too(still, monkeypatch):
    from agents.languages.python import language

    works = language.run_pytest
    monkeypatch.setattr(language, "run_pytest", _raise(SandboxUnavailable("the sandbox is gone")))
    still.build("T-01")
    assert still.task().why.startswith("waiting for the sandbox")
    calls = len(still.runner.calls)
    monkeypatch.setattr(language, "run_pytest", works)
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.runner.calls[calls:] == ["reviewer"]  # what was paid for is not asked again


def test_a_sandbox_that_cannot_be_had_twice_in_a_row_goes_to_a_person_with_what_it_said(still, monkeypatch):
    from projects.engine import building

    backend = building.open_backend("")
    backend.broken = SandboxUnavailable("no Docker engine answers")
    still.build("T-01")
    still.sweep()
    assert still.task().status == Task.Status.ESCALATED
    said = still.task().escalation
    assert said.startswith("The sandbox could not be had twice in a row: no Docker engine answers\nBefore: waiting for")
    assert still.task().attempts.count() <= 1
    still.retry()  # still broken: it waits once before it asks again
    assert still.task().status == Task.Status.READY
    backend.broken = None
    still.sweep()
    assert still.task().status == Task.Status.MERGED


def test_tests_that_ran_meanwhile_begin_the_count_anew(still, monkeypatch):
    from agents.languages.python import language

    works, left = language.run_pytest, [True, False, True]
    broken = _raise(SandboxUnavailable("the sandbox is gone"))
    monkeypatch.setattr(language, "run_pytest", lambda *a, **o: (broken if left and left.pop(0) else works)(*a, **o))
    still.build("T-01", **never_right())
    still.sweep()
    assert still.task().why.startswith("waiting for the sandbox")


def _raise(error):
    def call(*_args, **_options):
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SandboxError("the tree holds more than 512 MB: too much for a sandbox"), "more than 512 MB"),
        (ValueError("bad\nsecret detail"), "unexpected ValueError"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_an_error_that_comes_back_is_escalated_in_words_and_a_retry_starts_anew(still, monkeypatch, error, words):
    from agents.languages.python import language

    works = language.run_pytest
    monkeypatch.setattr(language, "run_pytest", _raise(error))
    still.build("T-01")
    for _ in range(2):
        assert still.task().status == Task.Status.READY
        still.sweep()
    assert still.task().status == Task.Status.ESCALATED
    assert words in still.task().escalation
    assert "secret detail" not in still.task().escalation
    still.retry()  # still broken: again three tries, not one
    assert still.task().status == Task.Status.READY
    monkeypatch.setattr(language, "run_pytest", works)
    still.sweep()
    assert still.task().status == Task.Status.MERGED


def test_errors_that_never_read_the_same_come_to_an_end(still, monkeypatch):
    from agents.languages.python import language

    numbers = iter(range(1_000))
    monkeypatch.setattr(language, "run_pytest", lambda *_a, **_o: _raise(SandboxError(f"trouble {next(numbers)}"))())
    still.build("T-01")
    for _ in range(12):
        still.sweep()
    assert still.task().status == Task.Status.ESCALATED
    assert len(still.summaries("error")) <= 11


def test_a_task_that_rests_keeps_no_other_from_starting(still, monkeypatch):
    from agents.languages.python import language

    def first_breaks(sandbox, *arguments, **options):
        if "calc.py" in sandbox.files:
            raise SandboxUnavailable("the packages cannot be fetched")
        return works(sandbox, *arguments, **options)

    works = language.run_pytest
    monkeypatch.setattr(language, "run_pytest", first_breaks)
    content = _independent("T-01", "T-02", "T-03")
    still.build("T-01", "T-02", "T-03", content=content, limits={"parallel_tasks": 1})
    assert still.statuses() == {"T-01": "ready", "T-02": "merged", "T-03": "merged"}


def _independent(*keys):
    import json

    from tests.projects.jobs_driver import small_plan

    plan = json.loads(small_plan(*keys))
    for task in plan["tasks"]:
        task["needs"] = []
    return json.dumps(plan)


def test_a_run_that_needed_somebody_runs_again_as_soon_as_a_task_can(still):
    run = still.build("T-01", **never_right())
    assert run.status == Run.Status.NEEDS_YOU
    task = still.task()
    Task.objects.filter(pk=task.pk).update(status=Task.Status.READY)  # as any path does that leaves the run alone
    still.say(T_01__coder_repair=repaired(0).replace("a * b", "a + b"))
    Task.objects.filter(pk=task.pk).update(generation=2)
    still.say(T_01__coder_code=small_replies("T-01")["T-01/coder-code"])
    still.sweep()
    assert still.run.status == Run.Status.FINISHED


def test_a_cancelled_task_is_left_alone_by_the_worker_that_had_it(still, monkeypatch):
    from projects.engine import building

    def cancelled_meanwhile(task, *, actor, token):
        runs.cancel_run(task.run, by=owner_of(still.project))
        raise SandboxUnavailable("gone")

    monkeypatch.setattr(building, "build", cancelled_meanwhile)
    still.build("T-01")  # no exception reaches the worker
    assert still.task().status == Task.Status.CANCELLED
    assert still.run.status == Run.Status.CANCELLED
    run_task(still.task().pk)
    assert still.task().status == Task.Status.CANCELLED
