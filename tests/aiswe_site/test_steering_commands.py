"""Commands that do what the pages do: confirm, answer, edit, set up, archive; also when used wrongly."""

from __future__ import annotations

import pytest

from agents.engine.waiting import WaitReason
from aiswe_site.cli.app import run
from projects.errors import IllegalMove
from projects.models import Project
from projects.services.planning import projects, runs
from projects.services.work import approval_requests
from projects.services.work.moves import move_run
from projects.services.work.usage import record_usage
from tests.aiswe_site.answers import refused, said
from tests.factories import make_document, make_plan, make_project, make_run, make_user, owner_of
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


def test_the_facts_of_a_question_are_shown_as_words(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "rich": {"releases": 9, "status": "", "scripts": [], "age_days": 12, "warnings": ["It is new.", "It is odd."]}
    }
    asked = approval_requests.ask(project, kind="package", subject="rich", title="Use it?", payload={"facts": facts})
    assert run(["approvals", "show", str(asked.pk)]) == 0
    assert "  facts:\n    rich: releases 9, age days 12, warnings It is new. It is odd.\n" in capsys.readouterr().out


def test_questions_are_listed_shown_and_answered_once(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    asked = approval_requests.ask(project, kind="package", subject="rich", title="Use rich?", why="It is asked for.")
    number = str(asked.pk)
    assert [row["approval"] for row in said(capsys, "approvals", "list", "--project", "todo")] == [asked.pk]
    assert said(capsys, "approvals", "show", number)["why"] == "It is asked for."
    assert "needs a reason" in refused(capsys, "approvals", "answer", number, "no")
    assert said(capsys, "approvals", "answer", number, "no", "--reason", "too large")["status"] == "rejected"
    assert "was rejected" in refused(capsys, "approvals", "answer", number, "yes", code=1)
    assert said(capsys, "approvals", "list") == []
    assert said(capsys, "approvals", "list", "--all")[0]["decided_by"] == "ada"
    assert "There is no question 999" in refused(capsys, "approvals", "show", "999")
    assert "perhaps" in refused(capsys, "approvals", "answer", number, "perhaps")


def test_a_run_that_waits_for_its_requirements_is_listed_with_the_command_that_goes_on(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    planning = runs.start_planning(make_document(project, confirmed=False), by=project.created_by)
    move_run(planning, "running")
    move_run(planning, "needs_you", wait=WaitReason.CONFIRMATION)
    make_project("Other", by=project.created_by)
    for words in (["list"], ["list", "--project", "todo"]):
        assert run(["approvals", *words]) == 0
        shown = capsys.readouterr().out
        assert f"Run {planning.pk} of Todo, {planning.document}: needs you: confirm the requirements\n" in shown
        assert "Next: aiswe requirements show todo, then aiswe requirements confirm todo\n" in shown
    make_user("eve", role="viewer", project=project)
    for words in (["list", "--project", "other"], ["list", "--as", "eve"]):
        assert run(["approvals", *words]) == 0
        assert capsys.readouterr().out == "Nothing waits for an answer.\n"


def test_a_plan_that_is_approved_as_a_question_says_how_to_build_it(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(needs={"T-01": []}, approved=False)
    number = str(plan.project.approvals.get(kind="plan").pk)
    assert run(["approvals", "answer", number, "yes", "--as", owner_of(plan.project).username]) == 0
    assert f"Next: aiswe run start {plan.pk}" in capsys.readouterr().out


def test_changed_tests_are_shown_as_differences(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    change = {
        "path": "t.py",
        "test": "test_a",
        "old": "def test_a():\n    assert 1",
        "new": "def test_a():\n    assert 2",
    }
    lines = ["t.py: test_a is changed"]
    asked = approval_requests.ask(
        project,
        kind="test_change",
        subject="s",
        title="May it?",
        why=lines[0],
        payload={"reasons": lines, "paths": ["t.py"], "changes": [change]},
    )
    assert run(["approvals", "show", str(asked.pk)]) == 0
    shown = capsys.readouterr().out
    assert "t.py: test_a\n@@ -1,2 +1,2 @@\n def test_a():\n-    assert 1\n+    assert 2\n" in shown
    assert shown.count(lines[0]) == 1


def test_settings_are_shown_and_changed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    changes = [
        "autonomy=plan_only",
        "author_name=Ada",
        "author_email=ada@example.org",
        "sign_off=yes",
        "model=scripted:household",
    ]
    found = said(capsys, "project", "settings", "todo", *changes)["settings"]
    assert (found["autonomy"], found["author_email"], found["sign_off"]) == ("plan_only", "ada@example.org", True)
    assert said(capsys, "project", "settings", "todo")["settings"] == found
    project.refresh_from_db()
    assert project.commit_settings == {"author_name": "Ada", "author_email": "ada@example.org", "sign_off": True}


@each_row(
    ("change", "named"),
    [
        ("colour=red", "colour=red"),
        ("autonomy", "autonomy"),
        ("autonomy=full", "full"),
        ("sign_off=perhaps", "perhaps"),
        ("author_email=nobody", "nobody"),
        ("author_name=a\nb", "author's name"),
        ("signing_key=/nowhere", "/nowhere"),
        ("name=", "name"),
    ],
)
def test_an_unusable_setting_is_named(
    project: Project, capsys: pytest.CaptureFixture[str], change: str, named: str
) -> None:
    assert named in refused(capsys, "project", "settings", "todo", change)


def test_an_archived_project_starts_nothing_and_is_listed_apart(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(make_document(project))
    make_project("Other", by=project.created_by)
    said(capsys, "project", "archive", "todo")
    rows = said(capsys, "project", "list")
    assert [(row["project"], bool(row["archived_at"])) for row in rows] == [("other", False), ("todo", True)]
    with pytest.raises(IllegalMove, match="archived"):
        runs.start_build(plan, by=project.created_by)
    with pytest.raises(IllegalMove, match="archived"):
        runs.start_planning(plan.document, by=project.created_by)
    said(capsys, "project", "unarchive", "todo")
    assert runs.start_build(plan, by=project.created_by).pk


def test_a_project_with_an_open_run_is_not_archived(capsys: pytest.CaptureFixture[str]) -> None:
    current = make_run()
    with pytest.raises(IllegalMove, match=f"Run {current.pk}"):
        projects.set_archived(current.project, True, by=current.project.created_by)


def test_a_run_is_shown_with_what_each_of_its_tasks_took(capsys: pytest.CaptureFixture[str]) -> None:
    build = make_run()
    task = build.tasks.get(key="T-01")
    counts = {"prompt_tokens": 1_000, "completion_tokens": 50}
    for key, owner in (("T-01/1", task.pk), ("T-01/2", task.pk), ("other", None)):
        record_usage(build.pk, key=key, role="coder", model="m", task_id=owner, **counts)
    found = said(capsys, "run", "show", str(build.pk))
    took = {row["key"]: (row["calls"], row["tokens"]) for row in found["by_task"]}
    assert took == {"T-01": (2, 2_100), "T-02": (0, 0)}
    assert (found["calls"], found["tokens"]) == (3, 3_150)
    assert run(["run", "show", str(build.pk)]) == 0
    shown = capsys.readouterr().out
    assert "2,100" in shown
    assert "3 model calls, 3,150 tokens" in shown
    assert "There is no run 999" in refused(capsys, "run", "show", "999")


def test_the_newest_runs_are_listed_and_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    made = [make_run().pk for _ in range(3)]
    assert [row["run"] for row in said(capsys, "history", "--limit", "2")] == [made[2], made[1]]
