"""Wordings that are retired: none of them is in a template, a script, or a string of the product."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.languages.python import syntax

ROOT = Path(__file__).parents[1]
ROOMS = (
    "agents",
    "sandbox",
    "projects",
    "dashboard",
    "aiswe_site",
    "measure/commands",
    "measure/performance",
    "measure/trials",
)

RETIRED = (
    "the longest way still behind it",
    "digestible before it is parsed",
    "pulled the brake",
    "one command per wish",
    "repeated at will",
    "whoever guesses",
    "that 95 % do not pass",
    "silence means no",
    "about exactly",
    "is needs you",
    "review gate blocks",
    "nothing is red",
    "nothing waits for you",
    "told word for word",
    "stood in for",
    "stand in:",
    "way out</dt>",
)
# "The body is no JSON": English says "is not". Quantities and time are fine: there is no plan, it is no longer yours.
IS_NO = re.compile(r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b)\w+", re.IGNORECASE)


def retired_in(text: str) -> list[str]:
    """The retired wordings a text holds, whatever its line breaks."""
    flat = " ".join(text.split())
    return [words for words in RETIRED if words in flat.casefold()] + [found[0] for found in IS_NO.finditer(flat)]


def _markup(path: Path) -> str:
    """A template's or a script's words without its comments."""
    text = re.sub(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", " ", path.read_text(), flags=re.DOTALL)
    return re.sub(r"^\s*(//|/\*\*).*$", " ", text, flags=re.MULTILINE) if path.suffix == ".js" else text


def _docstrings(tree: ast.AST) -> set[int]:
    """The string statements of a module: they speak to engineers."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every string a module can show: line number and text, a placeholder being "…"."""
    tree = syntax.parse(path.read_text())
    skipped = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            skipped |= {id(part) for part in node.values}
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


MARKUP = sorted([*ROOT.glob("templates/**/*.html"), *ROOT.glob("static/js/*.js")])


def test_no_template_or_script_uses_a_retired_wording(subtests: pytest.Subtests) -> None:
    for path in MARKUP:
        with subtests.test(path.name):
            assert retired_in(_markup(path)) == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_string_of_the_product_uses_a_retired_wording(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words}"
        for path in sorted((ROOT / room).rglob("*.py"))
        if "migrations" not in path.parts and "scenarios" not in path.parts
        for line, text in _strings(path)
        for words in retired_in(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "The body is no JSON.",
        "Needs you: waits 3 min.\n  Silence\n  means no.",
        "<p>run 2 is needs you</p>",
        "T-04: the review gate blocks",
        "3 is no whole number",
    ],
)
def test_a_retired_wording_is_found(text: str) -> None:
    assert retired_in(text)


@pytest.mark.parametrize("text", ["There is no plan yet.", "Run 2 is no longer yours.", "The body is not valid JSON."])
def test_plain_english_is_left_alone(text: str) -> None:
    assert retired_in(text) == []
