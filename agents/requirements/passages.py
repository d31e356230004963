"""Where else a document explains a requirement: examples, usage, formats, and whatever names it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.llm.tokens import count_tokens
from agents.requirements.drafts import ID_WORD
from agents.requirements.model import ExtractedRequirement, Lines, Paragraph

PASSAGES_TOKENS = 1_500  # of one prompt
_GAP = "…"
# More passages help nobody, and a document may be made to have many.
_MOST = 8
# Names that mean the same thing wherever they stand: `list`, --as-json, notes.csv, /loans.
_NAME = re.compile(
    r"`([^`\s][^`\n]{1,60})`|(?<![\w-])(--[a-z][\w-]{1,40})|(?<!\w)(/?[A-Za-z][\w-]{0,40}\.[a-z]{2,5})\b"
)
LINK_CHARS = 24  # of a line between two examples, like "prints"
_ENDS = (".", "!", "?", "。", "؟", "।")
_EXPLAINS = frozenset(("code", "table"))
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_BEFORE = re.compile(r"\b(?:above|preceding|previous|earlier)\b", re.IGNORECASE)
# Titles of sections whose examples are for the sections beside them.
_SHOWS_HOW = re.compile(
    r"\b(?:examples?|usage|samples?|formats?|beispiele?|aufrufe?|exemples?|utilisation|ejemplos?|uso|esempio?|exemplos?)\b"
    r"|\b(?:voorbeeld(?:en)?|пример)|例|用法|示例|예시|예제|مثال|उदाहरण",
    re.IGNORECASE,
)
SENTENCE_LINES = 5
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_NO_PROSE = re.compile(r"\s*(?:[-*+•]\s|\d+[.)]\s|#|\||`{3}|~{3}|>)|(?: {4}|\t)|\W+$")  # where another sentence begins
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_FORM = re.compile(r"\s*(?:`{3,}|~{3,}|>>>\s|\|)")  # lines whose form a text in one line loses


@dataclass(slots=True)
class _Place:
    """Lines that may explain requirements, and what they name; `announces`: they end with a colon, or are a few words
    between two examples (`links`)."""

    lines: Lines
    section: tuple[str, ...]
    explains: bool
    announces: bool
    names: set[str]
    links: bool = False


def with_passages(
    requirements: Sequence[ExtractedRequirement], left: Iterable[Paragraph], lines: Sequence[str]
) -> tuple[ExtractedRequirement, ...]:
    """The requirements with their passages: line spans outside their own, the most telling first.

    What names the same things comes first, then the examples nearest to it, then what only refers to it. `left` are
    the paragraphs that no requirement was read from, `lines` those of the whole document.
    """
    found = _Places(_places(left, lines))
    return tuple(replace(requirement, passages=found.explaining(requirement)) for requirement in requirements)


def _places(left: Iterable[Paragraph], lines: Sequence[str]) -> list[_Place]:
    """Paragraphs in their order; rows of a table, and an example with the line that announces it, are one place."""
    places: list[_Place] = []
    for paragraph in sorted(left, key=lambda p: p.lines):
        if paragraph.kind == "heading":
            continue
        a, b = paragraph.lines
        # Mails and plain texts set code apart by indenting it.
        explains = paragraph.kind in _EXPLAINS or all(map(_INDENTED.match, lines[a - 1 : b]))
        names = {*ID_WORD.findall(paragraph.text), *_names(paragraph.text)}
        if explains:
            names |= {*paragraph.text.split(), *_WORD.findall(paragraph.text)}
        last = places[-1] if places and places[-1].section == paragraph.section else None
        if last and explains and a <= last.lines[1] + (2 if last.announces else last.explains):
            linked = last.links
            last.lines, last.explains, last.announces = (last.lines[0], max(b, last.lines[1])), True, False
            last.names |= names
            before = places[-2] if linked and len(places) > 1 else None
            if before and before.explains and last.section == before.section and last.lines[0] <= before.lines[1] + 2:
                # Code, "prints", and what it prints.
                before.lines, before.names = (before.lines[0], last.lines[1]), before.names | last.names
                places.pop()
        else:
            links = len(paragraph.text) <= LINK_CHARS and not explains and not paragraph.text.endswith(_ENDS)
            announces = links or (paragraph.text.endswith((":", "\uff1a")) and not explains)
            places.append(_Place((a, b), paragraph.section, explains, announces, names, links))
    return places


class _Places:
    """The places of a document, to be looked up by what they name and where they are."""

    def __init__(self, places: Sequence[_Place]) -> None:
        self.examples = [place for place in places if place.explains]
        self.starts = [place.lines[0] for place in self.examples]
        self.announcing = {place.lines[1]: place for place in places if place.announces}
        self.in_section: dict[tuple[str, ...], list[_Place]] = defaultdict(list)
        self.naming: dict[str, list[_Place]] = defaultdict(list)
        for place in self.examples:
            self.in_section[place.section].append(place)
        for place in places:
            for word in place.names:
                self.naming[word].append(place)

    def explaining(self, requirement: ExtractedRequirement) -> tuple[Lines, ...]:
        """The lines that explain a requirement."""
        a, b = requirement.lines
        said = " ".join((requirement.text, *requirement.acceptance))
        shared = _names(said)
        refers = [word for word in (requirement.author_key,) if word]
        found = [place for word in (*sorted(shared), *refers) for place in self.naming.get(word, ())]
        found += self.in_section.get(requirement.section, ()) if requirement.section else ()
        found += self._nearest(requirement, any_section=bool(_BEFORE.search(said)))
        found += filter(None, (self.announcing.get(a - 1), self.announcing.get(a - 2)))

        def worth(place: _Place) -> tuple[bool, int, int, Lines]:
            distance = max(a - place.lines[1], place.lines[0] - b)
            return not place.explains, -len(shared & place.names), distance, place.lines

        order = dict.fromkeys(place.lines for place in sorted(found, key=worth))
        # An example may begin on the line on which a requirement ends: "... last. With"
        outside = dict.fromkeys((b + 1, one[1]) if one[0] <= b < one[1] else one for one in order)
        return tuple(one for one in outside if one[1] < a or one[0] > b)[:_MOST]

    def _nearest(self, requirement: ExtractedRequirement, *, any_section: bool) -> list[_Place]:
        """The examples next before and after it: of its section, else of one beside it that is about examples.

        `any_section` is for the first. Where a document has no sections, all of it is one.
        """
        at, own = bisect_left(self.starts, requirement.lines[0]), requirement.section
        around = own[: max(1, len(own) - 1)]
        before, after = self.examples[max(0, at - 1) : at], self.examples[at : at + 1]
        beside = [
            one
            for one in (*before, *after)
            if one.section == own
            or (around and one.section[: len(around)] == around and self._shows_how(one, requirement))
        ]
        return [*(before if any_section else ()), *beside]

    def _shows_how(self, place: _Place, requirement: ExtractedRequirement) -> bool:
        """Whether an example of another section is for all sections: by its title, or as it names the same."""
        title = place.section[-1] if place.section else ""
        below = place.section[: len(requirement.section)] == requirement.section
        return below or bool(_SHOWS_HOW.search(title)) or bool(place.names & _names(requirement.text))


def _names(text: str) -> set[str]:
    """Names as they are written, and the first word of a call or command in backticks."""
    names = {next(filter(None, found)) for found in _NAME.findall(text[:4_000])}
    return names | {found[0] for name in names if (found := _WORD.match(name))}


def passages_text(lines: Sequence[str], places: Iterable[tuple[Lines, Iterable[Sequence[int]]]]) -> str:
    """What a document says of requirements besides their texts, in its own lines and order, within PASSAGES_TOKENS.

    `places` are the lines of each requirement and its passages. Their best ones come first, each line once. Of its
    own lines a requirement is shown those that hold an example or a table, which its text tells in one line.
    """
    rows = [[own, *((one[0], one[-1]) for one in list(passages)[:_MOST])] for own, passages in places]
    wanted = [row[0] for row in rows if _has_form(lines[max(0, row[0][0] - 1) : row[0][1]])]
    wanted += [row[number] for number in range(1, _MOST + 1) for row in rows if number < len(row)]
    shown: set[int] = set()
    left = PASSAGES_TOKENS
    for first, last in wanted:
        place = set(range(max(1, first), _sentence_end(lines, min(last, len(lines))) + 1)) | _heading_rows(lines, first)
        cost = count_tokens("\n".join(lines[number - 1] for number in sorted(place - shown))) + 2
        if place and cost <= left:
            left -= cost if place - shown else 0
            shown |= place
    made: list[str] = []
    for number in sorted(shown):
        if made and number - 1 not in shown:
            made.append(_GAP)
        made.append(lines[number - 1])
    return "\n".join(made)


def _sentence_end(lines: Sequence[str], last: int) -> int:
    """The line on which the sentence ends that this line begins, if it is one of the next few."""
    for at in range(last, min(last + SENTENCE_LINES, len(lines))):
        line, following = lines[at - 1].rstrip(), lines[at]
        if not line or line.endswith((*_ENDS, ":", "\uff1a")) or not following.strip() or _NO_PROSE.match(following):
            return at
        if _NO_PROSE.match(line) and not _ITEM.match(line):
            return at
    return last


def _has_form(rows: Sequence[str]) -> bool:
    """Whether lines say more than their words in one line; a row of a table with one text, and its key, does not."""
    if len(rows) == 1 and rows[0].lstrip().startswith("|"):
        cells = filter(None, map(str.strip, rows[0].split("|")))
        return sum(not ID_WORD.fullmatch(cell) for cell in cells) > 1
    return any(map(_FORM.match, rows)) or _has_code(rows)


def _has_code(rows: Sequence[str]) -> bool:
    """Whether a block below an empty line is indented like code, deeper than where the text begins."""
    depth = len(rows[0]) - len(rows[0].lstrip()) if rows else 0
    deep = " " * (depth + 4)
    return any(not above.strip() and row.strip() and row.startswith(deep) for above, row in pairwise(rows))


def _heading_rows(lines: Sequence[str], first: int) -> set[int]:
    """The rows that a table begins with, for one of its further rows."""
    at = first
    while 1 < at <= len(lines) and all(line.lstrip().startswith("|") for line in lines[at - 2 : at]):
        at -= 1
    return {at, at + 1} - {number for number in (at, at + 1) if number >= first}
