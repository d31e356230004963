"""What an expression may stand for."""

from __future__ import annotations

import ast
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
class Names:
    """`globals()` or `vars()` of a module or class of the code itself, by its node."""

    node: ast.AST


Value = Unknown | Ref | Text | Func | Klass | Box | Rows | Partial | Bound | Names
Values = frozenset[Value]
UNKNOWN: Values = frozenset({Unknown()})
NOTHING: Values = frozenset()


def hidden(values: Values) -> Values:
    """The same values, looked up by a text."""
    return frozenset(replace(one, hidden=True) if isinstance(one, Ref) else one for one in values)
