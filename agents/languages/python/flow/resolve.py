"""What a name, an attribute or a member may be. Asked for one expression at a time; nothing is ever run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice, product
from typing import Any

from agents.languages.python.flow.constants import Constant, Folder
from agents.languages.python.flow.scopes import CALLED, Binding, Module, Scope, Store, collect
from agents.languages.python.flow.values import (
    NOTHING,
    UNKNOWN,
    Bound,
    Box,
    Func,
    Klass,
    Names,
    Ref,
    Rows,
    Text,
    Unknown,
    Value,
    Values,
    hidden,
)

_DEEPEST = 40  # names behind names; what lies deeper is found in the next round
_MOST = 24  # values of one expression, of each kind
_MOST_CHOICES = 8
_LONGEST = 160  # characters of a dotted name
_STEPS_PER_NODE, _LEAST_STEPS = 40, 50_000
_SAME_ATTRIBUTES = frozenset({"__call__", "__func__", "__wrapped__", "value"})
# Modules that others hold as an attribute: `shutil.os` is `os`.
_HELD = frozenset({"builtins", "ctypes", "importlib", "os", "pickle", "pty", "socket", "subprocess", "sys"})
_BUILT_IN = frozenset({"__import__", "compile", "eval", "exec", "getattr"})
_PARTS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Resolver:
    """The names of a few modules that import each other. `modules` maps dotted names to trees."""

    def __init__(self, modules: Mapping[str, ast.Module], packages: Iterable[str] = ()) -> None:
        self.packages = {*packages}
        self.modules: dict[str, Module] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.inner: dict[ast.AST, Scope] = {}
        self.returns: dict[ast.AST, list[ast.expr]] = {}
        for name, tree in modules.items():
            module = collect(tree, name, name if name in self.packages else name.rpartition(".")[0])
            self.modules[name] = module
            self.scopes.update(module.scopes)
            self.inner.update(module.inner)
            self.returns.update(module.returns)
        self.folders = {prefix for name in modules for prefix in _prefixes(name)}
        self.parameters: dict[tuple[ast.AST, str], list[Binding]] = {}  # what calls give to functions and classes
        self.rest: dict[ast.AST, list[tuple[str | int, ast.expr]]] = {}  # the same for `*rest` and `**rest`
        self.attributes: dict[tuple[Value, str], list[Store]] = {}
        self.members: dict[Value, list[Store]] = {}
        self.seen: set[tuple[ast.AST, str | int, ast.expr]] = set()
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
        return self._once(node, self._evaluated, node)

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

    def _once(self, key: object, evaluate: Callable[..., Values], *given: Any) -> Values:
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
        if len(found) > _MOST:
            found = _most(found)
        self.left -= len(found) // _MOST
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

    def named(self, name: str, scope: Scope, *, builtin: bool = True) -> Values:
        """What a name is where it is read."""
        at: Scope | None = scope.outer.get(name, scope)
        while at is not None:
            if name in at.names and (at is scope or not isinstance(at.node, ast.ClassDef)):
                return self._once((at, name), self._bound, at, name)
            at = at.outer.get(name, at.parent) if at.parent else None
        top = scope.top
        if self.members.get(Names(top.node)) and (found := self._once((top, name), self._bound, top, name)):
            return found
        found = join(self.attribute(one, name) for star in top.stars for one in self.located(star, top.module))
        if builtin and not {one for one in found if not isinstance(one, Ref)}:
            found |= {Ref("builtins" if name == "__builtins__" else name)} | self._stored(Ref("builtins"), name)
        return found

    def _bound(self, scope: Scope, name: str) -> Values:
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
        for store in self.members.get(Names(scope.node), ()):  # globals()[key] = …
            if self.matches(self.key_of(store), frozenset({Text(name)})):
                found |= self.given(store.binding, scope)
        return frozenset(found)

    def given(self, binding: Binding, scope: Scope) -> Values:
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
        for prefix in [*reversed([*_prefixes(importer)]), "", "src"] if first not in sys.stdlib_module_names else ():
            full = f"{prefix}.{name}".strip(".")
            if f"{prefix}.{first}".strip(".") in self.folders:
                name = full
                break
        known = next((one for one in reversed([*_prefixes(name)]) if one in self.folders), "")
        values: Values = frozenset({Ref(known or name)})
        for attr in name[len(known) :].strip(".").split(".") if known and known != name else ():
            values = join(self.attribute(one, attr) for one in values)
        return values

    def attribute(self, owner: Value, attr: str) -> Values:
        """What `owner.attr` may be."""
        self.left -= 1
        if attr in _SAME_ATTRIBUTES and not isinstance(owner, Klass):
            return frozenset({owner})
        match owner:
            case Ref(name=name):
                found = self._of_ref(owner, name, attr)
                return hidden(found) if owner.hidden else found
            case Klass(node=node):
                return self._of_class(owner, node, attr, 0)
            case Func(node=node):
                if attr == "__globals__":
                    return frozenset({Names(self.inner[node].top.node)})
                return self._stored(owner, attr) or UNKNOWN
            case Box() | Rows() | Names():
                held = self.member(owner, frozenset({Text(attr)})) if isinstance(owner, Box) else NOTHING
                held = frozenset(one for one in held if not isinstance(one, Unknown))
                return held | self._stored(owner, attr) | {Bound(owner, attr)}
        return UNKNOWN

    def _of_ref(self, owner: Ref, name: str, attr: str) -> Values:
        stored = self._stored(Ref(name), attr)
        module = self.modules.get(name)
        if module is not None and (attr in module.top.names or module.top.stars):
            found = self.named(attr, module.top, builtin=False)
            if found and name.partition(".")[0] not in sys.stdlib_module_names:
                return stored | found
            stored |= found  # a file named like a module of the standard library hides nothing
        if module is not None and "__getattr__" in module.top.names:
            return stored | self._by_method(self.named("__getattr__", module.top), attr)
        plain = attr.removeprefix("_")
        if (
            plain in _HELD
            and plain != name
            and name.partition(".")[0] in sys.stdlib_module_names
            and name != "importlib"
        ):
            return stored | {Ref(plain, hidden=True)}
        if attr in ("__self__", "__builtins__"):
            return frozenset({Ref("builtins", hidden=True)})
        return stored | {Ref(attr if name == "builtins" and attr != "__dict__" else f"{name}.{attr}"[:_LONGEST])}

    def _of_class(self, owner: Klass, node: ast.ClassDef, attr: str, depth: int) -> Values:
        scope, found = self.inner[node], self._stored(owner, attr) | self._stored(Klass(node, not owner.made), attr)
        if attr == "__dict__":
            return frozenset({Names(node)})
        if attr in scope.names:
            found |= self._once((scope, attr), self._bound, scope, attr)
        found |= join(self.given(one, scope) for one in self.parameters.get((node, attr), ()))
        if found and (Unknown(), attr) in self.attributes:
            found |= UNKNOWN  # somebody sets it from outside
        descriptors = [one for one in found if isinstance(one, Klass) and "__get__" in self.inner[one.node].names]
        found |= join(self._by_method(self.attribute(one, "__get__")) for one in descriptors)
        if attr == "value" and not found and self._is_enum(node):
            found = join(self._once((scope, name), self._bound, scope, name) for name in scope.names)
        if owner.made:
            properties = [one for one in found if isinstance(one, Func) and _is_property(one.node)]
            found = found.difference(properties) | join(self.returned(one.node) for one in properties)
        if not found and owner.made and "__getattr__" in scope.names and attr != "__getattr__":
            found = self._by_method(self.attribute(owner, "__getattr__"), attr)
        if found or depth > _DEEPEST:
            return found or UNKNOWN
        for base in (one for expr in node.bases for one in self.values(expr)):
            if isinstance(base, Klass) and base.node is not node:
                found |= self._of_class(Klass(base.node, owner.made), base.node, attr, depth + 1)
            elif isinstance(base, Box):
                found |= self.attribute(base, attr)
            elif isinstance(base, Ref) and base.name != "object":
                found |= {Ref(f"{base.name}().{attr}"[:_LONGEST])}
        return found or UNKNOWN

    def _is_enum(self, node: ast.ClassDef) -> bool:
        bases = [one for base in node.bases for one in self.values(base)]
        return any(isinstance(one, Ref) and one.name.startswith("enum.") for one in bases)

    def _by_method(self, methods: Values, *given: str) -> Values:
        """What `__getattr__` and the like give for a name, which the next round sees as their argument."""
        functions = [one.node for one in methods if isinstance(one, Func)]
        for node in functions:
            for argument, text in zip(reversed(node.args.args), reversed(given), strict=False):
                bindings = self.parameters.setdefault((node, argument.arg), [])
                if not any(one.values == frozenset({Text(text)}) for one in bindings):
                    bindings.append(Binding(frozenset({Text(text)})))
                    self.cut = True
        return join(map(self.returned, functions))

    def _stored(self, owner: Value, attr: str) -> Values:
        stores = self.attributes.get((owner, attr), ())
        return join(self.given(one.binding, self._scope(one.base)) for one in stores)

    def _scope(self, node: ast.AST) -> Scope:
        return self.scopes[node]

    def returned(self, node: ast.AST) -> Values:
        """What a function gives back."""
        return join(map(self.values, self.returns.get(node, ())))

    def _subscript(self, node: ast.expr, base: ast.expr, key: ast.expr) -> Values:
        owners = self.values(base)
        if any(isinstance(one, Text) for one in owners):
            return self.folded(node)
        if isinstance(key, ast.Slice):
            return owners
        keys = self.values(key)
        return join(self.member(one, keys) for one in owners)

    def member(self, owner: Value, key: Values) -> Values:
        """What `owner[key]` may be; any member where the key is not known."""
        self.left -= 1
        match owner:
            case Ref(name=name):
                base = "builtins" if name == "builtins" else name.removesuffix(".__dict__")
                texts = [str(one.value) for one in key if isinstance(one, Text)]
                if name == "sys.modules":
                    return frozenset(Ref(one, hidden=True) for one in texts) or UNKNOWN
                if base != name or name == "builtins":
                    found = join(self.attribute(Ref(base), one) for one in texts)
                    return hidden(found) or frozenset({Ref(f"{base}.*", hidden=True)})
                return frozenset({Ref(f"{name}[]"[:_LONGEST])})
            case Names(node=node):
                names = [one.value for one in key if isinstance(one, Text)]
                found = join(self.named(str(one), self.inner[node]) for one in names)
                return hidden(found) or UNKNOWN
            case Rows(columns=columns):
                place = _place(key)
                if isinstance(place, int) and place < len(columns):
                    return columns[place] or UNKNOWN
                return frozenset({owner})
            case Klass(node=node, made=False) if self._is_enum(node):
                return frozenset({Klass(node, made=True)})
            case Klass(node=node, made=True) if isinstance(place := _place(key), int) and place < len(fields_of(node)):
                return self.attribute(owner, fields_of(node)[place])
            case Klass():
                methods = self.attribute(owner, "__getitem__" if owner.made else "__class_getitem__")
                return join(self.returned(one.node) for one in methods if isinstance(one, Func)) or UNKNOWN
            case Box(node=node):
                return self._once((owner, key), self._of_box, owner, node, key)
            case Text(value=str() | bytes()):
                return UNKNOWN
        return UNKNOWN

    def _of_box(self, owner: Box, node: ast.AST, key: Values) -> Values:
        found = join(self._part(part, key) for part in self._parts(node, key))
        for store in self.members.get(owner, ()):
            if store.spread:
                spread = self.given(store.binding, self._scope(store.base))
                found |= join(self.member(one, key) for one in spread if one != owner)
            elif self.matches(self.key_of(store), key):
                found |= self.given(store.binding, self._scope(store.base))
        for place, expr in self.rest.get(node, ()):
            if self.matches(frozenset({Text(place)}), key):
                found |= self.values(expr)
        return found or UNKNOWN

    def _part(self, part: tuple[str, ast.expr], key: Values) -> Values:
        how, expr = part
        return self.values(expr) if how == "is" else join(self.member(one, key) for one in self.values(expr))

    def _parts(self, node: ast.AST, key: Values) -> list[tuple[str, ast.expr]]:
        """Expressions that are (`is`) or hold (`of`) the members of a container with that key."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                if any(isinstance(one, ast.Starred) for one in parts):
                    return [("of" if isinstance(one, ast.Starred) else "is", one) for one in parts]
                places = ((frozenset({Text(at), Text(at - len(parts))}), one) for at, one in enumerate(parts))
                return [("is", one) for place, one in places if self.matches(place, key)]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return [
                    ("is" if name else "of", value)
                    for name, value in pairs
                    if name is None or self.matches(self.values(name), key)
                ]
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
                return [("is", part)]
            case ast.Call(args=args, keywords=keywords):
                named = [
                    ("is" if one.arg else "of", one.value)
                    for one in keywords
                    if one.arg is None or self.matches(frozenset({Text(one.arg)}), key)
                ]
                return [*named, *(("of", one) for one in args)]
        return []

    def key_of(self, store: Store) -> Values:
        """The key under which something is put."""
        return frozenset({Text(store.key)}) if isinstance(store.key, str) else self.values(store.key)

    def matches(self, one: Values, other: Values) -> bool:
        """Whether two keys can be the same; what is not known can be anything."""
        if not all(isinstance(value, Text) for value in one | other):
            return True
        return bool(one & other)


