"""What flows into a line of a module: the statements behind its names, as text that knows no positions.

Small on purpose: one module, names and attributes of `self` as they are written.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

MOST_STATEMENTS = 300  # beyond them the text is the whole function
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_OWN = ("self.", "cls.")


class Slices:
    """The statements of a module by what they bind, to be asked line by line."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._parents: dict[ast.stmt, ast.stmt | ast.Module] = {}
        self._binders: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
        self._changers: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
        self._callers: dict[tuple[bool, str], list[ast.stmt]] = defaultdict(list)  # by an attribute or not, and name
        self._tests: dict[Scope, list[ast.stmt]] = defaultdict(list)
        pending: list[ast.stmt | ast.Module] = [module]
        while pending:
            parent = pending.pop()
            for child in _statements_in(parent):
                self._parents[child] = parent
                pending.append(child)
        imports = [one for one in self._parents if isinstance(one, ast.Import)]
        self._imported = frozenset(name for one in imports for name in _bound(one))
        for statement in sorted(self._parents, key=_position):
            self._note(statement)

    def text(self, line: int) -> str:
        """The statements that the line depends on, in order. Raises RecursionError for a tree that is too deep."""
        around = [one for one in self._parents if _first_line(one) <= line <= (one.end_lineno or one.lineno)]
        if not around:
            return ""
        start = max(around, key=lambda one: (_first_line(one), -(one.end_lineno or 0)))
        found = {one: _header(one) for one in (start, *self._above(start))}
        pending, names, followed = [*found], set[str](), set[ast.stmt]()
        while pending:
            statement = pending.pop()
            whole = statement in followed
            here = _used(statement, whole=whole)
            sources = [(one, name) for name in sorted(here) for one in self._sources(statement, name)]
            if not whole and self._scope(statement) is self._scope(start):
                names |= here
                sources += [(one, "") for one in self._guards(start, names)]
            for source, name in sources:
                if source not in found:
                    called = isinstance(source, Function) and name not in _parameters(source)
                    found[source] = ast.unparse(_bare(source)) if called else _header(source)
                    followed |= {source} if called else set()
                    pending.append(source)
            if len(found) > MOST_STATEMENTS:
                return ast.unparse(self._scope(start))
        return "\n".join(found[one] for one in sorted(found, key=_position))

    def _note(self, statement: ast.stmt) -> None:
        scope = self._scope(statement)
        for table, names in ((self._binders, _bound(statement)), (self._changers, _changed(statement))):
            for name in names:
                owner = self._class_of(scope) if name.startswith(_OWN) else None
                shared = any(isinstance(one, ast.Global) and name in one.names for one in scope.body)
                table[owner or (self._module if shared else scope), name].append(statement)
        if isinstance(statement, ast.If | ast.Assert | ast.While):
            self._tests[scope].append(statement)
        for node in _own_nodes(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self._callers[False, node.func.id].append(statement)
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and self._imported.isdisjoint(_roots(node.func))  # that function is another module's
            ):
                self._callers[True, node.func.attr].append(statement)

    def _scope(self, statement: ast.stmt) -> Scope:
        parent = self._parents[statement]
        while not isinstance(parent, (*_SCOPES, ast.Module)):
            parent = self._parents[parent]
        return parent

    def _class_of(self, scope: Scope) -> ast.ClassDef | None:
        while not isinstance(scope, ast.ClassDef | ast.Module):
            scope = self._scope(scope)
        return scope if isinstance(scope, ast.ClassDef) else None

    def _above(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        parent = self._parents[statement]
        while isinstance(parent, ast.stmt):
            yield parent
            parent = self._parents[parent]

    def _sources(self, statement: ast.stmt, name: str) -> Iterator[ast.stmt]:
        """The statements that give a name of this statement its value."""
        scope = here = self._scope(statement)
        if name.startswith(_OWN):
            if (owner := self._class_of(scope)) is not None:
                yield from self._changers.get((owner, name), ())
                yield from self._binders.get((owner, name.partition(".")[2]), ())
            return
        while True:
            found = self._binders.get((scope, name), [])
            giving = [*found, *self._changers.get((scope, name), ())]
            yield from (one for one in giving if scope is not here or self._may_come_before(one, statement))
            if isinstance(scope, Function) and name in _parameters(scope):
                yield scope
                yield from self._callers.get((isinstance(self._parents[scope], ast.ClassDef), scope.name), ())
                return
            if found or isinstance(scope, ast.Module):
                return
            scope = self._scope(scope)
            while isinstance(scope, ast.ClassDef):  # its names are not those of its methods
                scope = self._scope(scope)

    def _may_come_before(self, one: ast.stmt, other: ast.stmt) -> bool:
        loops = {above for above in self._above(one) if isinstance(above, _LOOPS)}
        return one.lineno <= other.lineno or not loops.isdisjoint(self._above(other))

    def _guards(self, start: ast.stmt, names: set[str]) -> Iterator[ast.stmt]:
        """Earlier tests, in the same function, of names that the line depends on."""
        for test in self._tests.get(self._scope(start), ()):
            if test.lineno < start.lineno and not names.isdisjoint(_used(test)):
                yield test


def _position(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, _SCOPES) else []
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements_in(child)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _header(statement: ast.stmt) -> str:
    """A statement without the statements inside it; a test also says whether it ends the way."""
    if not any(_statements_in(statement)):
        return ast.unparse(statement)
    parts = [
        ast.unparse(child.type) if isinstance(child, ast.ExceptHandler) and child.type else ast.unparse(child)
        for child in ast.iter_child_nodes(statement)
        if not isinstance(child, ast.stmt | ast.match_case | ast.expr_context)
        and not (isinstance(child, ast.ExceptHandler) and child.type is None)
    ]
    if isinstance(statement, ast.If):
        ends = (ast.Return, ast.Raise, ast.Continue, ast.Break)
        parts += [
            f"{place}: {type(body[-1]).__name__}"
            for place, body in (("then", statement.body), ("else", statement.orelse))
            if body and isinstance(body[-1], ends)
        ]
    return f"{type(statement).__name__} {' '.join(parts)}"


def _bare(function: ast.stmt) -> ast.stmt:
    """A function without its docstring."""
    if isinstance(function, Function) and len(function.body) > 1 and ast.get_docstring(function) is not None:
        bare = type(function)(**{name: getattr(function, name) for name in function._fields})
        bare.body = function.body[1:]
        return ast.copy_location(bare, function)
    return function


def _parameters(function: Function) -> set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}


