"""Text that Python code builds in a roundabout way, worked out from its syntax without running it."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
from collections.abc import Callable, Sequence
from itertools import takewhile

Constant = str | bytes | int
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
FOLDED = frozenset(
    {*_DECODERS, *_SAME, "bytearray", "bytes", "chr", "decode", "encode", "format", "fromhex", "int"}
) | {
    *("join", "ord", "removeprefix", "removesuffix", "replace", "reversed", "str"),
}


def _power(left: int, right: int) -> int | None:
    return 10**18 if left.bit_length() * right > 60 else left**right if right >= 0 else None


def _shifted(left: int, right: int) -> int | None:
    return 10**18 if left.bit_length() + right > 60 else left << right if right >= 0 else None


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int | None]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor},
    **{ast.Pow: _power, ast.LShift: _shifted},
}


def text_of(node: ast.AST | None) -> str | None:
    """The text that an expression of constants gives; None when running would be needed."""
    return Folder().text(node)


def number_of(node: ast.AST | None) -> int | None:
    """The whole number that an expression of constants gives; very large ones come back as a bound."""
    value = Folder().value(node)
    return value if isinstance(value, int) else None


class Folder:
    """Works constant expressions out. `known` gives the constants that any other expression stands for, in order."""

    def __init__(self, known: Callable[[ast.expr], Sequence[Constant] | None] | None = None) -> None:
        self.known = known
        self.local: dict[str, Constant] = {}

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The text of an expression, bytes as Latin-1."""
        value = self.value(node, depth)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        return value if isinstance(value, str) and len(value) <= _MAX else None

    def beginning(self, node: ast.AST | None) -> str | None:
        """As `text`, or at least how the text begins: 'http://host/' + path."""
        whole = self.text(node)
        if whole is not None:
            return whole
        match node:
            case (
                ast.BinOp(op=ast.Add() | ast.Mod(), left=start)
                | ast.Call(func=ast.Attribute(attr="format", value=start))
            ):
                return self.beginning(start)
            case ast.JoinedStr(values=values):
                parts = takewhile(lambda text: text is not None, (self.text(_plain(part)) for part in values))
                return "".join(map(str, parts)) or None
        return None

    def value(self, node: ast.AST | None, depth: int = 0) -> Constant | None:
        """The constant that an expression gives, or None."""
        if depth > _MAX_DEPTH or node is None:
            return None
        value = self._folded(node, depth + 1)
        if value is None and self.known and isinstance(node, ast.expr):
            known = self.known(node)
            return known[0] if known and len(known) == 1 else None
        return value

    def _folded(self, node: ast.AST, depth: int) -> Constant | None:
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return value
            case ast.Name(id=name):
                return self.local.get(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.value(operand, depth)
                return -number if isinstance(number, int) else None
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.JoinedStr(values=parts):
                texts = [self.value(_plain(part), depth) for part in parts]
                return "".join(map(str, texts))[:_MAX] if None not in texts else None
            case ast.Subscript():
                return self._slice(node, depth)
            case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in FOLDED:
                return self._call(node, name, owner, depth)
            case ast.Call(func=ast.Name(id=name)) if name in FOLDED:
                return self._call(node, name, None, depth)
        return None

    def items(self, node: ast.AST | None, depth: int = 0) -> list[Constant] | None:
        """The constants that iterating over an expression gives, in order, or None."""
        depth += 1
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return _all([self.value(one, depth) for one in elements])
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="chr" | "ord" as name), source]):
                items = self.items(source, depth)
                return _all([_converted(name, one) for one in items]) if items is not None else None
            case ast.Call(func=ast.Name(id="reversed" | "list" | "tuple" as name), args=[source]):
                items = self.items(source, depth)
                return items[::-1] if items is not None and name == "reversed" else items
            case ast.Subscript(value=source, slice=ast.Slice() as cut):
                items, span = self.items(source, depth), self._bounds(cut, depth)
                return items[span] if items is not None and span is not None else None
            case ast.GeneratorExp(elt=part, generators=[loop]) | ast.ListComp(elt=part, generators=[loop]):
                return self._comprehended(part, loop, depth)
        whole = self.value(node, depth)
        if isinstance(whole, str | bytes):
            return list(whole)
        known = self.known(node) if self.known and isinstance(node, ast.expr) else None
        return list(known) if known else None

    def _comprehended(self, part: ast.expr, loop: ast.comprehension, depth: int) -> list[Constant] | None:
        source = self.items(loop.iter, depth)
        if source is None or loop.ifs or not isinstance(loop.target, ast.Name) or loop.target.id in self.local:
            return None
        found: list[Constant | None] = []
        for one in source[:_MAX]:
            self.local[loop.target.id] = one
            found.append(self.value(part, depth))
        self.local.pop(loop.target.id, None)
        return _all(found)

    def _operation(self, node: ast.BinOp, depth: int) -> Constant | None:
        if isinstance(node.op, ast.Mod):
            return self._formatted(node, depth)
        left, right = self.value(node.left, depth), self.value(node.right, depth)
        if isinstance(left, int) and isinstance(right, int):
            compute = _OPERATORS.get(type(node.op))
            return compute(left, right) if compute else None
        if not isinstance(node.op, ast.Add):
            return None
        if isinstance(left, str) and isinstance(right, str):
            return (left + right)[: _MAX + 1]
        return left + right if isinstance(left, bytes) and isinstance(right, bytes) else None

    def _formatted(self, node: ast.BinOp, depth: int) -> str | None:
        pattern = self.value(node.left, depth)
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        texts = [self.value(value, depth) for value in values] if isinstance(pattern, str) else []
        if isinstance(pattern, str) and None not in texts and pattern.count("%s") == len(texts):
            for text in texts:
                pattern = pattern.replace("%s", str(text), 1)
            return pattern
        return None

    def _bounds(self, cut: ast.Slice, depth: int) -> slice | None:
        parts = [(one, self.value(one, depth)) for one in (cut.lower, cut.upper, cut.step)]
        numbers = [value for part, value in parts if part is None or isinstance(value, int)]
        return slice(*numbers) if len(numbers) == 3 and numbers[2] != 0 else None

    def _slice(self, node: ast.Subscript, depth: int) -> Constant | None:
        text = self.value(node.value, depth)
        if text is None or isinstance(text, int):
            return None
        if isinstance(node.slice, ast.Slice):
            span = self._bounds(node.slice, depth)
            return text[span] if span is not None else None
        place = self.value(node.slice, depth)
        if not isinstance(place, int) or not -len(text) <= place < len(text):
            return None
        return text[place]

    def _call(self, node: ast.Call, name: str, owner: ast.AST | None, depth: int) -> Constant | None:
        first = node.args[0] if node.args else None
        if name in ("chr", "ord"):
            return _converted(name, self.value(first, depth))
        if name in ("bytes", "bytearray") and isinstance(first, ast.List | ast.Tuple):
            numbers = self.items(first, depth)
            return _octets(numbers) if numbers is not None else None
        if name == "join" and owner is not None and first is not None:
            return self._joined(owner, first, depth)
        if name in ("str", "bytes", "reversed", "int") and owner is None:
            return _kept(name, self.value(first, depth))
        if name in _DECODERS or name == "fromhex":
            return _decoded(name, self.value(first, depth))
        text = self.value(owner, depth)
        if text is None or isinstance(text, int):
            if name == "decode" and len(node.args) > 1:
                return _rotated(self.value(first, depth), self.text(node.args[1], depth))
            return None
        return self._method(node, name, text, depth)

    def _joined(self, owner: ast.AST, items: ast.expr, depth: int) -> str | None:
        between, parts = self.text(owner, depth), self.items(items, depth)
        if between is None or parts is None or not all(isinstance(one, str) for one in parts):
            return None
        return between.join(map(str, parts))[: _MAX + 1]

    def _method(self, node: ast.Call, name: str, text: str | bytes, depth: int) -> Constant | None:
        given = [self.value(one, depth) for one in node.args]
        if name in ("decode", "encode"):
            kind = str(given[0]) if given else ""
            if "rot" in kind:
                return _rotated(text, kind)
            if kind in ("hex", "hex_codec"):
                return _decoded("unhexlify", text)
            if name == "decode" and isinstance(text, bytes):
                return text.decode("utf-8", "replace")
            return text.encode("utf-8", "replace") if name == "encode" and isinstance(text, str) else text
        if not isinstance(text, str) or not all(isinstance(one, str) for one in given):
            return None
        if name == "format":
            return self._filled(node, text, [str(one) for one in given], depth)
        if name in ("replace", "removeprefix", "removesuffix") and len(given) == 1 + (name == "replace"):
            return str(getattr(text, name)(*given))
        return str(getattr(text, name)()) if name in _SAME and not given else None

    def _filled(self, node: ast.Call, text: str, given: list[str], depth: int) -> str | None:
        for key, value in [*enumerate(given), *((one.arg, self.text(one.value, depth)) for one in node.keywords)]:
            if value is None:
                return None
            text = text.replace(f"{{{key}}}", value).replace("{}", value, 1 if isinstance(key, int) else 0)
        return text if "{" not in text and len(text) <= _MAX else None


