"""Commands that do what the pages do: confirm, answer, edit, set up, archive; also when used wrongly."""

from __future__ import annotations

import pytest

from agents.engine.waiting import WaitReason
from projects.errors import IllegalMove
from projects.models import Project
from projects.services.planning import projects, runs
from projects.services.work import approval_requests
from projects.services.work.moves import move_run
from projects.services.work.usage import record_usage
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_document, make_plan, make_project, make_run, make_user, owner_of
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


def test_the_facts_of_a_question_are_shown_as_words(project: Project, cli: CommandLine) -> None:
    facts = {
        "rich": {"releases": 9, "status": "", "scripts": [], "age_days": 12, "warnings": ["It is new.", "It is odd."]}
    }
    asked = approval_requests.ask(project, kind="package", subject="rich", title="Use it?", payload={"facts": facts})
    shown = cli.prints("approvals", "show", str(asked.pk))
    assert "  facts:\n    rich: releases 9, age days 12, warnings It is new. It is odd.\n" in shown


def test_questions_are_listed_shown_and_answered_once(project: Project, cli: CommandLine) -> None:
    asked = approval_requests.ask(project, kind="package", subject="rich", title="Use rich?", why="It is asked for.")
    number = str(asked.pk)
    assert [row["approval"] for row in cli.answers("approvals", "list", "--project", "todo")] == [asked.pk]
    assert cli.answers("approvals", "show", number)["why"] == "It is asked for."
    assert "needs a reason" in cli.refuses("approvals", "answer", number, "no")
    assert cli.answers("approvals", "answer", number, "no", "--reason", "too large")["status"] == "rejected"
    assert "was rejected" in cli.refuses("approvals", "answer", number, "yes", code=1)
    assert cli.answers("approvals", "list") == []
    assert cli.answers("approvals", "list", "--all")[0]["decided_by"] == "ada"
    assert "There is no question 999" in cli.refuses("approvals", "show", "999")
    assert "perhaps" in cli.refuses("approvals", "answer", number, "perhaps")


def test_a_run_that_waits_for_its_requirements_is_listed_with_the_command_that_goes_on(
    project: Project, cli: CommandLine
) -> None:
    planning = runs.start_planning(make_document(project, confirmed=False), by=project.created_by)
    move_run(planning, "running")
    move_run(planning, "needs_you", wait=WaitReason.CONFIRMATION)
    make_project("Other", by=project.created_by)
    for words in (["list"], ["list", "--project", "todo"]):
        shown = cli.prints("approvals", *words)
        assert f"Run {planning.pk} of Todo, {planning.document}: needs you: confirm the requirements\n" in shown
        assert "Next: aiswe requirements show todo, then aiswe requirements confirm todo\n" in shown
    make_user("eve", role="viewer", project=project)
    for words in (["list", "--project", "other"], ["list", "--as", "eve"]):
        assert cli.prints("approvals", *words) == "Nothing waits for an answer.\n"


def test_a_plan_that_is_approved_as_a_question_says_how_to_build_it(cli: CommandLine) -> None:
    plan = make_plan(needs={"T-01": []}, approved=False)
    number = str(plan.project.approvals.get(kind="plan").pk)
    shown = cli.prints("approvals", "answer", number, "yes", "--as", owner_of(plan.project).username)
    assert f"Next: aiswe run start {plan.pk}" in shown


def test_changed_tests_are_shown_as_differences(project: Project, cli: CommandLine) -> None:
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
    shown = cli.prints("approvals", "show", str(asked.pk))
    assert "t.py: test_a\n@@ -1,2 +1,2 @@\n def test_a():\n-    assert 1\n+    assert 2\n" in shown
    assert shown.count(lines[0]) == 1


def test_settings_are_shown_and_changed(project: Project, cli: CommandLine) -> None:
    changes = [
        "autonomy=plan_only",
        "author_name=Ada",
        "author_email=ada@example.org",
        "sign_off=yes",
        "model=scripted:household",
    ]
    found = cli.answers("project", "settings", "todo", *changes)["settings"]
    assert (found["autonomy"], found["author_email"], found["sign_off"]) == ("plan_only", "ada@example.org", True)
    assert cli.answers("project", "settings", "todo")["settings"] == found
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
def test_an_unusable_setting_is_named(project: Project, cli: CommandLine, change: str, named: str) -> None:
    assert named in cli.refuses("project", "settings", "todo", change)


def test_an_archived_project_starts_nothing_and_is_listed_apart(project: Project, cli: CommandLine) -> None:
    plan = make_plan(make_document(project))
    make_project("Other", by=project.created_by)
    cli.answers("project", "archive", "todo")
    rows = cli.answers("project", "list")
    assert [(row["project"], bool(row["archived_at"])) for row in rows] == [("other", False), ("todo", True)]
    with pytest.raises(IllegalMove, match="archived"):
        runs.start_build(plan, by=project.created_by)
    with pytest.raises(IllegalMove, match="archived"):
        runs.start_planning(plan.document, by=project.created_by)
    cli.answers("project", "unarchive", "todo")
    assert runs.start_build(plan, by=project.created_by).pk


def test_a_project_with_an_open_run_is_not_archived(cli: CommandLine) -> None:
    current = make_run()
    with pytest.raises(IllegalMove, match=f"Run {current.pk}"):
        projects.set_archived(current.project, True, by=current.project.created_by)


def test_a_run_is_shown_with_what_each_of_its_tasks_took(cli: CommandLine) -> None:
    build = make_run()
    task = build.tasks.get(key="T-01")
    counts = {"prompt_tokens": 1_000, "completion_tokens": 50}
    for key, owner in (("T-01/1", task.pk), ("T-01/2", task.pk), ("other", None)):
        record_usage(build.pk, key=key, role="coder", model="m", task_id=owner, **counts)
    found = cli.answers("run", "show", str(build.pk))
    took = {row["key"]: (row["calls"], row["tokens"]) for row in found["by_task"]}
    assert took == {"T-01": (2, 2_100), "T-02": (0, 0)}
    assert (found["calls"], found["tokens"]) == (3, 3_150)
    shown = cli.prints("run", "show", str(build.pk))
    assert "2,100" in shown
    assert "3 model calls, 3,150 tokens" in shown
    assert "There is no run 999" in cli.refuses("run", "show", "999")


def test_the_newest_runs_are_listed_and_come_first(cli: CommandLine) -> None:
    made = [make_run().pk for _ in range(3)]
    assert [row["run"] for row in cli.answers("history", "--limit", "2")] == [made[2], made[1]]
