"""Files as tagged text: `<<WRITE: path>>` … `<</WRITE>>`, the way models write it rather than as they were told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agents.replies.block_paths import info_path
from agents.replies.fences import MAX_BLOCKS

_NAME = r"(?:BEGIN[ _])?(?:(?:OVER|RE)?WRITES?|FILE|EDIT|CREATE|SAVE|UPDATE)(?:[ _]?FILE)?"
_ATTRIBUTES = r"(?:[ \t]*[,|][^<>\n]{0,200}|[ \t]+\w{1,20}=[^<>\n]{0,200})?"
_PATH = rf"(?:(?:path|file|filename|name)\s*=\s*)?[\"'`]?(?P<path>[^\"'`<>\n|]{{1,1000}}?)[\"'`]?{_ATTRIBUTES}"
_FOREIGN = re.compile(
    r"^([ \t]{0,8}(?:[#*+-]{1,6}[ \t]+)?)(?:\[\[|\[(?=/?WRITE\b)|«|&lt;&lt;|\\<\\<)[ \t]*"
    r"(/?[ \t]*(?:END[ _]?)?(?:WRITE|FILE|EDIT|CREATE|READ|EXEC)\b[^\n]{0,1000}?)[ \t]*(?:\]\]?|»|&gt;&gt;|\\>\\>)",
    re.M | re.I,
)
_OPEN = re.compile(
    rf"^[ \t]{{0,8}}(?:(?:[*+-]|#{{1,6}}|\d{{1,3}}[.)])[ \t]+)?(?:\*\*|`)?"
    rf"(?:<{{1,3}}[ \t]*{_NAME}\b[ \t]*[:-]?[ \t]*{_PATH}[ \t]*(?:>{{1,3}}|$))(?:\*\*|`)?:?(?P<rest>.*)$",
    re.I,
)
_CLOSE = re.compile(
    rf"<{{1,3}}[ \t]*(?:\\?/[ \t]*{_NAME}|END[ _]?(?:{_NAME})?|{_NAME}[ _:]{{0,3}}END)\b[^<>\n]{{0,200}}>{{0,3}}"
    rf"|^[ \t]*<<[ \t]*(?:{_NAME}|/[ \t]*[\w./-]{{1,300}})[ \t]*>>[ \t]*$",
    re.I,
)
_WISH = re.compile(r"^[ \t]{0,8}<<[ \t]*(READ|EXEC|RUN|CONFIRM|ASK)\b[ \t]*:?[ \t]*(.{0,2000}?)[ \t]*>>[ \t]*$", re.I)
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})")
_BEFORE = " \t*`#+-.)0123456789"
_KINDS = {"read": "read", "exec": "exec", "run": "exec", "confirm": "confirm", "ask": "confirm"}
_UNDONE = {
    "read": "`<<READ: …>>` is not done in this step: what you may see is in the conversation already.",
    "exec": "`<<EXEC: …>>` is not done in this step: the tests are run for you after your answer.",
    "confirm": "`<<CONFIRM: …>>` reaches nobody in this step: decide, and say why on a line `Decision:`.",
}


@dataclass
class Tagged:
    """A tagged reply in order: the blocks (path, lines, line number, closed), and what is left as prose."""

    blocks: list[tuple[str, list[str], int, bool]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def usual_brackets(text: str) -> str:
    """The text with `[[WRITE: …]]`, `«WRITE: …»` and escaped brackets as `<<WRITE: …>>`."""
    if not any(mark in text for mark in ("[[", "[WRITE", "«", "&lt;&lt;", "\\<\\<")):
        return text
    return _FOREIGN.sub(lambda match: f"{match[1]}<<{match[2]}>>", text)


def first_tag(text: str) -> int | None:
    """The line number (from 0) of the first tag outside of a fence; None when there is none."""
    fence = ""
    lines = text.split("\n")
    for row, line in enumerate(lines):
        if mark := _FENCE.match(line):
            opens = not fence and not info_path(line.strip("`~ \t\r"))
            fence = "" if fence and line.strip().startswith(fence) else fence or mark[1]
            if opens and row + 1 < len(lines) and _opening(lines[row + 1].rstrip("\r")):
                return row  # a fence around the whole reply
            continue
        if not fence and line.lstrip(_BEFORE).startswith("<") and (_opening(line) or _WISH.match(line)):
            return row
    return None


def split_tags(text: str) -> Tagged:
    """Take a tagged reply apart; never raises. Reads `MAX_BLOCKS` blocks at most."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    out, undone = Tagged(), list[str]()
    row = 0
    while row < len(lines):
        opening = _opening(lines[row]) if len(out.blocks) < MAX_BLOCKS else None
        if opening is not None:
            row = _block(lines, row, opening, out)
            continue
        if wish := _WISH.match(lines[row]):
            undone.append(_KINDS[wish[1].lower()])
        else:
            out.prose.append(lines[row])
        row += 1
    if len(out.blocks) >= MAX_BLOCKS:
        out.problems.append(f"The reply holds {MAX_BLOCKS} blocks or more; the rest was not read.")
    out.problems += [_UNDONE[kind] for kind in dict.fromkeys(undone)]
    return out


def _opening(line: str) -> re.Match[str] | None:
    match = _OPEN.match(line) if len(line) < 4_000 else None
    if match is None or not match["path"].strip() or _CLOSE.match(line.strip(" \t*`")):
        return None
    # One angle bracket is how HTML looks too: only with `path=` is it one of ours.
    opening = line.lstrip(_BEFORE)
    single = not opening.startswith("<<") and not opening.startswith("<WRITE:")
    return None if single and "path" not in line.lower().partition(match["path"].lower())[0] else match


def _block(lines: list[str], row: int, opening: re.Match[str], out: Tagged) -> int:
    """Read the block that begins here; gives the row to go on with."""
    path, body = opening["path"].strip(), []
    rest = opening["rest"]
    first, closed = row + 1, False
    pending = [rest] if rest.strip() else []
    row += 1
    while True:
        if not pending:
            if row >= len(lines):
                break
            if _opening(lines[row]) is not None:
                break  # the next file begins before this one ended
            pending = [lines[row]]
            row += 1
        line = pending.pop()
        end = _CLOSE.search(line) if "<" in line else None
        if end is None or (line[: end.start()].strip(" \t*`#") and "<<" not in end[0]):
            body.append(line)
            continue
        if line[: end.start()].strip(" \t*`#"):
            body.append(line[: end.start()])
        if _opening(line[end.end() :]) is not None:
            row -= 1
            lines[row] = line[end.end() :]  # the next file begins on the same line
        elif line[end.end() :].strip(" `*"):
            out.prose.append(line[end.end() :])
        closed = True
        break
    out.blocks.append((path, _unfenced(body), first, closed))
    out.prose.append("")
    return row


def _unfenced(body: list[str]) -> list[str]:
    """Without a fence around the whole of it; small models put one there out of habit."""
    full = [at for at, line in enumerate(body) if line.strip()]
    if len(full) < 2:
        return body
    first, last = body[full[0]].strip(), body[full[-1]].strip()
    mark = _FENCE.match(first)
    if mark is None or last != mark[1]:
        return body
    inner = body[full[0] + 1 : full[-1]]
    # A Markdown file may begin and end with blocks of its own.
    bare = sum(1 for line in inner if line.strip() == mark[1])
    return body if bare % 2 else inner
