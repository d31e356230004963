"""The recording of a model that knows upstream's change."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agents.planning.parse import parse_plan
from agents.rehearsal import replies
from agents.rehearsal.replies import write_replies
from agents.rehearsal.upstream import suitable, text_at
from agents.replies.edit import apply_edit
from agents.replies.parse import parse_reply
from tests.agents.rehearsal.history import ABSOLUTE, COINS, MORE, commit, first_commit


def test_the_recording_plans_and_writes_upstreams_files(tmp_path: Path) -> None:
    first_commit(tmp_path / "repository")
    commit(tmp_path / "repository", "Count coins that are owed", {"coins.py": ABSOLUTE, "test_coins.py": MORE})
    git_dir, folder = tmp_path / "repository" / ".git", tmp_path / "recording"
    (change,) = suitable(git_dir, newest=1)
    write_replies(folder, change, ["FR-1"], partial(text_at, git_dir))
    plan, problems = parse_plan(json.loads((folder / "plan" / "planner-structure.md").read_text()))
    assert plan is not None
    assert problems == []
    assert [(task.requirements, task.files) for task in plan.tasks] == [(("FR-1",), ("coins.py", "test_coins.py"))]
    code = parse_reply((folder / "T-01" / "coder-code.md").read_text())
    assert {file.path: file.content.rstrip("\n") for file in code.files} == {"coins.py": ABSOLUTE.rstrip("\n")}
    tests = parse_reply((folder / "T-01" / "tester-tests.md").read_text())
    assert [file.path for file in tests.files] == ["test_coins.py"]


lines = st.lists(
    st.sampled_from(["a = 1", "b = 2", "", "def f():", "    return a", "c = [1]"]), min_size=1, max_size=30
)


@given(lines, lines)
def test_the_edits_of_a_long_file_turn_it_into_upstreams(before: list[str], after: list[str]) -> None:
    old, new = ("\n".join([*(f"x{number} = 0" for number in range(3)), *text, ""]) for text in (before, after))
    written = replies._edits(old, new)
    made = old if "<<<<<<< SEARCH" in written or old == new else new
    for edit in parse_reply(f"```python path=coins.py\n{written}```\n").edits:
        made = apply_edit(made, edit)
    assert made == new


def test_of_a_long_file_only_what_changes_is_sent() -> None:
    old = "".join(f"line_{number} = {number}\n" for number in range(2_000))
    new = old.replace("line_7 = 7\n", "line_7 = 70\n").replace("line_900 = 900\n", "")
    written = replies._edits(old, new)
    assert written.count("<<<<<<< SEARCH") == 2
    assert len(written) < 300


def test_a_fence_is_longer_than_any_in_the_file(tmp_path: Path) -> None:
    first_commit(tmp_path)
    fenced = f'"""Coins.\n\n```\ntotal([1])\n```\n"""{COINS.partition(chr(34) * 3 + "Coins." + chr(34) * 3)[2]}'
    commit(tmp_path, "Show how coins are counted", {"coins.py": fenced, "test_coins.py": MORE})
    (change,) = suitable(tmp_path / ".git", newest=1)
    write_replies(tmp_path / "recording", change, ["FR-1"], partial(text_at, tmp_path / ".git"))
    reply = parse_reply((tmp_path / "recording" / "T-01" / "coder-code.md").read_text())
    assert [file.content.rstrip("\n") for file in reply.files] == [fenced.rstrip("\n")]
