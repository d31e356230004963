"""Where a file stands in the repository, and what it may name there."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

Found = Iterator[tuple[int, str]]  # line, what is wrong there


@dataclass(frozen=True)
class CheckedFile:
    """A file's path, the paths of all files, and their texts; None for one that holds no text."""

    path: str
    there: Collection[str]
    read: Callable[[str], str | None]

    def resolve(self, target: str) -> str:
        """The path of a link: relative to the file, or to the repository when it begins with a slash."""
        folder = "" if target.startswith("/") else posixpath.dirname(self.path)
        return posixpath.normpath(posixpath.join(folder, target.lstrip("/")))

    def has(self, path: str) -> bool:
        """True for a file or a folder of the repository."""
        return path in (".", *self.there) or any(one.startswith(f"{path}/") for one in self.there)
