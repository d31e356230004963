"""`python -m measure questions --repositories DIR [--questions FILE…]`: is the right code among the first five?

DIR has the sources of each package in a folder of its name. A question counts as answered when one of the five places
has its path and overlaps its lines. The ways to search are compared side by side.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agents.context.index import Indexer
from agents.context.meaning import meaning_of
from agents.context.ordering import CANDIDATES, in_order, order_turn, read_order
from agents.context.questions import PLACES, FoundPlace, chunks_of, find_places, places_of, texts_of
from agents.context.retrieval import Chunk
from agents.context.vectors import VectorStore
from agents.llm.base import LLMError
from agents.llm.tokens import count_tokens
from agents.memory.embedders import MINILM, Embedder, embedder_of, hashing
from agents.memory.folder import ChromaFolder
from agents.workspace.repository import GitBlob

DEEPEST = (5, 10, 20, 30, 40, 60)
LONG = 7_200.0  # seconds for the vectors of a package
SHIPPED = Path(__file__).parent


class BadQuestions(Exception):
    """The questions or sources cannot be used; the text says why."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question whose answer is known to be in these lines of a file."""

    package: str
    question: str
    path: str
    lines: tuple[int, int]

    def answered(self, places: Sequence[FoundPlace]) -> bool:
        """Whether one of the places is the answer's."""
        first, last = self.lines
        return any(
            one.chunk.path == self.path and one.chunk.piece.line <= last and one.chunk.piece.end >= first
            for one in places
        )


class SourceFolder:
    """A folder of files in the shape of a repository."""

    def __init__(self, root: Path) -> None:
        self._files: dict[str, Path] = {}
        self._paths: dict[str, str] = {}
        for file in sorted(root.rglob("*")):
            if file.is_file() and not file.is_symlink() and ".git" not in file.parts:
                digest = hashlib.sha256(file.read_bytes()).hexdigest()
                self._files[digest] = file
                self._paths[file.relative_to(root).as_posix()] = digest

    def blobs(self, sha: str) -> dict[str, GitBlob]:
        """Its files; there is one commit."""
        return {path: GitBlob(digest, self._files[digest].stat().st_size) for path, digest in self._paths.items()}

    def contents(self, hashes: list[str]) -> dict[str, bytes]:
        """Contents by hash."""
        return {one: self._files[one].read_bytes() for one in hashes}


def read_questions(files: Sequence[Path]) -> list[AskedQuestion]:
    """The questions of TOML files; what stands at the top of a file holds for all of its questions.

    Raises BadQuestions.
    """
    found = []
    for file in files:
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            rows = next(value for value in content.values() if isinstance(value, list))
            found += [_question({**content, **row}) for row in rows]
        except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
            raise BadQuestions(f"{file}: {type(error).__name__} {error}") from None
    if not found:
        raise BadQuestions("There is no question.")
    return found


def _question(row: Mapping[str, Any]) -> AskedQuestion:
    lines = [int(one) for one in (row["lines"].split("-") if isinstance(row["lines"], str) else row["lines"])]
    return AskedQuestion(str(row["package"]), str(row["question"]), str(row["path"]), (lines[0], lines[-1]))


Way = Callable[..., tuple[list[FoundPlace], str]]  # a question, limit=… to its finds


@contextmanager
def ways_to_search(
    questions: Sequence[AskedQuestion], repositories: Path, vectors: Path | None = None, *, only_default: bool = False
) -> Iterator[dict[str, Callable[[str], Way]]]:
    """Each way to search, by name, for each package; the last is the default of an installation with MiniLM.

    `vectors` is kept for the next time. Raises BadQuestions.
    """
    with tempfile.TemporaryDirectory() as place:
        chunks = dict[str, list[Chunk]]()
        for package in dict.fromkeys(one.package for one in questions):
            root = repositories / package
            if not root.is_dir():
                raise BadQuestions(f"{root} is not a folder with the sources of {package}.")
            chunks[package] = chunks_of(SourceFolder(root), "", Path(place) / "docs", package, Indexer())
        ways: dict[str, Callable[[str], Way]] = {
            "words (BM25)": lambda package: partial(find_places, chunks=chunks[package])
        }
        embedders = (("hashing", hashing), ("MiniLM", embedder_of(MINILM, "")))
        for title, embedder in embedders[only_default:]:
            folder = ChromaFolder((vectors or Path(place)) / embedder.label)
            stores = {package: VectorStore(folder, package, embedder.label) for package in chunks}
            if problem := _index(stores, chunks, embedder):
                print(f"{title}: {problem}", file=sys.stderr)  # noqa: T201
                continue
            for words, name in ((False, title), (True, f"words and {title}")):
                ways[name] = partial(_way, stores, chunks, embedder, words)
        yield ways


def measure(
    questions: Sequence[AskedQuestion], repositories: Path, vectors: Path | None = None
) -> dict[str, list[bool]]:
    """Which questions each way to search answers, in their order. Raises BadQuestions."""
    with ways_to_search(questions, repositories, vectors) as ways:
        return {
            name: [one.answered(way(one.package)(one.question)[0]) for one in questions] for name, way in ways.items()
        }