def _kept(name: str, value: Constant | None) -> Constant | None:
    """What `str`, `bytes`, `reversed` or `int` make of a value."""
    if name == "int":
        return value if isinstance(value, int) else None
    return value[::-1] if name == "reversed" and isinstance(value, str | bytes) else value


def _all(values: list[Constant | None]) -> list[Constant] | None:
    known = [one for one in values if one is not None]
    return known if len(known) == len(values) else None


def _plain(part: ast.expr) -> ast.expr | None:
    """The value put into an f-string; None for one that is formatted further."""
    if not isinstance(part, ast.FormattedValue):
        return part
    return part.value if part.conversion in (-1, ord("s")) and part.format_spec is None else None


def _converted(name: str, value: Constant | None) -> Constant | None:
    if name == "chr":
        return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else None
    return ord(value) if isinstance(value, str | bytes) and len(value) == 1 else None


def _octets(numbers: list[Constant]) -> bytes | None:
    known = [one for one in numbers if isinstance(one, int) and 0 <= one < 256]
    return bytes(known) if len(known) == len(numbers) else None


def _decoded(name: str, text: Constant | None) -> bytes | None:
    if text is None or isinstance(text, int) or len(text) > _MAX:
        return None
    data = text.encode("latin-1", "replace") if isinstance(text, str) else text
    try:
        return bytes.fromhex(data.decode("latin-1")) if name == "fromhex" else _DECODERS[name](data)
    except (ValueError, binascii.Error):
        return None


def _rotated(text: Constant | None, kind: str | None) -> str | None:
    if text is None or isinstance(text, int) or kind is None or "rot" not in kind:
        return None
    return codecs.decode(text if isinstance(text, str) else text.decode("latin-1"), "rot13")
