"""Splitting a reply into prose and fenced blocks, the way models write them rather than as the standard says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.replies.block_paths import info_language, info_path, is_markdown
from agents.replies.source import compiles, written_in

_FENCE = re.compile(r"^([ \t]{0,12})(`{3,}|~{3,})[ \t]*([^\n]*)$")
SEARCH = re.compile(r"^<{4,9} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|HEAD)\b.{0,80}$", re.I)
ANY_SEARCH = re.compile(r"^(?:<{4,9} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|HEAD)\b.{0,80}|\[SEARCH\]|<search>)\s*$", re.I)
DIVIDER = re.compile(r"^(?:={4,9}|\[REPLACE\]|<replace>)\s*$", re.I)
REPLACE = re.compile(
    r"^(?:>{4,9} ?(?:REPLACE|UPDATED|AFTER|NEW|MODIFIED)\b.{0,80}|>{7} ?[\w./-]{1,80}|\[/REPLACE\]|</replace>)\s*$",
    re.I,
)
MAX_BLOCKS = 200


@dataclass
class Block:
    """A fenced block (or bare search/replace lines). `first` is its line number, `closed` false at a cut end."""

    info: str
    lines: list[str]
    above: tuple[str, ...]
    first: int
    closed: bool = True


@dataclass
class Split:
    """A reply in order: prose lines, the blocks between them, and what was thought aloud."""

    prose: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, block: Block) -> int:
        """Add a block; the number of prose lines up to it."""
        self.blocks.append(block)
        self.prose.append("")
        return len(self.prose)


@dataclass(frozen=True)
class _Fence:
    indent: int
    mark: str
    info: str

    def closes(self, opening: _Fence) -> bool:
        same = self.mark[0] == opening.mark[0] and len(self.mark) >= len(opening.mark)
        return same and not self.info and self.indent <= opening.indent + 3


def split(text: str) -> Split:
    """Take a reply apart; never raises. Reads `MAX_BLOCKS` blocks at most."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ends = _Ends(lines)
    out = Split()
    row = floor = 0
    while row < len(lines):
        if len(out.blocks) >= MAX_BLOCKS:
            out.problems.append(f"The reply holds more than {MAX_BLOCKS} blocks; the rest was not read.")
            break
        line = lines[row]
        after = _thinking(lines, row, ends, out)
        if after is not None:
            row = after
        elif (fence := _fence(line)) is not None:
            end, closed = _end(lines, row, fence, ends)
            if closed and written_in(info_path(fence.info), info_language(fence.info)):
                end = _past_docstrings(lines, row, end, fence, ends)
            body = [_outdent(each, fence.indent) for each in lines[row + 1 : end]]
            floor = out.add(Block(fence.info, body, _above(out.prose[floor:]), row + 1, closed))
            row = end + 1 if closed else end
        elif SEARCH.match(line) and (last := ends.replace_after[row]) is not None:
            floor = out.add(Block("", lines[row : last + 1], _above(out.prose[floor:]), row + 1))
            row = last + 1
        else:
            out.prose.append(line)
            row += 1
    return out


