"""What Python code takes from libraries: the names it imports, uses and calls, where that is certain.

Anything that could be something else is left out: a name that is bound twice, code that asks first (`hasattr`, `try`
with an `except ImportError`, a test of the version), attributes that the code itself sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agents.languages.python import syntax
from agents.languages.python.definitions import names_bound

MAX_USES = 400
_GUARDS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException"})
_SYSTEM = frozenset(
    {"os", "signal", "stat", "socket", "select", "errno", "fcntl", "mmap", "resource", "subprocess", "locale"}
)
_ASKS = frozenset({"hasattr", "getattr", "version_info", "platform", "TYPE_CHECKING", "find_spec"})


@dataclass(frozen=True, order=True)
class Use:
    """`module` and the attributes taken from it; `keywords` are those of a call, None when nothing is called."""

    module: str
    attributes: tuple[str, ...] = ()
    keywords: tuple[str, ...] | None = None
    line: int = 0

    @property
    def name(self) -> str:
        """As people write it."""
        return ".".join((self.module, *self.attributes))


def uses_of(text: str, local: Iterable[str] = ()) -> list[Use]:
    """Uses in order of line, at most MAX_USES; none of modules in `local`, and none for code that does not parse."""
    try:
        return _UseReader(syntax.module(text), frozenset(local)).read()
    except RecursionError:
        return []


class _UseReader:
    def __init__(self, tree: ast.Module, local: frozenset[str]) -> None:
        self._tree, self._local = tree, local
        self._guarded = set(guarded(tree))
        self._bound: dict[str, tuple[str, tuple[str, ...]]] = {}  # name -> module and what was imported from it
        self._uses: list[Use] = []

    def read(self) -> list[Use]:
        """All uses."""
        self._imports()
        for name in names_bound(ast.walk(self._tree)):
            self._bound.pop(name, None)
        self._walk()
        best: dict[tuple[str, tuple[str, ...], tuple[str, ...] | None], Use] = {}
        for use in self._uses:
            best.setdefault((use.module, use.attributes, use.keywords), use)
        return sorted(best.values(), key=lambda use: (use.line, use.name, use.keywords or ()))[:MAX_USES]

    def _foreign(self, module: str) -> bool:
        return bool(module) and module.split(".")[0] not in self._local and module.split(".")[0] != "__future__"

    def _imports(self) -> None:
        twice: set[str] = set()
        for node in ast.walk(self._tree):
            bound: list[tuple[str, str, tuple[str, ...]]] = []
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    bound.append((alias.asname or top, alias.name if alias.asname else top, ()))
                    if id(node) not in self._guarded and self._foreign(alias.name):
                        self._uses.append(Use(alias.name, line=node.lineno))
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                for alias in node.names:
                    bound.append((alias.asname or alias.name, node.module, (alias.name,)))
                    if alias.name != "*" and id(node) not in self._guarded and self._foreign(node.module):
                        self._uses.append(Use(node.module, (alias.name,), line=node.lineno))
            elif isinstance(node, ast.ImportFrom):
                twice.update(alias.asname or alias.name for alias in node.names)
            for name, module, taken in bound:
                rebound = self._bound.get(name, (module, taken)) != (module, taken)
                if rebound or id(node) in self._guarded or not self._foreign(module):
                    twice.add(name)
                self._bound[name] = (module, taken)
        for name in twice:
            self._bound.pop(name, None)

    def _walk(self) -> None:
        attributes_here = [node for node in ast.walk(self._tree) if isinstance(node, ast.Attribute)]
        set_here = {node.attr for node in attributes_here if not isinstance(node.ctx, ast.Load)}
        inner: set[int] = set()
        for node in ast.walk(self._tree):  # parents come before their children
            call = node if isinstance(node, ast.Call) else None
            target: ast.AST = call.func if call is not None else node
            if id(target) in inner or id(node) in self._guarded or not isinstance(target, ast.Attribute | ast.Name):
                continue
            chain = _chain(target)
            if chain is None or chain[0] not in self._bound or set_here & set(chain[1:]):
                continue
            inner.update(id(part) for part in ast.walk(target))
            module, taken = self._bound[chain[0]]
            attributes = taken + chain[1:]
            special = any(part.startswith("__") for part in attributes)
            if attributes and not special and not _of_the_system(module, attributes):
                self._uses.append(Use(module, attributes, _keywords(call), target.lineno))


def _of_the_system(module: str, attributes: tuple[str, ...]) -> bool:
    """True for what is there on one system, or in one moment, and not in another."""
    return module == "sys" or (module in _SYSTEM and attributes[0].isupper())


def _keywords(call: ast.Call | None) -> tuple[str, ...] | None:
    if call is None:
        return None
    return tuple(sorted(keyword.arg for keyword in call.keywords if keyword.arg))


def _chain(node: ast.expr) -> tuple[str, ...] | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def guarded(tree: ast.Module) -> Iterator[int]:
    """Nodes (by id) below a place where the code itself asks whether a thing is there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.TryStar):
            if any(map(_catches_absence, node.handlers)):
                handled = [statement for handler in node.handlers for statement in handler.body]
                for statement in (*node.body, *handled, *node.orelse):
                    yield from map(id, ast.walk(statement))
        elif isinstance(node, ast.If | ast.IfExp | ast.BoolOp | ast.With):
            asked = node.test if isinstance(node, ast.If | ast.IfExp) else node
            words = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(asked)}
            if words & (_ASKS | {"suppress", "raises"} if isinstance(node, ast.With) else _ASKS):
                yield from map(id, ast.walk(node))


def _catches_absence(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(getattr(kind, "id", getattr(kind, "attr", "")) in _GUARDS for kind in kinds)
