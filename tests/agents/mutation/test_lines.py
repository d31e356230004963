"""Only what a change wrote is its tests' to notice."""

from hypothesis import given
from hypothesis import strategies as st

from agents.mutation.check import changed_lines

TEXT = st.lists(st.sampled_from(["a = 1", "b = 2", "", "c = 3"]), max_size=12).map("\n".join)


def test_a_new_file_is_changed_from_its_first_to_its_last_line():
    assert changed_lines(None, "a\nb\n") == {1, 2}


def test_lines_that_stayed_are_not_counted_wherever_they_moved_to():
    assert changed_lines("a\nb\nc\n", "new\na\nb\nother\nc\n") == {1, 4}


@given(TEXT, TEXT)
def test_what_is_not_counted_stood_there_before(before, after):
    lines = after.splitlines()
    kept = [line for number, line in enumerate(lines, 1) if number not in changed_lines(before, after)]
    left = iter(before.splitlines())
    assert all(line in left for line in kept)  # in the same order
