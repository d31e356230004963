"""Code that could make failing tests look green: not proof of intent, and enough to ask a person."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agents.languages.python import syntax
from agents.languages.python.test_config import is_collected

_LEFT_OUT = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_plugins"})
_INSIDES = frozenset({"__code__", "f_lineno", "f_trace"})
_SWALLOWED = frozenset({"BaseException", "Exception", "AssertionError"})
_STOPS = ("os._exit", "os.fork", "sys.settrace", "sys.setprofile")
_RUNNERS = frozenset({"_pytest", "pluggy"})


def forgeries(path: str, source: str) -> list[str]:
    """What in this file decides how tests run or compare, each in a few words; fixtures alone are none."""
    is_test = is_collected(path) or "tests/" in path
    return sorted({why for node in ast.walk(syntax.module(source)) for why in _in(node, is_test)})


def _in(node: ast.AST, is_test: bool) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _in_function(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if name in _LEFT_OUT or (name == "__test__" and _is(node.value, False)) or name in _INSIDES:
                yield f"sets {name}"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        roots = {name.partition(".")[0] for name in names}
        for root in sorted(roots & (_RUNNERS if is_test else _RUNNERS | {"pytest"})):
            yield f"imports {root}"
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in _STOPS:
        yield f"calls {ast.unparse(node.func)}"


def _in_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    if node.name.startswith("pytest_"):
        yield f"defines the hook {node.name}"
    if node.name in ("__eq__", "__ne__") and _constant(node, node.name == "__eq__"):
        yield f"{node.name} calls everything equal"
    if node.name in ("__exit__", "__aexit__") and _constant(node, True):
        yield f"{node.name} swallows every failure in its block"
    if any(ast.unparse(each).endswith("contextmanager") for each in node.decorator_list) and _swallows(node):
        yield f"{node.name} swallows failures in its block"


def _constant(node: ast.FunctionDef | ast.AsyncFunctionDef, value: bool) -> bool:
    """True when the function can return nothing else."""
    returns = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
    return bool(returns) and all(_is(each.value, value) for each in returns)


def _swallows(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True when what fails where a context manager yields ends there."""
    for each in ast.walk(function):
        if isinstance(each, ast.Try) and any(isinstance(n, ast.Yield) for one in each.body for n in ast.walk(one)):
            for handler in each.handlers:
                named = {n.id for n in ast.walk(handler.type or handler) if isinstance(n, ast.Name)}
                raises = any(isinstance(n, ast.Raise) for one in handler.body for n in ast.walk(one))
                if not raises and (handler.type is None or named & _SWALLOWED):
                    return True
    return False


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
