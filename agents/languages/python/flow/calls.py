"""What calls call: the code's own functions, and what library functions are given to call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from agents.languages.python.flow.members import fields_of
from agents.languages.python.flow.results import Results, Site, table
from agents.languages.python.flow.scopes import MemberStore, NameBinding, ScannedModule
from agents.languages.python.flow.values import (
    NOTHING,
    Func,
    Klass,
    Partial,
    Ref,
    Text,
    Value,
    hidden,
    join,
)

_ROUNDS = 3


class NameFlow(Results):
    """What the expressions of a few modules may be, worked out in a few rounds within a fixed number of steps."""

    def __init__(self, modules: Mapping[str, ast.Module], packages: Sequence[str] = ()) -> None:
        super().__init__(modules, packages)
        known = -1
        for _ in range(_ROUNDS):
            if known == (known := len(self.seen)) and (not self.cut or self.memo == self.before):
                break
            self.before, self.memo, self.cut = self.memo, {}, False
            self._place_stores()
            for module in self.modules.values():
                for site in self.sites(module):
                    self._hand_over(site)

    def _place_stores(self) -> None:
        attributes: dict[tuple[Value, str], list[MemberStore]] = {}
        members: dict[Value, list[MemberStore]] = {}
        for module in self.modules.values():
            for store in module.attributes:
                names = [store.key] if isinstance(store.key, str) else map(str, self.texts(store.key)[0])
                for name in names:
                    for owner in self.values(store.base):
                        attributes.setdefault((owner, name), []).append(store)
            for store in module.members:
                for owner in self.values(store.base):
                    members.setdefault(owner, []).append(store)
        self.attributes, self.members = attributes, members

    def sites(self, module: ScannedModule) -> Iterator[Site]:
        """Everything that a module may call."""
        for call in module.calls:
            for callee in self.values(call.func):
                yield from self.expand(Site(call, callee, tuple(call.args), tuple(call.keywords)), 0)
            yield from self._handed_on(Site(call, Ref(""), tuple(call.args), tuple(call.keywords)), 0)
        for decorator in module.decorated:
            for callee in self.values(decorator):
                yield from self.expand(Site(decorator, callee, direct=False), 0)

    def expand(self, site: Site, depth: int) -> Iterator[Site]:
        """A call, and the calls that it makes of what it is given."""
        callee = site.callee
        if depth > 4 or self.exhausted:
            return
        if isinstance(callee, Partial):
            first = callee.call.args[0] if callee.call.args else None
            values, args = NOTHING, site.args
            if callee.kind == "partial":
                values, args = self.values(first), (*callee.call.args[1:], *args)
            elif callee.kind == "method" and site.args:
                names, args = self.texts(first)[0], tuple(callee.call.args[1:])
                owners = self.values(site.args[0])
                values = hidden(join(self.attribute(owner, str(name)) for owner in owners for name in names))
            keywords = (*site.keywords, *callee.call.keywords)
            for value in values:
                yield from self.expand(Site(site.node, value, args, keywords, site.direct), depth + 1)
            return
        yield site
        if isinstance(callee, Klass) and callee.made:
            for method in self.attribute(callee, "__call__"):
                if isinstance(method, Func):
                    yield Site(site.node, method, site.args, site.keywords, site.direct)
        if isinstance(callee, Ref):
            yield from self._handed_on(site, depth)

    def _handed_on(self, site: Site, depth: int) -> Iterator[Site]:
        name = site.callee.name if isinstance(site.callee, Ref) else ""
        func = site.node.func if isinstance(site.node, ast.Call) else None
        method = func.attr if isinstance(func, ast.Attribute) and not name else ""
        for row in table()["callers"]:
            if name not in row["names"] and method not in row["methods"]:
                continue
            place = row["callable"]
            given = site.argument(place) if isinstance(place, int) else site.argument(99, place)
            args: tuple[ast.expr, ...] = ()
            if row["arguments"] == "rest" and isinstance(place, int):
                args = site.args[place + 1 :]
            elif row["arguments"] and isinstance(tuple_ := site.argument(99, row["arguments"]), ast.Tuple | ast.List):
                args = tuple(tuple_.elts)
            for value in self.values(given) if given is not None else ():
                if not isinstance(value, Text):
                    yield from self.expand(Site(site.node, value, args, (), bool(row["arguments"])), depth + 1)

    def _hand_over(self, site: Site) -> None:
        """Bind the arguments of a call to the parameters, or fields, of what it calls."""
        callee = site.callee
        if isinstance(callee, Klass) and not callee.made:
            makers = self.attribute(callee, "__init__") | self.attribute(callee, "__new__")
            functions = [one for one in makers if isinstance(one, Func)]
            if not functions:
                self._give(callee.node, fields_of(callee.node), site, None, None)
            for function in functions:
                self._hand_over(Site(site.node, function, site.args, site.keywords))
        elif isinstance(callee, Func):
            arguments = callee.node.args
            names = [one.arg for one in [*arguments.posonlyargs, *arguments.args]]
            holder = self.inner[callee.node].parent
            method = holder is not None and isinstance(holder.node, ast.ClassDef)
            names = names[1:] if method and not is_static(callee.node) else names
            extra = [one.arg for one in arguments.kwonlyargs]
            self._give(callee.node, [*names, *extra], site, arguments.vararg, arguments.kwarg, len(names))

    def _give(
        self,
        node: ast.AST,
        names: list[str],
        site: Site,
        rest: ast.arg | None,
        keyword_rest: ast.arg | None,
        positional: int | None = None,
    ) -> None:
        most = len(names) if positional is None else positional
        for place, expr in enumerate(site.args):
            if isinstance(expr, ast.Starred):
                for name in names[place:most]:
                    self._note(node, name, expr.value, (None,))
                if rest is not None:
                    self._note_rest(rest, place, expr)
                break
            if place < most:
                self._note(node, names[place], expr)
            elif rest is not None:
                self._note_rest(rest, place - most, expr)
        for keyword in site.keywords:
            if keyword.arg is None:
                for name in names:
                    self._note(node, name, keyword.value, (), name)
            elif keyword.arg in names:
                self._note(node, keyword.arg, keyword.value)
            elif keyword_rest is not None:
                self._note_rest(keyword_rest, keyword.arg, keyword.value)

    def _note(
        self, node: ast.AST, name: str, expr: ast.expr, path: tuple[int | None, ...] = (), key: str | None = None
    ) -> None:
        if (node, name, expr) not in self.seen and expr in self.scopes:
            self.seen.add((node, name, expr))
            steps = (*path, key) if key is not None else path
            self.parameters.setdefault((node, name), []).append(NameBinding(expr=expr, path=steps))

    def _note_rest(self, node: ast.arg, place: str | int, expr: ast.expr) -> None:
        if (node, place, expr) not in self.seen:
            self.seen.add((node, place, expr))
            self.rest.setdefault(node, []).append((place, expr))


def is_static(node: ast.AST) -> bool:
    """Whether a method is given no object."""
    return any(getattr(one, "id", "") == "staticmethod" for one in getattr(node, "decorator_list", ()))
