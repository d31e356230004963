"""From an uploaded document to merged code through the real jobs, and what happens when parts of it die."""

import json
import subprocess
from datetime import timedelta

import pytest

from agents.engine import planner_graph
from agents.llm.runner import ModelRunner
from agents.personas import FRESH_TEMPERATURE
from agents.requirements.pieces import pieces_of
from agents.requirements.second_reading import SecondReading
from projects.engine import model_clients as engine_models
from projects.errors import BadInput, IllegalMove
from projects.jobs.runs import run_task
from projects.jobs.upkeep import sweep
from projects.models import Approval, Event, Plan, Run, Task
from projects.services.audit import chain, events
from projects.services.decisions import approvals
from projects.services.planning import documents, plans, runs
from projects.services.work import leases, tasks
from projects.storage import paths
from projects.workers.owners import is_alive, this_worker
from tests.factories import PRD, make_project, owner_of
from tests.projects.jobs_driver import (
    REAL_JOBS,
    plan_of,
    planned_task,
    reply,
    small_plan,
    small_replies,
    write_scenario,
)
from tests.rows import fresh

pytestmark = REAL_JOBS


def upload(tmp_path, replies, text=PRD, **settings):
    project = make_project("Sums", model=write_scenario(tmp_path / "scenario", replies), **settings)
    document = documents.upload_document(project, text.encode(), "prd.md", by=owner_of(project))
    return project, document, runs.start_planning(document, by=owner_of(project))


def planned(tmp_path, driver, replies):
    project, document, run = upload(tmp_path, replies)
    driver.work()
    documents.confirm_requirements(document, by=owner_of(project))
    driver.work()
    run.refresh_from_db()
    return project, Plan.objects.filter(project=project).order_by("-version").first(), run


def started(tmp_path, driver, replies):
    """A build before the first of its jobs."""
    project, plan, _ = planned(tmp_path, driver, replies)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(project))
    return project, runs.start_build(plan, by=owner_of(project))


def built(tmp_path, driver, replies):
    project, run = started(tmp_path, driver, replies)
    driver.work()
    return project, fresh(run)


def test_planning_waits_for_the_architect_and_building_for_the_approval(tmp_path, driver):
    project, document, run = upload(tmp_path, small_replies("T-01"))
    driver.work()
    document.refresh_from_db()
    assert fresh(run).status == Run.Status.NEEDS_YOU
    assert "confirm the requirements" in run.why
    assert not Plan.objects.filter(project=project).exists()
    documents.confirm_requirements(document, by=owner_of(project))
    driver.work()
    assert fresh(run).status == Run.Status.FINISHED
    plan = Plan.objects.get(project=project)
    assert plan.status == Plan.Status.PROPOSED
    with pytest.raises(Exception, match="approved"):
        runs.start_build(plan, by=owner_of(project))
    assert not paths.repository_path(project).exists()


def test_sampled_plans_are_metered_calls_at_a_higher_temperature_and_propose_nothing(tmp_path, driver, monkeypatch):
    project, plan, first = planned(tmp_path, driver, small_replies("T-01"))
    complete, warm = ModelRunner.complete, []

    def watched(runner, *args, **options):
        warm.append(options["temperature"])
        return complete(runner, *args, **options)

    monkeypatch.setattr(ModelRunner, "complete", watched)
    run = runs.start_planning(plan.document, by=owner_of(project), samples=2)
    with pytest.raises(IllegalMove, match=f"Run {run.pk} is planning"):
        runs.start_planning(plan.document, by=owner_of(project))
    driver.work()
    assert (fresh(run).status, run.why) == (Run.Status.FINISHED, "2 variants made")
    steps = first.usages.exclude(key__contains="infer").count()
    assert [usage.key.split("/")[0] for usage in run.usages.all()] == ["sample-1"] * steps + ["sample-2"] * steps
    assert warm == [FRESH_TEMPERATURE] * 2 * steps
    made = run.events.filter(type="plan.sampled")
    assert [json.loads(events.event_blobs(event)["plan"]) for event in made] == [json.loads(small_plan("T-01"))] * 2
    assert Plan.objects.filter(project=project).count() == 1


