"""The files of a checkout that the walls are about."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from agents.languages.python import syntax

# Recordings of programs that models wrote, and the first files of recipes: data, though they end in .py.
NOT_OURS = ("/scenarios/", "/library/")


class Tree:
    """A git checkout: its tracked files and their Python, read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.syntax = cache(self._syntax)

    @cached_property
    def files(self) -> list[str]:
        """Paths of all files that git tracks or would add, relative to the root."""
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted({path for path in listed.split("\0") if path and (self.root / path).is_file()})

    def python(self, *folders: str) -> Iterator[str]:
        """The Python modules below these folders, migrations aside: Django writes those."""
        below = tuple(f"{folder}/" for folder in folders)
        for path in self.files:
            if path.endswith(".py") and path.startswith(below) and "/migrations/" not in path:
                yield path

    def own_python(self, *folders: str) -> Iterator[str]:
        """The same without data that ends in .py."""
        return (path for path in self.python(*folders) if not any(part in path for part in NOT_OURS))

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.root / path).read_text(encoding="utf-8")

    def _syntax(self, path: str) -> ast.Module:
        return syntax.parse(self.text(path))

    def git(self, *arguments: str) -> str:
        """What git prints. Raises `subprocess.CalledProcessError` when it refuses."""
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


def set_number(text: str, table: str, key: str, number: int | None) -> str:
    """house.toml with the number of one key of one table replaced, or the key's line removed for None.

    Comments on lines of their own, and the order, stay: a TOML writer would lose them.
    """
    here, result = "", []
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            here = line.strip().strip("[]")
        name, equals, _ = line.partition(" = ")
        if here == table and equals and name.strip().strip('"') == key:
            if number is not None:
                result.append(f"{name} = {number}\n")
        else:
            result.append(line)
    return "".join(result)


def numbers(house: Mapping[str, Any], *path: str) -> dict[str, int]:
    """The table of numbers at that place of house.toml. Raises `KeyError` when the file has none."""
    table: Any = house
    for part in path:
        table = table[part]
    return {key: value for key, value in table.items() if isinstance(value, int)}
