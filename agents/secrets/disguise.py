"""Known secrets that do not stand there plainly: cut into string literals, wrapped over lines, encoded.

Every finding is given as the place in the text as it is, so that it can be cut out or pointed at.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from agents.secrets.formats import WHOLE_KINDS, find_known, is_placeholder
from agents.secrets.tables import pattern

_JOINT = pattern("text", "joint")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{20,}(?:[ \t]{0,8}\r?\n[ \t]{0,8}[A-Za-z0-9+/_\-]{4,}){0,400}={0,2}")
_HEX = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{24,}")
_SPACED_HEX = re.compile(r"(?:\\x|0x)[0-9a-fA-F]{2}(?:[ ,]{0,2}(?:\\x|0x)[0-9a-fA-F]{2}){11,}")
_PERCENT = re.compile(r"(?<![^\s\"'<>])[^\s\"'<>%]{0,2000}%[0-9a-fA-F]{2}[^\s\"'<>]{0,4000}")
_READABLE = bytes(range(32, 127)) + b"\t\n\r"
_LONGEST = 400_000
_DEPTH = 2

Found = tuple[str, int, int]


def find_disguised(text: str) -> Iterator[Found]:
    """Kind, start and end of every known secret that only shows after joining or decoding."""
    if len(text) > _LONGEST:
        # A bound on work; whatever is longer was cut by its maker or is data.
        text = text[:_LONGEST]
    yield from find_joined(text, _real)
    yield from _encoded(text, _DEPTH)
    if "%" in text:
        yield from _percent(text)


def find_joined(text: str, find: Callable[[str], Iterator[Found]]) -> Iterator[Found]:
    """What `find` sees in the text once neighbouring literals are joined, where it stands in pieces in the text."""
    plain = _JOINT.sub("", text)
    if len(plain) == len(text):
        return
    found = list(find(plain))
    if not found:
        return
    places: list[tuple[int, int]] = [(0, 0)]  # where a piece begins: in the joined text, in the text
    done = length = 0
    for match in _JOINT.finditer(text):
        length += match.start() - done
        done = match.end()
        places.append((length, done))

    def original(at: int) -> int:
        begin, there = next(pair for pair in reversed(places) if pair[0] <= at)
        return there + at - begin

    for kind, start, end in found:
        first, last = original(start), original(end - 1) + 1
        if last - first > end - start:
            yield kind, first, last


def _encoded(text: str, depth: int) -> Iterator[Found]:
    for match in _BASE64.finditer(text):
        for decoded in _base64(match[0]):
            for kind in _kinds(decoded, depth):
                yield kind, match.start(), match.end()
    spaced = _SPACED_HEX.finditer(text) if "\\x" in text or "0x" in text else ()
    for match in (*_HEX.finditer(text), *spaced):
        digits = re.sub(r"\\x|0x|[^0-9a-fA-F]", "", match[0])
        for decoded in _readable(bytes.fromhex(digits[: len(digits) // 2 * 2])):
            for kind in _kinds(decoded, depth):
                yield kind, match.start(), match.end()


def _kinds(decoded: str, depth: int) -> Iterator[str]:
    found = [kind for kind, _, _ in _real(decoded)]
    if not found and depth > 1:
        found = [kind for kind, _, _ in _encoded(decoded, depth - 1)]
    yield from found[:1]


def _percent(text: str) -> Iterator[Found]:
    for match in _PERCENT.finditer(text):
        plain = unquote(match[0])
        for kind, _, _ in _real(plain):
            yield kind, match.start(), match.end()
            break


def _base64(run: str) -> Iterator[str]:
    tight = re.sub(r"[\s=]", "", run).replace("-", "+").replace("_", "/")
    tight = tight[: len(tight) - 1] if len(tight) % 4 == 1 else tight
    try:
        data = base64.b64decode(tight + "=" * (-len(tight) % 4))
    except (ValueError, binascii.Error):
        return
    yield from _readable(data)


def _readable(data: bytes) -> Iterator[str]:
    if len(data) >= 10 and len(data.translate(None, _READABLE)) <= 0.1 * len(data):
        yield data.decode("utf-8", "replace")


def _real(text: str) -> Iterator[Found]:
    for kind, start, end in find_known(text):
        if kind in WHOLE_KINDS or not is_placeholder(text[start:end]):
            yield kind, start, end
