"""A repository that begins with nothing has a guide for those who work on it; one that is there is left alone."""

from pathlib import Path
from typing import Any

import pytest

from projects.storage.paths import ensure_repository, repository_of
from tests.factories import make_project, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, settings: Any) -> None:
    settings.AISWE_HOME = tmp_path / "home"


def test_the_first_commit_has_a_guide_for_the_language_that_is_planned() -> None:
    run = make_run()
    run.project.house_rules = "- No ORM."
    repository = ensure_repository(run.project, run)
    head = repository.base_head()
    assert repository.files(head) == [".gitignore", "AGENTS.md", "README.md"]
    text = repository.read(head, "AGENTS.md") or ""
    assert ("python -m pytest -q" in text, "npm" in text) == (True, False)
    assert "## House rules\n\n- No ORM.\n" in text


def test_a_repository_that_is_there_gets_none() -> None:
    project = make_project("Shop")
    repository = repository_of(project)
    head = repository.ensure("Shop")
    assert ensure_repository(project).base_head() == head
    assert "AGENTS.md" not in repository.files(head)
