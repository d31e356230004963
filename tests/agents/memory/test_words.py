"""Words in common, weighed by how rare they are."""

from hypothesis import given
from hypothesis import strategies as st

from agents.memory.words import likeness, words_of

STOCK = (
    "KeyError: 'currency'",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "sqlite3.ProgrammingError: SQLite objects created in a thread can only be used in that same thread",
)


def test_the_same_failure_in_another_test_is_alike_whatever_its_numbers():
    assert likeness("KeyError: 'currency' 17", STOCK)[0] > 0.65


def test_another_failure_is_not_alike():
    assert max(likeness("FileNotFoundError: no such file: report.csv", STOCK)) < 0.65


def test_two_failing_asserts_with_nothing_else_in_common_are_no_likeness():
    assert likeness("AssertionError: assert 3 == 4", ["AssertionError: assert 'a' == 'b'"]) == [0.0]


def test_another_key_is_another_failure():
    assert likeness("KeyError: 'name'", STOCK)[0] == 0.0


def test_the_words_alone_find_no_meaning():
    assert likeness("no such path", ["missing file"]) == [0.0]


def test_a_compound_name_counts_by_its_parts_too():
    assert {"round_half_up", "round", "half", "up"} <= set(words_of("round_half_up"))
    assert {"totalprice", "total", "price"} <= set(words_of("totalPrice"))


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=8))
def test_likeness_lies_between_nothing_and_the_same(question, texts):
    assert all(0.0 <= like <= 1.0 for like in likeness(question, texts))