def _most(values: Values) -> Values:
    kinds: dict[type, list[Value]] = {}
    for one in values:
        kinds.setdefault(type(one), []).append(one)
    kept = (sorted(many, key=_order)[:_MOST] for many in kinds.values())
    return frozenset(one for many in kept for one in many) | UNKNOWN


def _order(value: Value) -> tuple[bool, str, int]:
    """What can do harm comes first: a table of a hundred harmless functions must not hide one that is not."""
    name = str(getattr(value, "name", getattr(value, "value", "")))
    node = getattr(value, "node", getattr(value, "call", None))
    return name.partition(".")[0] not in _HELD | _BUILT_IN, name, getattr(node, "lineno", 0)


def _place(key: Values) -> Constant | None:
    return next((one.value for one in key if isinstance(one, Text) and len(key) == 1), None)


def fields_of(node: ast.ClassDef) -> list[str]:
    """The fields of a dataclass or named tuple, in order."""
    targets = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _prefixes(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def join(many: Iterable[Values]) -> Values:
    """The union of what several expressions may be."""
    return NOTHING.union(*many)


def _changed(left: Value, op: ast.operator, right: Value) -> Value:
    texts = [one.value for one in (left, right) if isinstance(one, Text) and isinstance(one.value, str)]
    return Text("".join(texts)) if isinstance(op, ast.Add) and len(texts) == 2 else Unknown()


def _is_property(node: ast.AST) -> bool:
    names = [getattr(one, "id", getattr(one, "attr", "")) for one in getattr(node, "decorator_list", ())]
    return bool({"property", "cached_property"} & {*names})
