"""A sub-task is asked for once, by people's leave where plans need it, and holds what the request says."""

from typing import Any

import pytest
from django.urls import reverse

from agents.engine.waiting import Waiting, WaitReason
from aiswe_site.cli.app import run as cli_run
from aiswe_site.startup import django as site_django
from projects.errors import NotAllowed
from projects.models import Approval, Run, Task
from projects.services.decisions import approvals
from projects.services.planning.overtaken import leave_out_overtaken
from projects.services.work.graphs import RunGraph
from projects.services.work.moves import move_task
from projects.services.work.sub_tasks import SubTaskRequest, sub_task_for
from projects.services.work.tasks import ready_tasks
from tests.factories import make_document, make_plan, make_project, make_run, make_user, owner_of
from tests.rows import fresh
from tests.texts import shows

pytestmark = pytest.mark.django_db

WISH = SubTaskRequest("function plus(a, b)", "app/plus.py", "Sums are shared. key=AKIAIOSFODNN7EXAMPLE <b>now</b>")


def working(autonomy: str = "none", **needs: Any) -> Task:
    """T-01 of a run, being worked on."""
    project = make_project(autonomy=autonomy)
    run = make_run(make_plan(make_document(project), needs=needs or None, approved=autonomy != "none"))
    task = ready_tasks(run.pk)[0]
    move_task(task, Task.Status.RUNNING)
    return task


def waits(task: Task, wish: SubTaskRequest = WISH) -> Waiting:
    with pytest.raises(Waiting) as waiting:
        sub_task_for(task, wish, actor="worker", fenced=lambda write: write())
    return waiting.value


def test_the_same_request_twice_makes_one_task_that_the_first_waits_for():
    task = working()
    assert waits(task).reason == waits(task).reason == WaitReason.DEPENDENCY
    made = Task.objects.get(asked_by=task)
    assert (made.key, made.files, made.kind) == ("T-01.1", ["app/plus.py"], "code")
    assert "AKIA" not in made.description
    assert list(task.needs.all()) == [made]
    move_task(task, Task.Status.QUEUED, wait=WaitReason.DEPENDENCY, reason="its sub-task T-01.1")
    assert [one.key for one in ready_tasks(task.run_id)] == ["T-01.1"]


def test_a_data_file_is_a_task_that_is_checked_instead_of_tested():
    task = working()
    waits(task, SubTaskRequest("the rates", "data/rates.json", ""))
    assert Task.objects.get(asked_by=task).kind == "config"


def test_a_task_of_the_plan_that_is_to_write_the_file_is_waited_for_and_no_sub_task_made():
    task = working("plan_only", **{"T-01": [], "T-02": ["T-01"], "T-03": []})
    waits(task, WISH._replace(path="app/t_03.py"))
    assert "T-03, which writes app/t_03.py" in str(waits(task, WISH._replace(path="app/t_03.py")))
    assert not Approval.objects.filter(task=task).exists()
    assert [need.key for need in task.needs.all()] == ["T-03"]
    assert ("T-03", "T-01", []) in RunGraph(task.run.tasks.all()).grid.edges
    behind = WISH._replace(path="app/t_02.py")
    assert waits(task, behind).reason == WaitReason.SUB_TASK_CONSENT, "T-02 waits for the task that asks"


def test_a_key_of_the_plan_is_never_taken_again():
    task = working(**{"T-01": [], "T-01.1": ["T-01"]})
    waits(task)
    assert Task.objects.get(asked_by=task).key == "T-01.2"


def test_only_who_may_approve_plans_decides_and_the_plan_stays_as_it_was():
    task = working("plan_only")
    assert waits(task).reason == WaitReason.SUB_TASK_CONSENT
    question = Approval.objects.get(task=task)
    developer = make_user(role="developer", project=task.run.project)
    assert question not in approvals.pending_for(developer)
    with pytest.raises(NotAllowed):
        approvals.decide(question, by=developer, yes=True)
    assert "AKIA" not in question.why
    before = task.run.plan.content_hash
    approvals.decide(question, by=owner_of(task.run.project), yes=True)
    assert waits(task).reason == WaitReason.DEPENDENCY
    assert (fresh(task.run.plan).content_hash, task.run.plan.status) == (before, "approved")
    other = SubTaskRequest("another thing", "app/plus.py", "")
    assert waits(task, other).reason == WaitReason.DEPENDENCY, "one a task, whatever is asked for later"
    assert Task.objects.filter(asked_by=task).count() == 1


def test_its_question_and_its_place_in_the_run_are_shown(client, monkeypatch, capsys):
    task = working("plan_only")
    waits(task)
    question = Approval.objects.get(task=task)
    client.force_login(owner_of(task.run.project))
    assert (
        "may it have a sub-task for function plus(a, b), in app/plus.py?" in client.get("/approvals").content.decode()
    )
    shown = client.get(reverse("approval", args=[question.pk])).content.decode()
    shows(shown, "Sums are shared.", "&lt;b&gt;now", "goes on without it and is told your reason")
    approvals.decide(question, by=owner_of(task.run.project), yes=True)
    waits(task)
    assert "T-01.1" in client.get(reverse("run", args=[task.run_id])).content.decode()
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)
    assert cli_run(["run", "show", str(task.run_id)]) == 0
    assert "T-01.1 for T-01" in capsys.readouterr().out


def test_a_yes_holds_for_exactly_what_was_asked():
    task = working("plan_only")
    waits(task)
    approvals.decide(Approval.objects.get(task=task), by=owner_of(task.run.project), yes=True)
    assert waits(task, WISH._replace(path="app/other.py")).reason == WaitReason.SUB_TASK_CONSENT


def test_the_graph_of_the_run_has_the_sub_task_before_its_task():
    task = working()
    waits(task)
    graph = RunGraph(task.run.tasks.all()).grid
    assert graph.cells == {"T-01.1": (0, 0), "T-01": (1, 0), "T-02": (2, 0)}
    assert {("T-01.1", "T-01", ()), ("T-01", "T-02", ())} == {(a, b, tuple(way)) for a, b, way in graph.edges}


def test_what_a_document_no_longer_asks_for_takes_its_sub_task_along():
    task = working()
    waits(task)
    move_task(task, Task.Status.QUEUED, wait=WaitReason.DEPENDENCY, reason="its sub-task T-01.1")
    newer = make_document(task.run.project, text="# Other\n\nFR-03 The user shall print.\n", confirmed=False)
    newer.requirements.all().delete()
    newer.replaces = task.run.document
    newer.save()
    assert {one.key for one in leave_out_overtaken(newer)} == {"T-01", "T-01.1", "T-02"}
    assert Run.objects.get(pk=task.run_id).tasks.filter(status="skipped").count() == 3
