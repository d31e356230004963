"""Where else a document explains a requirement: examples, usage, formats, and whatever names it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agents.requirements.drafts import ID_WORD
from agents.requirements.model import ExtractedRequirement, Lines, Paragraph

# More passages help nobody, and a document may be made to have many.
_MOST = 8
# Names that mean the same thing wherever they stand: `list`, --as-json, notes.csv, /loans.
_NAME = re.compile(
    r"`([^`\s][^`\n]{1,60})`|(?<![\w-])(--[a-z][\w-]{1,40})|(?<!\w)(/?[A-Za-z][\w-]{0,40}\.[a-z]{2,5})\b"
)
_EXPLAINS = frozenset(("code", "table"))


def with_passages(
    requirements: Sequence[ExtractedRequirement], left: Iterable[Paragraph]
) -> tuple[ExtractedRequirement, ...]:
    """The requirements with their passages: line spans outside their own, in the order of the document."""
    in_section: dict[tuple[str, ...], list[Lines]] = defaultdict(list)
    naming: dict[str, list[Lines]] = defaultdict(list)
    for paragraph in sorted(left, key=lambda p: p.lines):
        if paragraph.kind == "heading":
            continue
        if paragraph.kind in _EXPLAINS:
            _add(in_section[paragraph.section], paragraph.lines)
        words = set(ID_WORD.findall(paragraph.text))
        if paragraph.kind in _EXPLAINS:
            words |= _names(paragraph.text) | set(paragraph.text.split())
        for word in words:
            _add(naming[word], paragraph.lines)
    return tuple(_with(requirement, in_section, naming) for requirement in requirements)


def _with(
    requirement: ExtractedRequirement,
    in_section: dict[tuple[str, ...], list[Lines]],
    naming: dict[str, list[Lines]],
) -> ExtractedRequirement:
    a, b = requirement.lines
    found: set[Lines] = set(in_section.get(requirement.section, ())) if requirement.section else set()
    for word in {requirement.author_key, *_names(" ".join((requirement.text, *requirement.acceptance)))} - {""}:
        found.update(naming.get(word, ()))
    outside = sorted(lines for lines in found if lines[1] < a or lines[0] > b)
    return replace(requirement, passages=tuple(_merged(outside)[:_MOST]))


def _names(text: str) -> set[str]:
    return {next(filter(None, found)) for found in _NAME.findall(text[:4_000])}


def _add(spans: list[Lines], lines: Lines) -> None:
    if spans and lines[0] <= spans[-1][1] + 1:
        spans[-1] = (spans[-1][0], max(spans[-1][1], lines[1]))
    elif len(spans) < _MOST:
        spans.append(lines)


def _merged(spans: Sequence[Lines]) -> list[Lines]:
    merged: list[Lines] = []
    for lines in spans:
        if merged and lines[0] <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], lines[1]))
        else:
            merged.append(lines)
    return merged
