"""Which past commits can be done again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.rehearsal.upstream import PastCommit, spread, suitable, text_at
from agents.requirements.extract import extract
from agents.workspace.git import GitError
from tests.agents.rehearsal.history import ABSOLUTE, COINS, MORE, TEST, commit, first_commit
from tests.tables import each_row


def changed(folder: Path, message: str, **files: str | bytes | None) -> list[PastCommit]:
    first_commit(folder)
    commit(folder, message, {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()})
    return suitable(folder / ".git", newest=1)


def test_a_change_of_code_and_tests_is_chosen_with_what_its_message_says(tmp_path: Path) -> None:
    message = "Count coins that are owed (#12)\n\nThey were taken off.\n\nCo-authored-by: A <a@example.org>\n"
    (change,) = changed(tmp_path, message, coins_dot_py=ABSOLUTE, test_coins_dot_py=MORE, docs__coins_dot_md="Coins.\n")
    assert (change.code, change.tests, change.pages) == (("coins.py",), ("test_coins.py",), ("docs/coins.md",))
    assert (change.wish, change.story, change.lines) == ("Count coins that are owed", "They were taken off.", 2)
    assert text_at(tmp_path / ".git", change.parent, "coins.py") == COINS
    assert text_at(tmp_path / ".git", change.parent, "docs/coins.md") is None


def test_the_document_of_a_change_asks_for_what_its_message_says(tmp_path: Path) -> None:
    (change,) = changed(tmp_path, "Count coins that are owed", coins_dot_py=ABSOLUTE, test_coins_dot_py=MORE)
    assert [row.text for row in extract(change.document).requirements] == ["Count coins that are owed"]


@each_row(
    ("why", "files"),
    [
        ("no test", {"coins_dot_py": ABSOLUTE}),
        ("no code", {"test_coins_dot_py": MORE}),
        ("settings", {"coins_dot_py": ABSOLUTE, "test_coins_dot_py": MORE, "setup_dot_cfg": "[metadata]\n"}),
        ("no text", {"coins_dot_py": ABSOLUTE, "test_coins_dot_py": MORE, "coin_dot_png": b"\x89PNG\0\1"}),
        ("a file is removed", {"coins_dot_py": ABSOLUTE, "test_coins_dot_py": MORE, "till_dot_py": None}),
        ("much code", {"coins_dot_py": ABSOLUTE + "x = 1\n" * 130, "test_coins_dot_py": MORE}),
        ("hardly a test", {"coins_dot_py": ABSOLUTE, "test_coins_dot_py": TEST.replace("3", "4 - 1")}),
    ],
)
def test_a_commit_that_its_message_does_not_tell_is_left_out(
    why: str, files: dict[str, str | bytes | None], tmp_path: Path
) -> None:
    assert changed(tmp_path, "Change coins", **files) == [], why


def test_a_merge_and_the_first_commit_are_left_out(tmp_path: Path) -> None:
    first_commit(tmp_path)
    assert suitable(tmp_path / ".git") == []


def test_a_branch_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    first_commit(tmp_path)
    with pytest.raises(GitError, match="elsewhere"):
        suitable(tmp_path / ".git", "elsewhere")


def change_in(folder: str, number: int) -> PastCommit:
    return PastCommit(f"{number:040}", "0" * 40, f"Change {number}", "", (f"{folder}/a.py",), ("test_a.py",), (), 3)


def test_commits_are_spread_over_time_and_over_folders() -> None:
    history = [change_in("core" if number % 4 else "edge", number) for number in range(20)]
    chosen = spread(history, 5)
    assert [history.index(change) // 4 for change in chosen] == [0, 1, 2, 3, 4]
    folders = [change.code[0] for change in chosen]
    assert {folders.count("core/a.py"), folders.count("edge/a.py")} == {2, 3}
    assert spread(history, 5) == chosen
    assert spread(history[:3], 5) == history[:3]
