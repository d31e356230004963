"""What the languages say about the definitions of a file, and why one text cannot be merged into another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class DefinitionSpan:
    """A function, class or value at the top of a file or in a class; lines count from 1 and include decorators.

    `role` tells definitions of one name apart (overload, setter, getter, deleter), `ordinal` those of one name,
    kind and role. A `conditional` one is below an `if`, `try` or another compound statement.
    """

    name: str  # with its classes: "Cart.total"
    kind: str  # function, class, value, test
    role: str
    ordinal: int
    first: int
    last: int
    conditional: bool = False

    @property
    def is_test(self) -> bool:
        """True for a test, which its kind says or the beginning of its name."""
        return self.kind == "test" or self.name.rpartition(".")[2].startswith("test")

    @property
    def title(self) -> str:
        """As sentences name it."""
        which = [self.role] if self.role else []
        which += [f"number {self.ordinal + 1}"] if self.ordinal else []
        return f"{self.name} ({', '.join(which)})" if which else self.name


def without(source: str, spans: Iterable[DefinitionSpan], names: Set[str]) -> str:
    """The text without the definitions of these names and the blank lines before them."""
    lines = source.splitlines(keepends=True)
    for one in spans:
        if one.name in names:
            cut_lines(lines, one.first, one.last)
    return "".join(lines)


def cut_lines(lines: list[str], first: int, last: int) -> None:
    """Make these lines, counted from 1, and the blank ones before them empty texts; the others keep their numbers."""
    while first > 1 and not lines[first - 2].strip():
        first -= 1
    lines[first - 1 : last] = [""] * (last - first + 1)


class CannotMerge(Exception):
    """A part of a file does not say clearly what it replaces; the text says why."""


def dropped(old: Iterable[DefinitionSpan], new: Iterable[DefinitionSpan], imported: Set[str]) -> list[DefinitionSpan]:
    """Definitions that only the old version has; of a class that is gone, not each of its members.

    A name that the new version has in another form, as a value or by an import, is not gone.
    """
    rows = list(new)
    names = {one.name for one in rows} | imported
    counts = Counter((one.name, one.kind, one.role) for one in rows)
    gone: list[DefinitionSpan] = []
    for one in old:
        if any(one.name.startswith(f"{other.name}.") for other in gone if other.kind == "class"):
            continue
        again = one.kind != "value" and one.ordinal > 0 and one.ordinal >= counts[one.name, one.kind, one.role]
        if one.name not in names or (one.role and not counts[one.name, one.kind, one.role]) or again:
            gone.append(one)
    return gone