@contextmanager
def _numbered(
    questions: Sequence[AskedQuestion], repositories: Path, vectors: Path | None
) -> Iterator[list[tuple[str, AskedQuestion, list[FoundPlace]]]]:
    """Each question with the name of its file and what the default search finds."""
    with ways_to_search(questions, repositories, vectors, only_default=True) as ways:
        way, count, rows = list(ways.values())[-1], Counter[str](), []
        for one in questions:
            count[one.package] += 1
            name = f"{one.package}/{count[one.package]:02}.txt"
            rows.append((name, one, way(one.package)(one.question, limit=DEEPEST[-1])[0]))
        yield rows


def write_prompts(questions: Sequence[AskedQuestion], repositories: Path, vectors: Path | None, folder: Path) -> int:
    """Write what the product asks a model to order, and print the tokens. Raises BadQuestions."""
    tokens = []
    with _numbered(questions, repositories, vectors) as rows:
        for name, one, found in rows:
            prompt = order_turn(one.question, found[:CANDIDATES])["content"]
            tokens.append(count_tokens(prompt))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(prompt, encoding="utf-8")
    print(f"{len(tokens)} prompts, {sum(tokens) // len(tokens)} tokens on average, {max(tokens)} at most")  # noqa: T201
    return 0


def measure_order(
    questions: Sequence[AskedQuestion], repositories: Path, vectors: Path | None, replies: Path | None
) -> dict[str, list[bool]]:
    """How deep the default search has the answers, and which are first in the order of a model's replies.

    A reply that is missing leaves the search's order. Raises BadQuestions.
    """
    results = dict[str, list[bool]]()
    with _numbered(questions, repositories, vectors) as rows:
        for deep in DEEPEST:
            results[f"among the first {deep}"] = [one.answered(found[:deep]) for _, one, found in rows]
        if replies is not None:
            ordered = []
            for name, one, found in rows:
                reply = (replies / name).read_text(encoding="utf-8") if (replies / name).is_file() else ""
                shown = found[:CANDIDATES]
                ordered.append(one.answered(in_order(shown, read_order(reply, len(shown)))[:PLACES]))
            results["ordered by the replies"] = ordered
    return results


def _way(
    stores: Mapping[str, VectorStore],
    chunks: Mapping[str, Sequence[Chunk]],
    embedder: Embedder,
    words: bool,
    package: str,
) -> Way:
    return partial(find_places, chunks=chunks[package], store=stores[package], embedder=embedder, words=words)


def _index(stores: Mapping[str, VectorStore], chunks: Mapping[str, Sequence[Chunk]], embedder: Embedder) -> str:
    """Why a package has no vectors; "" when all have."""
    for package, store in stores.items():
        try:
            left, why = meaning_of(store, embedder).learn(texts_of(chunks[package]), LONG)
        except LLMError as error:
            return str(error)
        if left:
            return why
        store.describe(places_of(chunks[package], embedder, ""))
    return ""


def main(argv: Sequence[str]) -> int:
    """Exit code 0: measured; 2: wrong use."""
    parser = argparse.ArgumentParser(prog="measure questions", description=__doc__)
    parser.add_argument("--repositories", type=Path, required=True, help="a folder with one folder per package")
    parser.add_argument("--questions", type=Path, nargs="+", help="TOML files; those of the benchmark by default")
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--missed", action="store_true", help="list the questions that no place of a way answers")
    parser.add_argument("--vectors", type=Path, help="a folder that keeps the vectors for the next measurement")
    parser.add_argument("--deep", action="store_true", help="count answers further down in the default search's order")
    parser.add_argument("--prompts", type=Path, help="write what a model is asked to order into this folder, and end")
    parser.add_argument("--replies", type=Path, help="a folder with a model's replies to these prompts: measure those")
    options = parser.parse_args(argv)
    try:
        questions = read_questions(options.questions or sorted(SHIPPED.glob("*.toml")))
        if options.prompts is not None:
            return write_prompts(questions, options.repositories, options.vectors, options.prompts)
        if options.replies is not None or options.deep:
            results = measure_order(questions, options.repositories, options.vectors, options.replies)
        else:
            results = measure(questions, options.repositories, options.vectors)
    except BadQuestions as wrong:
        print(wrong, file=sys.stderr)  # noqa: T201
        return 2
    console = Console()
    if options.as_json:
        shares = {name: sum(hits) / len(hits) for name, hits in results.items()}
        console.print_json(json.dumps({"questions": len(questions), f"hit@{PLACES}": shares}))
        return 0
    asked = Counter(one.package for one in questions)
    columns = (f"{package} ({many})" for package, many in asked.items())
    table = Table("search", f"hit@{PLACES}", f"of {len(questions)}", *columns, box=None)
    for name, hits in results.items():
        answered = Counter(one.package for one, hit in zip(questions, hits, strict=True) if hit)
        share = f"{100 * sum(hits) / len(hits):.0f} %"
        table.add_row(name, share, str(sum(hits)), *(str(answered[package]) for package in asked))
        if options.missed:
            for question, hit in zip(questions, hits, strict=True):
                if not hit:
                    table.add_row(f"  {question.package}: {question.question}")
    console.print(table)
    return 0
