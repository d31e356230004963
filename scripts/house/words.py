"""Words that say too little as names, as counts that only shrink."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.house.tree import Tree, numbers, set_number


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Words that more names hold than their ceiling allows."""
    ceilings = numbers(house, "words")
    found = count(tree, house["rooms"]["product"], set(ceilings))
    return [
        f"{found[word]} names hold the word {word!r}; at most {ceiling} (house.toml): name what the thing is"
        for word, ceiling in ceilings.items()
        if found[word] > ceiling
    ]


def lower(text: str, tree: Tree, house: Mapping[str, Any]) -> str:
    """Ceilings down to the counts."""
    ceilings = numbers(house, "words")
    found = count(tree, house["rooms"]["product"], set(ceilings))
    for word, ceiling in ceilings.items():
        if found[word] < ceiling:
            text = set_number(text, "words", word, found[word])
    return text


def count(tree: Tree, rooms: list[str], words: set[str]) -> Counter[str]:
    """How many names that the product binds hold each word: functions, classes, parameters, variables, attributes."""
    found: Counter[str] = Counter()
    for path in tree.own_python(*rooms):
        for name in bound_names(tree.syntax(path)):
            found.update(words & set(name.lower().split("_")))
    return found


def bound_names(module: ast.Module) -> Iterator[str]:
    """Every name a module binds, variables of comprehensions aside: they end with their line."""
    short_lived = {
        id(name) for node in ast.walk(module) if isinstance(node, ast.comprehension) for name in ast.walk(node.target)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in short_lived:
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
