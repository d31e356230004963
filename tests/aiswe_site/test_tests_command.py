"""`aiswe tests write`: tests for a module of a project, shown as a diff or put on a branch."""

from __future__ import annotations

import json

import pytest

from aiswe_site.cli import django as cli_django
from aiswe_site.cli.app import run
from projects.engine.places import repository_of
from projects.models.project import RECORDING
from projects.services import projects
from tests.agents.nodes.support import code
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]

MODULE = "def grade(points):\n    return 'A' if points > 89 else 'B'\n"
TESTS = "from grade import grade\n\n\ndef test_bounds():\n    assert (grade(90), grade(89)) == ('A', 'B')\n"


@pytest.fixture
def project(monkeypatch, settings, tmp_path):
    monkeypatch.setattr(cli_django, "start", lambda migrate=True: None)
    settings.AISWE_HOME = tmp_path / "home"
    scenario = tmp_path / "scenario"
    (scenario / "TESTS").mkdir(parents=True)
    (scenario / "scenario.toml").write_text(
        'name = "t"\ntitle = "t"\ndescription = "d"\nmodel = "m"\nrecorded = true\n'
    )
    (scenario / "TESTS" / "tester-module.md").write_text(code("tests/test_grade.py", TESTS))
    made = projects.create_project("Marks", by=make_user("root", superuser=True), model=f"{RECORDING}{scenario}")
    repository = repository_of(made)
    base = repository.ensure("Marks")
    tree = repository.worktree("start", base)
    tree.write({"grade.py": MODULE})
    repository.fast_forward(tree.commit(base, "Start", "", {}))
    return made


def test_they_are_shown_as_a_diff_and_put_on_a_branch_that_the_gates_let_through(project, capsys):
    assert run(["tests", "write", project.slug, "grade", "--branch", "tests/grade"]) == 0
    said = capsys.readouterr().out
    assert "+def test_bounds():" in said
    assert "branches 0 → 100 %" in said
    assert "On the branch tests/grade." in said
    repository = repository_of(project)
    assert "tests/test_grade.py" in repository.files("tests/grade")
    assert "tests/test_grade.py" not in repository.files(repository.head())


def test_a_module_that_is_not_there_is_wrong_use_and_names_what_is(project, capsys):
    assert run(["tests", "write", project.slug, "grades"]) == 2
    assert "there are: grade.py" in capsys.readouterr().err


def test_a_project_that_is_not_there_is_wrong_use(project, capsys):
    assert run(["tests", "write", "nobody", "grade"]) == 2
    assert "no project 'nobody'" in capsys.readouterr().err


def test_a_target_that_was_not_met_ends_with_one(project, capsys):
    repository = repository_of(project)
    base = repository.head()
    tree = repository.worktree("start", base)
    tree.write({"grade.py": MODULE + "\n\ndef other(a):\n    if a:\n        return 1\n    return 2\n" * 2})
    repository.fast_forward(tree.commit(base, "More", "", {}))
    assert run(["tests", "write", project.slug, "grade", "--rounds", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["met"], found["passed"], found["branch"]) == (False, 1, "")


def test_a_branch_that_is_there_is_not_moved(project, capsys):
    assert run(["tests", "write", project.slug, "grade", "--branch", "main"]) == 1
    assert "already exists" in capsys.readouterr().err
