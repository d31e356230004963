"""The why line: true in every state of a run, from typed reasons, with who can end the wait."""

import re
from typing import Any

import pytest

from agents.engine.waiting import WaitReason
from dashboard.live import stream
from dashboard.presenters.why import Why, why_of
from projects.models import Run
from projects.services.planning import runs
from projects.services.work import approval_requests, attempts
from projects.services.work.moves import move_run, move_task
from tests.factories import make_document, make_run, owner_of
from tests.rows import emit

pytestmark = pytest.mark.django_db
NEEDS: dict[str, list[str]] = {"T-01": [], "T-02": [], "T-03": [], "T-04": ["T-01"]}


@pytest.fixture
def run() -> Run:
    return make_run(needs=NEEDS)


def line(run: Run) -> Why:
    run.refresh_from_db()
    return why_of(run, list(stream.tasks_of(run)))


def to(run: Run, key: str, *states: str, **how: Any) -> None:
    task = run.tasks.get(key=key)
    for state in states[:-1]:
        move_task(task, state)
    move_task(task, states[-1], **how)


def test_while_running_it_says_what_each_task_is_at(run: Run):
    to(run, "T-01", "ready", "running")
    assert line(run).lead == "T-01: the coder begins"
    task = run.tasks.get(key="T-01")
    attempts.start_attempt(task, number=1, strategy="first")
    assert line(run).lead == "T-01: the coder writes it"
    emit(run.pk, "test.result", task_id=task.pk, attempt=1, summary="1 failed", outcome="fail")
    assert line(run).lead == "T-01: its tests fail"
    attempts.start_attempt(task, number=2, strategy="repair")
    to(run, "T-02", "ready", "running")
    assert line(run).lead == "T-01 try 2 of 6: the coder repairs it; T-02: the coder begins"


def test_a_full_queue_names_the_limit_and_who_can_raise_it(run: Run):
    for key in ("T-01", "T-02"):
        to(run, key, "ready", "running")
    to(run, "T-03", "ready")
    assert line(run).rest == "1 ready, but only 2 may run at a time (Manager or Architect can raise it)"


def test_a_model_that_does_not_answer_is_named_with_the_task_that_rests(run: Run):
    to(run, "T-01", "ready", "running", "ready", wait=WaitReason.MODEL, reason="nobody answers at :11434")
    runs.set_wait(run, WaitReason.RESTING_TASKS, "T-01 is waiting for the model: nobody answers at :11434")
    said = line(run)
    assert said.lead == "T-01 is waiting for the model: nobody answers at :11434"
    assert said.since is not None
    assert (said.href, said.needs) == ("/system", False)
    to(run, "T-02", "ready", "running")
    assert "T-01 is waiting for the model" in line(run).rest


def test_a_question_comes_first_with_a_way_to_answer_it_and_what_goes_on_meanwhile(run: Run):
    to(run, "T-01", "ready", "running", "needs_you", wait=WaitReason.PACKAGE_CONSENT, reason="httpx")
    asked = approval_requests.ask(
        run.project,
        **{"kind": "package", "subject": "httpx", "title": "Install httpx", "why": "", "on_yes": "", "on_no": ""},
        run=run,
        task=run.tasks.get(key="T-01"),
    )
    to(run, "T-02", "ready", "running")
    said = line(run)
    assert said.lead == "T-01 wants to install httpx"
    assert said.rest == "meanwhile T-02: the coder begins"
    assert said.since == asked.requested_at
    assert said.href == f"/approvals/{asked.pk}"
    assert said.who == "Manager, Architect, Developer or Security can decide"
    assert said.needs


def test_a_task_that_was_given_up_says_so_and_leads_to_it(run: Run):
    to(run, "T-01", "ready", "running", "escalated", reason="the same error twice")
    said = line(run)
    assert said.lead == "T-01 is given up: the same error twice"
    assert said.href == f"/tasks/{run.tasks.get(key='T-01').pk}"
    assert said.who == "Developer can decide"
    to(run, "T-02", "ready", "running", "escalated")
    assert line(run).rest == "1 more waits for a person"


def test_a_run_without_a_worker_says_what_it_waits_for():
    run = make_run(running=False)
    said = line(run)
    assert said.lead == "Waits for a free worker"
    assert said.since == run.created_at
    move_run(run, Run.Status.RUNNING)
    to(run, "T-01", "ready")
    assert line(run).lead == "T-01 is ready and waits for a free worker"


@pytest.mark.parametrize(
    ("states", "lead"),
    [
        (["paused"], "Paused by ada"),
        (["failed"], "The run failed"),
        (["cancelled"], "The run was stopped"),
    ],
)
def test_a_run_that_does_not_go_on_says_why(run: Run, states: list[str], lead: str):
    for state in states:
        move_run(run, state, reason="paused by ada" if state == "paused" else "so")
    assert line(run).lead == lead


def test_a_finished_run_with_something_left_out_says_that_first(run: Run):
    for task in run.tasks.all():
        to(run, task.key, "ready", "running", "merged") if task.key == "T-01" else to(run, task.key, "cancelled")
    runs.finish_if_done(run.pk)
    assert (line(run).lead, line(run).rest) == ("3 of 4 tasks are left out", "1 merged")


def test_a_planning_run_says_what_is_read_and_what_is_to_be_confirmed():
    document = make_document(confirmed=False)
    run = runs.start_planning(document, by=owner_of(document.project))
    move_run(run, Run.Status.RUNNING)
    assert re.fullmatch(r"The planner (reads|splits) prd\d+\.md.*", line(run).lead)
    move_run(run, Run.Status.NEEDS_YOU, wait=WaitReason.CONFIRMATION)
    said = line(run)
    assert said.lead == "Confirm the requirements"
    assert said.label == "Open the requirements"
    assert "Architect" in said.who


def test_no_sentence_is_a_fallback(run: Run):
    for key in ("T-01", "T-02"):
        to(run, key, "ready", "running")
    html = stream.frame(run.pk, 0, stream.Filter())
    assert html is not None
    assert "agents are working" not in html["ui"]
    assert "T-01: the coder begins" in html["ui"]


@pytest.mark.parametrize("status", [Run.Status.QUEUED, Run.Status.RUNNING])
def test_a_run_that_rests_for_its_window_says_until_when_and_who_can_change_it(status: str) -> None:
    run = make_run()
    Run.objects.filter(pk=run.pk).update(status=status, wait_reason="window", why_detail="20:00 (UTC)")
    run.refresh_from_db()
    why = why_of(run, list(run.tasks.all()))
    assert why.lead == "Waiting for the window until 20:00 (UTC)"
    assert (why.who, why.href) == (
        "Manager or Architect can change window and caps",
        f"/p/{run.project_id}/backlog",
    )
    assert not why.needs


def test_nobody_is_asked_to_decide_in_a_replay(run: Run):
    to(run, "T-01", "ready", "running", "escalated", reason="the same error twice")
    now = line(run)
    assert now.needs
    assert now.who
    run.replay_of = {"source": "run 1", "kind": "build"}
    then = why_of(run, list(stream.tasks_of(run)))
    assert then.lead == now.lead
    assert (then.who, then.href, then.needs) == ("", "", False)
