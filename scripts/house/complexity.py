"""Cyclomatic complexity of every function of the product.

Counted as radon counts it: each Boolean operator and each comprehension is a decision too; ruff's C901 leaves them out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.house.tree import Tree, numbers, set_number

_ONE_EACH = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case, ast.Assert)


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Functions over the limit that are not listed, listed ones that grew, and listed ones that need it no more."""
    most, listed = house["complexity"]["most"], numbers(house, "complexity", "functions")
    found = over(tree, house["rooms"]["product"], most)
    problems = [
        f"{name} has a cyclomatic complexity of {found[name]}; at most {listed.get(name, most)} (house.toml): split it"
        for name in found
        if found[name] > listed.get(name, most)
    ]
    return problems + [
        f"{name} is listed in [complexity.functions] of house.toml and no longer needs it: "
        "python -m scripts.house --lower"
        for name in listed
        if name not in found
    ]


def lower(text: str, tree: Tree, house: Mapping[str, Any]) -> str:
    """Listed functions down to what they have, and off the list at the limit."""
    listed = numbers(house, "complexity", "functions")
    found = over(tree, house["rooms"]["product"], house["complexity"]["most"])
    for name, ceiling in listed.items():
        if found.get(name, 0) < ceiling:
            text = set_number(text, "complexity.functions", name, found.get(name))
    return text


def over(tree: Tree, rooms: list[str], most: int) -> dict[str, int]:
    """The functions over the limit, as `path:Class.function`, with their complexity."""
    found: dict[str, int] = {}
    for path in tree.own_python(*rooms):
        for name, function in functions(tree.syntax(path)):
            decisions = complexity(function)
            if decisions > most:
                found[f"{path}:{name}"] = max(decisions, found.get(f"{path}:{name}", 0))
    return found


def functions(node: ast.AST, outer: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function of a module with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{outer}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, outer)


def complexity(function: ast.AST) -> int:
    """One, and one for each way that the function can branch; what is defined inside it counts with it."""
    decisions = 1
    for node in ast.walk(function):
        if isinstance(node, _ONE_EACH):
            decisions += 1
        elif isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            decisions += 1 + len(node.ifs)
    return decisions
