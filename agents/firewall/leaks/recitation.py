"""Whether a text recites a prompt that must not be shown: word for word, in large parts, or disguised."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONG_RUN = 25  # words in a row: nobody writes as many the same by chance
_PHRASE = 8  # words; phrases of this length count towards the share
_SHARE = 0.4  # of the prompt's words
_WINDOW, _STEP = 60, 20  # letters of the squashed prompt that must turn up in a disguised reading


def recites(text: str, protected: str, readings: Iterable[str] = ()) -> bool:
    """Compare words of the text and letters of its decoded `readings` (squashed) with a protected prompt."""
    own, said = _words(protected), _words(text)
    if len(own) < _PHRASE:
        return False
    if len(said) >= _PHRASE and _by_words(own, said):
        return True
    letters = "".join(own)
    windows = [letters[start : start + _WINDOW] for start in range(0, max(1, len(letters) - _WINDOW + 1), _STEP)]
    if len(letters) < _WINDOW:
        return False
    backwards = [window[::-1] for window in windows]
    for number, reading in enumerate(readings):
        if len(reading) < _WINDOW:
            continue
        found = sum(window in reading for window in windows)
        turned = sum(window in reading for window in backwards)
        # The first reading is the text itself, where a single phrase is no recital; a disguised one is meant.
        if max(found, turned) >= (max(3, _SHARE * len(windows)) if number == 0 and not turned else 1):
            return True
    return False


def _by_words(own: list[str], said: list[str]) -> bool:
    places: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(own) - _PHRASE + 1):
        places.setdefault(tuple(own[index : index + _PHRASE]), []).append(index)
    covered: set[int] = set()
    run = longest = 0
    for index in range(len(said) - _PHRASE + 1):
        found = places.get(tuple(said[index : index + _PHRASE]))
        run = run + 1 if found else 0
        longest = max(longest, run + _PHRASE - 1 if run else 0)
        for place in found or ():
            covered.update(range(place, place + _PHRASE))
    return longest >= min(_LONG_RUN, len(own)) or len(covered) >= max(_PHRASE * 2, _SHARE * len(own))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
