"""A document as blocks: headings, list items, paragraphs, tables, code. One pass, every line in one block at most."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from agents.requirements import gherkin
from agents.requirements.fences import closed_fences
from agents.requirements.ids import IdMatch, defined_id
from agents.requirements.mail import aside_lines, prompt_lines
from agents.requirements.sections import heading_number, heading_role, is_known_title, step_label
from agents.requirements.sentences import is_modal, label_of
from agents.requirements.tables import Table, flat_table, pipe_table, separated_table

_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
# Headings of Markdown, of AsciiDoc and wikis, of Textile.
_ATX = re.compile(r"^ {0,3}(?:(#{1,6})\s+(.*?)[\s#]*|(={1,6})\s*([^\s=].*?)[\s=]*|h([1-6])\.\s+(.*?))$")
_ITEM = re.compile(
    r"^(\s*)([-*+•‣◦–・]|\d{1,3}[.)、]|[a-zа-я][.)]|\([a-z0-9]{1,2}\)|[①-⑳])(?:\s+|(?<=[・、①-⑳]))"
    r"(\[[ xX~/!?-]\]\s+)?(\S.*)$"
)
_WORDS_OF_ITEM = re.compile(r"[-*+•‣◦–・]\s*\S+\s")  # "- Show the order history" heads nothing
_RULE = re.compile(r"^\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,})\s*$")
_QUOTE = re.compile(r"^\s{0,3}>\s?")
_PROMPT = re.compile(r"^\s*>>>(?:\s|$)")
# An id that starts a line of a list without bullets; in a fence it says that the fence only keeps the layout.
_LISTED = re.compile(
    r"^\s*(?:[A-ZА-Я]{1,10}(?:[-_][A-Z]{1,8})?|\?{1,3})[-_]?\d{1,4}(?:\.\d{1,3})*[:.)]?\s+[^\s=<>({\[]"
)
# Underlines of headings, outermost first; Markdown knows the first two, reStructuredText all.
_UNDERLINES = "=-~^\"'"
# An option of a command with its explanation.
_OPTION = re.compile(r"^(\s*)(?:`{0,2}-\w(?:[ =]\S+)?`{0,2},?\s+)?`{0,2}--[a-z][\w-]+.*$")
# "3.1.2. A text" begins a clause of its own.
CLAUSE = re.compile(r"^\d{1,2}(?:\.\d{1,3}){1,4}[.)]?\s+[^\W\d_]")
# "3.1  The desk shall …", whose further lines hang below its text.
_NUMBERED = re.compile(r"^\s*(?:\d+(?:\.\d+)*[.)]?|[A-Z]{1,8}[-_]?\d[\w.-]*:?)\s+\S")
_GHERKIN = re.compile(r"^\s*(?:Scenario(?: Outline)?:|Given |When |Then |And |But |Examples:|Background:)")
# Notes, footnotes and comments of reStructuredText and AsciiDoc.
_REMARK = re.compile(
    r"^(?:\.\.\s+(?:(?:note|tip|hint|warning|caution|attention|important|seealso|admonition)::|\[[^\]]*\]|(?![\w-]+::|_))"
    r"|//(?!/)\s|(?:NOTE|TIP|CAUTION):)\s*"
)
# An item of the agenda in minutes.
_AGENDA = re.compile(
    r"^(?:TOP|Item|Agenda item|Point|Punto|Ponto|Punkt|Punt|Пункт|Вопрос|Madde|Gündem|议题|議題|안건)"
    r"\s?\d{1,2}\s?[:.\uff1a–—-]\s?\S"
)
_WORD = re.compile(r"`[^`]+`\S*|\S+")  # what no editor breaks, code with its spaces too
_WRAP = (40, 140)


@dataclass(slots=True)
class DocumentBlock:
    """One block: `kind` is heading, item, para, code or table; lines a to b, counted from 1.

    `level` is a heading's depth; `indent` the columns before an item or paragraph; `after_blank` whether a blank line
    stands before it; `defines` the id that it begins by defining; `starts` where each of its lines begins in the text;
    `aside` whether it is no part of what the author says (quoted mail); `box` the one before it, as "[x]".
    """

    kind: str
    a: int
    b: int
    text: str
    level: int = 0
    indent: int = 0
    marker: str = ""
    after_blank: bool = False
    table: Table | None = None
    defines: IdMatch | None = None
    starts: tuple[int, ...] = ()
    aside: bool = False
    box: str = ""

    def lines_of(self, first: int, last: int) -> tuple[int, int]:
        """The lines that hold the text between two offsets."""
        if not self.starts:
            return self.a, self.b
        within = [self.a + max(0, bisect_right(self.starts, at) - 1) for at in (first, last)]
        return within[0], max(within)


def parse_blocks(source: Sequence[str]) -> list[DocumentBlock]:
    """All blocks of the document in order."""
    prompts = prompt_lines(source)
    lines = [_clean(line, quoted=at not in prompts) for at, line in enumerate(source)]
    return _Parser(lines, aside_lines(source), source).parse()


def _clean(line: str, *, quoted: bool = True) -> str:
    line = line.rstrip()
    if line[:1] in " \t" and "\t" in line:
        text = line.lstrip()  # tabs within a line part cells
        line = line[: len(line) - len(text)].expandtabs(4) + text
    lead = line[:8]
    if any(c in lead for c in _INVISIBLE):
        line = "".join(c for c in lead if c not in _INVISIBLE) + line[8:]
    return _QUOTE.sub("", line, count=1) if quoted and line.lstrip()[:1] == ">" else line


class _Parser:
    def __init__(self, lines: list[str], aside: frozenset[int], source: Sequence[str]) -> None:
        self.lines = lines
        self.aside = aside
        self.source = source
        self.blocks: list[DocumentBlock] = []
        self.fences = closed_fences(lines)
        self.markers = self._open_listing_fences()
        atx = sum(1 for line in lines if line[:1] in ("#", "=", "h") and _ATX.match(line))
        # One title line does not make a Markdown document.
        self.plain = atx <= 1
        self.width = _wrap_width(lines)
        self.hanging = 0
        self.top_number = 0
        self.nested_numbers = False

    def _open_listing_fences(self) -> frozenset[int]:
        """Fences around lines with ids are opened: their lines are read like any other."""
        opened: set[int] = set()
        for start, end in list(self.fences.items()):
            inside = [line for line in self.lines[start + 1 : end] if line.strip()]
            left = min((len(line) - len(line.lstrip()) for line in inside), default=0)
            flush = [line for line in inside if len(line) - len(line.lstrip()) == left]
            if len(flush) > 0 and sum(1 for line in flush if _LISTED.match(line)) * 2 > len(flush):
                del self.fences[start]
                opened |= {start, end}
        return frozenset(opened)

    def parse(self) -> list[DocumentBlock]:
        if gherkin.is_feature(self.lines):
            self._gherkin(0, len(self.lines))
            return self.blocks
        at, blank = 0, True
        while at < len(self.lines):
            if not self.lines[at].strip() or at in self.markers:
                at, blank = at + 1, True
                continue
            before = len(self.blocks)
            at = self._block(at, blank)
            if len(self.blocks) > before:
                self.blocks[before].after_blank = blank
            blank = False
        return self.blocks

    def _block(self, at: int, blank: bool) -> int:
        line = self.lines[at]
        if at in self.aside:
            self._add("para", at, at, line.strip(), aside=True)
            return at + 1
        if at in self.fences:
            return self._code(at)
        if _PROMPT.match(line):
            return self._session(at)
        atx = _ATX.match(line)
        if atx:
            level = len(atx[1] or atx[3] or "") or int(atx[5])
            self._add("heading", at, at, (atx[2] or atx[4] or atx[6] or "").strip(), level=level)
            return at + 1
        if _REMARK.match(line):
            return self._remark(at)
        if (blank or self._is_overlined(at)) and at + 1 < len(self.lines) and self._setext(at):
            return at + 2
        if _RULE.match(line):
            return at + 1
        table = pipe_table(self.lines, at) if "|" in line else None
        table = table or separated_table(self.lines, at) or flat_table(self.lines, at)
        if table:
            self.blocks.append(DocumentBlock("table", table.a, table.b, "", table=table))
            return table.b
        level = self._plain_heading(at, blank)
        if level:
            self._add("heading", at, at, line.strip(), level=level)
            return at + 1
        return self._text(at)

    def _add(self, kind: str, first: int, last: int, text: str, **more: int | str | tuple[int, ...]) -> None:
        block = DocumentBlock(kind, first + 1, last + 1, text, **more)  # type: ignore[arg-type]  # fields of Block
        if kind != "code":
            block.defines = defined_id(text, kind=kind)
        self.blocks.append(block)

    def _code(self, at: int) -> int:
        end = self.fences[at]
        inside = self.lines[at + 1 : end]
        indent = len(self.lines[at]) - len(self.lines[at].lstrip())
        if gherkin.has_scenario(inside):
            self._gherkin(at + 1, end)
            return end + 1
        if any(_GHERKIN.match(line) for line in inside):
            for offset, line in enumerate(inside, at + 1):
                if line.strip():
                    self._add("para", offset, offset, line.strip(), indent=indent)
            return end + 1
        if self.source[at].lstrip()[:1] != ">":  # what begins with ">" inside is no quotation
            inside = [line.rstrip() for line in self.source[at + 1 : end]]
        self._add("code", at, end, "\n".join(inside), indent=indent)
        return end + 1

    def _session(self, at: int) -> int:
        """An example of an interactive session without a fence, to the next empty line."""
        stop = at + 1
        while stop < len(self.lines) and self.lines[stop].strip() and stop not in self.fences:
            stop += 1
        indent = len(self.lines[at]) - len(self.lines[at].lstrip())
        self._add("code", at, stop - 1, "\n".join(self.lines[at:stop]), indent=indent)
        return stop

    def _remark(self, at: int) -> int:
        """A comment or a note, with the lines that are indented below it."""
        stop, last = at + 1, at
        if self.lines[at].startswith(".."):
            while stop < len(self.lines) and (not self.lines[stop].strip() or self.lines[stop][0] == " "):
                last = stop if self.lines[stop].strip() else last
                stop += 1
        text = " ".join(line.strip() for line in self.lines[at : last + 1] if line.strip())
        self._add("para", at, last, f"# {_REMARK.sub('', text)}", aside=True)
        return last + 1

    def _gherkin(self, first: int, stop: int) -> None:
        for kind, a, b in gherkin.parts(self.lines, first, stop):
            text = " ".join(line.strip() for line in self.lines[a : b + 1] if line.strip())
            marks = [line.strip() for line in self.lines[a : b + 1] if line.lstrip().startswith(("#", "@"))]
            block_kind = "scenario" if kind == "scenario" else "para"
            self._add(block_kind, a, b, text, aside=kind != "scenario", marker=" ".join(marks))

    def _setext(self, at: int) -> bool:
        under = self.lines[at + 1].strip()
        title = self.lines[at].strip()
        if (
            len(under) < 3
            or len(set(under)) > 1
            or under[0] not in _UNDERLINES
            or len(title) > 120
            or _ITEM.match(title)
            or "|" in title
        ):
            return False
        level = 0 if self._is_overlined(at) else 1 + _UNDERLINES.index(under[0])
        self._add("heading", at, at + 1, title, level=level)
        return True

    def _is_overlined(self, at: int) -> bool:
        """Whether a line is the title of a document of reStructuredText, between two rules of the same sign."""
        over, under = (self.lines[i].strip() if 0 <= i < len(self.lines) else "" for i in (at - 1, at + 1))
        return len(over) > 2 and over == under and set(over) == {over[0]} and over[0] in _UNDERLINES

    def _plain_heading(self, at: int, blank: bool) -> int:
        """The depth of a heading that only its words give away; 0 when the line is none."""
        line = self.lines[at].strip()
        if len(line) > 120 or "\t" in line:
            return 0
        bold = line.startswith("**") and line.endswith("**") and line.count("**") == 2 and len(line) > 4
        if bold and blank and self._is_alone(at) and (is_known_title(line) or heading_role(line) is not None):
            return 6
        if not self.plain:
            return 0
        if (step_label(line) or _AGENDA.match(line)) and line[-1] not in ".;,":
            self.top_number, self.nested_numbers = 0, False
            return 1
        number = heading_number(line)
        if number and (_is_title(line) or self._opens_clauses(at, number)):
            return self._number_level(number)
        return self._titled(at, line, blank)

    def _titled(self, at: int, line: str, blank: bool) -> int:
        """The depth of a heading without a number."""
        if line.endswith(":") and heading_role(line) == "acceptance" and (not blank or self.lines[at][:1].isspace()):
            # It opens the criteria of the requirement above it, not a section.
            return 0
        if is_known_title(line) and not line.endswith("."):
            word = line.lower().rstrip(": ")
            last = ("appendix", "works cited", "references", "conclusion", "glossary", "bibliography")
            return 1 if word.endswith(last) else 7
        if self._is_alone(at):
            if blank and (self.blocks or " " not in line) and _is_label(line) and not _WORDS_OF_ITEM.match(line):
                return 7 if heading_role(line) is not None else 0
            return 0
        opens = _is_title(line) and heading_number(self.lines[at + 1].strip()) == (1,)
        return 7 if opens and self.top_number else 0

    def _is_alone(self, at: int) -> bool:
        """Whether no text follows on the next line."""
        return at + 1 >= len(self.lines) or not self.lines[at + 1].strip()

    def _opens_clauses(self, at: int, number: tuple[int, ...]) -> bool:
        """Whether the next text is the first clause below this number: 6.1 below 6."""
        following = next((line for line in self.lines[at + 1 : at + 4] if line.strip()), "")
        line = self.lines[at].rstrip()
        return heading_number(following) == (*number, 1) and line[-1] not in ".;:,?!。" and not is_modal(line)

    def _number_level(self, number: tuple[int, ...]) -> int:
        # Numbering that starts again counts inside the section without a number above it.
        if len(number) == 1:
            self.nested_numbers = number[0] <= self.top_number
            if not self.nested_numbers:
                self.top_number = number[0]
        return len(number) + (7 if self.nested_numbers else 0)

    def _text(self, at: int) -> int:
        line = self.lines[at]
        item = _ITEM.match(line)
        self.hanging = 0
        if not item and _OPTION.match(line):
            kind, indent, marker, text = "item", len(line) - len(line.lstrip()), "", line.strip()
            inner = indent + 1
        elif item:
            kind, indent, marker, text = "item", len(item[1]), item[2], item[4]
            inner = indent + len(marker) + 1
        else:
            kind, indent, marker, text = "para", len(line) - len(line.lstrip()), "", line.strip()
            inner = indent
        parts, starts, stop = [text], [0], at + 1
        while stop < len(self.lines) and self._continues(stop, kind, inner):
            starts.append(starts[-1] + len(parts[-1]) + 1)
            parts.append(self.lines[stop].strip())
            stop += 1
        box = (item[3] or "").strip().lower() if item else ""
        text = " ".join(parts)
        self._add(kind, at, stop - 1, text, indent=indent, marker=marker, starts=tuple(starts), box=box)
        return stop

    def _continues(self, at: int, kind: str, inner: int) -> bool:
        """Whether the line at `at` belongs to the paragraph that the line before it is part of."""
        line, before = self.lines[at], self.lines[at - 1]
        text = line.strip()
        if self._begins_block(at, line, text):
            return False
        indent = len(line) - len(text)
        if kind == "item" and indent >= inner > 0:
            return True
        if kind == "para":
            deeper = indent - inner
            if (deeper >= 4 and _NUMBERED.match(before)) or (deeper >= 2 and _is_term(before)):
                self.hanging = indent
            if self.hanging and indent == self.hanging:
                return True
        return self._flows_on(before, text)

    def _begins_block(self, at: int, line: str, text: str) -> bool:
        if not text or at in self.fences or at in self.markers or at in self.aside:
            return True
        if _PROMPT.match(text) or CLAUSE.match(text):
            return True
        if _ITEM.match(line) or _ATX.match(line) or _RULE.match(line):
            return True
        if "|" in line and pipe_table(self.lines, at):
            return True
        named = _OPTION.match(line) or defined_id(text) or self._plain_heading(at, False)
        return bool(named or _GHERKIN.match(line))

    def _flows_on(self, before: str, text: str) -> bool:
        """Whether a line was only wrapped: it goes on with the sentence, or its first word had no room above."""
        ended = before.rstrip("\"”’')*_").endswith((".", "!", "?", ":", ";"))
        word = (_WORD.match(text) or [text])[0]
        if (label_of(text)[0] and ": " not in word) or (ended and is_modal(text[:80])):
            return False
        if not ended and text[0].islower():
            return True
        if not self.width:
            return False
        return len(before) >= self.width * 0.6 and len(before) + 1 + len(word) > self.width - 4


def _is_label(line: str) -> bool:
    """Whether a line that stands alone is too short for a statement."""
    return len(line) <= 48 and line[-1] not in ".;,:?!。" and not is_modal(line)


def _is_term(line: str) -> bool:
    """Whether a line may be the term of a definition that is indented below it."""
    return len(line) <= 60 and line.rstrip()[-1:] not in ".:;,!?。\uff1a"


def _is_title(line: str) -> bool:
    """Short, no sentence, most of its long words with a capital."""
    if len(line) > 100 or line[-1] in ".;,!?:" or is_modal(line):
        return False
    words = [w for w in re.findall(r"[A-Za-z][\w'/-]*", line) if len(w) > 3]
    if line.isascii():
        return not words or sum(w[0].isupper() for w in words) * 10 >= len(words) * 7
    # Other languages write titles like sentences: only short lines are.
    return len(line) <= 70 and line[-1] not in "。;:,、\uff0c\uff1a\uff1b"


def _wrap_width(lines: Sequence[str]) -> int:
    """The column at which the document was wrapped by hand; 0 when its lines are paragraphs."""
    lengths = sorted(len(line) for line in lines if line and line[0].isalnum())
    if not lengths:
        return 0
    width = lengths[int((len(lengths) - 1) * 0.95)]
    return width if _WRAP[0] <= width <= _WRAP[1] else 0
