"""What flows into a line of a module: the statements behind its names, as text that knows no positions.

Small on purpose: one module, names and attributes of `self` as they are written.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from agents.languages.python.statements import (
    SCOPES,
    Function,
    attributes,
    bare,
    bound,
    changed,
    first_line,
    header,
    own_nodes,
    parameters,
    position,
    roots,
    statements_in,
    used,
)

MOST_STATEMENTS = 300  # beyond them the text is the whole function
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_OWN = ("self.", "cls.")
_WITHOUT_NAME = frozenset({"__init__", "__new__", "__call__", "__enter__", "__iter__", "__getattr__", "__getitem__"})


class Slices:
    """The statements of a module by what they bind, to be asked line by line."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._parents: dict[ast.stmt, ast.stmt | ast.Module] = {}
        self._binders: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
        self._changers: dict[tuple[Scope, str], list[ast.stmt]] = defaultdict(list)
        self._mentions: dict[tuple[str, str], list[ast.stmt]] = defaultdict(list)  # of a name, a call, an attribute
        self._holders: dict[str, set[str]] = defaultdict(set)  # names that are given this one: aliases and tables
        self._setters: dict[str, list[ast.stmt]] = defaultdict(list)  # of an attribute of anything but self
        self._elsewhere: dict[tuple[Scope, str], Scope] = {}  # what global and nonlocal say
        self._tests: dict[Scope, list[ast.stmt]] = defaultdict(list)
        pending: list[ast.stmt | ast.Module] = [module]
        while pending:
            parent = pending.pop()
            for child in statements_in(parent):
                self._parents[child] = parent
                pending.append(child)
        imports = [one for one in self._parents if isinstance(one, ast.Import)]
        self._imported = frozenset(name for one in imports for name in bound(one))
        ordered = sorted(self._parents, key=position)
        for statement in ordered:
            if isinstance(statement, ast.Global | ast.Nonlocal):
                scope = self._scope(statement)
                outer: Scope = module
                if isinstance(statement, ast.Nonlocal) and not isinstance(scope, ast.Module):
                    outer = self._scope(scope)
                self._elsewhere |= {(scope, name): outer for name in statement.names}
        for statement in ordered:
            self._note_bound(statement)
        for statement in ordered:
            self._note(statement)

    def text(self, line: int) -> str:
        """The statements that the line depends on, in order. Raises RecursionError for a tree that is too deep."""
        around = [one for one in self._parents if first_line(one) <= line <= (one.end_lineno or one.lineno)]
        if not around:
            return ""
        start = max(around, key=lambda one: (first_line(one), -(one.end_lineno or 0)))
        above = list(self._above(start))
        found = {one: header(one) for one in (start, *above)}
        pending, names, followed = [*found], set[str](), set[ast.stmt]()
        while pending or (pending := self._members(found, followed, above)):
            statement = pending.pop()
            whole = statement in followed
            here = used(statement, whole=whole)
            sources = [(one, name) for name in sorted(here) for one in self._sources(statement, name)]
            if not whole and self._scope(statement) is self._scope(start):
                names |= here
                sources += [(one, "") for one in self._guards(start, names)]
            sources += [(above, "") for one, _ in sources for above in self._control(one)]
            for source, name in sources:
                if source not in found:
                    called = isinstance(source, Function) and name not in {"", *parameters(source)}
                    found[source] = ast.unparse(bare(source)) if called else header(source)
                    followed |= {source} if called else set()
                    pending.append(source)
            if len(found) > MOST_STATEMENTS:
                return ast.unparse(self._scope(start))
        return "\n".join([*(found[one] for one in sorted(found, key=position)), *self._aliases(found)])

    def _aliases(self, found: Iterable[ast.stmt]) -> list[str]:
        names = {one.name for one in found if isinstance(one, Function)}
        return sorted(f"{alias}: {name}" for name in names for alias in self._holders.get(name, ()))

    def _members(self, found: dict[ast.stmt, str], followed: set[ast.stmt], around: list[ast.stmt]) -> list[ast.stmt]:
        """What else the classes among the statements give the attributes that the statements read; added to both."""
        read = {name for one in found for name in attributes(one, whole=one in followed)}
        more: list[ast.stmt] = []
        for owner in [one for one in found if isinstance(one, ast.ClassDef) and one not in around]:
            for name in sorted(read):
                more += self._binders.get((owner, name), []) + self._changers.get((owner, f"self.{name}"), [])
            for name in _WITHOUT_NAME:
                for one in self._binders.get((owner, name), []):
                    found.setdefault(one, ast.unparse(bare(one)))  # what it depends on would be half the module
        more = [one for one in dict.fromkeys(more) if one not in found]
        found.update((one, ast.unparse(bare(one)) if isinstance(one, Function) else header(one)) for one in more)
        followed |= {one for one in more if isinstance(one, Function)}
        return more

    def _control(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements of its scope that decide whether it runs."""
        for above in self._above(statement):
            if isinstance(above, SCOPES):
                return
            yield above

    def _note_bound(self, statement: ast.stmt) -> None:
        scope = self._scope(statement)
        for name in bound(statement):
            self._binders[self._elsewhere.get((scope, name), scope), name].append(statement)

    def _note(self, statement: ast.stmt) -> None:
        scope = self._scope(statement)
        for name in (altered := changed(statement, self._imported)):
            owner = self._class_of(scope) if name.startswith(_OWN) else None
            self._changers[owner or self._home(scope, name), name].append(statement)
        if isinstance(statement, ast.If | ast.Assert | ast.While):
            self._tests[scope].append(statement)
        calls = any(isinstance(one, ast.Call) for one in own_nodes(statement))
        given = () if calls else (*bound(statement), *altered)
        for node in own_nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                # An alias or a table that calls nothing gives a function nothing; what else it holds is not followed.
                self._holders[node.id].update(given)
                if calls:
                    self._mentions["", node.id].append(statement)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self._setters[node.attr].append(statement)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self._mentions["()", node.func.id].append(statement)
            elif isinstance(node, ast.Call):
                for one in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(one, ast.Attribute) and self._imported.isdisjoint(
                        roots(one)
                    ):  # else another module's
                        self._mentions[".", one.attr].append(statement)

    def _home(self, scope: Scope, name: str) -> Scope:
        """The scope whose name it is."""
        while not isinstance(scope, ast.Module) and (scope, name) not in self._binders:
            if isinstance(scope, Function) and name in parameters(scope):
                break
            scope = self._scope(scope)
        return scope

    def _scope(self, statement: ast.stmt) -> Scope:
        parent = self._parents[statement]
        while not isinstance(parent, (*SCOPES, ast.Module)):
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
            yield from self._setters.get(name.partition(".")[2], ())
            return
        while True:
            found = self._binders.get((scope, name), [])
            giving = [*found, *self._changers.get((scope, name), ())]
            yield from (one for one in giving if scope is not here or self._may_come_before(one, statement))
            if isinstance(scope, Function) and name in parameters(scope):
                yield scope
                around = self._parents[scope]
                yield from self._mentions.get(("." if isinstance(around, ast.ClassDef) else "", scope.name), ())
                if isinstance(around, ast.ClassDef) and scope.name in _WITHOUT_NAME:
                    yield from self._mentions.get(("()", around.name), ())
                return
            if not found and isinstance(scope, ast.Module):
                yield from self._binders.get((scope, "*"), ())
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
            if test.lineno < start.lineno and not names.isdisjoint(used(test)):
                yield test