def _used(statement: ast.stmt, *, whole: bool = False) -> set[str]:
    """Names and attributes of self that a statement reads."""
    names = set[str]()
    for node in ast.walk(statement) if whole else _own_nodes(statement):
        if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            names.add(f"{node.value.id}.{node.attr}")
    return names - {"self", "cls"}


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement gives a value."""
    names = set[str]()
    if isinstance(statement, _SCOPES):
        return {statement.name}
    for node in _own_nodes(statement):
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
    return names


def _changed(statement: ast.stmt) -> set[str]:
    """Names and attributes of self whose object a statement may change, or replace a part of."""
    names = set[str]()
    for node in _own_nodes(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names |= _roots(node)
        elif isinstance(node, ast.Call) and isinstance(statement, ast.Expr):
            for changed in (node.func.value if isinstance(node.func, ast.Attribute) else None, *node.args):
                names |= _roots(changed)
    return names - {"self", "cls"}


def _roots(node: ast.AST | None) -> set[str]:
    """The name, or the attribute of self, that an object is reached by."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        inner = node.value
        if isinstance(node, ast.Attribute) and isinstance(inner, ast.Name) and inner.id in ("self", "cls"):
            return {f"{inner.id}.{node.attr}"}
        node = inner
    return {node.id} if isinstance(node, ast.Name) else set()
