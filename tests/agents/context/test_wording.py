"""A question in the words of code: other words for the same, other languages, and which files it is about."""

from collections import Counter

import pytest

from agents.context.retrieval import Chunk, Piece, terms
from agents.context.wording import MEANT, is_aside, wording_of
from tests.tables import each_row


def chunk(path: str, between: bool = False) -> Chunk:
    return Chunk(path, Piece("", 1, 2, "text", Counter(), between))


def test_small_talk_is_not_searched_for_and_what_means_the_same_counts_less() -> None:
    weights = wording_of("Who may delete something?").weights
    assert weights[terms("delete")[0]] == 1.0
    assert weights[terms("remove")[0]] == MEANT
    assert not weights.keys() & set(terms("something"))


@pytest.mark.parametrize("question", ["Wo wird die Datei gelöscht?", "ファイルはどこで削除されますか"])
def test_a_question_in_german_or_japanese_finds_english_code(question: str) -> None:
    asked = wording_of(question)
    assert set(terms("file delete")) <= asked.weights.keys()
    assert "delete" in asked.text


@each_row(
    ("question", "more", "less"),
    [
        ("How is a price rounded?", "shop/price.py", "tests/test_price.py"),
        ("How is a price rounded?", "shop/price.py", "docs/prices.md"),
        ("How is a price rounded?", "docs/prices.md", "CHANGELOG.md"),
        ("How is a price rounded?", "shop/price.py", "examples/price.py"),
        ("What do the docs say of prices?", "docs/prices.md", "shop/price.py"),
        ("Which rules does the linter follow?", "pyproject.toml", "docs/prices.md"),
    ],
)
def test_the_kind_of_file_that_a_question_is_about_counts_more(question: str, more: str, less: str) -> None:
    asked = wording_of(question)
    assert asked.worth(chunk(more)) > asked.worth(chunk(less))


def test_tests_count_as_much_as_code_when_they_are_asked_about() -> None:
    assert wording_of("How do the tests start a server?").worth(chunk("tests/test_server.py")) == 1.0
    assert wording_of("When does the test client send a cookie?").worth(chunk("tests/test_server.py")) < 1.0


def test_what_stands_between_definitions_counts_less_than_a_definition() -> None:
    asked = wording_of("How is a price rounded?")
    assert asked.worth(chunk("shop/price.py", between=True)) < asked.worth(chunk("shop/price.py"))


def test_tests_and_history_are_aside() -> None:
    assert [path for path in ("CHANGES.rst", "tests/test_a.py", "src/money.py") if is_aside(path)] == [
        "CHANGES.rst",
        "tests/test_a.py",
    ]
