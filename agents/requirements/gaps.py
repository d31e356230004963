"""What requirements leave unsaid: the other side of a limit, a file that is not as it should be, an id that is nowhere.

English alone: the words are data (`gaps.toml`). A gap is named only where no sentence of the document comes near it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from agents.requirements.model import Stated
from agents.requirements.rules import rules
from agents.requirements.sentences import split_sentences

_ID = re.compile(r"(?<![\w./#-])([A-Z][A-Za-z]{0,9}(?:-[A-Z]{1,8})?[-_])\d{1,5}(?:\.\d{1,3})*(?![\w-]|\.\d)")
_WORD = re.compile(r"[a-z]{4,}")
_EVERY_INPUT = re.compile(r"\b(?:all|any|every|invalid|wrong|user) (?:user )?inputs?\b")


def gaps(requirements: Sequence[Stated], text: str, beside: Iterable[Stated] = ()) -> Iterator[tuple[str, str]]:
    """Keys of requirements, each with a sentence on what is unsaid; `text` is their document, `beside` is of others."""
    sentences = [one.lower() for line in text.splitlines() for one in split_sentences(line)]
    if not any(_EVERY_INPUT.search(one) and _words("limit", "told").search(one) for one in sentences):
        yield from _limits(requirements, sentences)
        yield from _inputs(requirements, sentences)
    yield from _ids(requirements, text, {one.author_key for one in [*requirements, *beside]})


@cache
def _words(group: str, name: str) -> re.Pattern[str]:
    return re.compile(rules("gaps")[group][name])


def _stems(text: str) -> set[str]:
    return {word[:6] for word in _WORD.findall(text)}


def _limits(requirements: Iterable[Stated], sentences: Iterable[str]) -> Iterator[tuple[str, str]]:
    told = [one for one in sentences if _words("limit", "told").search(one)]
    for requirement in requirements:
        criteria = " ".join(requirement.acceptance).lower()
        for one in split_sentences(requirement.text[:2_000].lower()):
            found = _words("limit", "bound").search(one)
            if not found or _words("limit", "own").search(one) or _words("limit", "told").search(f"{one} {criteria}"):
                continue
            if _words("limit", "unit").search(one, found.start(), found.end() + 12):
                continue
            unit = _stems(found["of"]) or _stems(one)
            if not any(unit <= _stems(other) for other in told):
                yield requirement.key, f"“{found[0].strip()}”: nothing says what happens otherwise."
                break


def _inputs(requirements: Iterable[Stated], sentences: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The first file of a document: when nothing is said of it, the same holds for the others."""
    if any(_words("input", "told").search(one) and _words("input", "about").search(one) for one in sentences):
        return
    for requirement in requirements:
        said = requirement.text[:2_000].lower()
        found = _words("input", "reads").search(said)
        if found and not _words("input", "own").search(said):
            what = (found["what"] or found["short"]).strip()
            yield requirement.key, f"“{what}”: nothing says what happens when it is missing, empty or not valid."
            return


def _ids(requirements: Iterable[Stated], text: str, known: set[str]) -> Iterator[tuple[str, str]]:
    # An id that begins a line or a cell is defined there.
    cells = (cell for line in text.splitlines() for cell in line.split("|"))
    defined = {one[0] for cell in cells if (one := _ID.search(cell)) and not re.search(r"\w", cell[: one.start()])}
    defined |= known
    series = Counter(one[1] for one in map(_ID.fullmatch, defined) if one)
    for requirement in requirements:
        for one in _ID.finditer(" ".join((requirement.text, *requirement.acceptance))):
            if series[one[1]] > 1 and one[0] not in defined:
                yield requirement.key, f"It mentions {one[0]}, which is nowhere in this document."
                break
