"""`aiswe project import`: code that is there comes in, and wrong sources are answered in one sentence."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from projects.engine import baseline
from projects.models import Approval, Baseline, Project
from projects.services.work.approval_requests import ask
from tests.aiswe_site.answers import CommandLine
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def here(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, in_process: None) -> Path:
    """The data folder is the test's own, and so is the current folder."""
    settings.AISWE_HOME = tmp_path / "home"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@each_row(
    ("source", "says"),
    [
        ("", "Name a folder, an archive or a git address."),
        ("nowhere", "There is no folder or archive 'nowhere', and it is not a git address."),
        ("empty", "empty holds no files."),
        ("empty.tar.gz", "empty.tar.gz holds no files."),
        ("words.txt", "words.txt cannot be unpacked: it is not a complete zip or tar archive."),
        ("me@example", "The address cannot be read: write it as https://host/path or ssh://user@host/path."),
        ("git://example.org/shop", "Only https and ssh addresses are fetched from, not git."),
    ],
)
def test_a_source_that_is_none_is_answered_in_one_sentence(
    here: Path, source: str, says: str, cli: CommandLine
) -> None:
    (here / "empty").mkdir(exist_ok=True)
    (here / "words.txt").write_text("hello\n")
    tarfile.open(here / "empty.tar.gz", "w:gz").close()
    assert cli.refuses("project", "import", source) == f"✕ {says}\n"
    assert not Project.objects.exists()


@pytest.fixture
def shop(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code; its tests are not run, but counted as these."""
    (here / "shop").mkdir()
    (here / "shop" / "test_a.py").write_text("def test_a():\n    assert 0\n")
    counts = {"passed": 3, "failed": 1, "errors": 0, "skipped": 2, "failing": {"test_a.py::test_a": "assert 0"}}

    def measured(project: Project, commit: str = "") -> Baseline:
        return Baseline.objects.create(project=project, commit="a" * 40, status="ready", tests=counts, seconds=1.5)

    monkeypatch.setattr(baseline, "measure", measured)
    return here / "shop"


def test_the_tests_that_fail_already_are_named(shop: Path, cli: CommandLine) -> None:
    shown = cli.prints("project", "import", str(shop))
    assert "Tests: 3 passed, 1 failed, 0 errors, 2 skipped in 1.5 s" in shown
    assert "Known failures, which do not count: test_a.py::test_a" in shown


def test_a_second_project_of_the_same_name_is_noted(shop: Path, cli: CommandLine) -> None:
    cli.prints("project", "import", str(shop))
    assert "called" not in cli.err
    cli.prints("project", "import", str(shop))
    assert "There is a project called shop already: the short name of this one is shop-2." in cli.err


def test_a_question_comes_with_the_command_that_answers_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch, cli: CommandLine
) -> None:
    def asked(project: Project, commit: str = "") -> Baseline:
        ask(project, kind="package", subject="odd", title="Install odd?")
        failing = {"tests": {"errors": 1, "failing": {"test_a.py": ""}}}
        return Baseline.objects.create(project=project, commit="a" * 40, problem="Waits for an answer.", **failing)

    monkeypatch.setattr(baseline, "measure", asked)
    shown = cli.prints("project", "import", str(shop), code=1)
    number = Approval.objects.get().pk
    assert f"Question {number}: Install odd?\n" in shown
    assert "Known failures" not in shown
    assert f"Answer it: aiswe approvals answer {number} yes|no; then: aiswe project measure shop\n" in shown
