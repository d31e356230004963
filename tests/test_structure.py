"""Rules for the structure of the source: no circles, one name for one thing, small modules, few exemptions."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from agents.languages.python import syntax
from scripts.house.circles import imports, package_circles
from scripts.house.tree import Tree

ROOT = Path(__file__).parent.parent
PRODUCT = ("aiswe_site", "dashboard", "projects", "agents", "sandbox")
ROOMS = ("measure", *PRODUCT)
MOST_LINES = 400

# Pure tables of data, and code of another formatting: the only places where the formatter is switched off.
UNFORMATTED = {
    "measure/corpora/heldout/lookalikes.py",
    "measure/corpora/replies/slips.py",
    "measure/corpora/replies/traps.py",
    "tests/abuse/traversal.py",
    "tests/agents/replies/test_slips.py",
}


def modules(*folders: str) -> Iterator[tuple[str, str]]:
    """Path and text of every module of these folders, recordings, migrations and the first files of recipes aside."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"scenarios", "migrations", "library"} & set(path.parts):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_no_modules_and_no_packages_import_each_other_in_a_circle() -> None:
    assert list(package_circles(imports(Tree(ROOT), list(ROOMS)))) == []


def test_only_the_table_of_commands_names_a_module_that_measures() -> None:
    """The linter sees imports; a module that is named in a string and imported by it is seen here."""
    named = re.compile(r"\bmeasure\.(commands|corpora|performance|trials)\b|^\s*(from|import) measure\b", re.MULTILINE)
    assert {path for path, text in modules(*PRODUCT) if named.search(text)} == {"aiswe_site/cli/overview.py"}


def test_python_is_parsed_by_one_function_that_survives_other_threads() -> None:
    """Python 3.11 loses count when two threads parse at once; a test that met this failed a build at random."""
    parsing = re.compile(r"\bast\.parse\(")
    places = {path for path, text in modules(*ROOMS, "tests", "scripts") if parsing.search(text)}
    own = {"agents/languages/python/syntax.py", "measure/corpora/heldout/python/safe/CWE-094_formula.py"}
    assert places - own == set()


def test_a_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for path, text in modules(*PRODUCT, "measure/commands", "measure/trials"):
        for statement in syntax.parse(text).body:
            if isinstance(statement, ast.ClassDef):
                places[statement.name].append(path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared == {}


def test_a_module_has_at_most_400_lines() -> None:
    sizes = {path: text.count("\n") for path, text in modules(*ROOMS)}
    assert {path: lines for path, lines in sizes.items() if lines > MOST_LINES} == {}


def test_the_formatter_is_switched_off_in_tables_of_data_only() -> None:
    exempt = re.compile(r"# fmt: (skip|off)\b")
    found = {path for path, text in modules(*ROOMS, "scripts", "tests") if exempt.search(text)}
    assert found - {"tests/test_structure.py"} == UNFORMATTED


def test_a_type_ignore_names_its_error_and_its_reason() -> None:
    ignore, complete = re.compile(r"# type: ignore"), re.compile(r"# type: ignore\[[a-z, -]+\]  # \S")
    without = [
        f"{path}:{number}"
        for path, text in modules(*ROOMS)
        for number, line in enumerate(text.splitlines(), 1)
        if ignore.search(line) and not complete.search(line)
    ]
    assert without == []


def test_a_file_whose_lines_fit_is_no_longer_exempt_from_the_limit() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    exempt = [path for path, rules in lint["lint"]["per-file-ignores"].items() if "E501" in rules]
    longest = {path: max(map(len, (ROOT / path).read_text().splitlines())) for path in exempt}
    assert {path: columns for path, columns in longest.items() if columns <= lint["line-length"]} == {}
