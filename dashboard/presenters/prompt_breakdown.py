"""What filled a model's window, as a bar and a table: each part with a letter, a description and its kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MOST = 24  # parts shown one by one; the rest is one part
NARROW = 4.0  # percent of the bar below which a letter does not fit

# Name of a part in the ledger → what it is called on a page, and its kind (the tint of the bar).
PARTS: dict[str, tuple[str, str]] = {
    "system": ("rules of the persona", "rules"),
    "house rules": ("house rules and patterns", "rules"),
    "task": ("the task", "asked"),
    "requirements": ("its requirements", "asked"),
    "document": ("the document", "asked"),
    "people": ("messages from people", "asked"),
    "plan": ("the last plan", "asked"),
    "sub-task": ("what came of a request for a sub-task", "asked"),
    "approach": ("which approach it is", "asked"),
    "files": ("files that exist", "code"),
    "existing tests": ("tests that exist", "code"),
    "imports": ("what the files import", "code"),
    "other files": ("other files", "code"),
    "retrieved": ("code found for the task", "code"),
    "map": ("map of the repository", "code"),
    "libraries": ("library signatures", "code"),
    "documentation": ("documentation that fits the task", "code"),
    "tests": ("the tests", "code"),
    "change": ("the change under review", "code"),
    "lessons": ("lessons from memory", "past"),
    "failed before": ("approaches that failed", "past"),
    "summary": ("summary of older turns", "past"),
    "conversation": ("its own earlier replies", "past"),
    "trace": ("failing output", "trouble"),
    "findings": ("findings of the gate", "trouble"),
    "review": ("the reviewer's reasons", "trouble"),
    "conflict": ("the merge conflict", "trouble"),
    "refusal": ("why a reply was rejected", "trouble"),
}


class Segment(NamedTuple):
    """One part of a window; positions and widths are percent of the bar, as text."""

    letter: str
    name: str
    words: str
    kind: str
    tokens: int
    share: str
    start: str
    width: str
    middle: str
    fits: bool


def words_of(name: str) -> str:
    """What a part is called on a page; a part without words of its own is called by its name."""
    return PARTS.get(name, (name, ""))[0]


def share_of(part: int, whole: int) -> str:
    """A share in words: 12 %, <1 %, 0 %."""
    if not whole or not part:
        return "0 %"
    percent = 100 * part / whole
    return "<1 %" if percent < 0.5 else f"{percent:.0f} %"


def segments(parts: Iterable[tuple[str, int]]) -> list[Segment]:
    """The parts of a prompt, in the order given, side by side."""
    rows = [(name, tokens) for name, tokens in parts if tokens > 0]
    if len(rows) > MOST:
        rows = [*rows[: MOST - 1], ("the rest", sum(tokens for _, tokens in rows[MOST - 1 :]))]
    whole, done = sum(tokens for _, tokens in rows), 0
    made = []
    for number, (name, tokens) in enumerate(rows):
        start, width = 100 * done / whole, 100 * tokens / whole
        words, kind = PARTS.get(name, (name, "other"))
        made.append(
            Segment(
                chr(ord("a") + number),
                name,
                words,
                kind,
                tokens,
                share_of(tokens, whole),
                f"{start:.2f}",
                f"{width:.2f}",
                f"{start + width / 2:.2f}",
                width >= NARROW,
            )
        )
        done += tokens
    return made
