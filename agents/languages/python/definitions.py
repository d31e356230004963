"""What a Python file defines at its top and in its classes, each with the lines it takes."""

from __future__ import annotations

import ast
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agents.languages.definitions import DefinitionSpan
from agents.languages.python import syntax

_ACCESSORS = ("setter", "getter", "deleter")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITION = FUNCTION | ast.ClassDef
COMPOUND = ast.If | ast.Try | ast.TryStar | ast.With | ast.For | ast.While | ast.Match


def definitions_of(path: str, source: str) -> list[DefinitionSpan] | None:
    """Definitions in order of line; None for text that does not parse."""
    try:
        tree = syntax.parse(source)
    except syntax.UNREADABLE:
        return None
    found: list[DefinitionSpan] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, kind, role, node, conditional in _walk(tree.body, "", False):
        lines = first_line(node), node.end_lineno or node.lineno
        found.append(DefinitionSpan(name, kind, role, counts[name, kind, role], *lines, conditional))
        counts[name, kind, role] += 1
    return found


def _walk(body: Sequence[ast.stmt], above: str, conditional: bool) -> Iterator[tuple[str, str, str, ast.stmt, bool]]:
    for node in body:
        for name, kind, role in names_of(node):
            yield f"{above}{name}", kind, role, node, conditional
        if isinstance(node, ast.ClassDef):
            yield from _walk(node.body, f"{above}{node.name}.", conditional)
        elif isinstance(node, COMPOUND):
            for inner in blocks_of(node):
                yield from _walk(inner, above, True)


def names_of(node: ast.stmt) -> list[tuple[str, str, str]]:
    """Name, kind and role of what one statement defines; compound statements define nothing themselves."""
    if isinstance(node, ast.ClassDef):
        return [(node.name, "class", "")]
    if isinstance(node, FUNCTION):
        return [(node.name, "function", _role(node))]
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return []
    names = (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
    return [(name.id, "value", "") for name in names if isinstance(name.ctx, ast.Store)]


def _role(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What tells functions of one name apart: accessors of a property, and overloads."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        word = getattr(target, "attr", getattr(target, "id", ""))
        if word == "overload" or (word in _ACCESSORS and isinstance(target, ast.Attribute)):
            return str(word)
    return ""


def imported_names(source: str) -> set[str]:
    """Names that the file's imports bind, anywhere in it: other files can take them from here."""
    return {name for node in ast.walk(syntax.module(source)) for name in names_imported(node)}


def names_imported(node: ast.AST) -> list[str]:
    """Names that an import binds; none for another statement."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [alias.asname or alias.name.split(".")[0] for alias in node.names]


def names_bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that these nodes, each by itself, bind otherwise than by an import."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, DEFINITION | ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def defined_tests(body: Iterable[ast.stmt], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ast.stmt]]:
    """Test functions and methods with their names."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from defined_tests(node.body, (*above, node.name))
        elif isinstance(node, FUNCTION) and node.name.startswith("test"):
            yield (*above, node.name), node


def exported_names(source: str) -> set[str]:
    """What `__all__` lists, as far as it is written as plain text."""
    lists = [
        node.value
        for node in syntax.module(source).body
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == "__all__" and node.value is not None
    ]
    texts = [part.value for one in lists for part in ast.walk(one) if isinstance(part, ast.Constant)]
    return {text for text in texts if isinstance(text, str)}


def blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a compound statement."""
    parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    parts += [part.body for name in ("handlers", "cases") for part in getattr(node, name, [])]
    return [part for part in parts if part]


def first_line(node: ast.stmt) -> int:
    """The line of the statement's first decorator, or its own."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def lines_of(source: str) -> list[str]:
    """The lines as Python counts them, each with its end: a form feed or a Unicode separator ends none."""
    return list(io.StringIO(source, newline=""))
