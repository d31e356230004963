"""Unified diffs of existing files: applied where their lines occur exactly once, refused with a reason elsewhere."""

import difflib
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replies.apply import apply_reply
from agents.replies.diffs import is_diff, read_diff
from agents.replies.parse import parse_reply
from agents.replies.types import Reply
from tests.sizes import scaled
from tests.tables import each_row

OLD = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a\n"
NEW = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"


def fenced(diff: str, info: str = "diff") -> str:
    return f"Here is the change.\n\n```{info}\n{diff}```\n"


def unified(old: str, new: str, path: str = "calc.py", context: int = 3) -> str:
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}", n=context)
    return "".join(lines)


@each_row(("info", "context"), product(["diff", "patch", "diff path=calc.py"], [1, 3]))
def test_a_diff_of_an_existing_file_is_applied(info, context):
    reply = parse_reply(fenced(unified(OLD, NEW, context=context), info))
    assert apply_reply(reply, {"calc.py": OLD}).files == {"calc.py": NEW}
    assert reply.problems == []


def test_wrong_line_numbers_do_not_matter_and_the_fence_may_name_the_file():
    diff = "@@ -100,2 +100,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
    applied = apply_reply(parse_reply(fenced(diff, "diff path=calc.py")), {"calc.py": OLD})
    assert applied.files == {"calc.py": OLD.replace("a - b", "a + b")}


def test_several_files_come_in_one_block_and_new_ones_among_them():
    added = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
    diff = f"diff --git a/calc.py b/calc.py\nindex 12ab..34cd 100644\n{unified(OLD, NEW)}{added}"
    applied = apply_reply(parse_reply(fenced(diff)), {"calc.py": OLD})
    assert applied.files == {"calc.py": NEW, "new.py": "x = 1\ny = 2\n"}


def test_a_diff_beside_the_whole_file_only_explains_it():
    text = f"```python path=calc.py\n{NEW}```\n\nWhat changed:\n{fenced(unified(OLD, NEW))}"
    applied = apply_reply(parse_reply(text), {"calc.py": OLD})
    assert (applied.files, applied.refused) == ({"calc.py": NEW}, [])


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-    return b\n+    return a\n", "not in the file"),
        ("--- a/twice.py\n+++ b/twice.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n", "twice|times|lines 1, 2"),
        ("--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n", "no such file"),
    ],
)
def test_what_does_not_fit_exactly_is_refused(diff, words):
    applied = apply_reply(parse_reply(fenced(diff)), {"calc.py": OLD, "twice.py": "x = 1\nx = 1\n"})
    assert applied.files == {}
    ((_, reason),) = applied.refused
    assert any(word in reason for word in words.split("|")), reason


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("--- a/calc.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "deletes calc.py"),
        ("--- a/calc.py\n+++ b/calc.py\n@@ -1 +1,2 @@\n+x = 1\n", "quotes no line"),
        ("--- a/calc.py\n+++ b/sums.py\n@@ -1 +1 @@\n-x\n+y\n", "renames calc.py"),
        ("--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n-x\n+y\nz = 3\n", "without a blank"),
    ],
)
def test_a_diff_that_cannot_be_used_says_why(diff, words):
    reply = parse_reply(fenced(diff))
    assert (reply.files, reply.edits) == ([], [])
    assert any(words in problem for problem in reply.problems), reply.problems


def test_one_malformed_hunk_spoils_its_file_alone():
    broken = unified(OLD, NEW, context=0) + "@@ -9 +9 @@\nnot a diff line\n"
    other = unified("a\n", "b\n", "other.py")
    diff = read_diff((broken + other).splitlines())
    assert {edit.path for edit in diff.edits} == {"other.py"}
    assert len(diff.problems) == 1


def test_a_cut_off_diff_is_not_used():
    reply = parse_reply("```diff\n" + unified(OLD, NEW), truncated=True)
    assert (reply.files, reply.edits) == ([], [])


def test_a_removed_line_that_looks_like_a_header_is_only_a_line():
    old, new = "-- keep\n-- drop\nselect 1\n", "-- keep\nselect 1\n"
    applied = apply_reply(parse_reply(fenced(unified(old, new, "a.sql"))), {"a.sql": old})
    assert applied.files == {"a.sql": new}


LINES = st.lists(
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=6),
    unique=True,
    min_size=2,
    max_size=12,
)


@given(LINES, LINES)
@settings(max_examples=scaled(200))
def test_a_diff_of_distinct_lines_gives_the_new_file_or_is_refused(old: list[str], new: list[str]):
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    diff = unified(before, after, "a.txt", context=len(old))
    if not is_diff(diff.splitlines()):
        return
    read = read_diff(diff.splitlines())
    applied = apply_reply(Reply(edits=read.edits), {"a.txt": before})
    assert applied.files.get("a.txt") in (after, None)
    if not applied.refused and not read.problems:
        assert applied.files == ({"a.txt": after} if before != after else {})


@given(st.text(alphabet="+-@ ab/\n\\", max_size=200), st.sampled_from(["", "a.py"]))
@settings(max_examples=scaled(300))
def test_no_text_raises(text: str, path: str):
    diff = read_diff(text.splitlines(), path)
    assert all(edit.search.strip() for edit in diff.edits)


DIFF = "@@ -4,2 +4,2 @@\n def one(a):\n-    x = 1\n+    x = 10\n"
NAMED = f"--- a/a.py\n+++ b/a.py\n{DIFF}"


@each_row(
    "reply",
    [
        f"```python path=a.py\n{DIFF}```",
        f"```python path=a.py\n{NAMED}```",
        f"```python\n{NAMED}```",
        f"```diff\n{NAMED.replace('a/', '').replace('b/', '')}```",
        f"```diff\n{NAMED.replace('-4,2 +4,2', '-400,9 +1,1')}```",
    ],
)
def test_a_diff_is_never_taken_for_the_file(reply):
    source = "import os\n\n\ndef one(a):\n    x = 1\n    return x\n"
    assert apply_reply(parse_reply(reply), {"a.py": source}).files == {"a.py": source.replace("x = 1", "x = 10")}
