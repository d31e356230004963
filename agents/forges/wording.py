"""Words that are written to a forge do nothing there."""

from __future__ import annotations

MOST_TEXT = 60_000  # characters; GitHub takes 65,536
_GAP = "\N{ZERO WIDTH SPACE}"


def as_sent(text: str) -> str:
    """The text without commands, as much of it as every forge takes."""
    return without_commands(text)[:MOST_TEXT]


def without_commands(text: str) -> str:
    """The text with no line that begins with a slash: "/merge" is a command to GitLab, and to bots of other forges.

    A space without width stands before the slash. Comments of code, `//` and `/*`, name no command and stay.
    """
    return "".join(_still(line) for line in text.splitlines(keepends=True))


def _still(line: str) -> str:
    rest = line.lstrip()
    if not rest.startswith("/") or rest.startswith(("//", "/*")):
        return line
    return f"{line[: len(line) - len(rest)]}{_GAP}{rest}"
