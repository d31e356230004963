"""Commands that do what the pages do: confirm, answer, edit, set up, archive; also when used wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aiswe_site.cli import django as cli_django
from aiswe_site.cli.app import run
from projects.errors import IllegalMove
from projects.models import Plan, Project, Requirement
from projects.services.planning import documents, projects
from projects.services.work import approval_requests, runs
from tests.factories import make_document, make_plan, make_project, make_run, make_user, owner_of, plan_content
from tests.projects.jobs_driver import write_scenario

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is there already, and no server runs on it."""
    monkeypatch.setattr(cli_django, "start", lambda **_: None)
    monkeypatch.setattr(cli_django, "tell_worker", lambda: None)


@pytest.fixture
def project() -> Project:
    return make_project("Todo", by=make_user("ada", superuser=True))


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The document of a command."""
    assert run([*words, "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    """What a command that refuses prints for a person."""
    assert run(list(words)) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err


def suggested(project: Project) -> Any:
    document = make_document(project, confirmed=False)
    rows = [
        {"key": "FR-01", "text": "It adds.", "kind": "functional", "origin": "explicit"},
        {"key": "INF-01", "text": "It logs in.", "kind": "functional", "origin": "inferred"},
        {"key": "INF-02", "text": "It logs out.", "kind": "functional", "origin": "inferred"},
    ]
    return documents.record_extraction(document, rows, [])


def test_uploading_gives_a_project_its_next_document_and_plans_it(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_document(project)
    (file := tmp_path / "second.md").write_text("# More\n\n- FR-03: The list can be printed.\n")
    found = said(capsys, "requirements", "upload", "todo", str(file))
    newest = project.documents.first()
    assert newest is not None
    assert (found["document"], newest.version) == (newest.pk, 2)
    assert project.runs.get(pk=found["run"]).kind == "plan"
    assert "no project 'nope'" in refused(capsys, "requirements", "upload", "nope", str(file))


def test_a_document_that_replaces_another_is_shown_with_what_it_changes(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "todo.md").write_text("FR-01: The list shall be sorted.\n\nFR-02: The list shall be short.\n")
    assert "Leave out --replaces" in refused(capsys, "requirements", "upload", "todo", str(file), "--replaces")
    said(capsys, "requirements", "upload", "todo", str(file), "--adds")
    said(capsys, "requirements", "confirm", "todo")
    file.write_text("FR-01: The list shall be sorted by date.\n")
    made = said(capsys, "requirements", "upload", "todo", str(file))["documents"][0]
    assert made["replaces"] == 1
    found = said(capsys, "requirements", "show", "todo")
    assert found["replaces"] == 1
    assert found["difference"] == [
        {
            "change": "altered",
            "key": "R1",
            "before": "The list shall be sorted.",
            "after": "The list shall be sorted by date.",
        },
        {"change": "removed", "key": "R2", "before": "The list shall be short.", "after": ""},
    ]
    file.write_text("FR-03: The list shall be printed.\n")
    assert said(capsys, "requirements", "upload", "todo", str(file), "--adds")["documents"][0]["replaces"] is None


def test_each_specification_of_a_folder_becomes_a_document_that_is_named_by_its_path(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("001-cart", "FR-1 It shall keep the cart."), ("002-mail", "FR-2 It shall send mail.")):
        (tmp_path / "specs" / name).mkdir(parents=True)
        (tmp_path / "specs" / name / "spec.md").write_text(text)
    made = said(capsys, "requirements", "upload", "todo", str(tmp_path))["documents"]
    assert [one["name"] for one in made] == ["specs/001-cart/spec.md", "specs/002-mail/spec.md"]
    assert project.runs.filter(kind="plan").count() == 2
    first = "specs/001-cart/spec.md"
    assert said(capsys, "requirements", "show", "todo", "--spec", first)["document"] == made[0]["document"]
    assert said(capsys, "requirements", "confirm", "todo", "--spec", first)["accepted"] == ["R1"]
    assert [row.status for row in project.documents.order_by("version")] == ["confirmed", "uploaded"]
    assert first in refused(capsys, "requirements", "show", "todo", "--spec", "specs/003/spec.md")


def test_confirming_takes_what_is_explicit_and_the_suggestions_that_are_named(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    document = suggested(project)
    found = said(capsys, "requirements", "confirm", "todo", "--accept", "INF-02")
    assert (found["accepted"], found["rejected"]) == (["FR-01", "INF-02"], ["INF-01"])
    document.refresh_from_db()
    assert document.status == "confirmed"
    assert said(capsys, "requirements", "confirm", "todo") == found, "twice changes nothing"
    assert "confirmed already" in refused(capsys, "requirements", "confirm", "todo", "--accept", "INF-01")


def test_what_is_to_be_confirmed_is_shown_first(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no document" in refused(capsys, "requirements", "show", "todo")
    suggested(project)
    found = said(capsys, "requirements", "show", "todo")["requirements"]
    assert [(row["key"], row["origin"], row["text"]) for row in found][1:] == [
        ("INF-01", "inferred", "It logs in."),
        ("INF-02", "inferred", "It logs out."),
    ]
    assert run(["requirements", "show", "todo"]) == 0
    assert "requirements confirm todo, with --accept" in capsys.readouterr().out


def test_a_plan_is_shown_with_what_a_person_approves(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(needs={"T-01": []}, approved=False)
    plan.content["tasks"][0] |= {"description": "It adds numbers.", "files": ["calc.py", "tests/test_calc.py"]}
    plan.save(update_fields=["content"])
    assert run(["plan", "show", str(plan.pk)]) == 0
    shown = capsys.readouterr().out
    assert "T-01: It adds numbers.\n  files: calc.py tests/test_calc.py" in shown


def test_confirming_wrongly_names_the_input_and_the_way_out(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no document" in refused(capsys, "requirements", "confirm", "todo")
    suggested(project)
    words = refused(capsys, "requirements", "confirm", "todo", "--accept", "FR-9")
    assert "FR-9 is not a suggestion" in words
    assert "INF-01, INF-02" in words
    assert "no project 'nope'" in refused(capsys, "requirements", "confirm", "nope")
    assert Requirement.objects.filter(status="accepted").count() == 0


def test_a_file_may_still_follow_the_command_directly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prd.md"
    file.write_text("FR-01 The system shall store notes.\n")
    for words in (["requirements", str(file), "--json"], ["requirements", "--json", str(file)]):
        assert run(words) == 0
        assert json.loads(capsys.readouterr().out)["requirements"][0]["author_key"] == "FR-01"
    assert "does not exist" in refused(capsys, "requirements", "nope.md")


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


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_editing_a_plan_makes_a_version(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    plan = make_plan(approved=False)
    make_user("root", superuser=True)
    content = plan_content()
    content["tasks"][0]["title"] = "Another title"
    file = tmp_path / f"plan{suffix}"
    file.write_text(json.dumps({"content": content} if suffix == ".json" else content))
    found = said(capsys, "plan", "edit", str(plan.pk), str(file), "--comment", "clearer")
    newer = Plan.objects.get(pk=found["plan"])
    assert (newer.version, newer.content["tasks"][0]["title"], newer.comment) == (2, "Another title", "clearer")
    assert "The plan has changed" in refused(capsys, "plan", "edit", str(plan.pk), str(file), code=1)


def test_a_plan_that_is_not_valid_is_kept_with_its_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(approved=False)
    make_user("root", superuser=True)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_content({"T-01": ["T-02"], "T-02": ["T-01"]})))
    assert said(capsys, "plan", "edit", str(plan.pk), str(file), code=1)["status"] == "invalid"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"tasks": 3}', '{"content": []}'])
def test_what_is_no_plan_is_refused_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    plan = make_plan(approved=False)
    file = tmp_path / "plan.json"
    file.write_text(text)
    assert "plan show" in refused(capsys, "plan", "edit", str(plan.pk), str(file))
    assert Plan.objects.count() == 1


def test_without_a_terminal_and_a_file_a_plan_is_not_edited(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(approved=False)
    assert "comes from a file" in refused(capsys, "plan", "edit", str(plan.pk))


def test_variants_of_a_plan_are_compared_and_one_is_taken(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(make_document(project))
    found = said(capsys, "plan", "variants", "todo")
    assert (found["plan"], found["recommended"], found["workers"]) == (plan.pk, "current", 2)
    current, other = found["variants"][:2]
    assert (current["hash"], current["makespan"], current["covered"]) == (plan.content_hash, 60, 2)
    assert run(["plan", "variants", "todo", "--count", "1"]) == 0
    assert "Keep the current plan" in capsys.readouterr().out
    taken = said(capsys, "plan", "variants", "todo", "--take", other["name"])
    assert (taken["version"], taken["status"], taken["hash"]) == (2, "proposed", other["hash"])
    assert "nonsense" in refused(capsys, "plan", "variants", "todo", "--take", "nonsense")


@pytest.mark.django_db(transaction=True)
def test_the_planner_is_asked_for_more_plans_to_compare(
    tmp_path: Path, recordings: None, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.dumps(plan_content({"T-01": [], "T-02": [], "T-03": []}))
    replies = {"plan/planner-plan": "Three parts.", "plan/planner-structure": plan}
    project = make_project("Todo", model=write_scenario(tmp_path / "scenario", replies))
    make_plan(make_document(project))
    found = said(capsys, "plan", "variants", "todo", "--samples", "2", "--as", project.created_by.username)
    assert [row["tasks"] for row in found["variants"] if row["name"].startswith("sample-")] == [3]  # both are the same
    assert project.runs.get(kind="plan").usages.count() == 4
    assert project.plans.count() == 1


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


@pytest.mark.parametrize(
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
