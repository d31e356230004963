"""Gherkin in any of its languages: each scenario with its steps and tables is one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.requirements.languages import gherkin

Part = tuple[str, int, int]  # scenario, comment or aside; first and last index


def is_feature(lines: Sequence[str]) -> bool:
    """Whether a document is a feature file: tags and comments, then its title."""
    for line in lines[:200]:
        text = line.strip()
        if text and not text.startswith(("#", "@")):
            return bool(gherkin("feature").match(text)) and any(gherkin("scenario").match(later) for later in lines)
    return False


def has_scenario(lines: Sequence[str]) -> bool:
    """Whether one of the lines is the title of a scenario."""
    return any(gherkin("scenario").match(line) for line in lines)


def parts(lines: Sequence[str], first: int, stop: int) -> Iterator[Part]:
    """The scenarios between two indexes, with the tags and remarks right above them, and what stands between."""
    kind, begin, last, head, quoted = "aside", -1, -1, -1, False
    for at in range(first, stop):
        text = lines[at].strip()
        if text.startswith(('"""', "```")):
            quoted = not quoted
        if not text:
            head = -1
            continue
        opens = "" if quoted else _opens(text)
        if opens == "mark":
            if head < 0:
                if begin >= 0:
                    yield kind, begin, last
                kind, begin, head = "comment" if text.startswith("#") else "aside", at, at
            elif text.startswith("#"):
                kind = "comment"
        elif opens:
            if begin >= 0 and head < 0:
                yield kind, begin, last
            kind, begin, head = opens, at if head < 0 else head, -1
        elif begin < 0 or kind == "comment":
            if begin >= 0:
                yield kind, begin, last
            kind, begin, head = "aside", at, -1
        last = at
    if begin >= 0:
        yield kind, begin, last


def _opens(text: str) -> str:
    if text.startswith(("#", "@")):
        return "mark"
    if gherkin("examples").match(text) and not gherkin("scenario").match(text):
        return ""
    if gherkin("scenario").match(text):
        # "Example:" opens a scenario, "Beispiele:" its table.
        return "scenario"
    return "aside" if any(gherkin(name).match(text) for name in ("feature", "background", "rule")) else ""