def test_plans_are_not_sampled_before_the_requirements_are_confirmed(tmp_path):
    project = make_project("Sums", model=write_scenario(tmp_path / "scenario", small_replies("T-01")))
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=owner_of(project))
    with pytest.raises(BadInput, match="Confirm the requirements"):
        runs.start_planning(document, by=owner_of(project), samples=2)


SMALL = "FR-01: add(a, b) shall give the sum of two numbers.\n"


def test_small_work_takes_one_call_and_one_approval_before_its_tests(tmp_path, driver):
    plan = plan_of(planned_task("T-01", requirements=["FR-01"]))
    project, _, run = upload(tmp_path, {"plan/planner-structure": plan}, SMALL)
    driver.work()
    assert (fresh(run).status, run.why) == (Run.Status.FINISHED, "plan proposed")
    asked = Event.objects.filter(run=run, type="thought", role="planner")
    assert [event.payload["step"] for event in asked] == ["structure"]
    assert Approval.objects.get(project=project, status="pending").kind == "plan"


def test_one_sentence_about_code_that_is_there_costs_at_most_three_calls_before_its_code(tmp_path, driver):
    project, _ = built(tmp_path, driver, small_replies("T-01"))
    task = planned_task("T-09", requirements=["FR-09"], files=["twice.py", "README.md"])
    ask = {"read_file": ["calc.py"], "search_docs": ["sums"], "tasks": [], "notes": ""}
    code = '"""Twice."""\n\n\ndef twice(a: int) -> int:\n    """a + a."""\n    return add(a, a)\n'
    tests = "from twice import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
    replies = {"plan/planner-structure": json.dumps(ask), "plan/planner-structure-2": json.dumps({"tasks": [task]})}
    replies |= {"T-09/tester-tests": reply("tests/test_twice.py", tests), "T-09/coder-code": reply("twice.py", code)}
    write_scenario(tmp_path / "scenario", replies)
    sentence = b"FR-09: twice(a) shall give the double of a number."
    document = documents.upload_document(project, sentence, "ask.md", by=owner_of(project))
    planning = runs.start_planning(document, by=owner_of(project))
    driver.work()
    plan = Plan.objects.filter(project=project).order_by("-version").first()
    assert [one["message"] for one in plan.problems if one["code"] == "not_asked_for"] == [
        "Not asked for: README.md (T-09). Leave it out, or name the requirement that needs it."
    ]
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(project))
    run = runs.start_build(plan, by=owner_of(project))
    driver.work()
    asked = Event.objects.filter(run__in=[planning, run], type="thought").order_by("pk")
    steps = [event.payload["step"] for event in asked]
    assert steps[:4] == ["structure", "structure", "tests", "code"]


def test_what_a_model_reads_in_a_paragraph_left_over_is_a_suggestion_with_its_line(tmp_path, driver):
    text = PRD.rstrip() + "\n\n## Background\n\nWe once lost a cent.\n"
    line = text.split("\n").index("We once lost a cent.") + 1
    pieces = pieces_of(text.split("\n"))
    number = next(number for number, piece in enumerate(pieces, start=1) if "lost a cent" in piece.text)
    replies = small_replies("T-01") | {"plan/planner-infer": json.dumps({"pieces": {str(number): "asks"}})}
    _, document, run = upload(tmp_path, replies, text)
    driver.work()
    asked = Event.objects.filter(run=run, type="thought", role="planner").first()
    assert f"\n{number}. We once lost a cent.\n" in events.event_blobs(asked)["prompt"][-1]
    suggested = document.requirements.get(origin="inferred")
    assert (suggested.text, suggested.line_start) == ("We once lost a cent.", line)
    assert suggested.status == "proposed"


def test_requirements_may_be_confirmed_while_the_model_still_reads_the_document(tmp_path, driver, monkeypatch):
    project, document, run = upload(tmp_path, small_replies("T-01"))

    def confirm(*_):
        documents.confirm_requirements(documents.extract_written(document), by=owner_of(project))
        return SecondReading([{"key": "INF-01", "text": "Too late.", "kind": "functional"}])

    monkeypatch.setattr(planner_graph, "inferred", confirm)
    driver.work()
    assert (fresh(run).status, run.why) == (Run.Status.FINISHED, "plan proposed")
    assert not document.requirements.filter(key="INF-01").exists()


