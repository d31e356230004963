"""SEARCH blocks whose lines are all shifted by the same indentation."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replies.edit import EditRefused, apply_edit
from agents.replies.types import EditBlock
from tests.sizes import scaled
from tests.tables import each_row

FILE = """class Purse:
    def pay(self, cents):
        if cents:
            self.cents -= cents

        return self.cents
"""


def edit(search: str, replace: str) -> EditBlock:
    return EditBlock("purse.py", search, replace)


def test_lines_that_lost_their_indentation_are_found_and_the_new_ones_get_it_too():
    changed = apply_edit(
        FILE, edit("if cents:\n    self.cents -= cents\n", "if cents > 0:\n    self.cents -= cents\n    self.log()\n")
    )
    assert "        if cents > 0:\n            self.cents -= cents\n            self.log()\n\n" in changed


def test_lines_with_too_much_indentation_are_moved_back():
    changed = apply_edit(FILE, edit("            return self.cents\n", "            return max(0, self.cents)\n"))
    assert changed.endswith("\n        return max(0, self.cents)\n")


def test_empty_lines_count_as_equal_and_stay_empty():
    search = "    self.cents -= cents\n\nreturn self.cents\n"
    changed = apply_edit(FILE, edit(search, "    self.cents -= 1\n\nreturn 0\n"))
    assert changed.endswith("            self.cents -= 1\n\n        return 0\n")


def test_empty_lines_too_many_around_a_quotation_change_nothing_in_the_file():
    changed = apply_edit(FILE, edit("            self.cents -= cents\n\n\n", "            self.cents -= 1\n\n\n"))
    assert changed == FILE.replace("-= cents", "-= 1")
    changed = apply_edit(FILE, edit("\n\n        return self.cents\n", "\n\n        return 0\n"))
    assert changed == FILE.replace("return self.cents", "return 0")


def test_tabs_are_moved_as_tabs():
    changed = apply_edit("if a:\n\tif b:\n\t\tc()\n", edit("if b:\n\tc()\n", "if b:\n\td()\n"))
    assert changed == "if a:\n\tif b:\n\t\td()\n"


@each_row(
    ("content", "search", "replace", "words"),
    [
        ("if a:\n    x = 1\nif b:\n        x = 1\n", "x = 1\n", "x = 2\n", "several times"),
        (FILE, "if cents:\nself.cents -= cents\n", "pass\n", "not in the file"),
        (FILE, "  if cents:\n        self.cents -= cents\n", "pass\n", "not in the file"),
        ("if a:\n\tx = 1\n\ty = 1\n", "    x = 1\n    y = 1\n", "pass\n", "not in the file"),
        ("x = 1\ny = 1\n", "    x = 1\n    y = 1\n", "    x = 2\ny = 2\n", "cannot be moved"),
    ],
)
def test_what_is_not_shifted_uniformly_or_fits_twice_is_refused(content, search, replace, words):
    with pytest.raises(EditRefused, match=words):
        apply_edit(content, edit(search, replace))


def test_lines_that_stand_exactly_so_are_preferred():
    content = "x = 1\nif a:\n    x = 1\n"
    assert apply_edit(content, edit("    x = 1\n", "    x = 2\n")) == "x = 1\nif a:\n    x = 2\n"


LINE = st.tuples(st.integers(0, 3), st.text("abcdef", min_size=1, max_size=4)).map(
    lambda part: "    " * part[0] + part[1]
)


@given(st.lists(LINE, min_size=1, max_size=6), st.integers(1, 3), st.lists(LINE, max_size=6))
@settings(max_examples=scaled(200))
def test_a_dedented_quotation_has_the_effect_of_the_exact_one_or_is_refused(lines, depth, new):
    pad = "    " * depth
    content = "start\n" + textwrap.indent("\n".join(lines), pad) + "\nend\n"
    search, replace = "\n".join(lines) + "\n", "".join(f"{line}\n" for line in new)
    exact = edit(textwrap.indent(search, pad), textwrap.indent(replace, pad))
    if search == replace:
        return
    wanted = apply_edit(content, exact)
    try:
        assert apply_edit(content, edit(search, replace)) == wanted
    except EditRefused:
        # Only lines that occur elsewhere too, exactly or shifted, are ambiguous.
        assert len(lines) == 1 or len({line.strip() for line in lines}) < len(lines)


def test_tabs_are_blanks_where_the_file_has_none():
    source = "def one():\n    x = 1\n\n    return x\n"
    edit = EditBlock("a.py", "\tx = 1\n\n\treturn x\n", "\tx = 5\n\n\treturn x\n")
    assert apply_edit(source, edit) == source.replace("x = 1", "x = 5")
