"""What a name, an attribute or a member may be. Asked for one expression at a time; nothing is ever run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice, product
from typing import Any

from agents.languages.python.flow.constants import Constant, Folder
from agents.languages.python.flow.scopes import CALLED, MemberStore, NameBinding, NameScope, ScannedModule, collect
from agents.languages.python.flow.values import (
    MOST,
    NOTHING,
    UNKNOWN,
    Box,
    Func,
    Klass,
    Namespace,
    Ref,
    Rows,
    Text,
    Unknown,
    Value,
    Values,
    at_most,
    join,
)

_DEEPEST = 40  # names behind names; what lies deeper is found in the next round
_MOST_CHOICES = 8
LONGEST = 160  # characters of a dotted name
_STEPS_PER_NODE, _LEAST_STEPS = 40, 50_000
_PARTS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Resolver:
    """The names of a few modules that import each other. `modules` maps dotted names to trees."""

    def __init__(self, modules: Mapping[str, ast.Module], packages: Iterable[str] = ()) -> None:
        self.packages = {*packages}
        self.modules: dict[str, ScannedModule] = {}
        self.scopes: dict[ast.AST, NameScope] = {}
        self.inner: dict[ast.AST, NameScope] = {}
        self.returns: dict[ast.AST, list[ast.expr]] = {}
        for name, tree in modules.items():
            module = collect(tree, name, name if name in self.packages else name.rpartition(".")[0])
            self.modules[name] = module
            self.scopes.update(module.scopes)
            self.inner.update(module.inner)
            self.returns.update(module.returns)
        self.folders = {prefix for name in modules for prefix in prefixes(name)}
        self.parameters: dict[tuple[ast.AST, str], list[NameBinding]] = {}  # what calls give to functions and classes
        self.rest: dict[ast.AST, list[tuple[str | int, ast.expr]]] = {}  # the same for `*rest` and `**rest`
        self.attributes: dict[tuple[Value, str], list[MemberStore]] = {}
        self.members: dict[Value, list[MemberStore]] = {}
        self.seen: set[tuple[ast.AST, str | int, ast.expr]] = set()
        self.tables: dict[ast.Dict, dict[Constant, list[ast.expr]] | None] = {}
        self.memo: dict[object, Values] = {}
        self.before: dict[object, Values] = {}
        self.active: set[object] = set()
        self.cut = False
        self.left = _LEAST_STEPS + _STEPS_PER_NODE * len(self.scopes)

    @property
    def exhausted(self) -> bool:
        """True when the budget is used up, so that silence proves nothing."""
        return self.left <= 0

    def values(self, node: ast.expr | None) -> Values:
        """What an expression may be; never empty, unless it is part of a circle."""
        if node is None or node not in self.scopes:
            return UNKNOWN
        return self.once(node, self._evaluated, node)

    def texts(self, node: ast.expr | None) -> tuple[list[Constant], bool]:
        """The constants that an expression may be, and whether it can be nothing else."""
        values = self.values(node)
        found = [one.value for one in values if isinstance(one, Text)]
        return sorted(found, key=repr), len(found) == len(values)

    def beginning(self, node: ast.expr) -> str | None:
        """How the text of an expression begins, where the rest is not known."""
        return Folder(self._constants).beginning(node)

    def plain(self, node: ast.expr) -> str:
        """The dotted name of an expression as imports alone tell it; "" for anything but a dotted name."""
        parts, at = [], node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if not isinstance(at, ast.Name):
            return ""
        imports = self.modules[self.scopes[at].module].imports if at in self.scopes else {}
        return ".".join([imports.get(at.id, at.id), *reversed(parts)]).removeprefix("builtins.")

    def once(self, key: object, evaluate: Callable[..., Values], *given: Any) -> Values:
        """Work something out once a round; within itself it is what it was in the round before."""
        known = self.memo.get(key)
        if known is not None:
            return known
        if key in self.active or len(self.active) > _DEEPEST or self.left <= 0:
            self.cut = True
            return self.before.get(key, NOTHING)
        self.left -= 1
        self.active.add(key)
        try:
            found = evaluate(*given)
        except RecursionError:
            self.cut, found = True, UNKNOWN
        finally:
            self.active.discard(key)
        if len(found) > MOST:
            found = at_most(found)
        self.left -= len(found) // MOST
        self.memo[key] = found
        return found

    def _evaluated(self, node: ast.expr) -> Values:
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return frozenset({Text(value)})
            case ast.Name(id=name):
                return self.named(name, self.scopes[node])
            case ast.Attribute(value=base, attr=attr):
                return join(self.attribute(one, attr) for one in self.values(base))
            case ast.Subscript(value=base, slice=key):
                return self._subscript(node, base, key)
            case ast.Call():
                return self.called(node)
            case ast.Lambda():
                return frozenset({Func(node)})
            case ast.IfExp(body=one, orelse=other):
                return self.values(one) | self.values(other)
            case ast.BoolOp(values=parts):
                return join(map(self.values, parts))
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self.values(value)
            case ast.BinOp() | ast.JoinedStr():
                return self._sum(node)
        return frozenset({Box(node)}) if isinstance(node, _PARTS) else UNKNOWN

    def called(self, node: ast.Call) -> Values:
        """What a call gives."""
        raise NotImplementedError

    def given_back(self, node: ast.expr | None, callee: Value) -> Values:
        """What calling that without arguments gives."""
        raise NotImplementedError

    def _sum(self, node: ast.expr) -> Values:
        found = self.folded(node)
        if any(isinstance(one, Text) for one in found):
            return found
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.BitOr):
            sides = self.values(node.left) | self.values(node.right)
            return frozenset(one for one in sides if isinstance(one, Box | Ref)) or UNKNOWN
        return UNKNOWN

    def folded(self, node: ast.expr) -> Values:
        """The constants that an expression gives, one for each text that one of its names may be."""
        open_names: dict[ast.expr, list[Constant]] = {}
        value = Folder(lambda one: self._constants(one, open_names)).value(node)
        if value is not None or not open_names:
            return frozenset({Text(value)}) if value is not None else UNKNOWN
        whole = all(self.texts(one)[1] for one in open_names)
        found: set[Value] = set() if whole else {Unknown()}
        for choice in islice(product(*open_names.values()), _MOST_CHOICES):
            folder = Folder(partial(self._chosen, dict(zip(open_names, choice, strict=True))))
            value = folder.value(node)
            found.add(Text(value) if value is not None else Unknown())
        return frozenset(found)

    def _chosen(self, chosen: Mapping[ast.expr, Constant], node: ast.expr) -> list[Constant] | None:
        return [chosen[node]] if node in chosen else self._constants(node)

    def _constants(
        self, node: ast.expr, several: dict[ast.expr, list[Constant]] | None = None
    ) -> list[Constant] | None:
        """For the folder: the one constant of an expression, or those of a container; `several` notes what has more."""
        values = self.values(node) if node not in self.active else NOTHING
        (only,) = values if len(values) == 1 else (None,)
        if isinstance(only, Text):
            return [only.value]
        if several is not None and (texts := [one.value for one in values if isinstance(one, Text)]):
            several[node] = texts
        if not isinstance(only, Box) or not isinstance(only.node, ast.List | ast.Tuple):
            return None
        found = [self.values(one) for one in only.node.elts]
        texts = [one.value for values in found for one in values if isinstance(one, Text) and len(values) == 1]
        return texts if len(texts) == len(found) and not self.members.get(only) else None

    def named(self, name: str, scope: NameScope, *, builtin: bool = True) -> Values:
        """What a name is where it is read."""
        at: NameScope | None = scope.outer.get(name, scope)
        while at is not None:
            if name in at.names and (at is scope or not isinstance(at.node, ast.ClassDef)):
                return self.once((at, name), self.bound, at, name)
            at = at.outer.get(name, at.parent) if at.parent else None
        top = scope.top
        if self.members.get(Namespace(top.node)) and (found := self.once((top, name), self.bound, top, name)):
            return found
        found = join(self.attribute(one, name) for star in top.stars for one in self.located(star, top.module))
        if builtin and not {one for one in found if not isinstance(one, Ref)}:
            found |= {Ref("builtins" if name == "__builtins__" else name)} | self.stored(Ref("builtins"), name)
        return found

    def bound(self, scope: NameScope, name: str) -> Values:
        """What a name of a scope is given anywhere."""
        found: set[Value] = set()
        changes = []
        for binding in [*scope.names.get(name, ()), *self.parameters.get((scope.node, name), ())]:
            if binding.changes:
                changes.append(binding.changes)
            else:
                found |= self.given(binding, scope)
        for change in changes:
            right = self.values(change.value)
            found |= {_changed(one, change.op, other) for one in found for other in right}
            found |= {one for one in right if isinstance(one, Box | Rows)}
            found = {*at_most(frozenset(found))} if len(found) > MOST else found
        for store in self.members.get(Namespace(scope.node), ()):  # globals()[key] = …
            if self.matches(self.key_of(store), frozenset({Text(name)})):
                found |= self.given(store.binding, scope)
        return frozenset(found)

    def given(self, binding: NameBinding, scope: NameScope) -> Values:
        """What a binding gives."""
        if binding.values is not None:
            refs = [one for one in binding.values if isinstance(one, Ref)]
            return join(self.located(one.name, scope.module) for one in refs) if refs else binding.values
        values = self.values(binding.expr)
        for step in binding.path:
            if step == CALLED:
                values = join(self.given_back(binding.expr, one) for one in values if isinstance(one, Func | Klass))
                values = frozenset(one for one in values if not isinstance(one, Unknown))
                continue
            key = UNKNOWN if step is None else frozenset({Text(step)})
            values = join(self.member(one, key) for one in values)
        return values

    def located(self, name: str, importer: str) -> Values:
        """What an import means: a module of the project beside or above the importer, else one from outside."""
        first = name.partition(".")[0]
        for prefix in [*reversed([*prefixes(importer)]), "", "src"] if not is_standard(name) else ():
            full = f"{prefix}.{name}".strip(".")
            if f"{prefix}.{first}".strip(".") in self.folders:
                name = full
                break
        known = next((one for one in reversed([*prefixes(name)]) if one in self.folders), "")
        values: Values = frozenset({Ref(known or name)})
        for attr in name[len(known) :].strip(".").split(".") if known and known != name else ():
            values = join(self.attribute(one, attr) for one in values)
        return values

    def attribute(self, owner: Value, attr: str) -> Values:
        """What `owner.attr` may be."""
        raise NotImplementedError

    def member(self, owner: Value, key: Values) -> Values:
        """What `owner[key]` may be; any member where the key is not known."""
        raise NotImplementedError

    def key_of(self, store: MemberStore) -> Values:
        """The key under which something is put."""
        return frozenset({Text(store.key)}) if isinstance(store.key, str) else self.values(store.key)

    def matches(self, one: Values, other: Values) -> bool:
        """Whether two keys can be the same; what is not known can be anything."""
        if not all(isinstance(value, Text) for value in one | other):
            return True
        return bool(one & other)

    def stored(self, owner: Value, attr: str) -> Values:
        """What an attribute is set to."""
        stores = self.attributes.get((owner, attr), ())
        return join(self.given(one.binding, self.scopes[one.base]) for one in stores)

    def _subscript(self, node: ast.expr, base: ast.expr, key: ast.expr) -> Values:
        owners = self.values(base)
        if any(isinstance(one, Text) for one in owners):
            return self.folded(node)
        if isinstance(key, ast.Slice):
            return owners
        keys = self.values(key)
        return join(self.member(one, keys) for one in owners)


def is_standard(name: str) -> bool:
    """Whether a dotted name begins with a module of the standard library."""
    return name.partition(".")[0] in sys.stdlib_module_names


def prefixes(name: str) -> Iterable[str]:
    """A dotted name's own beginnings, the shortest first."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _changed(left: Value, op: ast.operator, right: Value) -> Value:
    texts = [one.value for one in (left, right) if isinstance(one, Text) and isinstance(one.value, str)]
    return Text("".join(texts)) if isinstance(op, ast.Add) and len(texts) == 2 else Unknown()
