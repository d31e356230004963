"""Inputs that tell samples apart: calls taken from the tests and varied, run in the sandbox, compared by result.

Samples that pass the same tests may still differ. Where most of them agree, most are right (CodeT, Chen et al. 2022).
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from agents.languages.base import Call
from agents.languages.python import syntax
from sandbox.base import Sandbox

MAX_CALLS = 40
SECONDS = 10.0
_RUN = """
import importlib, json, sys
def shown(value):
    return repr(value)[:2000]
found = []
for module, name, args in json.load(sys.stdin):
    try:
        found.append(shown(getattr(importlib.import_module(module), name)(*args)))
    except Exception as error:
        found.append("raises " + type(error).__name__)
print(json.dumps(found))
"""


def calls_of(tests: Mapping[str, str], files: Mapping[str, str]) -> list[Call]:
    """Calls with plain data for arguments that the tests make to the files' functions, and small variations of them."""
    modules = {".".join(PurePosixPath(path).with_suffix("").parts) for path in files if path.endswith(".py")}
    found: dict[str, Call] = {}
    for text in tests.values():
        tree = syntax.module(text)
        origin = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in modules
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in origin and node.args:
                for args in _arguments(node):
                    call = (*origin[node.func.id], args)
                    found.setdefault(repr(call), call)
    return list(found.values())[:MAX_CALLS]


def _arguments(node: ast.Call) -> Iterator[tuple[object, ...]]:
    try:
        args = tuple(json.loads(json.dumps(ast.literal_eval(argument))) for argument in node.args)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return  # not plain data: nothing that can be sent
    if node.keywords:
        return
    yield args
    for at, value in enumerate(args):
        for other in _near(value):
            yield (*args[:at], other, *args[at + 1 :])


def _near(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1, 0, -value]
        case str():
            return ["", value[1:], value + value[-1:], value.upper()]
        case list():
            return [[], value[1:], value[::-1], value + value[:1]]
        case _:
            return []


def behaviour(sandbox: Sandbox, calls: Sequence[Call]) -> str:
    """A hash of what these calls give in the code that lies in /workspace; "" when that could not be told.

    Raises SandboxUnavailable.
    """
    if not calls:
        return ""
    done = sandbox.exec(["python", "-c", _RUN], seconds=SECONDS, stdin=json.dumps(calls).encode())
    try:
        answers = json.loads(done.out.strip().splitlines()[-1])
    except (ValueError, IndexError, RecursionError):
        return ""
    if not isinstance(answers, list) or len(answers) != len(calls):
        return ""
    return hashlib.sha256(json.dumps(answers).encode()).hexdigest()[:16]
