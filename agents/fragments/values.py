"""Plain values in Python's notation, and the small set of types that fragments speak to each other in."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from agents.languages.python import syntax

PLAIN = ("str", "int", "float", "bool", "list", "dict", "Any", "None")
TYPES = "str, int, float, bool, list[…], dict[…, …], Any, or one of them | None"
# What else models call them, JSON's words among it.
_ALIASES = {
    "List": "list",
    "Dict": "dict",
    "array": "list",
    "object": "dict",
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "any": "Any",
}
_ALIAS = re.compile(rf"\b(?:{'|'.join(_ALIASES)})\b")
_OPTIONAL = re.compile(r"^(?:typing\.)?Optional\[(.*)\]$")
_CLASSES: dict[str, type] = {"str": str, "list": list, "dict": dict}


class NoValue(ValueError):
    """The text is not a plain value, no type or no call; the words name the way out."""


def read_value(text: str) -> Any:
    """The value of a literal such as `[{"name": "Ada"}]`. Raises NoValue; infinities and tuples are none."""
    for words in (text, _as_python(text)):
        try:
            value = syntax.literal(words.strip())
        except (*syntax.UNREADABLE, TypeError):
            continue
        if not is_plain(value):
            break
        return value
    raise NoValue(f"{text[:80]!r} is not a plain value: write a number, a quoted text, a list or a dict")


def _as_python(text: str) -> str:
    """JSON's words for what Python calls True, False and None, where they stand alone."""
    return {"true": "True", "false": "False", "null": "None"}.get(text.strip(), text)


def as_text(text: str) -> str:
    """The literal for what stands where a text is expected: words without quotes are that text."""
    try:
        return text if isinstance(read_value(text), str) else repr(text)
    except NoValue:
        return repr(text)


def is_plain(value: object) -> bool:
    """True for what JSON can say: text, numbers, booleans, None, lists, and dicts with such keys."""
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str | int | float | bool) and is_plain(one) for key, one in value.items())
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int | bool)


def read_type(text: str) -> str:
    """The type in one spelling, such as `list[dict[str, Any]]`. Raises NoValue for one that is not among TYPES."""
    plain = _ALIAS.sub(lambda found: _ALIASES[found[0]], _OPTIONAL.sub(r"\1 | None", text.strip()))
    try:
        body = syntax.parse(plain).body
    except syntax.UNREADABLE:
        body = []
    if len(body) == 1 and isinstance(body[0], ast.Expr) and _is_type(body[0].value):
        return ast.unparse(body[0].value)
    raise NoValue(
        f"{text[:60]!r} is not a type that fragments use: write {TYPES}; a date is a str such as '2026-01-31'"
    )


def _is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Name):
        return node.id in PLAIN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_type(node.left) and _is_type(node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return len(inner) == {"list": 1, "dict": 2}.get(node.value.id, 0) and all(map(_is_type, inner))
    return False


def fits(value: object, type_text: str) -> bool:
    """True when a plain value is of a type as `read_type` gives it."""
    node = syntax.parse(type_text).body[0]
    return isinstance(node, ast.Expr) and _fits(value, node.value)


def _fits(value: object, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _fits(value, node.left) or _fits(value, node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if node.value.id == "list":
            return isinstance(value, list) and all(_fits(one, node.slice) for one in value)
        key, one = node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice, node.slice)
        return isinstance(value, dict) and all(_fits(a, key) and _fits(b, one) for a, b in value.items())
    name = node.id if isinstance(node, ast.Name) else "None"
    if name in ("int", "float"):
        return isinstance(value, int if name == "int" else int | float) and not isinstance(value, bool)
    if name in ("bool", "None"):
        return isinstance(value, bool) if name == "bool" else value is None
    return name == "Any" or isinstance(value, _CLASSES[name])


def read_call(text: str, name: str, parameters: list[str]) -> dict[str, Any]:
    """The arguments of a call of `name` with plain values, by parameter. Raises NoValue."""
    try:
        body = syntax.parse(text.strip()).body
    except syntax.UNREADABLE:
        body = []
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise NoValue(f"{text[:80]!r} is not a call: write {name}({', '.join(parameters)}) with values")
    if call.func.id != name:
        raise NoValue(f"{text[:80]!r} calls {call.func.id}; an example of {name} calls {name}")
    given = [*zip(parameters, call.args, strict=False), *((one.arg or "", one.value) for one in call.keywords)]
    found = {parameter: read_value(ast.unparse(node)) for parameter, node in given}
    if len(call.args) > len(parameters) or len(found) < len(given) or found.keys() != {*parameters}:
        raise NoValue(f"{text[:80]!r} does not fit the parameters: {name}({', '.join(parameters)})")
    return {parameter: found[parameter] for parameter in parameters}
