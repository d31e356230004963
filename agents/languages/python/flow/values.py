"""What an expression may stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agents.languages.python.flow.constants import Constant


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that cannot be told from the code."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A module, or what it holds, by its dotted name; `a.b()` is what calling `a.b` gives.

    `hidden` when the name was looked up as text (`getattr`, `vars`, `__dict__`) instead of being written.
    """

    name: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A constant."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Func:
    """A function or lambda of the code itself."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Klass:
    """A class of the code itself, or with `made` an object of it."""

    node: ast.ClassDef
    made: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A container or plain namespace, by the expression (or the `*rest` parameter) that makes it."""

    node: ast.AST


@dataclass(frozen=True, slots=True)
class Rows:
    """What `items`, `enumerate` and `zip` give: tuples of which each place is known."""

    columns: tuple[frozenset[Value], ...]


@dataclass(frozen=True, slots=True)
class Partial:
    """`partial(…)`, `attrgetter(…)`, `itemgetter(…)` or `methodcaller(…)`, by that call."""

    kind: str
    call: ast.Call


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of a container."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """`globals()` or `vars()` of a module or class of the code itself, by its node."""

    node: ast.AST


Value = Unknown | Ref | Text | Func | Klass | Box | Rows | Partial | Bound | Namespace
Values = frozenset[Value]
# Modules that others hold as an attribute: `shutil.os` is `os`.
HELD = frozenset({"builtins", "ctypes", "importlib", "os", "pickle", "pty", "socket", "subprocess", "sys"})
MOST = 24  # values of one expression, of each kind
_BUILT_IN = frozenset({"__import__", "compile", "eval", "exec", "getattr"})
UNKNOWN: Values = frozenset({Unknown()})
NOTHING: Values = frozenset()


def hidden(values: Values) -> Values:
    """The same values, looked up by a text."""
    return frozenset(replace(one, hidden=True) if isinstance(one, Ref) else one for one in values)


def join(many: Iterable[Values]) -> Values:
    """The union of what several expressions may be."""
    return NOTHING.union(*many)


def at_most(values: Values) -> Values:
    """The same values, of each kind only so many."""
    kinds: dict[type, list[Value]] = {}
    for one in values:
        kinds.setdefault(type(one), []).append(one)
    kept = (sorted(many, key=_order)[:MOST] for many in kinds.values())
    return frozenset(one for many in kept for one in many) | UNKNOWN


def _order(value: Value) -> tuple[bool, str, int]:
    """What can do harm comes first: a table of a hundred harmless functions must not hide one that is not."""
    name = str(getattr(value, "name", getattr(value, "value", "")))
    node = getattr(value, "node", getattr(value, "call", None))
    return name.partition(".")[0] not in HELD | _BUILT_IN, name, getattr(node, "lineno", 0)
