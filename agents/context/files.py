"""What a task is shown of the repository: the files it will change and those it builds on, within a budget."""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agents.context.calls import around, named
from agents.context.documents import sections_of
from agents.context.excerpt import excerpt
from agents.context.index import Index, shared
from agents.context.map import MAP_TOKENS, repository_map
from agents.context.meaning import Asking, Meaning, Nearness
from agents.context.ranking import ranked, words_of
from agents.context.retrieval import Chunk, retrieve, shortened
from agents.languages.registry import language, language_of, languages
from agents.languages.symbols import Symbols
from agents.prompts.provenance import Material, Source, joined, label
from agents.replies.licence import without_licence
from agents.workspace.repository import GitBlob, Repository

STEP_TOKENS = 25_000  # most of one prompt: what is left of a 32k window is for the answer
CHARS_PER_TOKEN = 3  # of code, on the safe side
FILES_CHARS = 24_000  # about 8,000 tokens of a 32k window; small exact context beats a large one for a 7B model
CHUNKS_CHARS = 6_000  # of it, for pieces of files that are not shown whole
NEIGHBOURS = 8  # files beside a task's own that may be shown whole; further down the ranks it is a matter of chance
LEAST_CHARS = 2_000  # of an own file, however little room there is
TESTS, TESTS_CHARS = 3, 6_000  # existing tests of a task's files
IMPORTS_TOKENS = 400
KEPT = 64  # answers remembered in this process: tester and coder of a task, and each new approach, ask the same
LISTED = 80  # names of files that are not shown
_SHOWN = (".toml", ".txt", ".md", ".json", ".html", ".css", ".yaml", ".yml", ".cfg", ".ini")  # besides source files
_NAMES = ("Dockerfile", "Makefile")
_PAGES = (".md", ".markdown")
LICENCE_LEFT_OUT = "Licence header left out, it stays in the file:"
NONE: Mapping[str, str] = MappingProxyType({})
_ASIDE = re.compile(
    r"^docs?/|\.egg-info/"
)  # what is written about the code, or made of it: named, not shown, as locks are


@dataclass(frozen=True)
class Shown:
    """What is shown, and how near its pieces were by meaning; None when no model was asked."""

    text: Material
    nearness: Nearness | None = None


_Key = tuple[str, str, tuple[str, ...], str, str, tuple[str, ...], int]
_known: OrderedDict[_Key, Shown] = OrderedDict()
_lock = threading.Lock()


def requirement_name(requirement: Mapping[str, Any]) -> str:
    """The key, with the author's own id beside it: `R9 (FR-03)`."""
    key, author_key = requirement["key"], requirement.get("author_key", "")
    return f"{key} ({author_key})" if author_key else str(key)


def requirements_text(requirements: Iterable[Mapping[str, Any]]) -> str:
    """One line a requirement, its acceptance criteria indented below."""
    lines = []
    for requirement in requirements:
        lines.append(f"- {requirement_name(requirement)}: {requirement['text']}")
        lines.extend(f"  - {entry}" for entry in requirement.get("acceptance") or [])
    return "\n".join(lines) or "- (none)"


def files_text(files: Mapping[str, str], source: Source = Source.MODEL) -> Material:
    """Files whole, each in a fence that names it and says whose it is."""
    return joined(label(content or " \n", source, f"path={path}") for path, content in sorted(files.items()))


def existing_files(
    repository: Repository,
    sha: str,
    own: Sequence[str],
    about: str = "",
    meaning: Meaning | None = None,
    *,
    beside: Sequence[str] = (),
    examples: str = "",
    tokens: int = STEP_TOKENS,
) -> Shown:
    """What a task is shown of the repository in at most about so many tokens, the most useful first.

    Its own files come first, whole or in parts, whatever their kind; then tests of them that exist (`beside`), and
    then the rest while it fits, or else signatures of what the own files import, files and pieces of code that fit the
    task, and a map. What is not even on the map is named. `about` is the task in words. `examples` use all kinds of
    code to show something, so what they name is shown of the task's own files alone.
    """
    key = (
        str(repository.root),
        sha,
        tuple(own),
        f"{about}\n{examples}",
        meaning.model if meaning else "",
        tuple(beside),
        tokens,
    )
    with _lock:
        if key in _known:
            return _known[key]
    made = _existing(repository, sha, own, about, meaning, beside, examples, tokens)
    # Kept even if the model was away: the prompts of a task go on beginning with the same bytes.
    with _lock:
        _known[key] = made
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return made


def outline(repository: Repository, sha: str, about: str) -> Material | str:
    """What a plan builds on: signatures of the code that `about` speaks of, and the paths of other files.

    Empty when there is no code yet.
    """
    blobs = repository.blobs(sha)
    symbols = {
        path: found
        for path, found in shared.index(repository, sha).symbols.items()
        if not (language_of(path) or language()).is_test(path)
    }
    drawn = repository_map(symbols, (), words_of(about))
    others = [path for path in sorted(blobs) if f"\n{path}:\n" not in f"\n{drawn}\n"]
    return _blocks({}, drawn=drawn, left_out=others) if drawn else ""


