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


def parse(diff: str) -> tuple[list[FileDiff], int]:
    """Files of a unified diff, and how many lines were left out because there are more than MAX_LINES."""
    files: list[FileDiff] = []
    current = FileDiff("")
    old = new = 0
    in_hunk = False
    rows = diff.splitlines()
    for number, row in enumerate(rows[:MAX_LINES]):
        if row.startswith("diff --git "):
            current = FileDiff(row.rpartition(" b/")[2])
            files.append(current)
            in_hunk = False
        elif row.startswith("--- ") and (not in_hunk or _starts_a_file(rows, number)):
            in_hunk = False
            if not files or any(line.kind != "note" for line in files[-1].lines):
                current = FileDiff(_path_of(row))
                files.append(current)
        elif not in_hunk and row.startswith("+++ "):
            current.path = current.path if row.strip() == "+++ /dev/null" else _path_of(row)
        elif match := _HUNK.match(row):
            in_hunk = True
            old, new = int(match[1]), int(match[2])
            if not current.change:
                current.lines.append(DiffLine("hunk", row))
        elif in_hunk and row.startswith("+"):
            current.lines.append(DiffLine("add", row[1:], None, new))
            current.added += 1
            new += 1
        elif in_hunk and row.startswith("-"):
            current.lines.append(DiffLine("del", row[1:], old, None))
            current.removed += 1
            old += 1
        elif (in_hunk and row.startswith(" ")) or (in_hunk and row == ""):
            current.lines.append(DiffLine("ctx", row[1:], old, new))
            old += 1
            new += 1
        elif files and not in_hunk and row.startswith(("new file mode ", "deleted file mode ")):
            current.change = "new file" if row.startswith("new") else "deleted file"
        elif files and not row.startswith("index "):
            current.lines.append(DiffLine("note", row))
        elif row.strip() and not files:
            current = FileDiff("(no file named)", [DiffLine("note", row)])
            files.append(current)
    return files, max(0, len(rows) - MAX_LINES)
