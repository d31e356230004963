"""Which paths a model may name: plain ones inside the project, and nothing that only looks plain."""

from __future__ import annotations

import re
import unicodedata

MAX_PART_BYTES = 255
MAX_PATH_BYTES = 1024
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
# Names under which file systems that fold case or shorten names would reach git's own folder.
_GIT = re.compile(r"\.git[ .]*|git~\d+", re.I)


class BadPath(ValueError):
    """A path is refused; the text says why and what to write instead."""


def check_path(path: str) -> str:
    """The path as it may be used, relative with `/`; raises `BadPath`. It does not look at any disk."""
    shown = repr(path[:120])
    if not path or path != path.strip():
        raise BadPath(f"{shown} is not a path: it is empty or has blanks around it.")
    if any(char != " " and unicodedata.category(char) in _INVISIBLE for char in path):
        raise BadPath(f"{shown} holds control or invisible characters.")
    if "\\" in path or re.match(r"[A-Za-z]:", path):
        raise BadPath(f"{shown} is a Windows path: use / and a path relative to the project's folder.")
    if path.startswith(("/", "~")):
        raise BadPath(f"{shown} is absolute: write it relative to the project's folder.")
    if any(char in path for char in ':*?"<>|'):
        raise BadPath(f"{shown} holds a character that no file here may have in its name.")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise BadPath(f"{shown}… is longer than {MAX_PATH_BYTES} bytes.")
    parts = path.split("/")
    while parts and parts[0] == ".":
        parts.pop(0)
    folded = unicodedata.normalize("NFKC", path).split("/")
    for part in [*parts, *folded]:
        _check_part(part, shown)
    if not parts:
        raise BadPath(f"{shown} names no file of the project.")
    return unicodedata.normalize("NFC", "/".join(parts))


def _check_part(part: str, shown: str) -> None:
    if part == "..":
        raise BadPath(f"{shown} leaves the project's folder.")
    if not part:
        raise BadPath(f"{shown} has an empty part; a file needs a name.")
    if len(part.encode()) > MAX_PART_BYTES:
        raise BadPath(f"{shown} has a part longer than {MAX_PART_BYTES} bytes.")
    if part != "." and part.endswith((".", " ")):
        raise BadPath(f"{shown} has a part that ends with a dot or a blank.")
    if _GIT.fullmatch(part):
        raise BadPath(f"{shown} is in git's own folder, which is never written.")