def test_the_planner_of_a_second_document_is_told_of_the_code_and_the_first_one_and_of_a_diagram(tmp_path, driver):
    project, _ = built(tmp_path, driver, small_replies("T-01"))
    drawn = "\n```mermaid\nflowchart LR\n  web[Web shop] -->|reads| db[(Stock)]\n```\n"
    text = f"FR-9: It shall multiply.\n\nFR-10: It shall divide.\n{drawn}".encode()
    document = documents.upload_document(project, text, "b.md", by=owner_of(project))
    documents.confirm_requirements(documents.extract_written(document), by=owner_of(project))
    run = runs.start_planning(document, by=owner_of(project))
    driver.work()
    prompt = "".join(events.event_blobs(Event.objects.get(run=run, type="thought", payload__step="plan"))["prompt"])
    assert "calc.py:\n  def add(a: int, b: int) -> int" in prompt
    assert "Requirements that need no task here" in prompt
    assert f"of prd.md v1, built: {project.documents.get(version=1).requirements.first().text}" in prompt
    assert "- Web shop -> Stock (reads)" in prompt


def test_a_project_without_approvals_goes_from_document_to_merge_by_itself(tmp_path, driver):
    project, _, _ = upload(tmp_path, small_replies("T-01"), autonomy="none")
    driver.work()
    build = Run.objects.get(project=project, kind=Run.Kind.BUILD)
    assert build.status == Run.Status.FINISHED
    assert build.started_by is None
    assert Event.objects.filter(run__project=project, type="requirement.extracted").exists()
    assert Event.objects.filter(run__project=project, type="plan.approved", actor="autonomy").exists()


