"""What calls give."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agents.languages.python.flow.constants import FOLDED
from agents.languages.python.flow.members import MemberResolver
from agents.languages.python.flow.values import (
    NOTHING,
    UNKNOWN,
    Bound,
    Box,
    Func,
    Klass,
    Namespace,
    Partial,
    Ref,
    Rows,
    Text,
    Value,
    Values,
    hidden,
    join,
)

_GETTERS = {"operator.attrgetter": "attributes", "operator.itemgetter": "members", "operator.methodcaller": "method"}
_PARTIALS = {**_GETTERS, "functools.partial": "partial", "functools.partialmethod": "partial"}
_IMPORTERS = frozenset({"__import__", "importlib.import_module", "importlib.__import__", "pkgutil.resolve_name"})
_LOOKUPS = {"getattr": (0, 1), "inspect.getattr_static": (0, 1), "object.__getattribute__": (0, 1)}


@dataclass(frozen=True, slots=True)
class Site:
    """One thing that a call may call, and what with; `direct` when the call itself names its arguments."""

    node: ast.expr
    callee: Value
    args: tuple[ast.expr, ...] = ()
    keywords: tuple[ast.keyword, ...] = ()
    direct: bool = True

    def argument(self, place: int, *names: str) -> ast.expr | None:
        """The argument at that place or of one of those names."""
        named = next((one.value for one in self.keywords if one.arg in names), None)
        return self.args[place] if place < len(self.args) else named


@cache
def table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("callers.toml").read_text("utf-8"))


class Results(MemberResolver):
    """What functions of the code and of libraries give."""

    def expand(self, site: Site, depth: int) -> Iterator[Site]:
        """A call, and the calls that it makes of what it is given."""
        raise NotImplementedError

    def passed(self, site: Site, place: int, name: str) -> Values:
        """What an argument may be, also one out of `**keywords`; nothing where it is not given."""
        given = site.argument(place, name)
        if given is not None:
            return self.values(given)
        spread = [value for one in site.keywords if one.arg is None for value in self.values(one.value)]
        held = [one for one in spread if not (isinstance(one, Box) and getattr(one.node, "keys", None) == [])]
        found = join(self.member(one, frozenset({Text(name)})) for one in held)
        return found if spread else NOTHING

    def called(self, node: ast.Call) -> Values:
        """What a call gives."""
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in FOLDED and (folded := self.folded(node)) != UNKNOWN:
            return folded
        site = [Site(node, one, tuple(node.args), tuple(node.keywords)) for one in self.values(node.func)]
        return join(map(self._given_back, site)) or (UNKNOWN if not site else NOTHING)

    def given_back(self, node: ast.expr | None, callee: Value) -> Values:
        """What calling that without arguments gives."""
        return self._given_back(Site(node, callee)) if node is not None else UNKNOWN

    def follows(self, name: str) -> bool:
        """Whether it is known what a library function does with what it is given."""
        rows = table()
        listed = [*rows["same"].values(), *rows["containers"].values(), *(row["names"] for row in rows["callers"])]
        return name in _PARTIALS or any(name in names for names in listed)

    def _given_back(self, site: Site) -> Values:
        match site.callee:
            case Func(node=node):
                return self.returned(node) or UNKNOWN
            case Klass(node=node, made=made):
                if not made:
                    return frozenset({Klass(node, made=True)})
                methods = [one for one in self.attribute(site.callee, "__call__") if isinstance(one, Func)]
                return join(self.returned(one.node) for one in methods) or UNKNOWN
            case Bound(owner=owner, name=name):
                return self._of_container(owner, name, site)
            case Partial(kind=kind, call=call):
                return self._of_partial(kind, call, site)
            case Ref(name=name):
                return self._of_library(name, site)
        return UNKNOWN

    def _of_container(self, owner: Value, name: str, site: Site) -> Values:
        if isinstance(owner, Rows) and name in table()["containers"]["members"]:
            return join(owner.columns)
        if name in ("items", "popitem"):
            return frozenset({Rows((UNKNOWN, self.member(owner, UNKNOWN)))})
        if name in table()["containers"]["members"]:
            key = self.values(site.args[0]) if site.args else UNKNOWN
            fallback = self.values(site.args[1]) if len(site.args) > 1 else NOTHING
            return self.member(owner, key) | fallback
        return frozenset({owner}) if name in ("values", "copy", "union", "__iter__") else UNKNOWN

    def _of_partial(self, kind: str, call: ast.Call, site: Site) -> Values:
        given = [one for arg in call.args for one in self.texts(arg)[0]]
        if kind == "attributes" and site.args:
            found: list[Values] = []
            for dotted in map(str, given):
                values = self.values(site.args[0])
                for attr in dotted.split("."):
                    values = join(self.attribute(one, attr) for one in values)
                found.append(hidden(values))
            return join(found) if len(found) == 1 else frozenset({Rows(tuple(found))})
        if kind == "members" and site.args:
            keys = frozenset(Text(one) for one in given) or UNKNOWN
            return join(self.member(one, keys) for one in self.values(site.args[0]))
        inner = self.expand(site, 0)
        return join(self._given_back(one) for one in inner if not isinstance(one.callee, Partial)) or UNKNOWN

    def _of_library(self, name: str, site: Site) -> Values:
        for given_by in (self._by_reflection, self._by_passing_on, self._by_collecting):
            values = given_by(name, site)
            if values is not None:
                return values
        return frozenset({Ref(f"{name}()"[:160])})

    def _by_reflection(self, name: str, site: Site) -> Values | None:
        """What is reached by its name: modules, attributes, namespaces, base classes."""
        first = site.argument(0)
        if name in _PARTIALS and isinstance(site.node, ast.Call):
            return frozenset({Partial(_PARTIALS[name], site.node)})
        if name in _IMPORTERS:
            found = [Ref(str(one), hidden=True) for one in self.texts(first or site.argument(9, "name"))[0]]
            if name == "__import__" and len(site.args) < 4 and not any(one.arg == "fromlist" for one in site.keywords):
                found = [Ref(one.name.partition(".")[0], hidden=True) for one in found]
            return frozenset(found) or UNKNOWN
        base, _, method = name.rpartition(".")
        if method in table()["containers"]["members"] and base.endswith((".__dict__", "sys.modules")):
            fallback = self.values(site.args[1]) if len(site.args) > 1 else NOTHING
            return self.member(Ref(base), self.values(first)) | fallback
        if name in _LOOKUPS or name.endswith(".__getattribute__"):
            return self._looked_up(name, site)
        if name in ("vars", "globals", "locals") or name.endswith("__dict__.copy"):
            return self._namespace(name, first, site)
        return self._bases(site) if name == "super" else None

    def _by_passing_on(self, name: str, site: Site) -> Values | None:
        """What comes back as it was given."""
        first, rows = site.argument(0), table()["same"]
        if name in rows["names"]:
            return self.values(first) if first is not None else frozenset({Ref(f"{name}()")})
        if name in rows["second"]:
            return self.values(site.argument(1))
        if name in rows["default"]:
            made = join(self.given_back(site.node, one) for one in self.values(site.argument(99, "default_factory")))
            default = site.argument(99, "default")
            return made | self.values(default) if default is not None else made
        return None

    def _by_collecting(self, name: str, site: Site) -> Values | None:
        """Containers that are made, and members that are taken out of them."""
        first = site.argument(0)
        if name in table()["containers"]["names"] or (name == "type" and len(site.args) == 3):
            return frozenset({Box(site.node)})
        if name == "dict.fromkeys":
            return frozenset({Rows((self.values(site.argument(1)),))})
        if name in ("enumerate", "zip"):
            columns = tuple(join(self.member(one, UNKNOWN) for one in self.values(arg)) for arg in site.args)
            return frozenset({Rows((UNKNOWN, *columns) if name == "enumerate" else columns)})
        if name in ("next", "operator.getitem", "min", "max", "random.choice"):
            key = self.values(site.args[1]) if name == "operator.getitem" and len(site.args) > 1 else UNKNOWN
            return join(self.member(one, key) for one in self.values(first))
        if name == "functools.reduce" and len(site.args) == 3 and Ref("getattr") in self.values(first):
            return self._along(site.args[1], self.values(site.args[2]))
        return None

    def _bases(self, site: Site) -> Values:
        scope = self.scopes[site.node]
        while scope.parent is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.parent
        bases = join(map(self.values, getattr(scope.node, "bases", ())))
        return join(
            self.given_back(site.node, one) if isinstance(one, Klass | Ref) else frozenset({one}) for one in bases
        )

    def _along(self, steps: ast.expr, start: Values) -> Values:
        """`reduce(getattr, ["path", "join"], os)`, also with `"path.join".split(".")`."""
        paths = [[str(one) for part in getattr(steps, "elts", ()) for one in self.texts(part)[0]]]
        if isinstance(steps, ast.Call) and getattr(steps.func, "attr", "") == "split":
            paths = [str(one).split(".") for one in self.texts(getattr(steps.func, "value", None))[0]]
        found = NOTHING
        for path in paths:
            values = start
            for attr in path:
                values = join(self.attribute(one, attr) for one in values)
            found |= hidden(values)
        return found or UNKNOWN

    def _looked_up(self, name: str, site: Site) -> Values:
        owner_name = name.removesuffix(".__getattribute__")
        args = site.args
        if name not in _LOOKUPS and len(args) == 1:
            owners: Values = frozenset({Ref(owner_name)})
            key = args[0]
        elif len(args) >= 2:
            owners, key = self.values(args[0]), args[1]
        else:
            return UNKNOWN
        texts, complete = self.texts(key)
        found = hidden(join(self.attribute(owner, str(one)) for owner in owners for one in texts))
        if not complete:
            found |= {Ref(f"{one.name}.*", hidden=True) for one in owners if isinstance(one, Ref)} | UNKNOWN
        return found | (self.values(args[2]) if len(args) > 2 else NOTHING)

    def _namespace(self, name: str, first: ast.expr | None, site: Site) -> Values:
        scope = self.scopes[site.node]
        if name == "globals" or (first is None and name in ("vars", "locals")):
            return frozenset({Namespace((scope.top if name == "globals" else scope).node)})
        if name.endswith("__dict__.copy"):
            return frozenset({Ref(name.removesuffix(".copy"))})
        found = [Ref(f"{one.name}.__dict__") for one in self.values(first) if isinstance(one, Ref)]
        own = [Namespace(one.node) for one in self.values(first) if isinstance(one, Klass)]
        return frozenset([*found, *own]) or UNKNOWN
