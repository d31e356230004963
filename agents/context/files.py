"""What a task is shown of the repository: the files it will change and those it builds on, within a budget."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from agents.context.brief import docstring_of, first_lines, use_of
from agents.context.calls import around, called_by, named
from agents.context.documents import sections_of
from agents.context.excerpt import excerpt
from agents.context.index import Index, shared
from agents.context.map import MAP_TOKENS, repository_map
from agents.context.meaning import Asking, Meaning, Nearness
from agents.context.ranking import words_of
from agents.context.retrieval import Chunk, retrieve, shortened, terms
from agents.context.view import View, near_first
from agents.languages.registry import language, language_of, languages
from agents.languages.symbols import Symbols
from agents.prompts.provenance import Material, Source, joined, label
from agents.replies.keeping import PAGES
from agents.replies.licence import without_licence
from agents.workspace.repository import Repository

STEP_TOKENS = 25_000  # most of one prompt: what is left of a 32k window is for the answer
CHARS_PER_TOKEN = 3  # of code, on the safe side
FILES_CHARS = 24_000  # about 8,000 tokens of a 32k window; small exact context beats a large one for a 7B model
NAMED_CHARS = 12_000  # of an own file in which the task names what it is about
CHUNKS_CHARS = 6_000  # of it, for pieces of files that are not shown whole
FITTING, FITTING_BESIDE = 6, 2  # pieces that only share words with a task which names no code; beside code of its own
LEAST_CHARS = 2_000  # of an own file, however little room there is
TESTS, TESTS_CHARS = 3, 3_000  # existing tests of a task's files
BEGINNING_CHARS = 160  # of a test file beside one that is to be new
STUB_CHARS = 3_000  # of a file that only declares what a module beside it defines
IMPORTS_TOKENS = 400
TOLD = 2  # words of a requirement that a docstring says too
MEANT, KIN = 6, 12  # files that a document names, for a map of these alone; files called like them
KEPT = 64  # answers remembered in this process: tester and coder of a task, and each new approach, ask the same
_SHOWN = (".toml", ".txt", ".md", ".json", ".html", ".css", ".yaml", ".yml", ".cfg", ".ini")  # besides source files
_NAMES = ("Dockerfile", "Makefile")
# What is written about the code, or made of it: named, not shown.
_ASIDE = re.compile(r"^docs?/|\.egg-info/")
_NOT_SHOWN = (".gitignore", "README.md", "AGENTS.md")


@dataclass(frozen=True)
class Shown:
    """What is shown, which own files only in parts, and how near its pieces were by meaning.

    `nearness` is None when no model was asked.
    """

    text: Material
    parts: frozenset[str] = frozenset()
    nearness: Nearness | None = None


@dataclass(frozen=True)
class Wanted:
    """What a task is to be shown something for: its files, existing tests of them, and its words.

    `about` says what to do, `wishes` what is to come of it: code that only these name is shown, but not what it calls.
    `examples` use all kinds of code to show something, so what they name is shown of the task's own files alone.
    `told` are the folders and files that the test runner is told to run. Who writes tests needs no `calls`: what named
    code does, not how.
    """

    own: tuple[str, ...]
    tests: tuple[str, ...] = ()
    about: str = ""
    examples: str = ""
    tokens: int = STEP_TOKENS
    wishes: str = ""
    told: tuple[str, ...] = ()
    calls: bool = True

    @property
    def words(self) -> str:
        """All that is said of the task without its examples."""
        return f"{self.about}\n{self.wishes}"

    def is_test(self, path: str) -> bool:
        """Whether a file is a test, as the runner sees it."""
        return _is_test(path, self.told)


_known: OrderedDict[tuple[str, str, str, Wanted], Shown] = OrderedDict()
_lock = threading.Lock()


def files_text(files: Mapping[str, str], source: Source = Source.MODEL) -> Material:
    """Files whole, each in a fence that names it and says whose it is."""
    return joined(label(content or " \n", source, f"path={path}") for path, content in sorted(files.items()))


def existing_files(repository: Repository, sha: str, wanted: Wanted, meaning: Meaning | None = None) -> Shown:
    """What a task is shown of the repository in at most about so many tokens, the most useful first.

    Its own files come first, whole or in parts, whatever their kind; then tests of them that exist, and then the rest
    while it fits, or else signatures of what the own files import, files and pieces of code that fit the task, and a
    map. What is not even on the map is named.
    """
    key = (str(repository.root), sha, meaning.model if meaning else "", wanted)
    with _lock:
        if key in _known:
            return _known[key]
    made = _Choice(repository, sha, wanted, meaning).made()
    # Kept even if the model was away: the prompts of a task go on beginning with the same bytes.
    with _lock:
        _known[key] = made
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return made


def outline(repository: Repository, sha: str, about: str, told: Sequence[str] = ()) -> Material | str:
    """What a plan builds on: signatures of the code that `about` speaks of, and the paths of other files.

    Where it names code or files, these, what belongs to them and their tests come first, and of the rest the folders.
    Empty when there is no code yet.
    """
    blobs, index = repository.blobs(sha), shared.index(repository, sha)
    symbols = {path: found for path, found in index.symbols.items() if not _is_test(path, told)}
    chunks = [Chunk(path, piece) for path in symbols for piece in index.pieces[path]]
    meant = named(about, chunks)
    paths = {one.path for one in meant} | {path for path in symbols if path in about}
    paths -= {path for path in paths if _declares(path, dict.fromkeys(paths - {path}, ""))}
    if not paths or len(paths) > MEANT:
        drawn = repository_map(symbols, (), words_of(about))
        others = [path for path in sorted(blobs) if f"\n{path}:\n" not in f"\n{drawn}\n"]
        return View(drawn=drawn, left_out=others).text() if drawn else ""
    return _outline_of(paths, meant, chunks, symbols, blobs, about)


def _outline_of(
    paths: Set[str],
    meant: Sequence[Chunk],
    chunks: Sequence[Chunk],
    symbols: Mapping[str, Symbols],
    blobs: Collection[str],
    about: str,
) -> Material | str:
    """Signatures of the files that are named, and the paths of others: those that go with them first."""
    near, stems = around(meant, chunks), set(terms(about))
    # Of what these call in turn, what says of itself what the requirements speak of.
    near += [one for one in called_by(near, chunks) if len(stems.intersection(terms(docstring_of(one.text)))) >= TOLD]
    words = words_of(about) | {one.name.rpartition(".")[2].lower() for one in (*meant, *near)}
    drawn = repository_map({path: symbols[path] for path in paths}, (), words, alone=True)
    modules = {re.split(r"[./]", path)[-2] for path in paths}
    files = [path for path in sorted(blobs) if path not in paths and not _ASIDE.search(path)]
    kin = [path for path in files if any(word in path for word in modules)]
    rest = near_first([path for path in files if path not in kin], list(paths))
    return View(drawn=drawn, left_out=[*kin[:KIN], *rest]).text()


def part_of(repository: Repository, sha: str, path: str, text: str, *, about: str, chars: int) -> str:
    """A file in at most `chars`: whole without its licence, or what `about` names or speaks of."""
    if len(whole := without_licence(text)) <= chars:
        return whole
    wanted = Wanted((path,), about=about, calls=False)
    return without_licence(_part(path, text, shared.index(repository, sha), wanted, chars)) or shortened(whole, chars)


class _Choice:
    """Fills the room there is: what is chosen first leaves less for the rest."""

    def __init__(self, repository: Repository, sha: str, wanted: Wanted, meaning: Meaning | None) -> None:
        self._repository, self._wanted = repository, wanted
        self._asked = Asking(meaning) if meaning is not None else None
        self._sha, self._blobs = sha, (blobs := repository.blobs(sha))
        self._own = self._texts([path for path in dict.fromkeys(wanted.own) if path in blobs])
        # How tests are written is seen in those that the task adds to.
        seen = any(map(wanted.is_test, self._own))
        tests = dict.fromkeys(path for path in wanted.tests if path not in wanted.own and not seen)
        self._near = self._texts([path for path in tests if path in blobs])
        self._chars = max(0, min(FILES_CHARS, (wanted.tokens - MAP_TOKENS) * CHARS_PER_TOKEN))

    def made(self) -> Shown:
        wanted, blobs = self._wanted, self._blobs
        first = {*wanted.own, *self._near}
        readable = [
            path for path in blobs if path.endswith(_SHOWN) or language_of(path) or path.rpartition("/")[2] in _NAMES
        ]
        least = {*_NOT_SHOWN, *(one.lock for one in languages())}
        tests = {path for path in readable if wanted.is_test(path)}
        quiet = {path for path in readable if path in tests or path in least or _ASIDE.search(path)} - first
        order = sorted(set(readable) - quiet - first, key=lambda path: (path.count("/"), path))
        unread = {path for path in wanted.own if path in blobs and path not in self._own}  # no text
        everything = sum(map(len, (*self._own.values(), *self._near.values()))) + sum(
            blobs[path].size for path in order
        )
        texts = {**self._own, **self._near}
        long = any(_worth(path, wanted) < min(len(text), FILES_CHARS) for path, text in texts.items())
        if everything <= self._chars and not long:
            return Shown(
                View(self._own, tests=self._near, others=self._texts(order), left_out=sorted(quiet | unread)).text()
            )
        return self._chosen(order, quiet | unread)

    def _chosen(self, order: Sequence[str], hidden: Set[str]) -> Shown:
        wanted, own = self._wanted, self._wanted.own
        index = shared.index(self._repository, self._sha)
        whole, parts = _own(self._own, index, wanted, self._chars)
        left = self._chars - sum(map(len, (*whole.values(), *parts.values())))
        tests = self._tests(index, min(TESTS_CHARS, left))
        left -= sum(map(len, tests.values()))
        symbols = {path: index.symbols[path] for path in sorted({*order, *self._own} & index.symbols.keys())}
        imported = _imported(symbols, self._own, index)
        mentioned = {word.lower() for path in own for word in _mentions(index, path)}
        imports = repository_map(imported, (), mentioned, tokens=min(IMPORTS_TOKENS, left // CHARS_PER_TOKEN))
        left -= len(imports)
        chunks = [Chunk(path, piece) for path in symbols for piece in index.pieces[path]]
        pieces = self._pieces(chunks, max(0, min(CHUNKS_CHARS, left)))
        begins = {} if tests or wanted.calls else self._beginning({one.path for one in pieces})
        if any(map(language_of, own)):  # these change: of the others it matters how they are used
            pieces = [replace(one, piece=replace(one.piece, text=use_of(one.text))) for one in pieces]
        # Where there is code to change, or that the task names, one builds on that and not on what a map shows.
        room = 0 if self._own or pieces else MAP_TOKENS
        room = min(room, max(0, wanted.tokens - (self._chars - left) // CHARS_PER_TOKEN))
        drawn = repository_map(symbols, own, words_of(wanted.words), tokens=room, without=self._own) if room else ""
        on_map = {line[:-1] for line in drawn.splitlines() if line.endswith(":") and not line.startswith(" ")}
        hidden = hidden | (set(order) - on_map - {one.path for one in pieces}) | (self._near.keys() - tests.keys())
        left_out = near_first(sorted(hidden), own)
        view = View(whole, parts, self._own, tests, imports, {}, pieces, drawn, left_out, begins)
        return Shown(view.text(), frozenset(parts), self._asked.found if self._asked is not None else None)

    def _tests(self, index: Index, room: int) -> dict[str, str]:
        """Existing tests, half of the room for the nearest: of many files a few lines each tell nothing."""
        found = dict[str, str]()
        for path, text in list(self._near.items())[:TESTS]:
            share = room if len(found) == min(TESTS, len(self._near)) - 1 else room // 2
            if part := text if len(text) <= room else _part(path, text, index, self._wanted, share):
                found[path] = part
                room -= len(part)
        return found

    def _beginning(self, used: Set[str]) -> dict[str, str]:
        """How a test file beside a new one begins: of a module that is used, or else the first."""
        wanted, blobs = self._wanted, self._blobs
        new = next((path for path in wanted.own if path not in blobs and wanted.is_test(path)), "")
        if not new or any(map(wanted.is_test, self._own)):
            return {}
        folder, _, name = new.rpartition("/")
        beside = [path for path in blobs if path.rpartition("/")[0] == folder and wanted.is_test(path)]
        alike = [path for path in beside if path.rpartition(".")[2] == name.rpartition(".")[2]]
        stems = [re.split(r"[./]", path)[-2] for path in used]
        near = sorted(alike, key=lambda path: (not any(stem in path for stem in stems), path))[:1]
        return {path: first_lines(text, BEGINNING_CHARS) for path, text in self._texts(near).items()}

    def _pieces(self, chunks: Sequence[Chunk], room: int) -> list[Chunk]:
        """Of other files what the task names, what belongs to code that it names, and what else fits it."""
        about, own = self._wanted.words, self._own
        told = dict[tuple[str, str], Chunk]()
        for one in named(about, chunks):
            told.setdefault((one.path, one.name), one)  # of overloads the first
        related = (
            around([one for one in told.values() if one.path in own or not own], chunks) if self._wanted.calls else []
        )
        # A page tells of code that it does not name.
        writes = any(map(language_of, self._wanted.own))
        most = 0 if told and writes else FITTING_BESIDE if own and writes else FITTING
        fitting = retrieve(about, chunks, limit=most, chars=room, near=self._asked) if most else []
        found = list[Chunk]()
        for one in dict.fromkeys([*told.values(), *related, *fitting]):
            if (
                one.path not in own and not _declares(one.path, own) and len(one.text) <= room
            ):  # there it stands already
                found.append(one)
                room -= len(one.text)
        return found

    def _texts(self, paths: Sequence[str]) -> dict[str, str]:
        """The files that hold text."""
        blobs = self._blobs
        found = self._repository.contents(sorted({blobs[path].hash for path in paths}))
        texts = {path: found.get(blobs[path].hash) for path in paths}
        return {
            path: text.decode("utf-8", "replace")
            for path, text in texts.items()
            if text is not None and b"\0" not in text
        }


def _own(files: Mapping[str, str], index: Index, wanted: Wanted, chars: int) -> tuple[dict[str, str], dict[str, str]]:
    """The task's files that are shown whole, and the parts of the others: all have their share of the room."""
    whole, parts, waiting = {}, {}, len(files)
    for path, text in sorted(files.items(), key=lambda item: len(item[1])):
        waiting -= 1
        most = _most(path, index, wanted)
        if len(text) <= min(most, max(chars - LEAST_CHARS * waiting, LEAST_CHARS)):
            whole[path] = text
        else:
            share = chars // (waiting + 1)
            room = max(LEAST_CHARS, min(most, share - min(CHUNKS_CHARS, share // 4)))
            parts[path] = _part(path, text, index, wanted, room)
        chars -= len(whole.get(path) or parts[path])
    return {path: whole[path] for path in files if path in whole}, {
        path: parts[path] for path in files if path in parts
    }


def _most(path: str, index: Index, wanted: Wanted) -> int:
    """Characters of a file that are worth their reading: the rest of it is named."""
    if (most := _worth(path, wanted)) < FILES_CHARS:
        return most
    chunks = [Chunk(path, piece) for piece in index.pieces.get(path, ())]
    return NAMED_CHARS if named(f"{wanted.words}\n{wanted.examples}", chunks) else FILES_CHARS


def _part(path: str, text: str, index: Index, wanted: Wanted, room: int) -> str:
    """Of a long file what fits the task, in its place: definitions, sections, or else its first and last lines."""
    pieces = sections_of(text) if path.endswith(PAGES) else index.pieces.get(path, ())
    symbols, beside = index.symbols.get(path, Symbols()), f"{wanted.wishes}\n{wanted.examples}"
    made, is_test = "", path in wanted.own and wanted.is_test(path)
    if pieces:
        made = excerpt(
            path, text, symbols, pieces, wanted.about, room, beside=beside, calls=wanted.calls, tests=is_test
        )
    return made or (shortened(text, room) if room >= LEAST_CHARS // 2 else "")


def _declares(path: str, own: Mapping[str, str]) -> bool:
    """Whether a file only declares what one of the task's files defines."""
    written = language_of(path)
    ends = written.never_run if written else ()
    stem = path.rpartition(".")[0]
    return path.endswith(tuple(ends)) and any(one != path and one.rpartition(".")[0] == stem for one in own)


def _mentions(index: Index, path: str) -> Mapping[str, int]:
    return index.symbols[path].mentions if path in index.symbols else {}


def _imported(symbols: Mapping[str, Symbols], own: Mapping[str, str], index: Index) -> dict[str, Symbols]:
    """Of the files that the task's own import, the definitions that these mention and what belongs to them."""
    found = {}
    for path in symbols.keys() - set(own):
        written = language_of(path)
        word = written.import_word(path) if written else ""
        loads = re.compile(rf"\b(?:from|import|require)\b[^\n]*?(?:\([^)]*?)?\b{re.escape(word)}\b")
        used = {name for one, text in own.items() if loads.search(text) for name in _mentions(index, one)}
        kept = tuple(one for one in symbols[path].definitions if {one.name, one.inside} & used)
        if word and kept:
            found[path] = Symbols(kept)
    return found


def _worth(path: str, wanted: Wanted) -> int:
    """Characters of such a file that are worth their reading, whatever the task names."""
    written = language_of(path)
    if wanted.is_test(path):
        return TESTS_CHARS  # a few show how they are written
    return STUB_CHARS if written and path.endswith(written.never_run) else FILES_CHARS


def _is_test(path: str, told: Sequence[str] = ()) -> bool:
    return (language_of(path) or language()).is_test(path, told)