class _Ends:
    """Line numbers of closing marks, looked up instead of searched for again and again.

    `budget` is how many lines may still be read to find inner blocks; without it a reply made of nothing but opened
    fences would take the square of its length. Once used up, the first closing fence ends a block.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.budget = len(lines) + 20_000
        self.rereads = 20
        self.replace_after: list[int | None] = [None] * (len(lines) + 1)  # by row
        self.think_after: list[int | None] = [None] * (len(lines) + 1)
        for row in range(len(lines) - 1, -1, -1):
            self.replace_after[row] = row if REPLACE.match(lines[row]) else self.replace_after[row + 1]
            self.think_after[row] = row if "</think>" in lines[row] else self.think_after[row + 1]


def _thinking(lines: Sequence[str], row: int, ends: _Ends, out: Split) -> int | None:
    """Move thoughts aloud out of the way; the row to go on with, or None when this is no such line."""
    line = lines[row]
    if line.strip() == "</think>":
        # Some templates open the tag in the prompt: everything so far was thinking, drafts of files too.
        for block in out.blocks:
            out.thinking += block.lines
        out.thinking += out.prose
        out.prose, out.blocks = [], []
        return row + 1
    if not line.lstrip().startswith("<think>"):
        return None
    end = ends.think_after[row]
    if end is None:
        out.problems.append("The reply opens <think> and never closes it.")
        out.prose.append(line.replace("<think>", "", 1))
        return row + 1
    whole = "\n".join(lines[row : end + 1])
    thought, _, rest = whole.partition("</think>")
    out.thinking.append(thought.replace("<think>", "", 1))
    if rest.strip():
        out.prose.append(rest)
    return end + 1


def _fence(line: str) -> _Fence | None:
    match = _FENCE.match(line) if "```" in line or "~~~" in line else None
    if match is None or (match[2][0] == "`" and "`" in match[3]):
        return None
    return _Fence(len(match[1].expandtabs(4)), match[2], match[3].strip())


def _end(lines: Sequence[str], start: int, opening: _Fence, ends: _Ends) -> tuple[int, bool]:
    """The row of the closing fence, or where an unclosed block stops, and whether it was closed."""
    nested: list[_Fence] = []
    first_close: int | None = None
    markdown = is_markdown(info_path(opening.info), info_language(opening.info))
    row = start + 1
    while row < len(lines):
        line = lines[row]
        if SEARCH.match(line) and (after := ends.replace_after[row]) is not None:
            row = after + 1  # an edit of a Markdown file holds fences of its own
            continue
        ends.budget -= 1
        if ends.budget < 0 and first_close is not None:
            return first_close, True
        fence = _fence(line)
        if fence is None:
            row += 1
            continue
        if fence.info and info_path(fence.info) and not markdown and fence.indent <= opening.indent:
            return (first_close, True) if first_close is not None else (row, False)
        if fence.closes(opening):
            first_close = row if first_close is None else first_close
        if nested and fence.closes(nested[-1]):
            nested.pop()
        elif fence.closes(opening):
            if not (markdown and _opens_inside(lines, row)):
                return row, True
            nested.append(fence)
        elif fence.info and fence.mark[0] == opening.mark[0]:
            nested.append(fence)
        row += 1
    return (first_close, True) if first_close is not None else (len(lines), False)


def _past_docstrings(lines: Sequence[str], start: int, end: int, opening: _Fence, ends: _Ends) -> int:
    """The closing fence of code whose docstring holds a fence at the margin: the first at which the code compiles."""
    body, path, label = "\n".join(lines[start + 1 : end]), info_path(opening.info), info_language(opening.info)
    if body.count('"""') % 2 == 0 and body.count("'''") % 2 == 0:
        return end
    for row in range(end + 1, min(len(lines), end + 2_000)):
        fence = _fence(lines[row])
        if fence is None:
            continue
        if ends.rereads == 0 or (fence.info and info_path(fence.info)):
            return end
        ends.rereads -= 1
        if fence.closes(opening) and compiles(path, "\n".join(lines[start + 1 : row]), label):
            return row
    return end


def _opens_inside(lines: Sequence[str], row: int) -> bool:
    """Is a bare fence in a Markdown file the start of an inner block? Only if two more follow before anything else."""
    if row + 1 >= len(lines) or not lines[row + 1].strip():
        return False
    bare = 0
    for line in lines[row + 1 : row + 400]:
        fence = _fence(line)
        if fence is None:
            continue
        if fence.info:
            return False
        bare += 1
        if bare == 2:
            return True
    return False


def _above(prose: Sequence[str]) -> tuple[str, ...]:
    """The last two written lines before a block, the nearer one first; blank lines between them are common."""
    written = [line for line in prose[-6:] if line.strip()]
    return tuple(written[:-3:-1])


def _outdent(line: str, indent: int) -> str:
    """Take a list item's indentation off a line of its block."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :] if indent else line
