"""What an attribute or a member may be."""

from __future__ import annotations

import ast

from agents.languages.python.flow.constants import Constant
from agents.languages.python.flow.resolve import LONGEST, Resolver, is_standard
from agents.languages.python.flow.scopes import NameBinding
from agents.languages.python.flow.values import (
    HELD,
    NOTHING,
    UNKNOWN,
    Bound,
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
    hidden,
    join,
)

_SAME_ATTRIBUTES = frozenset({"__call__", "__func__", "__wrapped__", "value"})
_DEEPEST = 40  # bases of bases


class MemberResolver(Resolver):
    """Attributes of modules, classes and objects; members of containers."""

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
                    return frozenset({Namespace(self.inner[node].top.node)})
                return self.stored(owner, attr) or UNKNOWN
            case Box() | Rows() | Namespace():
                held = self.member(owner, frozenset({Text(attr)})) if isinstance(owner, Box) else NOTHING
                held = frozenset(one for one in held if not isinstance(one, Unknown))
                return held | self.stored(owner, attr) | {Bound(owner, attr)}
        return UNKNOWN

    def _of_ref(self, owner: Ref, name: str, attr: str) -> Values:
        stored = self.stored(Ref(name), attr)
        module = self.modules.get(name)
        if module is not None and (attr in module.top.names or module.top.stars):
            found = self.named(attr, module.top, builtin=False)
            if found and not is_standard(name):
                return stored | found
            stored |= found  # a file named like a module of the standard library hides nothing
        if module is not None and "__getattr__" in module.top.names:
            return stored | self._by_method(self.named("__getattr__", module.top), attr)
        plain = attr.removeprefix("_")
        if plain in HELD and plain != name and is_standard(name) and name != "importlib":
            return stored | {Ref(plain, hidden=True)}
        if attr in ("__self__", "__builtins__"):
            return frozenset({Ref("builtins", hidden=True)})
        return stored | {Ref(attr if name == "builtins" and attr != "__dict__" else f"{name}.{attr}"[:LONGEST])}

    def _of_class(self, owner: Klass, node: ast.ClassDef, attr: str, depth: int) -> Values:
        if attr == "__dict__":
            return frozenset({Namespace(node)})
        found = self._own(owner, node, attr)
        if found or depth > _DEEPEST:
            return found or UNKNOWN
        for base in (one for expr in node.bases for one in self.values(expr)):
            if isinstance(base, Klass) and base.node is not node:
                found |= self._of_class(Klass(base.node, owner.made), base.node, attr, depth + 1)
            elif isinstance(base, Box):
                found |= self.attribute(base, attr)
            elif isinstance(base, Ref) and base.name != "object":
                found |= {Ref(f"{base.name}().{attr}"[:LONGEST])}
        return found or UNKNOWN

    def _own(self, owner: Klass, node: ast.ClassDef, attr: str) -> Values:
        """What a class itself has under this name, or gives for it by one of its methods; nothing for none."""
        scope, found = self.inner[node], self.stored(owner, attr) | self.stored(Klass(node, not owner.made), attr)
        if attr in scope.names:
            found |= self.once((scope, attr), self.bound, scope, attr)
        found |= join(self.given(one, scope) for one in self.parameters.get((node, attr), ()))
        set_outside = found and (Unknown(), attr) in self.attributes
        if set_outside or (owner.made and any(isinstance(one, Text) for one in found)):
            found |= UNKNOWN  # also what a subclass may make of it
        descriptors = [one for one in found if isinstance(one, Klass) and "__get__" in self.inner[one.node].names]
        found |= join(self._by_method(self.attribute(one, "__get__")) for one in descriptors)
        if attr == "value" and not found and self._is_enum(node):
            found = join(self.once((scope, name), self.bound, scope, name) for name in scope.names)
        return self._of_instance(owner, attr, found) if owner.made else found

    def _of_instance(self, owner: Klass, attr: str, found: Values) -> Values:
        """The same of an object: properties give what they return, `__getattr__` what nothing else gives."""
        properties = [one for one in found if isinstance(one, Func) and _is_property(one.node)]
        found = found.difference(properties) | join(self.returned(one.node) for one in properties)
        if not found and "__getattr__" in self.inner[owner.node].names and attr != "__getattr__":
            found = self._by_method(self.attribute(owner, "__getattr__"), attr)
        return found

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
                    bindings.append(NameBinding(frozenset({Text(text)})))
                    self.cut = True
        return join(map(self.returned, functions))

    def returned(self, node: ast.AST) -> Values:
        """What a function gives back."""
        return join(map(self.values, self.returns.get(node, ())))

    def member(self, owner: Value, key: Values) -> Values:
        """What `owner[key]` may be; any member where the key is not known."""
        self.left -= 1
        match owner:
            case Ref(name=name):
                return self._of_named(name, key)
            case Namespace(node=node):
                names = [one.value for one in key if isinstance(one, Text)]
                found = join(self.named(str(one), self.inner[node]) for one in names)
                return hidden(found) or UNKNOWN
            case Rows(columns=columns):
                return _column(columns, _place(key)) or frozenset({owner})
            case Klass(node=node, made=False) if self._is_enum(node):
                return frozenset({Klass(node, made=True)})
            case Klass(node=node, made=True) if isinstance(place := _place(key), int) and place < len(fields_of(node)):
                return self.attribute(owner, fields_of(node)[place])
            case Klass():
                methods = self.attribute(owner, "__getitem__" if owner.made else "__class_getitem__")
                return join(self.returned(one.node) for one in methods if isinstance(one, Func)) or UNKNOWN
            case Box(node=node):
                return self.once((owner, key), self._of_box, owner, node, key)
            case Text(value=str() | bytes()):
                return UNKNOWN
        return UNKNOWN

    def _of_named(self, name: str, key: Values) -> Values:
        """A member of what stands outside of the code: of `sys.modules`, of a module's `__dict__`, or of a value."""
        base = "builtins" if name == "builtins" else name.removesuffix(".__dict__")
        texts = [str(one.value) for one in key if isinstance(one, Text)]
        if name == "sys.modules":
            return frozenset(Ref(one, hidden=True) for one in texts) | (UNKNOWN if len(texts) < len(key) else NOTHING)
        if base != name or name == "builtins":
            found = join(self.attribute(Ref(base), one) for one in texts)
            return hidden(found) or frozenset({Ref(f"{base}.*", hidden=True)})
        return frozenset({Ref(f"{name}[]"[:LONGEST])})

    def _of_box(self, owner: Box, node: ast.AST, key: Values) -> Values:
        found = join(self._part(part, key) for part in self._parts(node, key))
        stores = self.members.get(owner, ())
        if stores:
            found |= self.once((owner, ""), self._appended, owner)
        self.left -= len(stores) // 8
        for store in stores:
            if store.key is None and not store.spread:
                continue
            if store.spread:
                spread = self.given(store.binding, self.scopes[store.base])
                found |= join(self.member(one, key) for one in spread if one != owner)
            elif self.matches(self.key_of(store), key):
                found |= self.given(store.binding, self.scopes[store.base])
        for place, expr in self.rest.get(node, ()):
            if self.matches(frozenset({Text(place)}), key):
                found |= self.values(expr)
        return found or UNKNOWN

    def _appended(self, owner: Box) -> Values:
        stores = [one for one in self.members[owner] if one.key is None and not one.spread]
        return join(self.given(one.binding, self.scopes[one.base]) for one in stores)

    def _part(self, part: tuple[str, ast.expr], key: Values) -> Values:
        how, expr = part
        return self.values(expr) if how == "is" else join(self.member(one, key) for one in self.values(expr))

    def _rows(self, node: ast.Dict) -> dict[Constant, list[ast.expr]] | None:
        """The values of a table by their keys, when all keys are written out: a large one is read once."""
        if node not in self.tables:
            rows: dict[Constant, list[ast.expr]] = {}
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str | bytes | int):
                    rows.setdefault(key.value, []).append(value)
            whole = sum(map(len, rows.values())) == len(node.keys)
            self.tables[node] = rows if whole else None
        return self.tables[node]

    def _parts(self, node: ast.AST, key: Values) -> list[tuple[str, ast.expr]]:
        """Expressions that are (`is`) or hold (`of`) the members of a container with that key."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return _elements(parts, _place(key))
            case ast.Dict(keys=keys, values=values):
                if (place := _place(key)) is not None and (rows := self._rows(node)) is not None:
                    return [("is", one) for one in rows.get(place, ())]
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


def _place(key: Values) -> Constant | None:
    return next((one.value for one in key if isinstance(one, Text) and len(key) == 1), None)


def _column(columns: tuple[Values, ...], place: Constant | None) -> Values:
    return (columns[place] or UNKNOWN) if isinstance(place, int) and place < len(columns) else NOTHING


def _elements(parts: list[ast.expr], place: Constant | None) -> list[tuple[str, ast.expr]]:
    if any(isinstance(one, ast.Starred) for one in parts):
        return [("of" if isinstance(one, ast.Starred) else "is", one) for one in parts]
    known = [parts[place]] if isinstance(place, int) and -len(parts) <= place < len(parts) else []
    return [("is", one) for one in (known if place is not None else parts)]


def fields_of(node: ast.ClassDef) -> list[str]:
    """The fields of a dataclass or named tuple, in order."""
    targets = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _is_property(node: ast.AST) -> bool:
    names = [getattr(one, "id", getattr(one, "attr", "")) for one in getattr(node, "decorator_list", ())]
    return bool({"property", "cached_property"} & {*names})
