"""The page of a project's rehearsals says what came of its past commits, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.rehearsal.results import CommitResult
from projects.services.insight.rehearsals import Order, RehearsalFolder
from projects.storage.paths import repository_of
from tests.dashboard.story import Story

pytestmark = pytest.mark.django_db
WORKED = {"environment": "works", "tries": 1, "seconds": 75.0, "sight": {"files": [1, 2]}}


@pytest.fixture
def rehearse(story: Story, settings: Any, tmp_path: Path) -> Callable[..., None]:
    settings.AISWE_HOME = tmp_path

    def keep(name: str, model: str, *results: CommitResult) -> None:
        folder = RehearsalFolder(tmp_path / "rehearsals" / name)
        with folder.taken():
            folder.begin(Order(str(repository_of(story.project).git_dir.resolve()), ("a" * 40, "b" * 40), model))
        for result in results:
            folder.keep(result)

    return keep


@pytest.mark.usefixtures("rehearse")
def test_without_one_it_names_the_command(page: Callable[..., str], story: Story) -> None:
    assert f"<code>aiswe rehearse {story.project.slug}</code>" in page("rehearsals", story.project.pk)


def test_it_shows_what_to_expect_and_each_commit_as_it_came_out(
    page: Callable[..., str], story: Story, rehearse: Callable[..., None]
) -> None:
    good = CommitResult("a" * 40, "Add <b>coins</b>", outcome="merged", resolved=True, first_try=True, **WORKED)
    bad = CommitResult("b" * 40, "Count them", outcome="merged", resolved=False, asked=["gate: exec"], **WORKED)
    rehearse("one", "small:7b", good, bad)
    text = page("rehearsals", story.project.pk)
    for words in (
        "Built by small:7b",
        "2 of 2 done",
        "1 of 2 came out right, so of 100 changes like these, 9 to 91 can be expected to",
        "Plan + gates",
        "2 of 4 in the prompts",
        "Add &lt;b&gt;coins&lt;/b&gt;",
        "merged, but their tests fail",
        "1 min 15 s",
    ):
        assert words in text


def test_of_one_that_goes_on_it_says_how_far_it_is_and_other_repositories_are_left_out(
    page: Callable[..., str], story: Story, rehearse: Callable[..., None], tmp_path: Path
) -> None:
    rehearse("one", "", CommitResult("a" * 40, "Add coins", outcome="looked_at", **WORKED))
    other = RehearsalFolder(tmp_path / "rehearsals" / "two")
    with other.taken():
        other.begin(Order("/elsewhere/.git", ("c" * 40,), "reference"))
    (tmp_path / "rehearsals" / "torn").mkdir()
    (tmp_path / "rehearsals" / "torn" / "order.json").write_text("{")
    text = page("rehearsals", story.project.pk)
    assert "1 of 2 done" in text
    assert "No model has been tried." in text
    assert "Their own change" not in text
    assert "Merged at the first try" not in text
