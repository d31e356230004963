"""Text that Python code builds in a roundabout way, worked out from its syntax without running it."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
from collections.abc import Callable

_MAX, _MAX_DEPTH = 20_000, 40
_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "b64decode": lambda data: base64.b64decode(data + b"==="),
    "urlsafe_b64decode": lambda data: base64.urlsafe_b64decode(data + b"==="),
    "standard_b64decode": base64.b64decode,
    "b32decode": base64.b32decode,
    "b16decode": base64.b16decode,
    "b85decode": base64.b85decode,
    "a85decode": base64.a85decode,
    "unhexlify": binascii.unhexlify,
    "a2b_hex": binascii.unhexlify,
    "a2b_base64": binascii.a2b_base64,
    "decodebytes": base64.decodebytes,
}
_SAME = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "title", "swapcase", "casefold", "capitalize"})


def text_of(node: ast.AST | None, depth: int = 0) -> str | None:
    """The text that an expression of constants gives; None when running would be needed."""
    value = _value(node, depth)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) and len(value) <= _MAX else None


def beginning_of(node: ast.AST | None) -> str | None:
    """As `text_of`, or at least how the text begins: 'http://host/' + path."""
    whole = text_of(node)
    if whole is not None:
        return whole
    match node:
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=start) | ast.Call(func=ast.Attribute(attr="format", value=start)):
            return beginning_of(start)
        case ast.JoinedStr(values=[ast.Constant(value=start), *_]):
            return str(start)
    return None


def number_of(node: ast.AST | None, depth: int = 0) -> int | None:
    """The whole number that an expression of constants gives; very large ones come back as a bound."""
    match node:
        case ast.Constant(value=int() as number):
            return int(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = number_of(operand, depth)
            return -value if value is not None else None
        case ast.BinOp(op=op) if depth < _MAX_DEPTH:
            left, right = number_of(node.left, depth + 1), number_of(node.right, depth + 1)
            compute = _OPERATORS.get(type(op))
            return compute(left, right) if compute and left is not None and right is not None else None
    return None


def _power(left: int, right: int) -> int | None:
    return 10**18 if left.bit_length() * right > 60 else left**right if right >= 0 else None


def _shifted(left: int, right: int) -> int | None:
    return 10**18 if left.bit_length() + right > 60 else left << right if right >= 0 else None


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int | None]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor},
    **{ast.Pow: _power, ast.LShift: _shifted},
}


def _value(node: ast.AST | None, depth: int) -> str | bytes | None:
    if depth > _MAX_DEPTH:
        return None
    match node:
        case ast.Constant(value=str() | bytes() as text):
            return text
        case ast.BinOp(op=ast.Add()):
            left, right = _value(node.left, depth + 1), _value(node.right, depth + 1)
            if isinstance(left, str) and isinstance(right, str):
                return left + right
            return left + right if isinstance(left, bytes) and isinstance(right, bytes) else None
        case ast.BinOp(op=ast.Mod()):
            return _formatted(node, depth)
        case ast.JoinedStr(values=values):
            parts = [_value(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1) for part in values]
            return "".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else None
        case ast.Subscript():
            return _slice(node, depth)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)):
            return _call(node, name, owner, depth)
        case ast.Call(func=ast.Name(id=name)):
            return _call(node, name, None, depth)
    return None


def _formatted(node: ast.BinOp, depth: int) -> str | None:
    pattern = _value(node.left, depth + 1)
    values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    texts = [_value(value, depth + 1) for value in values]
    if isinstance(pattern, str) and all(isinstance(text, str) for text in texts) and pattern.count("%s") == len(texts):
        for text in texts:
            pattern = pattern.replace("%s", str(text), 1)
        return pattern
    return None


def _slice(node: ast.Subscript, depth: int) -> str | bytes | None:
    text = _value(node.value, depth + 1)
    if text is None:
        return None
    if isinstance(node.slice, ast.Slice):
        bounds = [number_of(part) for part in (node.slice.lower, node.slice.upper, node.slice.step)]
        return text[slice(*bounds)] if bounds[2] != 0 else None
    place = number_of(node.slice)
    return text[place : place + 1 or None] if place is not None and isinstance(text, str) else None


def _call(node: ast.Call, name: str, owner: ast.AST | None, depth: int) -> str | bytes | None:
    first = node.args[0] if node.args else None
    if name == "chr":
        return _character(first)
    if name in ("bytes", "bytearray") and isinstance(first, ast.List | ast.Tuple):
        numbers = [number_of(one) for one in first.elts]
        return bytes(n for n in numbers if n is not None and 0 <= n < 256) if None not in numbers else None
    if name == "join" and owner is not None and first is not None:
        return _join(owner, first, depth)
    if name in ("str", "bytes", "reversed") and first is not None:
        text = _value(first, depth + 1)
        return text[::-1] if name == "reversed" and text is not None else text
    if name in _DECODERS or name == "fromhex":
        return _decoded(name, _value(first, depth + 1))
    text = _value(owner, depth + 1)
    if text is None:
        if name == "decode" and len(node.args) > 1:
            return _rotated(_value(first, depth + 1), text_of(node.args[1]))
        return None
    if name in ("decode", "encode"):
        kind = text_of(first) or ""
        if "rot" in kind:
            return _rotated(text, kind)
        if kind in ("hex", "hex_codec"):
            return _decoded("unhexlify", text)
        if name == "decode" and isinstance(text, bytes):
            return text.decode("utf-8", "replace")
        return text.encode("utf-8", "replace") if name == "encode" and isinstance(text, str) else text
    if name == "replace" and len(node.args) == 2:
        old, new = text_of(node.args[0]), text_of(node.args[1])
        return text.replace(old, new) if isinstance(text, str) and old is not None and new is not None else None
    if name in _SAME and isinstance(text, str):
        return str(getattr(text, name)())
    return None


def _character(node: ast.AST | None) -> str | None:
    number = number_of(node)
    return chr(number) if number is not None and 0 <= number < 0x110000 else None


def _join(owner: ast.AST, items: ast.AST, depth: int) -> str | None:
    between = text_of(owner, depth + 1)
    parts: list[str | None]
    match items:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            parts = [text_of(one, depth + 1) for one in elements]
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="chr"), ast.List() | ast.Tuple() as source]):
            parts = [_character(one) for one in source.elts]
        case (
            ast.GeneratorExp(elt=ast.Call() as call, generators=[loop])
            | ast.ListComp(elt=ast.Call() as call, generators=[loop])
        ):
            codes = loop.iter.elts if isinstance(loop.iter, ast.List | ast.Tuple) else [None]
            parts = [_character(one) for one in codes] if ast.unparse(call.func) == "chr" else [None]
        case _:
            text = text_of(items, depth + 1)
            parts = list(text) if text is not None else [None]
    known = [part for part in parts if part is not None]
    return between.join(known) if between is not None and len(known) == len(parts) else None


def _decoded(name: str, text: str | bytes | None) -> bytes | None:
    if text is None or len(text) > _MAX:
        return None
    data = text.encode("latin-1", "replace") if isinstance(text, str) else text
    try:
        return bytes.fromhex(data.decode("latin-1")) if name == "fromhex" else _DECODERS[name](data)
    except (ValueError, binascii.Error):
        return None


def _rotated(text: str | bytes | None, kind: str | None) -> str | None:
    if text is None or kind is None or "rot" not in kind:
        return None
    return codecs.decode(text if isinstance(text, str) else text.decode("latin-1"), "rot13")
