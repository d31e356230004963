"""`aiswe plan`: show, check, edit, compare; also when used wrongly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiswe_site.cli.app import run
from projects.models import Plan, Project, SiteEvent
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_document, make_plan, make_project, make_user, plan_content
from tests.projects.jobs_driver import write_scenario
from tests.rows import undone
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


def task(key: str, *needs: str) -> dict[str, Any]:
    return {**plan_content({key: needs})["tasks"][0], "requirements": ["FR-01"]}


@pytest.fixture
def plan_file(tmp_path: Path) -> Callable[..., str]:
    def write(*tasks: dict[str, Any]) -> str:
        path = tmp_path / "plan.json"
        path.write_text(json.dumps({"tasks": list(tasks), "notes": ""}))
        return str(path)

    return write


def test_a_sound_plan_is_valid_and_has_a_hash(plan_file: Callable[..., str], cli: CommandLine) -> None:
    found = cli.answers("plan", "validate", plan_file(task("T-01"), task("T-02", "T-01")))
    assert set(found) == {"valid", "problems", "hash"}
    assert found["valid"] is True
    assert re.fullmatch("[0-9a-f]{64}", found["hash"])


def test_the_need_between_two_tasks_that_write_one_file_is_named_as_it_will_be_added(
    plan_file: Callable[..., str], cli: CommandLine
) -> None:
    path = plan_file(*(task(key) | {"files": ["app.py"]} for key in ("T-01", "T-02")))
    found = cli.answers("plan", "validate", path)
    assert [problem["message"] for problem in found["problems"]] == [
        "T-02 now needs T-01: both write app.py, so one has to follow the other."
    ]


def test_a_cycle_is_named(plan_file: Callable[..., str], cli: CommandLine) -> None:
    path = plan_file(task("T-01", "T-02"), task("T-02", "T-01"))
    found = cli.answers("plan", "validate", path, code=1)
    assert found["valid"] is False
    assert any({"T-01", "T-02"} == set(problem["tasks"]) for problem in found["problems"])


def test_a_plan_is_held_against_its_document(plan_file: Callable[..., str], prd: str, cli: CommandLine) -> None:
    assert "R2" in cli.prints("plan", "validate", plan_file(task("T-01")), "--prd", prd, "--json", code=1)


@given(text=st.text(max_size=300))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_makes_plan_validate_stumble(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "any.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert run(["plan", "validate", str(path), "--json"]) in (0, 1)
    captured = capsys.readouterr()
    assert isinstance(json.loads(captured.out)["valid"], bool)
    assert "inside aiswe" not in captured.err


def test_a_plan_is_shown_with_what_a_person_approves(cli: CommandLine) -> None:
    plan = make_plan(needs={"T-01": []}, approved=False)
    plan.content["tasks"][0] |= {"description": "It adds numbers.", "files": ["calc.py", "tests/test_calc.py"]}
    plan.save(update_fields=["content"])
    shown = cli.prints("plan", "show", str(plan.pk))
    assert "T-01: It adds numbers.\n  files: calc.py tests/test_calc.py" in shown


def test_plans_are_listed_and_an_unknown_number_says_so(project: Project, cli: CommandLine) -> None:
    assert "No plans yet" in cli.prints("plan", "list")
    make_plan()
    plan = make_plan(make_document(project))
    (row,) = cli.answers("plan", "list", "--project", "todo")
    assert (row["plan"], row["version"], row["status"], row["tasks"]) == (plan.pk, 1, "approved", 2)
    assert [one["plan"] for one in cli.answers("plan", "list")] == [plan.pk, plan.pk - 1]
    assert "`aiswe plan list` lists them" in cli.refuses("plan", "show", "99")


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_editing_a_plan_makes_a_version(tmp_path: Path, cli: CommandLine, suffix: str) -> None:
    plan = make_plan(approved=False)
    make_user("root", superuser=True)
    content = plan_content()
    content["tasks"][0]["title"] = "Another title"
    file = tmp_path / f"plan{suffix}"
    file.write_text(json.dumps({"content": content} if suffix == ".json" else content))
    found = cli.answers("plan", "edit", str(plan.pk), str(file), "--comment", "clearer")
    newer = Plan.objects.get(pk=found["plan"])
    assert (newer.version, newer.content["tasks"][0]["title"], newer.comment) == (2, "Another title", "clearer")
    assert "The plan has changed" in cli.refuses("plan", "edit", str(plan.pk), str(file), code=1)


def test_a_plan_that_is_not_valid_is_refused_as_on_the_page(tmp_path: Path, cli: CommandLine) -> None:
    plan = make_plan(approved=False)
    make_user("root", superuser=True)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_content({"T-01": ["T-02"], "T-02": ["T-01"]})))
    words = cli.refuses("plan", "edit", str(plan.pk), str(file), code=1)
    assert "T-01 → T-02 → T-01" in words
    assert str(file) in words
    assert Plan.objects.count() == 1
    assert SiteEvent.objects.filter(action="plan.refused").count() == 1


@each_row("text", ["", "{", "[]", "{}", '{"tasks": 3}', '{"content": []}'])
@undone()
def test_what_is_no_plan_is_refused_and_nothing_is_made(tmp_path: Path, cli: CommandLine, text: str) -> None:
    plan = make_plan(approved=False)
    file = tmp_path / "plan.json"
    file.write_text(text)
    assert "plan show" in cli.refuses("plan", "edit", str(plan.pk), str(file))
    assert Plan.objects.count() == 1


def test_without_a_terminal_and_a_file_a_plan_is_not_edited(cli: CommandLine) -> None:
    plan = make_plan(approved=False)
    assert "comes from a file" in cli.refuses("plan", "edit", str(plan.pk))


def test_variants_of_a_plan_are_compared_and_one_is_taken(project: Project, cli: CommandLine) -> None:
    plan = make_plan(make_document(project))
    found = cli.answers("plan", "variants", "todo")
    assert (found["plan"], found["recommended"], found["workers"]) == (plan.pk, "current", 2)
    current, other = found["variants"][:2]
    assert (current["hash"], current["makespan"], current["covered"]) == (plan.content_hash, 60, 2)
    assert "Keep the current plan" in cli.prints("plan", "variants", "todo", "--count", "1")
    taken = cli.answers("plan", "variants", "todo", "--take", other["name"])
    assert (taken["version"], taken["status"], taken["hash"]) == (2, "proposed", other["hash"])
    assert "nonsense" in cli.refuses("plan", "variants", "todo", "--take", "nonsense")


@pytest.mark.django_db(transaction=True)
def test_the_planner_is_asked_for_more_plans_to_compare(tmp_path: Path, recordings: None, cli: CommandLine) -> None:
    plan = json.dumps(plan_content({"T-01": [], "T-02": [], "T-03": []}))
    replies = {"plan/planner-plan": "Three parts.", "plan/planner-structure": plan}
    project = make_project("Todo", model=write_scenario(tmp_path / "scenario", replies))
    make_plan(make_document(project))
    found = cli.answers("plan", "variants", "todo", "--samples", "2", "--as", project.created_by.username)
    assert [row["tasks"] for row in found["variants"] if row["name"].startswith("sample-")] == [3]  # both are the same
    assert project.runs.get(kind="plan").usages.count() == 4
    assert project.plans.count() == 1
