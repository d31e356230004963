"""Plans that go in circles, name what is not there, or are huge: refused in words wherever they come from, or just
shown.
"""

import json
import sys

import pytest
from django.test import Client
from django.urls import reverse

from aiswe_site.cli.app import run as aiswe
from projects.errors import BadInput
from projects.models import Plan, Run, SiteEvent, Task
from projects.services.planning import documents, plans, runs
from projects.services.work import tasks
from projects.services.work.graphs import longest_first
from tests.factories import PRD, make_document, make_plan, make_project, make_run, owner_of, plan_content
from tests.projects.jobs_driver import small_replies
from tests.rows import undone
from tests.tables import each_row


def changed(**of_second):
    """A plan of two tasks whose second is spoilt."""
    content = plan_content()
    content["tasks"][1] |= of_second
    return content


def circle():
    """T-01 and T-02 need each other."""
    content = plan_content()
    content["tasks"][0]["needs"] = ["T-02"]
    return content


SPOILT = {
    "a circle": (circle(), "T-01 → T-02 → T-01"),
    "itself": (changed(needs=["T-02"]), "T-02 needs itself"),
    "nothing there": (changed(needs=["T-99"]), "T-99"),
    "one key twice": (changed(key="T-01", needs=[]), "T-01"),
    "too long": (changed(minutes=600), "600 minutes"),
    "an escape": (changed(files=["../../etc/passwd"]), "../../etc/passwd"),
    "no such requirement": (changed(requirements=["FR-77"]), "FR-77"),
    "wrong types": (changed(minutes="ten"), "whole number"),
    "no tasks": ({"tasks": [], "notes": ""}, "no tasks"),
    "half a pair": (changed(title="\ud800"), "NUL or half a character pair"),
}


@each_row(("content", "words"), SPOILT.values(), ids=SPOILT)
def test_the_command_line_says_no_and_why(tmp_path, capsys, content, words):
    path, prd = tmp_path / "plan.json", tmp_path / "prd.md"
    path.write_text(json.dumps(content))
    prd.write_text(PRD)
    assert aiswe(["plan", "validate", str(path), "--prd", str(prd), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["valid"] is False
    assert any(words in problem["message"] for problem in answer["problems"])


@each_row("text", [b"", b"{", b"[]", b"\xff\xfe\x00", b"null", b'{"tasks":' * 50_000, b"9" * 6_000])
def test_a_plan_that_is_none_is_refused_without_a_traceback(tmp_path, capsys, text):
    path = tmp_path / "plan.json"
    path.write_bytes(text)
    assert aiswe(["plan", "validate", str(path), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["problems"]
    assert "Traceback" not in said.err


@pytest.mark.django_db
@each_row("name", [name for name in SPOILT if name != "half a pair"])  # an edit's characters are cleaned
@undone()
def test_an_edit_like_that_is_refused_in_words_and_nothing_but_the_refusal_is_kept(name):
    content, words = SPOILT[name]
    plan = make_plan(approved=False)
    with pytest.raises(BadInput) as refusal:
        plans.edit_plan(plan, content=content, by=owner_of(plan.project), base_hash=plan.content_hash)
    assert words in str(refusal.value)
    assert [row.pk for row in Plan.objects.all()] == [plan.pk]
    assert words in SiteEvent.objects.get(action="plan.refused").detail["why"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["a circle", "itself", "nothing there", "one key twice", "too long"])
def test_a_model_that_insists_leaves_the_plan_to_a_person(still, name):
    content, words = SPOILT[name]
    said = small_replies("T-01") | {f"plan/planner-structure{n}": json.dumps(content) for n in ("", "-2", "-3")}
    document, _ = still.upload(said)
    documents.confirm_requirements(document, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.FINISHED
    plan = still.plan()
    assert plan.status == Plan.Status.INVALID
    assert any(words in problem["message"] for problem in plan.problems)
    by = owner_of(still.project)
    mended = plans.edit_plan(plan, content=plan_content({"T-01": []}), by=by, base_hash=plan.content_hash)
    assert mended.status == Plan.Status.PROPOSED
    assert still.is_sound()


def thousand():
    """A thousand tasks, each needing the one before it and the ones two and ten before."""
    return plan_content({f"T-{n:04}": [f"T-{n - back:04}" for back in (1, 2, 10) if n >= back] for n in range(1_000)})


@pytest.mark.django_db
def test_a_plan_of_a_thousand_tasks_is_shown_with_few_queries(django_assert_max_num_queries, client: Client):
    document = make_document(make_project())
    plan = plans.propose_plan(document, content=thousand())
    assert plan.status == Plan.Status.PROPOSED
    client.force_login(owner_of(plan.project))
    with django_assert_max_num_queries(40):
        answer = client.get(reverse("plan", args=[plan.project_id]))
    assert answer.status_code == 200
    assert "T-0999" in answer.content.decode()


@pytest.mark.django_db
def test_a_plan_of_a_thousand_tasks_is_scheduled_with_few_queries(django_assert_max_num_queries, enqueued):
    document = make_document(make_project())
    plan = plans.propose_plan(document, content=thousand())
    by = owner_of(plan.project)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
    run = runs.start_build(plan, by=by)
    runs.move_run(run, Run.Status.RUNNING)
    tasks.ready_tasks(run.pk)
    with django_assert_max_num_queries(12):
        ready = tasks.ready_tasks(run.pk)
        assert [task.key for task in longest_first(run.pk, ready)] == ["T-0000"]
    first = ready[0]
    Task.objects.filter(pk=first.pk).update(status=Task.Status.ESCALATED)
    tasks.ready_tasks(run.pk)
    assert run.tasks.filter(status=Task.Status.BLOCKED).count() == 999
    client = Client()
    client.force_login(by)
    with django_assert_max_num_queries(60):
        assert client.get(reverse("run", args=[run.pk])).status_code == 200


@pytest.mark.django_db
def test_the_work_of_the_scheduler_grows_with_the_plan_and_not_with_its_square(enqueued):
    """Counted in lines of Python, not in time: four times the tasks are about four times the work."""

    def lines_for(size):
        run = make_run(make_plan(needs={f"T-{n:04}": [f"T-{n - 1:04}"] if n else [] for n in range(size)}))
        tasks.ready_tasks(run.pk)
        ready = tasks.ready_tasks(run.pk)
        count = 0

        def line(frame, event, arg):
            nonlocal count
            count += 1
            return line

        before = sys.gettrace()
        sys.settrace(lambda frame, event, arg: line if "/projects/" in frame.f_code.co_filename else None)
        try:
            tasks.ready_tasks(run.pk)
            longest_first(run.pk, ready)
        finally:
            sys.settrace(before)
        return count

    small, large = lines_for(50), lines_for(200)
    assert large < small * 6
