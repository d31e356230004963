"""Which requirements of a document are those of the document that it replaces, in the same or in other words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

LIKE = 0.6  # similarity from which other words are taken for the same requirement
LIKE_IN_PLACE = 0.4  # the same, where the requirements before or after it are the same ones
MOST_COMPARED = 40_000  # pairs of texts without a partner; beyond it they count as added and removed

Change = Literal["same", "altered", "added", "removed"]


@dataclass(frozen=True, slots=True)
class Said:
    """What a document says of one requirement; two lists of these, each in the order of its document, are compared."""

    text: str
    author_key: str = ""
    acceptance: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What it says, whatever the spacing and the case."""
        return (normalized(self.text), *map(normalized, self.acceptance))


def normalized(text: str) -> str:
    """A text without what makes no difference to a reader: its case and its spacing."""
    return " ".join(text.casefold().split())


def change_of(before: Said | None, after: Said | None) -> Change:
    """What became of one requirement between two documents; None where a document does not have it."""
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "same" if before.words == after.words else "altered"


def partners(old: Sequence[Said], new: Sequence[Said]) -> dict[int, int]:
    """Which requirement of the new list is which of the old one, as index → index; what is not in it was added.

    The same words count first, with the same author's id before those without; then the author's id; then how much
    alike the words are, less of it being enough beside requirements that are the same. Two that carry different ids of
    the author are the same requirement only in the same words.
    """
    pairs: dict[int, int] = {}
    _pair(pairs, [(one.words, one.author_key) for one in old], [(one.words, one.author_key) for one in new])
    _pair(pairs, [one.words for one in old], [one.words for one in new])
    _pair(pairs, [normalized(one.text) for one in old], [normalized(one.text) for one in new])
    _pair(pairs, [one.author_key for one in old], [one.author_key for one in new])
    for limit in (LIKE, LIKE_IN_PLACE):
        alike = sorted(_alike(pairs, old, new, limit), key=lambda found: (-found[0], found[1:]))
        for _, at, before in alike:
            in_place = limit == LIKE or _neighbours(pairs, at, before, len(old), len(new))
            if in_place and at not in pairs and before not in pairs.values():
                pairs[at] = before
    return pairs


def _pair(pairs: dict[int, int], old: Sequence[object], new: Sequence[object]) -> None:
    """Add the pairs with the same mark, in order; an empty mark says nothing."""
    taken, free = set(pairs.values()), dict[object, list[int]]()
    for at, mark in enumerate(old):
        if mark and at not in taken:
            free.setdefault(mark, []).append(at)
    for at, mark in enumerate(new):
        if at not in pairs and free.get(mark):
            pairs[at] = free[mark].pop(0)


def _alike(
    pairs: dict[int, int], old: Sequence[Said], new: Sequence[Said], limit: float
) -> Iterator[tuple[float, int, int]]:
    taken = set(pairs.values())
    left = [at for at in range(len(old)) if at not in taken]
    rest = [at for at in range(len(new)) if at not in pairs]
    if len(left) * len(rest) > MOST_COMPARED:
        return
    for before in left:
        matcher = SequenceMatcher(None, b=normalized(old[before].text).split(), autojunk=False)
        for at in rest:
            if old[before].author_key and new[at].author_key:
                continue
            matcher.set_seq1(normalized(new[at].text).split())
            if matcher.quick_ratio() >= limit and (ratio := matcher.ratio()) >= limit:
                yield ratio, at, before


def _neighbours(pairs: dict[int, int], at: int, before: int, olds: int, news: int) -> bool:
    """True when what comes before both, or after both, is the same; the ends of the documents count on both sides."""
    above = pairs.get(at - 1, -1 if at == 0 else None) == before - 1
    below = pairs.get(at + 1, olds if at == news - 1 else None) == before + 1
    return above or below
