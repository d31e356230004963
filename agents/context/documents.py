"""Documentation that the operator lays down as Markdown: the sections that fit a task, not whole books.

`docs/*.md` and what is below `docs/_all/` is for every project, what is below `docs/<project>/` for that one alone.
Whoever wrote a library's manual is a stranger: its text is data, unlike house patterns.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.context.meaning import Asking, Meaning, Nearness
from agents.context.retrieval import CHUNK_CHARS, LIBRARY, NAMED, Chunk, Piece, retrieve, terms
from agents.prompts.provenance import Material, Source, joined, label

HEADING = "Documentation that fits the task:"
FOR_ALL = "_all"  # no project can be called so: short names begin with a letter or digit
MAX_FILES = 500
MAX_BYTES = 2_000_000  # of one file
MAX_SECTIONS = 5_000  # in all
SECTIONS, CHARS = 4, 5_000  # shown with a task, about 1,300 tokens
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_UNDERLINE = re.compile(r"([-=~^+*#.:_])\1{2,}\s*")  # Markdown's, and reStructuredText's, which knows no other
_TABLE = re.compile(r"\[+([^\[\]]+)\]+\s*(?:[#;].*)?")  # of TOML and INI
_PLAIN = re.compile(r"[^\w .,:()/>+-]")

_known: dict[Path, tuple[tuple[int, int], tuple[Piece, ...]]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class ShownSection:
    """Sections under their heading, and how near they were by meaning; None when no model was asked."""

    text: Material
    nearness: Nearness | None = None


def documentation(folder: Path, project: str, about: str, meaning: Meaning | None = None) -> ShownSection:
    """Sections for a task, each in a fence that names file and section; empty without any that fits."""
    chunks = sections(folder, project)
    asked = Asking(meaning) if meaning is not None and chunks else None
    found = retrieve(about, chunks, limit=SECTIONS, chars=CHARS, near=asked)
    shown = [label(one.text, Source.PACKAGE, f"path={_plain(one.path)} section={_plain(one.name)}") for one in found]
    return ShownSection(joined([HEADING, *shown]) if shown else Material("", ()), asked.found if asked else None)


def sections(folder: Path, project: str) -> list[Chunk]:
    """All sections that a project may see, in order of path; files are read again only when they changed."""
    made: list[Chunk] = []
    for path in _files(folder, project):
        place = f"docs/{path.relative_to(folder).as_posix()}"
        made.extend(Chunk(place, piece, LIBRARY) for piece in _pieces(path))
        if len(made) >= MAX_SECTIONS:
            break
    return made[:MAX_SECTIONS]


def sections_of(text: str) -> tuple[Piece, ...]:
    """Markdown or reStructuredText cut at its headings, a section named by the headings above it.

    Long ones are cut between paragraphs.
    """
    made: list[Piece] = []
    trail: list[tuple[int, str]] = []
    body: list[tuple[int, str]] = []
    marks: list[str] = []  # of underlines, in the order of their levels
    fence = ""

    def close() -> None:
        made.extend(_cut(" > ".join(words for _, words in trail), body))
        body.clear()

    for number, line in enumerate(text.split("\n"), 1):
        inside, fence = fence, _fence_after(line, fence)
        heading = None if inside or fence else _HEADING.match(line)
        if heading:
            close()
            level, words = len(heading[1]), line[heading.end() :].strip()
            bare = words.rstrip("#")  # a closing run of them counts only after a space
            words = bare.rstrip() if not bare or bare[-1] in " \t" else words
            trail = [*((depth, name) for depth, name in trail if depth < level), (level, words)]
            continue
        if not inside and body and _underlines(line, body[-1][1]):
            words, fence = body.pop()[1].strip(), ""
            close()
            marks += [line[0]] * (line[0] not in marks)
            level = marks.index(line[0]) + 1
            trail = [*((depth, name) for depth, name in trail if depth < level), (level, words)]
            continue
        body.append((number, line))
    close()
    return tuple(made)


def _underlines(line: str, words: str) -> bool:
    over = len(line.rstrip()) - len(words.rstrip())
    fits = over == 0 if line[:1] == "~" else over >= 0 or line[:1] in ("=", "-")  # a fence may be of tildes
    return bool(fits and words.strip() and _UNDERLINE.fullmatch(line) and not _UNDERLINE.fullmatch(words))


def settings_of(text: str) -> tuple[Piece, ...]:
    """A file of settings cut at its tables."""
    runs: list[tuple[str, list[tuple[int, str]]]] = [("", [])]
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TABLE.fullmatch(line.rstrip()):
            runs.append((found[1], []))
        runs[-1][1].append((number, line))
    return tuple(piece for name, body in runs for piece in _cut(name, body))


def _fence_after(line: str, fence: str) -> str:
    """The marks of the fence that is open after this line; "" for none."""
    found = _FENCE.fullmatch(line)
    if found is None or (not fence and "`" in found[1] and "`" in found[2]):
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not found[2].strip() else fence


def _cut(name: str, body: list[tuple[int, str]]) -> Iterator[Piece]:
    """Pieces of at most CHUNK_CHARS; a longer paragraph is cut off."""
    while body and not body[0][1].strip():
        body = body[1:]
    part: list[tuple[int, str]] = []
    size = 0
    for paragraph in _paragraphs(body):
        length = sum(len(line) + 1 for _, line in paragraph)
        if part and size + length > CHUNK_CHARS:
            yield _piece(name, part)
            part, size = [], 0
        part += paragraph
        size += length
    if any(line.strip() for _, line in part):
        yield _piece(name, part)


def _paragraphs(body: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Runs of lines, each with the empty lines after it; an example in a fence stays with its paragraph when short."""
    run: list[tuple[int, str]] = []
    fence = ""
    for number, line in body:
        inside, fence = fence, _fence_after(line, fence)
        if run and not inside and line.strip() and not run[-1][1].strip():
            yield run
            run = []
        run.append((number, line))
    if run:
        yield run


def _piece(name: str, part: list[tuple[int, str]]) -> Piece:
    text = "\n".join(line for _, line in part)[:CHUNK_CHARS].strip("\n")
    return Piece(name, part[0][0], part[-1][0], text, Counter(terms(text) + NAMED * terms(name)))


def _pieces(path: Path) -> tuple[Piece, ...]:
    """The sections of a file; none of one that is no regular file, too long, or not readable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            state = (found.st_mtime_ns, found.st_size)
            with _lock:
                if path in _known and _known[path][0] == state:
                    return _known[path][1]
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                return ()
            text = file.read(MAX_BYTES).decode("utf-8", "replace").replace("\x00", "").replace("\r\n", "\n")
    except OSError:
        return ()
    made = sections_of(text)
    with _lock:
        if len(_known) > 4 * MAX_FILES:
            _known.clear()
        _known[path] = (state, made)
    return made


def _files(folder: Path, project: str) -> list[Path]:
    """Markdown for every project and for this one, without links, in order of path."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if path.is_file()]
    for below in (FOR_ALL, project):
        if below and "/" not in below and below not in (".", "..") and not (folder / below).is_symlink():
            # Further down os.walk goes into no link by itself.
            found += [Path(place, name) for place, _, names in os.walk(folder / below) for name in names]
    return sorted(path for path in found if path.suffix.lower() == ".md" and not path.is_symlink())[:MAX_FILES]


def _plain(words: str) -> str:
    """Words that can stand behind a fence's marks."""
    return " ".join(_PLAIN.sub(" ", words).split())[:120] or "-"
