"""The tests that pass, when some of a suite do not: the module is taken as right, so a failing test is simply wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from agents.languages.definitions import cut_lines
from agents.languages.python import syntax
from agents.languages.python.definitions import defined_tests, first_line
from agents.languages.python.test_config import is_test_file
from agents.languages.python.text import compiles


def without(tests: Mapping[str, str], failing: Iterable[str]) -> dict[str, str]:
    """The files without the failing tests ("tests/test_a.py::TestB::test_c[case]") or files that have none left.

    A file that failed as a whole (it could not be collected) goes; one that only helps the others stays.
    """
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for name in failing:
        path, *parts = name.split("::")
        wanted.setdefault(path, set()).add(tuple(part.partition("[")[0] for part in parts))
    kept: dict[str, str] = {}
    for path, text in tests.items():
        gone = wanted.get(path, set())
        left = _cut(text, gone) if gone else text
        if left:
            kept[path] = left
    return kept


def ids_of_tests(path: str, source: str) -> list[str]:
    """The ids of the tests that pytest finds in a file by its own rules, without their parameters."""
    if not is_test_file(path):
        return []
    tree = syntax.module(source)
    collected = {(), *_test_classes(tree)}
    return ["::".join([path, *names]) for names, _ in defined_tests(tree.body) if names[:-1] in collected]


def _test_classes(tree: ast.Module) -> Iterable[tuple[str, ...]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            made = any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body)
            unit = any(ast.unparse(base).endswith("TestCase") for base in node.bases)
            if unit or (node.name.startswith("Test") and not made):
                yield (node.name,)


def _cut(text: str, gone: set[tuple[str, ...]]) -> str:
    """The file without these tests; "" when none would be left."""
    tree = syntax.module(text)
    if () in gone or not compiles(text):
        return ""
    lines, kept = text.splitlines(keepends=True), 0
    for names, node in defined_tests(tree.body):
        if names in gone:
            cut_lines(lines, first_line(node), node.end_lineno or node.lineno)
        else:
            kept += 1
    made = "".join(lines)
    return made if kept and compiles(made) else ""  # a class whose only test went is no Python any more
