"""`aiswe build`: from a sentence to files, with everything real but the model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from agents.recipes.recipe import load
from aiswe_site.cli.commands.build import answer, approved, confirm, name_for, write_files
from aiswe_site.terminal.problems import CliError, WrongUse
from projects.models import Project
from projects.services.repositories.recipes import started_project
from projects.storage.paths import repository_of
from tests.agents.recipes.folders import write_recipe
from tests.aiswe_site.answers import CommandLine
from tests.aiswe_site.running import COMMAND, environment
from tests.factories import bare_run, make_document, make_plan, make_requirement, make_user, owner_of, plan_content
from tests.prepared import prepared
from tests.projects.jobs_driver import APPROVED, reply, write_scenario
from tests.tables import each_row

TESTS = "from sum_tool.sums import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
CODE = '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'
PLAN = plan_content({"T-01": []})
PLAN["tasks"][0] |= {"title": "Sums", "minutes": 10, "requirements": ["R1"], "files": ["sum_tool/sums.py"]}
REPLIES = {
    "plan/planner-infer": '{"requirements": []}',
    "plan/planner-plan": "One module does it.",
    "plan/planner-structure": json.dumps(PLAN),
    "T-01/tester-tests": reply("tests/test_sums.py", TESTS),
    "T-01/coder-code": reply("sum_tool/sums.py", CODE),
    "T-01/reviewer-review": APPROVED,
}


def build(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    model = write_scenario(home.parent / "scenario", REPLIES)
    argv = ["build", "Build a sum tool", "--recipe", "cli-python", "--model", model, *words]
    return subprocess.run(
        [*COMMAND, *argv], env=environment(prepared(home)), input="", capture_output=True, text=True, timeout=240
    )


@pytest.mark.bubblewrap
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_sentence_becomes_tested_files_that_start(tmp_path: Path) -> None:
    target = tmp_path / "out" / "sum-tool"
    done = build(tmp_path / "home", "--yes", "--json", "-o", str(target))
    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout)
    assert (found["project"], found["status"], found["tasks"]) == ("sum-tool", "finished", {"merged": 1, "of": 1})
    assert (found["recipe"], found["folder"]) == ("cli-python", str(target))
    assert found["start"] == ["python -m sum_tool --help"]
    assert (target / "sum_tool" / "sums.py").read_text() == CODE
    assert (target / "tests" / "test_cli.py").is_file()
    assert "T-01: Sums (10 min)" in done.stderr
    assert [path.name for path in target.parent.iterdir()] == ["sum-tool"]
    started = subprocess.run([sys.executable, "-m", "sum_tool", "--help"], cwd=target, capture_output=True, text=True)
    assert started.returncode == 0
    assert "Sum tool" in started.stdout


@pytest.mark.django_db
def test_a_no_builds_nothing_and_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    plan = make_plan(approved=False)
    monkeypatch.setattr("click.confirm", lambda question, **_: question != "Build this?")
    with pytest.raises(CliError, match="Nothing is built") as refused:
        approved(plan, owner_of(plan.project), yes=False)
    assert f"aiswe plan edit {plan.pk}" in refused.value.hint
    plan.refresh_from_db()
    assert plan.status == plan.Status.PROPOSED
    assert all(task["title"] in capsys.readouterr().err for task in plan.content["tasks"][:1])


@pytest.mark.django_db
def test_several_requirements_are_shown_and_confirmed_and_suggestions_stay_suggestions(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    document = make_document(confirmed=False)
    make_requirement(document, "S1", text="Keep moments in UTC.", origin="implied", status="proposed")
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    with pytest.raises(CliError, match="Nothing is planned") as refused:
        confirm(document, owner_of(document.project), yes=False)
    assert "aiswe requirements confirm" in refused.value.hint
    confirm(document, owner_of(document.project), yes=True)
    shown = capsys.readouterr().err
    assert "FR-02: The user shall mark a to-do as done." in shown
    assert "S1, suggested and not planned: Keep moments in UTC." in shown
    document.refresh_from_db()
    assert document.status == "confirmed"
    assert document.requirements.get(key="S1").status == "proposed"


@pytest.mark.django_db
def test_what_a_build_waits_for_is_said_once(tmp_path: Path, settings: Any, capsys: Any) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    with started_project("Sum tool", by=make_user(), recipe=load("cli-python")) as project:
        plan = make_plan(make_document(project))
    run = bare_run(project)
    run.status, run.why_detail = run.Status.NEEDS_YOU, "T-01 changes a test"
    run.save()
    for why, said in ((run.why, [run.why]), ("the worker ended", ["the worker ended", run.why])):
        with click.Context(click.Command("build")):
            assert answer(run, plan, why, None) == 1
        shown = capsys.readouterr().out.splitlines()
        assert [line for line in shown if line in ("the worker ended", run.why)] == said


@pytest.mark.django_db
def test_files_are_never_written_over_others(tmp_path: Path, settings: Any) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    with started_project("Sum tool", by=make_user(), recipe=load("cli-python")) as project:
        head = repository_of(project).base_head()
    full, empty = tmp_path / "full", tmp_path / "empty"
    for folder in (full, empty):
        folder.mkdir()
    (full / "mine").write_text("x")
    with pytest.raises(WrongUse, match="cannot be written"):
        write_files(project, head, full)
    write_files(project, head, empty)
    assert [path.name for path in full.iterdir()] == ["mine"]
    assert (empty / "sum_tool" / "cli.py").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "full", "home"]


def test_recipes_are_listed_and_shown_with_their_origin(tmp_path: Path, cli: CommandLine) -> None:
    folder = write_recipe(tmp_path / "own", {"plan.md": "Begin small.\n"})
    assert "service-fastapi" in [one["name"] for one in cli.answers("recipes", "list")]
    shown = cli.prints("recipes", "show", str(folder))
    assert cli.err == ""
    for words in ("Tiny (own)", str(folder), "README.md", "Begin small."):
        assert words in shown
    (folder / "recipe.toml").unlink()
    assert "has no recipe.toml" in cli.answers("recipes", "show", str(folder), code=2)["error"]


@pytest.mark.django_db
@pytest.mark.usefixtures("in_process")
def test_what_cannot_be_done_is_refused_before_anything_is_made(tmp_path: Path, cli: CommandLine) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    words = ("build", "Build a sum tool", "--recipe", "cli-python")
    assert "is not an empty folder" in cli.refuses(*words, "-o", str(full), "--yes")
    assert "A plan asks for a yes" in cli.answers(*words, code=2)["error"]
    assert "There is no recipe 'nope'" in cli.refuses(*words, "--recipe", "nope", "--yes")
    assert not Project.objects.exists()
    assert (full / "mine").read_text() == "x"


@each_row(
    ("text", "name"),
    [
        ("Build a CRM", "CRM"),
        ("please make me an address book. It sorts by name.", "Address book"),
        ("CRM.", "CRM"),
        ("# Sales summary\n\nA script.", "Sales summary"),
        ("A tool that renames photos: by date", "A tool that renames photos"),
        ("Write " + "very long " * 20, "Very long very long very long very long very long very long"),
        ("x" * 80, "X" + "x" * 59),
    ],
)
def test_a_project_is_named_after_the_wish(text: str, name: str) -> None:
    assert name_for(text) == name
