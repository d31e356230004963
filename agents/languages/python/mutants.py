"""Small mistakes in Python code, of the kinds that mutation testing uses: one change a mutant, always parsable."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from agents.languages.python import syntax

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
MAX_SITES = 4_000
_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


@dataclass(frozen=True)
class Wrong:
    """A module with one mistake; `kind` names what sort it is of, `line` the mistake's in the source."""

    text: str
    kind: str
    line: int


@dataclass(frozen=True)
class _Change:
    kind: str
    make: Callable[[ast.AST], None]
    line: int = 0  # of the part that is changed, where the node begins on another one


def mutants_of(source: str, *, seed: int, limit: int, lines: frozenset[int]) -> tuple[str, list[tuple[int, str]]]:
    """The module as mutants are written, without comments and layout, and its mutants, each after its line in `source`.

    None if it does not parse.
    """
    try:
        found = wrongs(source, seed=seed, limit=limit, lines=lines)
        return ast.unparse(syntax.parse(source)) + "\n", [(wrong.line, wrong.text) for wrong in found]
    except (SyntaxError, ValueError, RecursionError):
        return source, []


def wrongs(source: str, *, seed: int = 0, limit: int = 40, lines: frozenset[int] | None = None) -> list[Wrong]:
    """Up to `limit` different variants of a module, each with one mistake, in an order drawn from `seed`.

    `lines` keeps the mistakes on those lines. Comments and layout are lost: the text is written anew from the tree.
    Raises SyntaxError for text that is no Python.
    """
    tree = syntax.parse(source)
    typing = _annotations(tree)
    sites = [
        (at, choice, line)
        for at, node in enumerate(islice(ast.walk(tree), MAX_SITES))
        for choice, change in enumerate(_changes(node))
        if node not in typing
        and (line := change.line or getattr(node, "lineno", 0))
        and (lines is None or line in lines)
    ]
    random.Random(f"{seed}").shuffle(sites)  # noqa: S311 - a draw that can be repeated, no secret
    found: list[Wrong] = []
    seen = {ast.unparse(tree)}
    for at, choice, line in sites:
        if len(found) >= limit:
            break
        variant = copy.deepcopy(tree)
        node = next(node for number, node in enumerate(ast.walk(variant)) if number == at)
        change = _changes(node)[choice]
        change.make(node)
        try:
            text = ast.unparse(ast.fix_missing_locations(variant))
            syntax.parse(text)
        except (ValueError, SyntaxError, AttributeError):
            continue
        if text not in seen:
            seen.add(text)
            found.append(Wrong(text + "\n", change.kind, line))
    return found


def _annotations(tree: ast.AST) -> set[ast.AST]:
    """All nodes of annotations: a mistake there changes nothing that a test could notice."""
    found = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    return {inner for one in found if isinstance(one, ast.AST) for inner in ast.walk(one)}


def _changes(node: ast.AST) -> list[_Change]:
    """What can go wrong at this node; the same list for equal nodes."""
    return [*_of_expressions(node), *_of_statements(node)]


def _of_expressions(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=[op]):
            for other in _COMPARE.get(type(op), ()):
                yield _set(_kind_of(type(op), other), "ops", [other()])
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            for changed in _ARITHMETIC.get(type(operator), ()):
                yield _set("arithmetic", "op", changed())
        case ast.BoolOp(op=boolean):
            yield _set("junction", "op", ast.Or() if isinstance(boolean, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _set("opposite", "operand", ast.UnaryOp(ast.Not(), operand))
        case ast.Constant(value=bool() as truth):
            yield _set("truth", "value", not truth)
        case ast.Constant(value=int() as number) if abs(number) < 10**9:
            yield _set("number", "value", number + 1)
            yield _set("number", "value", number - 1)
        case ast.Constant(value=float() as number):
            yield _set("fraction", "value", number + 1.0)
        case ast.Call(args=[first, second, *rest]):
            yield _set("arguments", "args", [second, first, *rest])
        case ast.Slice(lower=None, upper=ast.expr() as upper):
            yield _set("slice", "upper", ast.BinOp(upper, ast.Sub(), ast.Constant(1)))
        case ast.Slice(lower=ast.expr() as lower):
            yield _set("slice", "lower", ast.BinOp(lower, ast.Add(), ast.Constant(1)))
        case ast.IfExp(test=test):
            yield _set("opposite", "test", ast.UnaryOp(ast.Not(), test))
        case _:
            return


def _kind_of(op: type[ast.cmpop], other: type[ast.cmpop]) -> str:
    if op not in _BOUNDARY:
        return "opposite"
    return "boundary" if _BOUNDARY[op] is other else "direction"


def _of_statements(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield _set("opposite", "test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _set("result", "value", ast.Constant(None))
        case ast.AugAssign():
            yield _set("sum", "value", ast.Constant(0))
        case _:
            pass
    body = getattr(node, "body", None)
    if isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
        for at, statement in enumerate(body):
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.If | ast.Expr) and not _docstring(statement):
                yield _dropped(at, statement.lineno)


def _docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _set(kind: str, name: str, value: object) -> _Change:
    return _Change(kind, lambda node: setattr(node, name, value))


def _dropped(at: int, line: int) -> _Change:
    def drop(node: ast.AST) -> None:
        body = node.body  # type: ignore[attr-defined]  # only nodes that have a body come here
        body[at] = ast.Pass()

    return _Change("step", drop, line)
