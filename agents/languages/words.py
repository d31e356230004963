"""Plain words of a command that foreign text names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_PLAIN = re.compile(r"(?!/)(?!.*(?:^|/)\.\.(?:/|$))[\w@%+=:,./\[\]-]{1,120}")
_ENDS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "2>&1", "<"})
MOST = 30


def arguments_after(command: str, words: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """What follows the first of `words` in a command, up to the end of it; `otherwise` where that is not plain words.

    Absolute paths, ways out of the folder, and anything that a shell would read are not plain.
    """
    try:
        given = shlex.split(command, comments=True)
    except ValueError:
        return tuple(otherwise)
    at = next((at for at, word in enumerate(given) if word in words), None)
    if at is None:
        return tuple(otherwise)
    rest = given[at + 1 :]
    end = next((end for end, word in enumerate(rest) if word in _ENDS), len(rest))
    taken = tuple(rest[:end])
    fits = len(taken) <= MOST and all(map(_PLAIN.fullmatch, taken))
    return taken if fits else tuple(otherwise)
