"""What one statement of a module reads, gives a value, changes and decides."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_CHANGING = frozenset("add append appendleft extend insert pop popitem remove setdefault update write".split())
_SETS = re.compile(
    r"_?(?:set|add|append|ch|clear|config|del|dis|enable|extend|init|insert|install|mount|patch|push|put|reg|remove|re?set|seed|un|update|use)"
)


def position(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, SCOPES) else []
    return min([statement.lineno, *(one.lineno for one in decorators)])


def statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from statements_in(child)


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def header(statement: ast.stmt) -> str:
    """A statement without the statements inside it; a test also says whether it ends the way."""
    if not any(statements_in(statement)):
        return ast.unparse(statement)
    parts = [
        ast.unparse(child.type) if isinstance(child, ast.ExceptHandler) and child.type else ast.unparse(child)
        for child in ast.iter_child_nodes(statement)
        if not isinstance(child, ast.stmt | ast.match_case | ast.expr_context)
        and not (isinstance(child, ast.ExceptHandler) and child.type is None)
    ]
    if isinstance(statement, ast.If):
        parts += [f"then: {ending(statement.body)}", f"else: {ending(statement.orelse)}"]
    elif isinstance(statement, ast.Try | ast.TryStar):
        parts += [f"except: {ending(one.body)}" for one in statement.handlers]
    elif isinstance(statement, ast.Match):
        parts += [
            f"case {ast.unparse(one.pattern)} if {one.guard and ast.unparse(one.guard)}: {ending(one.body)}"
            for one in statement.cases
        ]
    return f"{type(statement).__name__} {' '.join(parts)}"


def ending(body: list[ast.stmt]) -> str:
    """How statements end the way, or what they call last, which may."""
    ends = {type(node).__name__ for one in body for node in ast.walk(one) if isinstance(node, _ENDS)}
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    return " ".join([*sorted(ends), *([ast.unparse(last.func)] if isinstance(last, ast.Call) else [])])


def bare(function: ast.stmt) -> ast.stmt:
    """A function without its docstring."""
    if isinstance(function, Function) and len(function.body) > 1 and ast.get_docstring(function) is not None:
        bare = type(function)(**{name: getattr(function, name) for name in function._fields})
        bare.body = function.body[1:]
        return ast.copy_location(bare, function)
    return function


def parameters(function: Function) -> set[str]:
    return {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}


def used(statement: ast.stmt, *, whole: bool = False) -> set[str]:
    """Names and attributes of self that a statement reads."""
    names = set[str]()
    for node in ast.walk(statement) if whole else own_nodes(statement):
        if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            names.add(f"{node.value.id}.{node.attr}")
    return names - {"self", "cls"}


def attributes(statement: ast.stmt, *, whole: bool) -> Iterator[str]:
    for node in ast.walk(statement) if whole else own_nodes(statement):
        if isinstance(node, ast.Attribute):
            yield node.attr


def bound(statement: ast.stmt) -> set[str]:
    """Names that a statement gives a value."""
    names = set[str]()
    if isinstance(statement, SCOPES):
        return {statement.name}
    for node in own_nodes(statement):
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
    return names


def changed(statement: ast.stmt, modules: Collection[str] = ()) -> set[str]:
    """Names and attributes of self whose object a statement may change, or replace a part of.

    A function of one of the `modules` changes its module where its name says so: `locale.setlocale(…)`.
    """
    names = set[str]()
    for node in own_nodes(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names |= roots(node)
        elif isinstance(node, ast.Call):
            method = node.func if isinstance(node.func, ast.Attribute) else None
            alone = isinstance(statement, ast.Expr)
            if method and isinstance(method.value, ast.Name) and method.value.id in modules:
                names |= {method.value.id} if _SETS.match(method.attr) else set()
            elif method and (alone or method.attr in _CHANGING):
                names |= roots(method.value)
            for changed in (*node.args, *(one.value for one in node.keywords)) if alone else ():
                names |= roots(changed)
    return names - {"self", "cls"}


def roots(node: ast.AST | None) -> set[str]:
    """The name, or the attribute of self, that an object is reached by."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        inner = node.value
        if isinstance(node, ast.Attribute) and isinstance(inner, ast.Name) and inner.id in ("self", "cls"):
            return {f"{inner.id}.{node.attr}"}
        node = inner
    return {node.id} if isinstance(node, ast.Name) else set()
