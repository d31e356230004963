"""Imports that a part of a module needs and the module has not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from agents.languages.definitions import CannotMerge
from agents.languages.python.definitions import COMPOUND, first_line, names_of
from agents.languages.python.modules import dotted_name


@dataclass(frozen=True)
class _Import:
    """One name that an import binds; `name` is "" for `import module`."""

    module: str
    name: str
    alias: str
    level: int
    typing: bool  # below `if TYPE_CHECKING`

    @property
    def bound(self) -> str:
        return self.alias or self.name or self.module.split(".")[0]

    @property
    def source(self) -> tuple[str, str, int]:
        return (self.module, self.name, self.level) if self.name or self.alias else (self.bound, "", 0)

    def line(self) -> str:
        alias = f" as {self.alias}" if self.alias else ""
        if self.name:
            return f"from {'.' * self.level}{self.module} import {self.name}{alias}\n"
        return f"import {self.module}{alias}\n"


def is_typing_block(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:` with imports alone."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    word = getattr(node.test, "attr", getattr(node.test, "id", ""))
    return word == "TYPE_CHECKING" and all(isinstance(one, ast.Import | ast.ImportFrom) for one in node.body)


def add_imports(path: str, old: ast.Module, part: ast.Module, insert: Callable[[int, str], None]) -> None:
    """Insert what `part` imports at its top and `old` does not. Raises CannotMerge where a name would change."""
    there: dict[str, set[tuple[str, str, int]]] = {}
    full = set()
    for one in _imports(old.body, deep=True):
        there.setdefault(one.bound, set()).add(one.source)
        full.add((one.source, one.module))
    defined = {name for node in old.body for name, _, _ in names_of(node)}
    for one in dict.fromkeys(_imports(part.body, deep=False)):
        if one.level == 0 and one.module == dotted_name(path):
            continue  # a model that takes its own file for another one
        if one.bound in defined or (one.bound in there and one.source not in there[one.bound]):
            raise CannotMerge(f"it imports {one.bound} from elsewhere than the file does")
        if one.bound in there and (one.name or (one.source, one.module) in full):
            continue
        insert(*_place(old, one))


def _imports(body: list[ast.stmt], *, deep: bool, typing: bool = False) -> Iterator[_Import]:
    """Imports at the top of a module; with `deep` those under any condition too."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (_Import(alias.name, "", alias.asname or "", 0, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield _Import(node.module or "", alias.name, alias.asname or "", node.level, typing)
        elif is_typing_block(node) and isinstance(node, ast.If):
            yield from _imports(node.body, deep=deep, typing=True)
        elif deep and isinstance(node, COMPOUND):
            inner = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
            yield from _imports(list(inner), deep=False)


def _place(old: ast.Module, one: _Import) -> tuple[int, str]:
    """The line before which an import goes, and its text."""
    body = old.body
    block = next((node for node in body if is_typing_block(node)), None) if one.typing else None
    if isinstance(block, ast.If):
        last = block.body[-1]
        return _line_after(last), " " * last.col_offset + one.line()
    text = f"\nif TYPE_CHECKING:\n    {one.line()}" if one.typing else one.line()
    head, docstring = _head(body), body[:1] if body and _is_docstring(body[0]) else []
    relative: list[ast.stmt] = [node for node in head if isinstance(node, ast.ImportFrom) and node.level]
    if relative and not (one.level or one.typing or one.module == "__future__"):
        head = [node for node in head if node not in relative and not _is_future(node)]
        docstring, body = [], relative
    future = [node for node in old.body if one.module == "__future__" and _is_future(node)]
    near = (future if one.module == "__future__" else head)[-1:] or docstring
    if near:
        return _line_after(near[0]), text if near[0] in head else f"\n{text}"
    return first_line(body[0]) if body else 1, text + "\n"


def _line_after(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) + 1


def _head(body: list[ast.stmt]) -> list[ast.stmt]:
    """Imports before the first function or class."""
    above = takewhile(lambda node: not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef), body)
    return [node for node in above if isinstance(node, ast.Import | ast.ImportFrom)]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
