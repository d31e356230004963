"""Which lines of a file a change wrote: mistakes elsewhere are not this task's tests' to notice."""

from __future__ import annotations

from difflib import SequenceMatcher

MAX_LINES = 20_000  # a file longer than this was not written by hand; every line counts as changed


def changed_lines(before: str | None, after: str) -> frozenset[int]:
    """Numbers, from 1, of the lines of `after` that are new or different; all of them for a new file."""
    new = after.splitlines()
    everything = frozenset(range(1, len(new) + 1))
    old = (before or "").splitlines()
    if not old or len(old) + len(new) > MAX_LINES:
        return everything
    found: set[int] = set()
    for what, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what != "equal":
            found.update(range(start + 1, end + 1))
    return frozenset(found)
