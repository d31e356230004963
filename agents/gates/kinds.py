"""What a file is, by its name and its content."""

from __future__ import annotations

import codecs
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

_NEVER = "(?!)"
_OWN_FIRST_LINE = frozenset({"javascript", "typescript", "template"})  # it may name Node, or what the template becomes
_PRINTABLE = bytes(set(range(32, 256)) - {127} | {7, 8, 9, 10, 12, 13, 27})


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of file_kinds.toml."""

    language: str
    suffix: str = ".txt"
    path: str = _NEVER
    start: str = _NEVER
    content: str = ""
    commands: str = ""
    where: str = _NEVER

    def is_named(self, path: str, data: bytes) -> bool:
        """Whether the file at this path (in lower case) is of this kind by its name."""
        return bool(re.search(self.path, path)) and (not self.content or bool(re.search(self.content.encode(), data)))

    def begins(self, data: bytes) -> bool:
        """Whether the file is of this kind by how it begins."""
        return bool(re.match(self.start.encode(), data))


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("file_kinds.toml").read_text("utf-8"))


@cache
def _kinds() -> tuple[Kind, ...]:
    return tuple(Kind(**row) for row in _table()["kinds"])


@cache
def text_languages() -> frozenset[str]:
    """What a unit of text may be written in; what is embedded in a file is not named again."""
    return frozenset({"python", "text"} | {kind.language for kind in _kinds()}) - {"notebook"}


def kinds_of(path: str, data: bytes) -> tuple[Kind, ...]:
    """What a file is by its name, and by its first line where that says something else; () where neither says anything.

    For its own tool `#!` only begins a comment, so a first line takes nothing away from the name.
    """
    lower, data = path.lower(), data.removeprefix(codecs.BOM_UTF8)
    named = next((kind for kind in _kinds() if kind.is_named(lower, data)), None)
    begun = next((kind for kind in _kinds() if kind.begins(data)), None)
    if named is None or begun is None:
        return tuple(filter(None, (named, begun)))
    settled = begun.language in (named.language, "unchecked")
    settled |= named.language in _OWN_FIRST_LINE and begun.language != "shell"
    return (named,) if settled else (named, begun)


def is_media(path: str, data: bytes) -> bool:
    """Whether a picture, font, sound or the like begins as its suffix says."""
    start = _table()["media"].get(PurePosixPath(path.lower()).suffix[1:])
    return start is not None and bool(re.match(start.encode("latin-1"), data, re.DOTALL))


def mostly_text(data: bytes) -> bool:
    """Whether a file reads as text once its NUL bytes are gone."""
    head = data[:8192].replace(b"\0", b"")
    strange = len(head.translate(None, _PRINTABLE))
    try:
        head[:-4].decode()
    except UnicodeDecodeError:
        return False
    return len(head) * 2 >= min(len(data), 8192) and strange * 50 <= len(head)
