"""Documentation that the operator lays down as Markdown: the sections that fit a task, not whole books.

`docs/*.md` and what is below `docs/_all/` is for every project, what is below `docs/<project>/` for that one alone. Whoever
wrote a library's manual is a stranger: its text is data, unlike house patterns.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.context.meaning import Asking, Meaning, Nearness
from agents.context.retrieval import CHUNK_CHARS, NAMED, Chunk, Piece, retrieve, terms
from agents.provenance import Material, Source, joined, label

HEADING = "Documentation that fits the task:"
FOR_ALL = "_all"  # no project can be called so: short names begin with a letter or digit
MAX_FILES = 500
MAX_BYTES = 2_000_000  # of one file
MAX_SECTIONS = 5_000  # in all
KEPT = 64  # answers remembered in this process: each new approach of a task asks the same
SECTIONS, CHARS = 4, 5_000  # shown with a task, about 1,300 tokens
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_PLAIN = re.compile(r"[^\w .,:()/>+-]")

_known: dict[Path, tuple[tuple[int, int], tuple[Piece, ...]]] = {}
_answers: OrderedDict[tuple[str, str, str, str, int], Shown] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Shown:
    """Sections under their heading, and how near they were by meaning; None when no model was asked."""

    text: Material
    nearness: Nearness | None = None


def documentation(folder: Path, project: str, about: str, meaning: Meaning | None = None) -> Shown:
    """Sections for a task, each in a fence that names file and section; empty without any that fits.

    The same task and files give the same bytes, whatever the model does meanwhile.
    """
    chunks = sections(folder, project)
    if not chunks:
        return Shown(Material("", ()))
    state = hash(tuple((chunk.path, chunk.name, chunk.text) for chunk in chunks))
    key = (str(folder), project, about, meaning.model if meaning else "", state)
    with _lock:
        if key in _answers:
            return _answers[key]
    asked = Asking(meaning) if meaning is not None else None
    found = retrieve(about, chunks, limit=SECTIONS, chars=CHARS, near=asked)
    shown = [label(one.text, Source.PACKAGE, f"path={_plain(one.path)} section={_plain(one.name)}") for one in found]
    made = Shown(joined([HEADING, *shown]) if shown else Material("", ()), asked.found if asked else None)
    with _lock:
        _answers[key] = made
        while len(_answers) > KEPT:
            _answers.popitem(last=False)
    return made


def sections(folder: Path, project: str) -> list[Chunk]:
    """All sections that a project may see, in order of path; files are read again only when they changed."""
    made: list[Chunk] = []
    for path in _files(folder, project):
        place = f"docs/{path.relative_to(folder).as_posix()}"
        made.extend(Chunk(place, piece) for piece in _pieces(path))
        if len(made) >= MAX_SECTIONS:
            break
    return made[:MAX_SECTIONS]


def sections_of(text: str) -> tuple[Piece, ...]:
    """Markdown cut at its headings, a section named by the headings above it; long ones are cut between paragraphs."""
    made: list[Piece] = []
    trail: list[tuple[int, str]] = []
    body: list[tuple[int, str]] = []
    fence = ""

    def close() -> None:
        made.extend(_cut(" > ".join(words for _, words in trail), body))
        body.clear()

    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            opened = _FENCE.fullmatch(line)
            if opened and opened[1].startswith(fence) and not opened[2].strip():
                fence = ""
        elif opened := _FENCE.fullmatch(line):
            fence = opened[1]
        elif heading := _HEADING.fullmatch(line):
            close()
            level = len(heading[1])
            trail = [*((depth, words) for depth, words in trail if depth < level), (level, (heading[2] or "").strip())]
            continue
        body.append((number, line))
    close()
    return tuple(made)


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
        opened = _FENCE.fullmatch(line)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence) and not opened[2].strip():
            fence = ""
        if run and not fence and line.strip() and not run[-1][1].strip():
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
