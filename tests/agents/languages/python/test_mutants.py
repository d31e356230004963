"""Mistakes are small, parsable, different from one another, and the same for the same seed."""

import ast
from typing import Any

import pytest

from agents.languages.python import syntax
from agents.languages.python.mutants import wrongs


def mutants(source: str, **options: Any) -> list[str]:
    return [wrong.text for wrong in wrongs(source, **options)]


SOURCE = """
def first(items, low=0):
    \"\"\"Doc.\"\"\"
    total = 0
    for item in items[1:]:
        if item > low and not item == 3:
            total += item * 2
    while total < 5:
        total += 1
    return total if total else None
"""


@pytest.mark.slow
def test_each_has_one_mistake_and_all_differ():
    found = mutants(SOURCE, limit=100)
    assert len(found) > 15
    assert len(set(found)) == len(found)
    original = ast.unparse(syntax.parse(SOURCE)).splitlines()
    for text in found:
        changed = [line for line in ast.unparse(syntax.parse(text)).splitlines() if line not in original]
        assert len(changed) <= 1, text


@pytest.mark.slow
def test_the_seed_decides_the_order():
    assert mutants(SOURCE, seed=1) == mutants(SOURCE, seed=1)
    assert mutants(SOURCE, seed=1) != mutants(SOURCE, seed=2)


def test_mistakes_can_be_kept_to_some_lines():
    for text in mutants(SOURCE, limit=100, lines=frozenset({10})):
        assert "return total if total else None" not in text


def test_text_that_is_no_python_is_an_error():
    with pytest.raises(SyntaxError):
        mutants("def (")


def test_code_without_anything_to_get_wrong_has_no_mutants():
    assert mutants('"""Only words."""\n') == []


def test_no_mistake_is_put_into_an_annotation():
    source = (
        "def first(rows: list | tuple, least: int = 3) -> int | None:\n    found: int | str = 0\n    return found\n"
    )
    texts = [one.text for one in wrongs(source)]
    assert texts
    assert all("rows: list | tuple" in text and "-> int | None" in text and ": int | str" in text for text in texts)
