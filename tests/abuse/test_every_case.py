"""No case of abuse goes without its test, and none is counted twice."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from agents.languages.python import syntax

HERE = Path(__file__).parent
NUMBERED = re.compile(r"test_case_(\d\d)_\w+\.py$")
CONTAINMENT = {*range(7, 23), 28, 29, 30}


def cases() -> dict[Path, int]:
    """The files of this folder that carry a case's number."""
    return {path: int(found[1]) for path in HERE.glob("test_case_*.py") if (found := NUMBERED.match(path.name))}


def test_every_case_of_containment_has_a_file_of_its_own() -> None:
    numbers = Counter(cases().values())
    assert set(numbers) >= CONTAINMENT, f"without a test: {sorted(CONTAINMENT - set(numbers))}"
    assert not [number for number, files in numbers.items() if files > 1]


def test_every_file_says_what_its_case_is_and_tests_something() -> None:
    for path in cases():
        tree = syntax.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path.name} does not say what its case is"
        # A case may be shown by tests that live beside what they test, and are imported here to run under its number.
        here = [
            node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        there = [
            alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
        ]
        assert any(name.lower().startswith("test") for name in [*here, *there]), f"{path.name} tests nothing"