def test_an_approved_plan_becomes_merged_code_with_a_sound_chain(tmp_path, driver):
    project, run = built(tmp_path, driver, small_replies("T-01", "T-02"))
    assert run.status == Run.Status.FINISHED
    assert {task.status for task in run.tasks.all()} == {Task.Status.MERGED}
    report = chain.verify_chain(run.pk)
    assert report.ok
    folder = paths.repository_path(project)
    log = subprocess.run(["git", "log", "--format=%B"], cwd=folder, capture_output=True, text=True).stdout
    assert f"Run: {run.pk}" in log
    line = paths.repository_of(project, run)
    assert line.read(line.head(), "calc1.py")
    assert line.head() == line.base_head()
    assert line.line == f"aiswe/run-{run.pk}"
    assert Run.objects.get(pk=run.pk).base_commit == line.store.parent(line.store.parent(line.head()))
    seqs = list(Event.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def test_an_invalid_plan_goes_back_to_the_model_twice_then_to_a_person(tmp_path, driver):
    cyclic = small_plan("T-01", "T-02").replace('"needs": []', '"needs": ["T-02"]')
    replies = small_replies("T-01") | {f"plan/planner-structure{n}": cyclic for n in ("", "-2", "-3")}
    _, plan, run = planned(tmp_path, driver, replies)
    assert plan.status == Plan.Status.INVALID
    assert any("T-01" in problem["message"] and "→" in problem["message"] for problem in plan.problems)
    assert Event.objects.filter(run=run, type="thought", payload__step="structure").count() == 3


def test_asked_for_changes_the_planner_is_told_them_and_proposes_again(tmp_path, driver):
    project, plan, _ = planned(tmp_path, driver, small_replies("T-01"))
    plans.ask_for_changes(plan, by=owner_of(project), comment="One task less, please.")
    driver.work()
    newest = Plan.objects.filter(project=project).order_by("-version").first()
    assert (newest.version, newest.status) == (2, Plan.Status.PROPOSED)
    again = Event.objects.filter(run__project=project, type="thought", payload__step="plan").order_by("pk").last()
    prompt = events.event_blobs(again)["prompt"][-1]
    assert "One task less, please." in prompt
    assert '"title": "Part T-01"' in prompt  # the plan that it speaks of


def test_a_corrected_plan_is_taken(tmp_path, driver):
    replies = small_replies("T-01")
    replies["plan/planner-structure-2"] = replies["plan/planner-structure"]
    replies["plan/planner-structure"] = "I think three tasks would do."
    _, plan, _ = planned(tmp_path, driver, replies)
    assert plan.status == Plan.Status.PROPOSED


def test_a_model_that_is_away_makes_the_run_wait_not_fail(tmp_path, driver, monkeypatch):
    project, run = started(tmp_path, driver, small_replies("T-01"))
    server = engine_models.recording(project.model.removeprefix("scripted:"))
    server.stop()
    driver.work()
    task = run.tasks.get()
    assert task.status == Task.Status.READY
    assert task.why.startswith("waiting for the model")
    server.start()
    monkeypatch.setattr("projects.jobs.runs.LATER", timedelta(0))
    engine_models.runner().breaker(server.url).succeeded()
    sweep()
    driver.work()
    assert fresh(task).status == Task.Status.MERGED


def test_a_task_whose_worker_died_is_taken_up_again(tmp_path, driver):
    _, run = started(tmp_path, driver, small_replies("T-01"))
    driver.waiting.clear()
    runs.move_run(run, Run.Status.RUNNING)
    (task,) = tasks.ready_tasks(run.pk)
    host = this_worker().split(":")[1]
    token = leases.claim(Task, task.pk, owner=f"worker:{host}:4194303:1", seconds=600)
    tasks.move_task(task, Task.Status.RUNNING, token=token)
    run_task(task.pk)  # its lease is still held: nobody else may touch it
    assert fresh(task).status == Task.Status.RUNNING
    sweep()
    driver.work()
    assert fresh(task).status == Task.Status.MERGED
    assert task.lease_token > token


def test_what_cannot_be_solved_waits_for_a_person_and_a_note_sends_it_back(tmp_path, driver):
    replies = small_replies("T-01")
    good = replies["T-01/coder-code"]
    replies |= {"T-01/coder-code": "No idea.", "T-01/coder-again": "None.", "T-01/coder-again-2": "None at all."}
    project, run = built(tmp_path, driver, replies)
    task = run.tasks.get()
    assert task.status == Task.Status.ESCALATED
    assert run.status == Run.Status.NEEDS_YOU
    assert "could not be used" in task.escalation
    write_scenario(tmp_path / "scenario", {"T-01/coder-code": good})
    (question,) = approvals.pending_for(owner_of(project))
    approvals.decide(question, by=owner_of(project), yes=True, reason="Use a plain function.")
    driver.work()
    run.refresh_from_db()
    assert fresh(task).status == Task.Status.MERGED
    assert run.status == Run.Status.FINISHED
    prompts = [
        events.event_blobs(event)["prompt"] for event in Event.objects.filter(run=run, type="thought", role="coder")
    ]
    assert "Use a plain function." in prompts[-1][1]


def test_a_cancelled_run_does_nothing_more(tmp_path, driver):
    project, run = started(tmp_path, driver, small_replies("T-01"))
    runs.cancel_run(run, by=owner_of(project))
    driver.work()
    assert not Event.objects.filter(run=run, type="thought").exists()
    assert run.tasks.get().status == Task.Status.CANCELLED


def test_a_paused_run_stands_still_and_goes_on_when_resumed(tmp_path, driver):
    project, run = started(tmp_path, driver, small_replies("T-01"))
    runs.move_run(run, Run.Status.RUNNING)
    runs.pause_run(run, by=owner_of(project))
    driver.work()
    assert not Event.objects.filter(run=run, type="thought").exists()
    runs.resume_run(run, by=owner_of(project))
    driver.work()
    assert run.tasks.get().status == Task.Status.MERGED


def test_a_recording_that_lacks_a_word_is_a_clear_failure(tmp_path, driver):
    replies = small_replies("T-01")
    del replies["plan/planner-plan"]
    _, plan, run = planned(tmp_path, driver, replies)
    assert plan is None
    assert run.status == Run.Status.FAILED
    assert "planner-plan.md" in run.why


def test_a_worker_knows_itself_and_the_dead():
    name = this_worker()
    assert is_alive(name)
    kind, host, pid, started = name.split(":")
    assert not is_alive(f"{kind}:{host}:{pid}:{int(started) + 1}")  # the pid was given to another process
    assert is_alive(f"{kind}:elsewhere:1:1")  # only its lease can tell
    assert is_alive("somebody")
