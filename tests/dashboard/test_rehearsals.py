"""The page of a project's rehearsals says what came of its past commits, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from projects.services.insight.rehearsals import Order, RehearsalFolder
from tests.dashboard.rehearsed import BAD, GOOD, rehearsed
from tests.dashboard.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _home_of_its_own(settings: Any, tmp_path: Path) -> None:
    settings.AISWE_HOME = tmp_path


def test_without_one_it_names_the_command(page: Callable[..., str], story: Story) -> None:
    assert f"<code>aiswe rehearse {story.project.slug}</code>" in page("rehearsals", story.project.pk)


def test_it_shows_what_to_expect_and_each_commit_as_it_came_out(page: Callable[..., str], story: Story) -> None:
    rehearsed(story.project, "one", "small:7b", GOOD, BAD)
    text = page("rehearsals", story.project.pk)
    for words in (
        "Built by small:7b",
        "2 of 5 done",
        "1 of 2 came out right, so of 100 changes like these, 9 to 91 can be expected to",
        "Plan + gates",
        "2 of 4 in the prompts",
        "Add &lt;b&gt;coins&lt;/b&gt;",
        "merged, but their tests fail",
        "1 min 15 s",
    ):
        assert words in text


def test_other_repositories_and_what_cannot_be_read_are_left_out(
    page: Callable[..., str], story: Story, tmp_path: Path
) -> None:
    rehearsed(story.project, "one", "", replace(GOOD, outcome="looked_at"))
    other = RehearsalFolder(tmp_path / "rehearsals" / "two")
    with other.taken():
        other.begin(Order("/elsewhere/.git", ("c" * 40,), "reference"))
    (tmp_path / "rehearsals" / "torn").mkdir()
    (tmp_path / "rehearsals" / "torn" / "order.json").write_text("{")
    text = page("rehearsals", story.project.pk)
    assert "1 of 5 done" in text
    assert "No model has been tried." in text
    assert "own change in place" not in text
    assert "Merged at the first try" not in text
