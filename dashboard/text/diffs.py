"""A unified diff as rows a template can show."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from dashboard.text import highlight
from dashboard.text.safe import plain

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MAX_LINES = 4_000


@dataclass
class DiffLine:
    """One line of a file's diff: kind is add, del, ctx, hunk or note; numbers are 1-based."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None
    comments: list[Any] = field(default_factory=list)
    asks: bool = False  # the form for a comment is open below it
    html: str = ""  # escaped, with syntax colours: of the rows of `coloured`

    @property
    def sign(self) -> str:
        """The column before the text."""
        return {"add": "+", "del": "−"}.get(self.kind, " ")


@dataclass
class FileDiff:
    """What changed in one file."""

    path: str
    lines: list[DiffLine] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    reviewed: bool = False
    change: str = ""  # that the file itself is new or goes

    @property
    def digest(self) -> str:
        """A hash of what the change does to the file; where the lines stand does not count."""
        text = "\n".join(f"{line.sign}{line.text}" for line in self.lines if line.kind in ("add", "del"))
        return hashlib.sha256(f"{self.path}\n{text}".encode("utf-8", "replace")).hexdigest()

    @property
    def coloured(self) -> list[DiffLine]:
        """Its lines with syntax colours: each side of a hunk is read as the code it is."""
        start = 0
        for end in [*(n for n, line in enumerate(self.lines) if line.kind == "hunk" and n), len(self.lines)]:
            hunk, start = self.lines[start:end], end
            for kinds in (("ctx", "del"), ("ctx", "add")):
                side = [line for line in hunk if line.kind in kinds]
                shown = _coloured(self.path, "\n".join(line.text for line in side))
                if len(shown) == len(side):  # else a character in it is a line's end to one reader alone
                    for line, html in zip(side, shown, strict=True):
                        line.html = html
        for line in self.lines:
            line.html = line.html or mark_safe(escape(plain(line.text, highlight.MOST_OF_LINE)))  # noqa: S308  escaped
        return self.lines


@lru_cache(maxsize=1024)
def _coloured(path: str, text: str) -> list[SafeString]:
    found = highlight.lines(path, text)
    return found + [SafeString()] * (text.count("\n") + 1 - len(found))


def _path_of(header: str) -> str:
    name = header[4:].split("\t")[0].strip()
    return name[2:] if name[:2] in ("a/", "b/") else name


def _starts_a_file(rows: list[str], number: int) -> bool:
    """A removed line may begin with "-- " too; a file's header has "+++ " and a hunk behind it."""
    after = rows[number + 1 : number + 3]
    return len(after) == 2 and after[0].startswith("+++ ") and bool(_HUNK.match(after[1]))


class _DiffReader:
    """The files that were read so far, and where the hunk stands that is being read."""

    def __init__(self) -> None:
        self.files: list[FileDiff] = []
        self.current = FileDiff("")
        self.old = self.new = 0
        self.in_hunk = False

    def begin(self, path: str, *lines: DiffLine) -> None:
        self.current = FileDiff(path, list(lines))
        self.files.append(self.current)

    def read(self, rows: list[str], number: int) -> None:
        row = rows[number]
        if row.startswith("diff --git "):
            self.begin(row.rpartition(" b/")[2])
            self.in_hunk = False
        elif row.startswith("--- ") and (not self.in_hunk or _starts_a_file(rows, number)):
            self.in_hunk = False
            if not self.files or any(line.kind != "note" for line in self.files[-1].lines):
                self.begin(_path_of(row))
        elif not self.in_hunk and row.startswith("+++ "):
            self.current.path = self.current.path if row.strip() == "+++ /dev/null" else _path_of(row)
        elif match := _HUNK.match(row):
            self.in_hunk = True
            self.old, self.new = int(match[1]), int(match[2])
            if not self.current.change:
                self.current.lines.append(DiffLine("hunk", row))
        elif not (self.in_hunk and self.read_line(row)):
            self.read_note(row)

    def read_line(self, row: str) -> bool:
        """Take a line of the hunk; False for one that is none."""
        kind = {"+": "add", "-": "del", " ": "ctx", "": "ctx"}.get(row[:1])
        if kind is None:
            return False
        added, removed = kind == "add", kind == "del"
        numbers = None if added else self.old, None if removed else self.new
        self.current.lines.append(DiffLine(kind, row[1:], *numbers))
        self.current.added += added
        self.current.removed += removed
        self.old += not added
        self.new += not removed
        return True

    def read_note(self, row: str) -> None:
        if self.files and not self.in_hunk and row.startswith(("new file mode ", "deleted file mode ")):
            self.current.change = "new file" if row.startswith("new") else "deleted file"
        elif self.files and not row.startswith("index "):
            self.current.lines.append(DiffLine("note", row))
        elif row.strip() and not self.files:
            self.begin("(no file named)", DiffLine("note", row))


def parse(diff: str) -> tuple[list[FileDiff], int]:
    """Files of a unified diff, and how many lines were left out because there are more than MAX_LINES."""
    reader, rows = _DiffReader(), diff.splitlines()
    for number in range(min(len(rows), MAX_LINES)):
        reader.read(rows, number)
    return reader.files, max(0, len(rows) - MAX_LINES)
