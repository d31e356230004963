"""Applying replies: what is clear is taken, the rest is refused with a reason the model can act on."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.replies.apply import apply_reply
from agents.replies.paths import BadPath, check_path
from agents.replies.types import EditBlock, FileBlock, Reply
from tests.tables import each_row

FILE = "import os\n\n\ndef one():\n    x = 1\n    return x\n\n\ndef two():\n    x = 1\n    return x + 1\n"


def write(path: str, content: str) -> Reply:
    return Reply(files=[FileBlock(path, content)])


def edit(search: str, replace: str, path: str = "a.py") -> Reply:
    return Reply(edits=[EditBlock(path, search, replace)])


def refusal(reply: Reply, current: dict[str, str], **options) -> str:
    applied = apply_reply(reply, current, **options)
    assert applied.files == {}
    ((_, reason),) = applied.refused
    return reason


def test_new_and_changed_files_are_given_and_unchanged_ones_left_out():
    reply = Reply(files=[FileBlock("new.py", "x = 1\n"), FileBlock("same.py", "y\n"), FileBlock("old.py", "z = 2\n")])
    applied = apply_reply(reply, {"same.py": "y\n", "old.py": "z = 1\n"})
    assert applied.files == {"new.py": "x = 1\n", "old.py": "z = 2\n"}
    assert applied.refused == []


def test_an_edit_replaces_its_lines_once():
    applied = apply_reply(edit("def one():\n    x = 1\n", "def one():\n    x = 10\n"), {"a.py": FILE})
    assert applied.files == {"a.py": FILE.replace("x = 1", "x = 10", 1)}


def test_an_edit_forgives_blanks_at_line_ends():
    applied = apply_reply(edit("def one():  \n    x = 1\t\n", "def one():\n    x = 3\n"), {"a.py": FILE})
    assert "    x = 3\n" in applied.files["a.py"]


def test_an_edit_does_not_forgive_indentation():
    reason = refusal(edit("def one():\nx = 1\n", "def one():\nx = 2\n"), {"a.py": FILE})
    assert "not in the file" in reason
    assert "4: def one():" in reason


def test_an_edit_matches_whole_lines_only():
    assert "not in the file" in refusal(edit("x = 1\n", "x = 2\n"), {"a.py": "max = 10\nx = 12\n"})


def test_lines_that_stand_twice_are_refused_with_their_places():
    reason = refusal(edit("    x = 1\n", "    x = 2\n"), {"a.py": FILE})
    assert "lines 5, 10" in reason
    assert "quote more lines" in reason


def test_absent_lines_are_refused_with_the_nearest_quoted():
    reason = refusal(edit("    return x + 2\n", "    return 0\n"), {"a.py": FILE})
    assert "11:     return x + 1" in reason


@pytest.mark.parametrize("replace", ["    return x + 2\n\n", "11:     return x + 2\n12:\n"])
def test_lines_are_found_that_were_copied_with_the_numbers_of_a_refusal(replace):
    applied = apply_reply(edit("11:     return x + 1\n12:\n", replace), {"a.py": f"{FILE}\nz = 1\n"})
    assert applied.files == {"a.py": f"{FILE}\nz = 1\n".replace("return x + 1", "return x + 2")}


def test_lines_unlike_anything_say_so():
    assert "Nothing similar" in refusal(edit("zzzzzz(((\n", "y\n"), {"a.py": FILE})


def test_the_file_keeps_its_line_ends():
    applied = apply_reply(edit("b\n", "c\nd\n"), {"a.py": "a\r\nb\r\nz\r\n"})
    assert applied.files == {"a.py": "a\r\nc\r\nd\r\nz\r\n"}


@pytest.mark.parametrize(("before", "after"), [("a\nb", "a\nc"), ("a\nb\n", "a\nc\n"), ("b", "c")])
def test_the_end_of_the_file_stays_as_it_was(before, after):
    assert apply_reply(edit("b\n", "c\n"), {"a.py": before}).files == {"a.py": after}


def test_an_edit_can_delete_lines():
    assert apply_reply(edit("b\n", ""), {"a.py": "a\nb\nc\n"}).files == {"a.py": "a\nc\n"}


def test_edits_follow_each_other_and_the_whole_file_before_them():
    reply = Reply(
        files=[FileBlock("a.py", "x = 1\n")],
        edits=[EditBlock("a.py", "x = 1\n", "x = 2\n"), EditBlock("./a.py", "x = 2\n", "x = 3\n")],
    )
    assert apply_reply(reply, {}).files == {"a.py": "x = 3\n"}


def test_a_file_with_one_bad_edit_is_not_changed_at_all():
    reply = Reply(edits=[EditBlock("a.py", "a\n", "b\n"), EditBlock("a.py", "missing\n", "c\n")])
    applied = apply_reply(reply, {"a.py": "a\n"})
    assert applied.files == {}
    assert len(applied.refused) == 1


def test_an_edit_of_a_file_that_is_not_there_says_so():
    assert "no such file" in refusal(edit("a\n", "b\n"), {})


def test_an_empty_search_makes_a_new_file_and_nothing_else():
    assert apply_reply(edit("", "x = 1\n"), {}).files == {"a.py": "x = 1\n"}
    assert "SEARCH part is empty" in refusal(edit("", "x = 1\n"), {"a.py": "y\n"})


def test_an_edit_that_changes_nothing_is_refused():
    assert "nothing would change" in refusal(edit("a\n", "a\n"), {"a.py": "a\n"})


@pytest.mark.parametrize("spelling", ["tests/test_a.py", "./tests/test_a.py"])
def test_read_only_files_are_refused(spelling):
    assert "read-only" in refusal(write(spelling, "x\n"), {}, read_only=["tests/test_a.py"])


def test_wiping_a_file_is_refused():
    assert "wipe" in refusal(write("a.py", ""), {"a.py": "x = 1\n"})


def test_a_file_cannot_stand_where_a_folder_is_nor_below_a_file():
    assert "folder" in refusal(write("src", "x\n"), {"src/a.py": "y\n"})
    assert "is a file" in refusal(write("src/a.py/b.py", "x\n"), {"src/a.py": "y\n"})
    both = Reply(files=[FileBlock("x", "1\n"), FileBlock("x/y", "2\n")])
    assert list(apply_reply(both, {}).files) == ["x"]


@pytest.mark.parametrize("content", ["a\x00b\n", "a\ud800\n"])
def test_broken_characters_are_refused(content):
    assert "broken" in refusal(write("a.py", content), {})


def test_a_huge_file_is_refused():
    assert "larger" in refusal(write("a.txt", "x" * 1_000_001), {})


@each_row(
    "line",
    [
        "# ... rest of code",
        "# ... existing code ...",
        "    # ... (rest of the implementation remains the same)",
        "// ... other methods",
        "/* ... existing styles ... */ /* rest of the file */",
        "<!-- rest of the file -->",
        "# rest of the class unchanged",
        "    ...  # unchanged",
        "    pass  # same as before",
        "# Existing code here",
        "# the other functions are unchanged",
        "# … rest unchanged",
        "    # TODO: implement",
        "    # TODO - add the logic",
        "    pass  # implement later",
        "    pass  # TODO",
        "    ...  # placeholder",
        "    # implement this",
        "    # your code here",
        "# Placeholder for the real check",
    ],
)
def test_code_left_out_is_refused_with_the_line(line):
    reason = refusal(write("src/a.py", f"def f():\n    return 1\n{line}\n"), {})
    assert "Line 3 is a placeholder" in reason


@each_row(
    "line",
    [
        "    pass",
        "    ...",
        "# the rest of the list is sorted already",
        "    ...  # a protocol method",
        "# TODO list items are shown newest first",
        "todo = Todo(title='implement login')",
        "# existing users keep their password",
        "    raise NotImplementedError",
        "# An implementation of the repository protocol",
        '    """ Implement the function f that takes n as a parameter."""\n    return n',
    ],
)
def test_honest_lines_are_no_placeholders(line):
    assert apply_reply(write("src/a.py", f"def f():\n{line}\n"), {}).refused == []


def test_a_placeholder_that_was_there_before_is_not_the_models_fault():
    before = "# TODO: implement paging\nx = 1\n"
    assert apply_reply(edit("x = 1\n", "x = 2\n"), {"a.py": before}).refused == []


def test_a_readme_may_speak_of_things_to_do():
    assert apply_reply(write("README.md", "# Plans\nTODO: implement login\n"), {}).refused == []


@each_row(
    "path",
    [
        "",
        " ",
        ".",
        "./",
        "/etc/passwd",
        "~/x",
        "~root/x",
        "../x",
        "a/../../x",
        "a/..",
        "a//b",
        "a/",
        "a\\b",
        "..\\x",
        "C:x",
        "c:/x",
        "a\x00.py",
        "a\n.py",
        "a\u202e.py",
        "a\u200b.py",
        "a\ufeff.py",
        "a\xa0b.py",
        "a\u2028b",
        ".git/config",
        ".GIT/config",
        "sub/.git/hooks/x",
        ".git",
        ".git./config",
        "git~1/config",
        "a:stream",
        "a*",
        "x" * 256,
        "é" * 128,
        "a/" * 600 + "b",
        "dir./x",
        "dir /x",
        "\uff0e\uff0e/x",
        "a\uff0f..\uff0fb",
        "\ud800",
    ],
)
def test_a_dangerous_path_is_refused_with_a_reason(path):
    with pytest.raises(BadPath) as caught:
        check_path(path)
    assert len(str(caught.value)) > 20
    applied = apply_reply(write(path, "x\n"), {})
    assert applied.files == {}
    assert len(applied.refused) == 1


@each_row(
    ("path", "good"),
    [
        ("a.py", "a.py"),
        ("./src/a.py", "src/a.py"),
        (".gitignore", ".gitignore"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("docs/über uns.md", "docs/über uns.md"),
        ("x" * 255, "x" * 255),
        ("a..b/c", "a..b/c"),
    ],
)
def test_a_plain_path_is_taken(path, good):
    assert check_path(path) == good


NAMES = st.sampled_from(["a", "b", "c", "  d", ""])
LINES = st.lists(NAMES, min_size=1, max_size=8)


@given(LINES, LINES, LINES)
@example(["a", "", "a"], ["a", ""], ["a"])  # what stands after the last line end is no empty line
def test_an_edit_that_fits_once_changes_exactly_those_lines(before, search, replace):
    content, wanted = "".join(f"{x}\n" for x in before), "".join(f"{x}\n" for x in search)
    new = "".join(f"{x}\n" for x in replace)
    rows = [row for row in range(len(before)) if before[row : row + len(search)] == search]
    applied = apply_reply(edit(wanted, new), {"a.py": content})
    if len(rows) == 1 and wanted.strip() and wanted != new:
        expected = [*before[: rows[0]], *replace, *before[rows[0] + len(search) :]]
        assert applied.files == {"a.py": "".join(f"{x}\n" for x in expected)}
    elif len(rows) > 1 and content.strip():
        assert applied.files == {}
        assert applied.refused
