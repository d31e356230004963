"""What a task is shown of the repository: the files it will change and those it builds on, within a budget."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agents.context.excerpt import excerpt
from agents.context.index import shared
from agents.context.map import repository_map
from agents.context.meaning import Asking, Meaning, Nearness
from agents.context.ranking import ranked, words_of
from agents.context.retrieval import Chunk, retrieve
from agents.languages.registry import language, language_of
from agents.prompts.provenance import Material, Source, joined, label
from agents.workspace.repository import GitBlob, Repository

FILES_CHARS = 24_000  # about 8,000 tokens of a 32k window; small exact context beats a large one for a 7B model
CHUNKS_CHARS = 6_000  # of it, for pieces of files that are not shown whole
NEIGHBOURS = 8  # files beside a task's own that may be shown whole; further down the ranks it is a matter of chance
KEPT = 64  # answers remembered in this process: tester and coder of a task, and each new approach, ask the same
LISTED = 80  # names of files that are not shown
_SHOWN = (".toml", ".txt", ".md", ".json", ".html", ".css", ".yaml", ".yml", ".cfg", ".ini")  # besides source files
_NAMES = ("Dockerfile", "Makefile")
_ASIDE = re.compile(r"^docs?/|\.egg-info/")  # what is written about the code, or made of it: named, not shown


@dataclass(frozen=True)
class Shown:
    """What is shown, and how near its pieces were by meaning; None when no model was asked."""

    text: Material
    nearness: Nearness | None = None


_Key = tuple[str, str, tuple[str, ...], str, str]
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
    repository: Repository, sha: str, own: Sequence[str], about: str = "", meaning: Meaning | None = None
) -> Material:
    """What a task is shown of the repository: all of it while it fits, else its own files whole, then what fits the
    task.

    `about` is the task in words. Of a repository that does not fit, the pieces of code that share the most words with
    the task come after the files, then a map of the rest; what is not even on the map is named.
    """
    return _shown(repository, sha, own, about, meaning).text


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
    return _blocks({}, drawn, (), others) if drawn else ""


def nearness(
    repository: Repository, sha: str, own: Sequence[str], about: str = "", meaning: Meaning | None = None
) -> Nearness | None:
    """What the embedding model had to do with `existing_files`; None when it was not asked."""
    return _shown(repository, sha, own, about, meaning).nearness


def _shown(repository: Repository, sha: str, own: Sequence[str], about: str, meaning: Meaning | None) -> Shown:
    key = (str(repository.root), sha, tuple(own), about, meaning.model if meaning else "")
    with _lock:
        if key in _known:
            return _known[key]
    made = _existing(repository, sha, own, about, meaning)
    # Kept even if the model was away: the prompts of a task go on beginning with the same bytes.
    with _lock:
        _known[key] = made
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return made


def _existing(repository: Repository, sha: str, own: Sequence[str], about: str, meaning: Meaning | None) -> Shown:
    blobs = repository.blobs(sha)
    paths = [path for path in blobs if path.endswith(_SHOWN) or language_of(path) or path.rsplit("/", 1)[-1] in _NAMES]
    tests = {path for path in paths if (language_of(path) or language()).is_test(path)}
    quiet = {
        path
        for path in paths
        if path not in own and (path in tests or path in (".gitignore", "README.md") or _ASIDE.search(path))
    }
    order = sorted(set(paths) - quiet, key=lambda path: (path not in own, path.count("/"), path))
    if sum(blobs[path].size for path in order) <= FILES_CHARS:
        return Shown(_blocks(_texts(repository, blobs, order), "", (), sorted(quiet)))
    words = words_of(about)
    index = shared.index(repository, sha)
    symbols = {path: index.symbols[path] for path in sorted(set(order) & index.symbols.keys())}
    chosen, parts, used = list[str](), dict[str, str](), 0
    for path in [path for path in order if path in own]:
        if used + blobs[path].size <= FILES_CHARS:
            chosen.append(path)
            used += blobs[path].size
        elif (
            path in symbols
            and (room := FILES_CHARS - CHUNKS_CHARS - used) > 0
            and (text := _texts(repository, blobs, [path]).get(path))
        ):
            parts[path] = excerpt(path, text, symbols[path], index.pieces[path], about, room)
            used += len(parts[path])
    # Of no use while the task's own files are not whole.
    for path in [] if parts else [path for path, _ in ranked(symbols, own, words) if path not in own][:NEIGHBOURS]:
        if used + blobs[path].size <= FILES_CHARS - CHUNKS_CHARS:
            chosen.append(path)
            used += blobs[path].size
    parts = {path: part for path, part in parts.items() if part}
    chunks = [Chunk(path, piece) for path in symbols if path not in chosen for piece in index.pieces[path]]
    asked = Asking(meaning) if meaning is not None else None
    pieces = retrieve(about, chunks, chars=max(0, min(CHUNKS_CHARS, FILES_CHARS - used)), near=asked)
    pieces = [one for one in pieces if one.path not in parts]  # there they stand in their place already
    drawn = repository_map(symbols, own, words, without=[*chosen, *parts])
    on_map = {line[:-1] for line in drawn.splitlines() if line.endswith(":") and not line.startswith(" ")}
    left_out = sorted((set(order) - set(chosen) - parts.keys() - on_map) | quiet)
    text = _blocks(_texts(repository, blobs, chosen), drawn, pieces, left_out, parts)
    return Shown(text, asked.found if asked is not None else None)


def _texts(repository: Repository, blobs: Mapping[str, GitBlob], paths: Sequence[str]) -> dict[str, str]:
    found = repository.contents(sorted({blobs[path].hash for path in paths}))
    return {
        path: text.decode("utf-8", "replace") for path in paths if (text := found.get(blobs[path].hash)) is not None
    }


def _blocks(
    shown: Mapping[str, str],
    drawn: str,
    pieces: Sequence[Chunk],
    left_out: Sequence[str],
    parts: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    blocks: list[str] = [files_text(shown, Source.REPOSITORY)] if shown else []
    for path, text in parts.items():
        blocks += [f"What fits the task of {path}, a long file:", label(text, Source.REPOSITORY, f"path={path}")]
    if pieces:
        blocks.append("Code of other files that fits the task:")
        blocks.extend(
            label(one.text, Source.REPOSITORY, f"path={one.path} lines={one.piece.line}-{one.piece.end}")
            for one in pieces
        )
    if drawn:
        blocks += ["Map of the rest (signatures):" if shown else "Map (signatures):", label(drawn, Source.REPOSITORY)]
    if left_out:
        blocks += [label("Also there: " + ", ".join(_listed(left_out)[:LISTED]), Source.REPOSITORY)]
    return joined(blocks)


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
