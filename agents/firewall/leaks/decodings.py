"""A text read in many ways: decoded, joined, turned round — and each reading brought to plain letters and digits."""

from __future__ import annotations

import base64
import binascii
import bz2
import html
import lzma
import quopri
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from urllib.parse import unquote_to_bytes

MAX_TEXT = 2_000_000
_MAX_DEPTH, _MAX_VARIANTS = 3, 400
# Characters written as numbers: the base, what a run of them looks like, and one number in it.
_NUMBERS = [
    (8, re.compile(r"(?:\\?0?[0-7]{3}[\s,;\\]*){6,}"), re.compile(r"\d{2,3}")),
    (10, re.compile(r"(?:(?:&#|\\)?\d{2,3}[\s,;\])]*){6,}"), re.compile(r"\d{2,3}")),
    (2, re.compile(r"(?:[01]{7,8}[\s,;]*){6,}"), re.compile(r"[01]{7,8}")),
]
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{8,}={0,2}")
# How packed data begins, and what unpacks it; the cap keeps a bomb small. 47: zlib or gzip, whichever the header says.
_PACKED: list[tuple[tuple[bytes, ...], Callable[[bytes], bytes]]] = [
    ((b"\x1f", b"\x78"), lambda data: zlib.decompressobj(47).decompress(data, MAX_TEXT)),
    ((b"BZh",), lambda data: bz2.BZ2Decompressor().decompress(data, MAX_TEXT)),
    ((b"\xfd7zXZ",), lambda data: lzma.LZMADecompressor().decompress(data, MAX_TEXT)),
]
_ALNUM = re.compile(r"[^a-z0-9]+")


def squash(text: str) -> str:
    """Letters and digits only, in plain lower case: the same through spaces, marks, zero-width and look-alikes."""
    return _ALNUM.sub("", unicodedata.normalize("NFKC", text).casefold())


def readings(text: str) -> Iterator[str]:
    """The text squashed, and everything that decoding parts of it gives, squashed too."""
    queue: list[tuple[str, int]] = [(text, 0)]
    known: set[str] = set()
    while queue and len(known) < _MAX_VARIANTS:
        current, depth = queue.pop(0)
        if current in known:
            continue
        known.add(current)
        yield squash(current)
        lines = [squash(line) for line in current.splitlines()]
        if depth == 0 and len(lines) > 5:
            yield "".join(line[:1] for line in lines)
            yield "".join(line[-1:] for line in lines)
            yield squash("".join(line.strip()[:1] for line in current.splitlines()))
            tokens = [squash(word) for word in current.split()]
            yield "".join(word[:1] for word in tokens)
        if depth < _MAX_DEPTH:
            queue += [(decoded, depth + 1) for decoded in _decodings(current)]


def _decodings(text: str) -> Iterator[str]:
    tight = re.sub(r"[\s\u200b-\u200f\u2060\ufeff]+|[\"'`][\s+,]*[\"'`]", "", text)
    yield from _escapes(text)
    yield from _of_numbers(text)
    for source in dict.fromkeys((text, tight, tight[::-1])):
        yield from _of_letters(source)
    for line in text.splitlines()[:200]:
        if 8 <= len(line) <= 61:
            yield from _try(binascii.a2b_uu, line)


def _escapes(text: str) -> Iterator[str]:
    """Characters written as entities, calls, or with a backslash, percent or equals sign."""
    yield html.unescape(text)
    if codes := re.findall(r"(?i)\bchr\w*\(\s*(\d{2,3})\s*\)|fromCharCode\(\s*(\d{2,3})", text):
        yield "".join(chr(int(a or b)) for a, b in codes)
    if "%" in text:
        yield unquote_to_bytes(text).decode("utf-8", "replace")
    if "=" in text:
        yield quopri.decodestring(text.encode("utf-8", "replace")).decode("utf-8", "replace")
    yield re.sub(r"\\u\{?([0-9a-fA-F]{2,6})\}?|\\x([0-9a-fA-F]{2})|\\U([0-9a-fA-F]{8})", _escape, text)


def _of_numbers(text: str) -> Iterator[str]:
    """Characters by their numbers, and bytes in hexadecimal digits."""
    for base, pattern, digits in _NUMBERS:
        for run in pattern.findall(text)[:20]:
            numbers = [int(n, base) for n in digits.findall(run) if base != 8 or not re.search("[89]", n)]
            yield "".join(chr(n) for n in numbers if n < 0x250)
    hexes = re.sub(r"0x|\\x|%|[\s:,;\-_.]|[\"']", "", text)
    for source in (hexes, hexes[::-1]):
        for run in re.findall(r"[0-9a-fA-F]{12,}", source)[:20]:
            for part in (run, run[1:]):
                yield from _try(bytes.fromhex, part[: len(part) // 2 * 2])


def _of_letters(source: str) -> Iterator[str]:
    """Bytes in the alphabets of base64, base32, base85 and Ascii85."""
    for run in _BASE64.findall(source)[:40]:
        plain = run.rstrip("=").replace("-", "+").replace("_", "/")
        # What stands before it, such as a folder, may be glued to it.
        starts = [0, 1, 2, 3, *(found.end() for found in islice(re.finditer("/", plain), 4))]
        for shift in dict.fromkeys(starts):
            yield from _try(_base64, plain[shift:])
    for run in re.findall(r"[A-Za-z2-7]{16,}={0,6}", source)[:20]:
        yield from _try(lambda p: base64.b32decode(p + "=" * (-len(p) % 8)), run.rstrip("=").upper())
    for run in re.findall(r"[0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~]{15,}", source)[:20]:
        for shift in range(5):
            yield from _try(base64.b85decode, run[shift:])
    for run in [*re.findall(r"<~(.{10,}?)~>", source)[:20], *re.findall(r"[!-u]{15,}", source)[:20]]:
        yield from _try(base64.a85decode, run)


def _base64(digits: str) -> bytes:
    """Decode base64 without its padding; a digit too many is left out."""
    whole = digits[: len(digits) - (len(digits) % 4 == 1)]
    return base64.b64decode(whole + "=" * (-len(whole) % 4))


def _try(decode: Callable[[str], bytes], text: str) -> Iterator[str]:
    try:
        data = decode(text)
        for heads, unpack in _PACKED:
            if data.startswith(heads):
                yield unpack(data).decode("utf-8", "replace")
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        return
    readable = sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in data)
    if data and readable >= 0.5 * len(data):
        yield data.decode("utf-8", "replace")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[1::2].count(0) > len(data) // 4:
        yield data.decode("utf-16", "replace")


def _escape(match: re.Match[str]) -> str:
    number = int(match[1] or match[2] or match[3], 16)
    return chr(number) if number < 0x110000 else ""


def differences(data: bytes) -> bytes:
    """Each byte against the next: what stays the same when all are combined with one and the same byte."""
    return bytes(a ^ b for a, b in pairwise(data))


def raw_runs(text: str) -> Iterator[bytes]:
    """The bytes behind the runs of hexadecimal and base64 digits in a text."""
    for run in re.findall(r"(?:[0-9a-fA-F]{2}[\s:,]?){12,}", text)[:20]:
        yield bytes.fromhex(re.sub(r"[\s:,]", "", run))
    for run in re.findall(r"[A-Za-z0-9+/_\-]{16,}", text)[:40]:
        yield _base64(run.replace("-", "+").replace("_", "/"))
