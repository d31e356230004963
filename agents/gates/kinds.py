"""What a file is, by its name and its content."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

_NEVER = "(?!)"
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

    def fits(self, path: str, data: bytes) -> bool:
        """Whether the file at this path (in lower case) is of this kind."""
        if re.match(self.start.encode(), data):
            return True
        return bool(re.search(self.path, path)) and (not self.content or bool(re.search(self.content.encode(), data)))


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


def kind_of(path: str, data: bytes) -> Kind | None:
    """The first kind that fits; None for a file whose name and start say nothing."""
    lower = path.lower()
    return next((kind for kind in _kinds() if kind.fits(lower, data)), None)


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
