"""Names that imitate well-known ones: letters swapped, look-alike characters, other separators, words or scopes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

AFFIXES = (
    *("python", "py", "node", "nodejs", "js", "lib", "dev", "official", "core", "client"),
    *("api", "sdk", "tool", "tools", "utils", "pro", "plus", "new", "latest"),
)
TWINS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"), ("3", "e"))
SEPARATORS = re.compile(r"[-_./@]+")
MOST = 3


@dataclass(frozen=True)
class Alike:
    """A well-known name and what makes the other one look like it."""

    name: str
    why: str


def look_alikes(name: str, known: Iterable[str]) -> tuple[Alike, ...]:
    """The well-known names that a typing error or a trick turns into `name`, closest first; at most three."""
    found: dict[str, tuple[int, str]] = {}
    lowered = unicodedata.normalize("NFKC", name).lower()
    shape, words = _shape(lowered), _words(lowered)
    squeezed = "".join(words)
    bare = _without_affixes(words)
    for other in known:
        if other == name:
            continue
        rank = _likeness(lowered, squeezed, shape, words, bare, other)
        if rank is not None:
            found[other] = rank
    best = sorted(found.items(), key=lambda item: (item[1][0], item[0]))[:MOST]
    return tuple(Alike(other, why) for other, (_, why) in best)


def _likeness(
    name: str, squeezed: str, shape: str, words: list[str], bare: frozenset[str], other: str
) -> tuple[int, str] | None:
    if abs(len(name) - len(other)) > 14:
        return None
    theirs = _words(other)
    joined = "".join(theirs)
    if squeezed == joined:
        scoped = name.startswith("@") != other.startswith("@")
        return 0, "the same words in another scope" if scoped else "the same letters with other separators"
    if shape == _shape(other):
        return 1, "look-alike characters"
    if name.startswith("@") and other == name.partition("/")[2]:
        return 1, "the same name in a scope of its own"
    if len(words) > 1 and sorted(words) == sorted(theirs):
        return 2, "the same words in another order"
    if len(joined) >= 3 and joined in bare:
        return 3, "the same name with a word added"
    core = "".join(word for word in theirs if word not in AFFIXES)
    if len(theirs) > 1 and len(core) >= 3 and core in {*bare, squeezed}:
        return 4, "the same name with another ending"
    allowed = 0 if len(joined) < 4 else 1 if len(joined) < 8 else 2
    if allowed and abs(len(squeezed) - len(joined)) <= allowed:
        steps = distance(squeezed, joined, allowed)
        if steps <= allowed:
            return 4 + steps, "one letter off" if steps == 1 else "two letters off"
    return None


def _words(name: str) -> list[str]:
    return [word for word in SEPARATORS.split(name) if word]


def _shape(name: str) -> str:
    """The name as the eye sees it: accents gone, foreign letters and digits as the Latin ones they resemble."""
    text = "".join(
        _FOREIGN.get(one, one) for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one)
    )
    text = SEPARATORS.sub("", text)
    for twin, plain in TWINS:
        text = text.replace(twin, plain)
    return text


_FOREIGN = dict(zip("аеорсухіјѕԁһкмтнвαονρικτυ", "aeopcyxijsdhkmthbaovpiktu", strict=True))


def _without_affixes(words: list[str]) -> frozenset[str]:
    """The name without words and endings that are put before or after a well-known one."""
    plain = "".join(words)
    found = {"".join(word for word in words if word not in AFFIXES)}
    for affix in ("python", "py", "js", "lib"):
        found |= {plain.removeprefix(affix), plain.removesuffix(affix)}
    return frozenset(found - {plain, ""})


def distance(first: str, second: str, most: int) -> int:
    """Letters added, dropped, changed or swapped with a neighbour between the two; `most` + 1 if there are more."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        above, row = row, [i]
        for j, right in enumerate(second, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and first[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = above
    return min(row[-1], most + 1)