def _existing(
    repository: Repository,
    sha: str,
    own: Sequence[str],
    about: str,
    meaning: Meaning | None,
    beside: Sequence[str],
    examples: str,
    tokens: int,
) -> Shown:
    blobs = repository.blobs(sha)
    paths = [path for path in blobs if path.endswith(_SHOWN) or language_of(path) or path.rsplit("/", 1)[-1] in _NAMES]
    first = _texts(repository, blobs, [path for path in dict.fromkeys(own) if path in blobs])
    near = _texts(repository, blobs, [path for path in dict.fromkeys(beside) if path in blobs and path not in own])
    tests = {path for path in paths if (language_of(path) or language()).is_test(path)}
    least = {".gitignore", "README.md", *(one.lock for one in languages())}
    quiet = {path for path in paths if path in tests or path in least or _ASIDE.search(path)}
    order = sorted(set(paths) - quiet - set(own) - near.keys(), key=lambda path: (path.count("/"), path))
    unseen = quiet - set(own) - near.keys()
    left = [path for path in own if path in blobs and path not in first]  # no text
    chars = max(0, min(FILES_CHARS, (tokens - MAP_TOKENS) * CHARS_PER_TOKEN))
    if sum(map(len, (*first.values(), *near.values()))) + sum(blobs[path].size for path in order) <= chars:
        others = _texts(repository, blobs, order)
        return Shown(_blocks(first, beside=near, others=others, left_out=sorted({*unseen, *left})))
    index = shared.index(repository, sha)
    whole, parts = _own(first, index, f"{about}\n{examples}", chars)
    used = sum(map(len, (*whole.values(), *parts.values())))
    tested = dict[str, str]()
    spare = min(TESTS_CHARS, chars - used)
    for path, text in list(near.items())[:TESTS]:
        # Half of what is left for the nearest: of many files a few lines each tell nothing.
        room = spare if len(tested) == min(TESTS, len(near)) - 1 else spare // 2
        if part := text if len(text) <= spare else _part(path, text, index, about, room):
            tested[path] = part
            used += len(part)
            spare -= len(part)
    words = words_of(about)
    symbols = {path: index.symbols[path] for path in sorted({*order, *first} & index.symbols.keys())}
    imported = _imported(symbols, own, index)
    spare = min(IMPORTS_TOKENS, (chars - used) // CHARS_PER_TOKEN)
    imports = repository_map(
        imported, (), {word.lower() for path in own for word in _mentions(index, path)}, tokens=spare
    )
    used += len(imports)
    chosen = list[str]()
    # Of no use while the task's own files are not whole.
    for path in [] if parts else [path for path, _ in ranked(symbols, own, words) if path not in own][:NEIGHBOURS]:
        if used + blobs[path].size <= chars - CHUNKS_CHARS:
            chosen.append(path)
            used += blobs[path].size
    chunks = [Chunk(path, piece) for path in symbols if path not in chosen for piece in index.pieces[path]]
    asked = Asking(meaning) if meaning is not None else None
    spare = max(0, min(CHUNKS_CHARS, chars - used))
    wanted = dict[tuple[str, str], Chunk]()
    for one in named(about, chunks):
        wanted.setdefault((one.path, one.name), one)  # of overloads the first
    related = around([one for one in wanted.values() if one.path in first], chunks)
    fitting = retrieve(about, chunks, chars=spare, near=asked)
    pieces = list[Chunk]()
    for one in dict.fromkeys([*wanted.values(), *related, *fitting]):
        if one.path not in first and len(one.text) <= spare:  # there it stands in its place already
            pieces.append(one)
            spare -= len(one.text)
    room = min(MAP_TOKENS, max(0, tokens - used // CHARS_PER_TOKEN))
    drawn = repository_map(symbols, own, words, tokens=room, without=[*chosen, *first])
    on_map = {line[:-1] for line in drawn.splitlines() if line.endswith(":") and not line.startswith(" ")}
    hidden = (set(order) - set(chosen) - on_map) | unseen | (near.keys() - tested.keys()) | set(left)
    left_out = _near(sorted(hidden), own)
    text = _blocks(whole, parts, first, tested, imports, _texts(repository, blobs, chosen), pieces, drawn, left_out)
    return Shown(text, asked.found if asked is not None else None)


def _own(files: Mapping[str, str], index: Index, about: str, chars: int) -> tuple[dict[str, str], dict[str, str]]:
    """The task's files that are shown whole, and the parts of the others: all have their share of the room."""
    whole, parts, waiting = {}, {}, len(files)
    for path, text in sorted(files.items(), key=lambda item: len(item[1])):
        waiting -= 1
        if len(text) <= max(chars - LEAST_CHARS * waiting, LEAST_CHARS):
            whole[path] = text
        else:
            share = chars // (waiting + 1)
            parts[path] = _part(path, text, index, about, max(LEAST_CHARS, share - min(CHUNKS_CHARS, share // 4)))
        chars -= len(whole.get(path) or parts[path])
    return {path: whole[path] for path in files if path in whole}, {
        path: parts[path] for path in files if path in parts
    }


def _part(path: str, text: str, index: Index, about: str, room: int) -> str:
    """Of a long file what fits the task, in its place: definitions, sections, or else its first and last lines."""
    pieces = sections_of(text) if path.endswith(_PAGES) else index.pieces.get(path, ())
    made = excerpt(path, text, index.symbols.get(path, Symbols()), pieces, about, room) if pieces else ""
    return made or (shortened(text, room) if room >= LEAST_CHARS // 2 else "")


def _mentions(index: Index, path: str) -> Mapping[str, int]:
    return index.symbols[path].mentions if path in index.symbols else {}


def _imported(symbols: Mapping[str, Symbols], own: Sequence[str], index: Index) -> dict[str, Symbols]:
    """Of the files that the task's own import, the definitions that these mention and what belongs to them."""
    found = {}
    for path in symbols.keys() - set(own):
        written = language_of(path)
        word = written.import_word(path) if written else ""
        used = {name for one in own if word in _mentions(index, one) for name in _mentions(index, one)}
        kept = tuple(one for one in symbols[path].definitions if {one.name, one.inside} & used)
        if word and kept:
            found[path] = Symbols(kept)
    return found


def _texts(repository: Repository, blobs: Mapping[str, GitBlob], paths: Sequence[str]) -> dict[str, str]:
    """The files that hold text."""
    found = repository.contents(sorted({blobs[path].hash for path in paths}))
    texts = {path: text for path in paths if (text := found.get(blobs[path].hash)) is not None and b"\0" not in text}
    return {path: text.decode("utf-8", "replace") for path, text in texts.items()}


def _blocks(
    own: Mapping[str, str],
    parts: Mapping[str, str] = NONE,
    texts: Mapping[str, str] = NONE,
    beside: Mapping[str, str] = NONE,
    imports: str = "",
    others: Mapping[str, str] = NONE,
    pieces: Sequence[Chunk] = (),
    drawn: str = "",
    left_out: Sequence[str] = (),
) -> Material:
    """All of it under headings; `texts` are the files that `parts` are of."""
    named = [path for path, text in {**own, **texts, **beside, **others}.items() if without_licence(text) != text]
    blocks: list[str] = [f"{LICENCE_LEFT_OUT} {', '.join(named)}"] if named else []
    blocks += _files(own)
    for path, text in parts.items():
        lines = len(texts[path].splitlines())
        blocks += [f"Parts of {path}, a file of {lines} lines; … marks what is not shown:", *_files({path: text})]
    if beside:
        blocks += ["Existing tests of these files:", *_files(beside)]
    if imports:
        blocks += ["What these files import (signatures):", label(imports, Source.REPOSITORY)]
    if others:
        blocks += [*(["Other files:"] if own or parts or beside else []), *_files(others)]
    if pieces:
        blocks.append("Code of other files that fits the task:")
        blocks.extend(
            label(one.text, Source.REPOSITORY, f"path={one.path} lines={one.piece.line}-{one.piece.end}")
            for one in pieces
        )
    if drawn:
        blocks += ["Map of the rest (signatures):" if own else "Map (signatures):", label(drawn, Source.REPOSITORY)]
    if left_out:
        blocks += [label("Also there: " + ", ".join(_listed(left_out)[:LISTED]), Source.REPOSITORY)]
    return joined(blocks)


def _files(files: Mapping[str, str]) -> list[Material]:
    return [label(without_licence(text) or " \n", Source.REPOSITORY, f"path={path}") for path, text in files.items()]


def _near(paths: Sequence[str], own: Sequence[str]) -> list[str]:
    """The paths in the folders of the task's own files; of the others the folder at the top."""
    folders = {path.rpartition("/")[0] for path in own}
    near = [path for path in paths if path.rpartition("/")[0] in folders]
    far = Counter(path.partition("/")[0] for path in paths if path not in near and "/" in path)
    return [*near, *(f"{folder}/ ({count} files)" for folder, count in sorted(far.items()))]


def _listed(paths: Sequence[str]) -> list[str]:
    """The paths; when they are too many, a folder with all that is below it as one, from the deepest on."""
    rows = list(paths)
    for depth in range(max((path.count("/") for path in paths), default=0), 0, -1):
        if len(rows) <= LISTED:
            break
        below = defaultdict[str, list[str]](list)
        for path in paths:
            below["/".join(path.split("/")[:depth])].append(path)
        rows = [one[0] if len(one) == 1 else f"{folder}/ ({len(one)} files)" for folder, one in sorted(below.items())]
    return rows
