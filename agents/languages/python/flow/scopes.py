"""One pass over a module: who is bound where to what. It does not recurse, so no nesting is too deep for it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.languages.python.flow.values import UNKNOWN, Box, Func, Klass, Ref, Values

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_ADDERS = {"add": 0, "append": 0, "appendleft": 0, "extend": 0, "insert": 1, "put": 0, "put_nowait": 0, "update": 0}
_KEYED = frozenset({"setdefault", "__setitem__", "__setattr__"})
_SPREAD = frozenset({"extend", "update"})
CALLED = "()"  # a step of a path: what calling it gives
_NAMESPACES = frozenset({"globals", "locals", "vars"})


@dataclass(eq=False, slots=True)
class NameScope:
    """The names of a module, class or function."""

    node: ast.AST
    parent: NameScope | None
    module: str
    names: dict[str, list[NameBinding]] = field(default_factory=dict)
    outer: dict[str, NameScope] = field(default_factory=dict)  # `global` and `nonlocal`
    stars: list[str] = field(default_factory=list)

    @property
    def top(self) -> NameScope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(frozen=True, slots=True, eq=False)
class NameBinding:
    """One thing that a name is given: fixed values, or the part of an expression that `path` leads to.

    A step of the path is a place in a tuple, or None for any member; `changes` is `name += …`.
    """

    values: Values | None = None
    expr: ast.expr | None = None
    path: tuple[int | str | None, ...] = ()
    changes: ast.AugAssign | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MemberStore:
    """`base.name = …` or `base[key] = …`; without name and key, a member of unknown place. `spread`: its members."""

    base: ast.expr
    binding: NameBinding
    key: ast.expr | str | None = None
    spread: bool = False


@dataclass(slots=True)
class ScannedModule:
    """What one pass over a module found."""

    name: str
    package: str
    top: NameScope
    scopes: dict[ast.AST, NameScope] = field(default_factory=dict)  # of each expression
    inner: dict[ast.AST, NameScope] = field(default_factory=dict)  # of each function and class: its own
    returns: dict[ast.AST, list[ast.expr]] = field(default_factory=dict)
    attributes: list[MemberStore] = field(default_factory=list)
    members: list[MemberStore] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)
    decorated: list[ast.expr] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)  # as a scanner without flow reads them


def collect(tree: ast.Module, name: str = "", package: str = "") -> ScannedModule:
    """Read the bindings of a module; `package` is what relative imports start from."""
    top = NameScope(tree, None, name)
    module = ScannedModule(name, package, top)
    module.inner[tree] = top
    waiting: list[tuple[ast.AST, NameScope]] = [(tree, top)]
    while waiting:
        node, scope = waiting.pop()
        children: Sequence[tuple[ast.AST, NameScope]]
        if isinstance(node, ast.expr):
            module.scopes[node] = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            children = _function(module, node, scope)
        elif isinstance(node, ast.ClassDef):
            children = _class(module, node, scope)
        else:
            _statement(module, node, scope)
            children = [(child, scope) for child in ast.iter_child_nodes(node)]
        waiting.extend(reversed(children))
    return module


def _bind(scope: NameScope, name: str, binding: NameBinding) -> None:
    scope.outer.get(name, scope).names.setdefault(name, []).append(binding)


def _function(module: ScannedModule, node: Function, scope: NameScope) -> list[tuple[ast.AST, NameScope]]:
    own = NameScope(node, scope, scope.module)
    module.inner[node] = own
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(positional[::-1], arguments.defaults[::-1], strict=False)]
    given += [(arg, value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for arg, value in given:
        _bind(own, arg.arg, NameBinding(expr=value))
    method = isinstance(scope.node, ast.ClassDef) and positional and not _is(node, "staticmethod")
    if method and isinstance(scope.node, ast.ClassDef):
        _bind(own, positional[0].arg, NameBinding(frozenset({Klass(scope.node, made=not _is(node, "classmethod"))})))
    for arg in [*positional[1 if method else 0 :], *arguments.kwonlyargs]:
        _bind(own, arg.arg, NameBinding(UNKNOWN))
    for rest in filter(None, (arguments.vararg, arguments.kwarg)):
        _bind(own, rest.arg, NameBinding(frozenset({Box(rest)})))
    outside: list[ast.AST] = [value for _, value in given]
    if isinstance(node, ast.Lambda):
        module.returns[node] = [node.body]
        return [*((one, scope) for one in outside), (node.body, own)]
    _bind(scope, node.name, NameBinding(frozenset({Func(node)})))
    for decorator in node.decorator_list:
        _bind(scope, node.name, NameBinding(expr=decorator, path=(CALLED,)))
    module.decorated += node.decorator_list
    return [*((one, scope) for one in [*node.decorator_list, *outside]), *((one, own) for one in node.body)]


def _is(node: Function, decorator: str) -> bool:
    return any(getattr(one, "id", "") == decorator for one in getattr(node, "decorator_list", ()))


def _class(module: ScannedModule, node: ast.ClassDef, scope: NameScope) -> list[tuple[ast.AST, NameScope]]:
    own = module.inner[node] = NameScope(node, scope, scope.module)
    _bind(scope, node.name, NameBinding(frozenset({Klass(node)})))
    module.decorated += node.decorator_list
    outside = [*node.decorator_list, *node.bases, *node.keywords]
    return [*((one, scope) for one in outside), *((one, own) for one in node.body)]


def _statement(module: ScannedModule, node: ast.AST, scope: NameScope) -> None:
    match node:
        case ast.Import():
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                module.imports[name] = alias.name if alias.asname else name
                _bind(scope, name, NameBinding(frozenset({Ref(module.imports[name])})))
        case ast.ImportFrom():
            _import_from(module, node, scope)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _target(module, target, NameBinding(expr=value), scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            _target(module, target, NameBinding(expr=value), scope)
        case ast.AugAssign(target=target):
            _target(module, target, NameBinding(expr=node.value, changes=node), scope)
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            _target(module, node.target, NameBinding(expr=node.iter, path=(None,)), scope)
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            _target(module, target, NameBinding(expr=value), scope)
        case ast.ExceptHandler(name=str() as name) | ast.MatchStar(name=str() as name):
            _bind(scope, name, NameBinding(UNKNOWN))
        case ast.Match(subject=subject):
            for one in (one for case in node.cases for one in ast.walk(case.pattern)):
                if isinstance(one, ast.MatchAs) and one.name:
                    _bind(scope, one.name, NameBinding(expr=subject))
                    _bind(scope, one.name, NameBinding(expr=subject, path=(None,)))
        case ast.Global(names=names):
            scope.outer.update((name, scope.top) for name in names)
        case ast.Nonlocal(names=names):
            scope.outer.update((name, _holder(scope, name)) for name in names)
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
            module.returns.setdefault(scope.node, []).append(value)
        case ast.Call():
            module.calls.append(node)
            _call(module, node)


def _holder(scope: NameScope, name: str) -> NameScope:
    outer = scope.parent
    while outer is not None and outer.parent is not None and name not in outer.names:
        outer = outer.parent
    return outer or scope


def _import_from(module: ScannedModule, node: ast.ImportFrom, scope: NameScope) -> None:
    parts = module.package.split(".") if module.package else []
    start = parts[: len(parts) - node.level + 1] if node.level else []
    source = ".".join([*start, *([node.module] if node.module else [])])
    for alias in node.names:
        if alias.name == "*":
            scope.stars.append(source)
        else:
            name = alias.asname or alias.name
            module.imports[name] = f"{source}.{alias.name}"
            _bind(scope, name, NameBinding(frozenset({Ref(f"{source}.{alias.name}")})))


def _target(module: ScannedModule, target: ast.expr, binding: NameBinding, scope: NameScope) -> None:
    waiting = [(target, binding)]
    while waiting:
        target, binding = waiting.pop()
        match target:
            case ast.Name(id=name):
                _bind(scope, name, binding)
            case ast.Starred(value=value):
                waiting.append((value, NameBinding(expr=binding.expr, path=binding.path[:-1])))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                starred = next((i for i, one in enumerate(parts) if isinstance(one, ast.Starred)), len(parts))
                for place, part in enumerate(parts):
                    step = None if place >= starred else place
                    waiting.append((part, NameBinding(expr=binding.expr, path=(*binding.path, step))))
            case ast.Attribute(value=base, attr=attr):
                module.attributes.append(MemberStore(base, binding, attr))
            case ast.Subscript(value=ast.Call(func=ast.Name(id=name)), slice=ast.Constant(value=str() as key)) if (
                name in _NAMESPACES
            ):
                _bind(scope if name != "globals" else scope.top, key, binding)
            case ast.Subscript(value=base, slice=key_expr):
                module.members.append(MemberStore(base, binding, key_expr))


def _call(module: ScannedModule, node: ast.Call) -> None:
    """Calls that put something into something else."""
    match node:
        case ast.Call(func=ast.Name(id="setattr"), args=[base, key, value]):
            module.attributes.append(MemberStore(base, NameBinding(expr=value), key))
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=[key, value]) if name in _KEYED:
            module.members.append(MemberStore(base, NameBinding(expr=value), key))
            module.attributes.append(MemberStore(base, NameBinding(expr=value), key))
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=args) if name in _ADDERS:
            for value in args[_ADDERS[name] :]:
                module.members.append(MemberStore(base, NameBinding(expr=value), spread=name in _SPREAD))
            if name == "update":
                for keyword in node.keywords:
                    module.members.append(MemberStore(base, NameBinding(expr=keyword.value), keyword.arg))
                    if isinstance(base, ast.Call) and getattr(base.func, "id", "") in _NAMESPACES and keyword.arg:
                        _bind(module.top, keyword.arg, NameBinding(expr=keyword.value))
