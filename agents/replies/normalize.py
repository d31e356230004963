"""Paths and contents as they are meant where only their form is wrong; Python must compile after a guess."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from agents.languages.registry import language_of
from agents.replies.source import compiles

MAX_CHARS = 400_000  # of a file that is looked at for mends
_TRAILING = re.compile(
    r"\s*(?:[,|].*|\((?:new|updated|modified|changed|complete|full|existing)\b[^()]{0,60}\)):?$", re.I
)
_KEY = re.compile(r"^(?:(?:path|file|filename|file_?path|name)\s*[=:]\s*|-\s+)", re.I)
_WINDOWS = re.compile(r"(?:[\w.-]+\\){1,20}[\w.-]+")
_NUMBERED = re.compile(r"^\s{0,6}(\d{1,6})(?:\s?[|:│.)]\s?|\t)(.*)$")
_LINES = re.compile(r"(?:#L\d{1,6}(?:-L?\d{1,6})?|:\d{1,6}(?:-\d{1,6})?)$")
_TOKEN_LINE = re.compile(r"\n[ \t]*(?:<\|[a-z_]{2,20}\|>|</s>|<end_of_turn>)[ \t]*\Z")
_FENCED = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`]{0,80}\n(.*?)(?:\n[ \t]*\1[ \t]*)?\s*\Z", re.S)
_CDATA = re.compile(r"\A\s*<!\[CDATA\[\n?(.*?)\]\]>\s*(?:</\w{1,30}>)?\s*\Z", re.S)
_TYPED = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u200b": None, "\ufeff": None})
_PATTERNS = {"string", "path", "file", "filename", "file_path", "filepath", "path/to/file", "…", "..."}


def clean_path(path: str) -> str:
    """The path without quotation marks, brackets and remarks; whether it may be used is not judged here."""
    path = path.strip()[:2_000]
    path = _KEY.sub("", _TRAILING.sub("", path)).strip().strip("`'\"*<>\\").rstrip(":;,").strip("`'\"*<>\\ ")
    path = _LINES.sub("", path.removeprefix("/workspace/"))
    return path.replace("\\", "/") if _WINDOWS.fullmatch(path) else path


def is_pattern(path: str) -> bool:
    """Is this what the form was explained with, echoed rather than filled in?"""
    return path.lower() in _PATTERNS or path.lower().startswith("path/to/file.")


def mended(path: str, content: str) -> str:
    """The content without what the transport did to it: marks of fences, line numbers, entities, typed quotes.

    Source that compiles is left alone. Of other files only what cannot be their own is taken off.
    """
    if len(content) > MAX_CHARS:
        return content
    if cdata := _CDATA.match(content):
        content = cdata[1]
    if path.endswith((".md", ".markdown")):
        return content
    if (written := language_of(path)) is None or written.compiles(content) is None:
        inner = _FENCED.match(content)
        return inner[2] + "\n" if inner else content
    if compiles(path, content):
        return content
    return next((each for each in _candidates(content) if each.strip() and compiles(path, each)), content)


def _candidates(content: str) -> Iterator[str]:
    """What broken code may have been, one slip at a time, then two."""
    if (ended := _TOKEN_LINE.sub("\n", content)) != content:
        content = ended
        yield content
    bare = [content]
    if (fenced := _FENCED.match(content)) is not None:
        bare.append(fenced[2] + "\n")
        yield bare[-1]
    elif content.rstrip().endswith("```"):
        bare.append(content.rstrip().rstrip("`") + "\n")
        yield bare[-1]
    for each in bare:
        if (unnumbered := _without_numbers(each)) is not None:
            yield unnumbered
        if (unmarked := without_plus(each)) is not None:
            yield unmarked
        if "\n" not in each.strip() and "\\n" in each:
            yield each.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")
        if "&" in each:
            yield html.unescape(each)
        typed = each.translate(_TYPED)
        if typed != each:
            yield typed


def _without_numbers(content: str) -> str | None:
    """The lines without the numbers 1, 2, 3 … before them; None when they have none."""
    rows = [_NUMBERED.match(line) for line in content.rstrip("\n").split("\n")]
    if len(rows) < 3 or any(row is None or int(row[1]) != at for at, row in enumerate(rows, 1)):
        return None
    return "".join(f"{row[2]}\n" for row in rows if row)


def without_plus(content: str) -> str | None:
    """A file that came as a patch which adds all of its lines; None when it is no such patch."""
    lines = [line for line in content.split("\n") if not re.match(r"^(?:---|\+\+\+|@@|diff |index |new file)", line)]
    full = [line for line in lines if line.strip()]
    if len(full) < 2 or not all(line.startswith("+") for line in full):
        return None
    return "\n".join(line[1:] for line in lines)
