"""`python -m measure extraction [--documents DIR]… [--readings DIR] [--json]`: what extraction finds in the corpus.

Without `--readings` these are the rules alone. With it a model's replies take part, from DIR/NAME.NUMBER.json; where
there is none the rules read alone. `--prompts DIR` writes what a model is to answer, as NAME.NUMBER.md.

How the expectations were written and what counts is in the README.md beside this. Documents of the unseen half are
added up before anything of them is printed, so that the rules can be measured on them without being fitted to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agents.engine.planner_suggestions import read_by_model
from agents.llm.base import Message
from agents.requirements.documents import read_path
from agents.requirements.extract import extract
from agents.requirements.second_reading import DOUBTS, SecondReading, read_again

CORPUS = Path(__file__).parent
KINDS = ("requirement", "exclusion", "optional", "question")
Lines = tuple[int, int]


@dataclass(slots=True)
class Count:
    """What was expected and what was found; counts of several documents can be added."""

    expected: int = 0
    found: int = 0
    extracted: int = 0  # as tasks; what is extracted as an exclusion is counted below
    suggested: int = 0  # of these, what becomes a task only when a person accepts it
    invented: int = 0
    pieces: int = 0  # further extracted pieces of a requirement that is found already
    exclusions: int = 0
    built: int = 0  # exclusions that became tasks
    offered: int = 0  # exclusions that are suggested as tasks
    kept: int = 0  # exclusions that are extracted as such
    questions: int = 0
    asked: int = 0  # questions that are shown as open
    answered: int = 0  # questions that became tasks

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> dict[str, Any]:
        """The counts and the two shares that matter."""
        return {**asdict(self), "recall": share(self.found, self.expected), "invented_share": self.invented_share}

    @property
    def invented_share(self) -> float | None:
        """Invented requirements per extracted one."""
        return share(self.invented, self.extracted)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectations for one document, and where the document is (None: not on this machine)."""

    name: str
    language: str
    style: str
    half: str
    path: Path | None
    lines: dict[str, list[Lines]] = field(default_factory=dict)


def main(argv: Sequence[str]) -> int:
    """Exit code 0: measured; documents that are missing are named."""
    parser = argparse.ArgumentParser(prog="measure extraction", description="Measure extraction on its corpus.")
    help_documents = "a folder with the public documents of the corpus; may be repeated"
    parser.add_argument("--documents", type=Path, action="append", default=[], metavar="DIR", help=help_documents)
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON document on stdout")
    parser.add_argument("--readings", type=Path, metavar="DIR", help="a folder with a model's replies, which take part")
    parser.add_argument("--prompts", type=Path, metavar="DIR", help="write the prompts for such replies to this folder")
    options = parser.parse_args(argv)
    expectations = read_corpus(options.documents)
    if options.prompts:
        write_prompts([e.path for e in expectations if e.path], options.prompts)
        return 0
    missing = [e.name for e in expectations if e.path is None]
    counted = [(e, count(e.lines, e.path, options.readings)) for e in expectations if e.path]
    report = tables(counted)
    if options.as_json:
        Console(soft_wrap=True, highlight=False, markup=False).print(
            json.dumps({"missing": missing, **{k: {n: c.to_json() for n, c in t.items()} for k, t in report.items()}})
        )
        return 0
    console = Console(width=150)  # the same table everywhere
    for title, rows in report.items():
        _print(console, title, rows)
    if missing:
        console.print(f"not measured, because --documents names no folder with them: {', '.join(missing)}")
    return 0


def tables(counted: Iterable[tuple[Expectation, Count]]) -> dict[str, dict[str, Count]]:
    """Totals by half; then those of the seen half by document, language and style."""
    found: dict[str, dict[str, Count]] = {"document": {}, "language": {}, "style": {}, "half": {}}
    for expectation, counts in counted:
        keys = {"half": expectation.half}
        if expectation.half == "seen":
            keys |= {"document": expectation.name, "language": expectation.language, "style": expectation.style}
        for table, key in keys.items():
            found[table][key] = found[table].get(key, Count()) + counts
    return found


def read_corpus(folders: Sequence[Path]) -> list[Expectation]:
    """All expectations. A public document is looked up by its name and recognized by its content."""
    found = []
    for file in sorted(CORPUS.glob("*/*.expected.toml")):
        data = tomllib.loads(file.read_text("utf-8"))
        name = file.name.removesuffix(".expected.toml")
        if "sha256" in data:
            places = [folder / data["document"] for folder in folders]
            path = next((p for p in places if p.is_file() and _digest(p) == data["sha256"]), None)
        else:
            path = next(p for p in file.parent.glob(f"{name}.*") if p != file)
        lines = {kind: [(entry["lines"][0], entry["lines"][1]) for entry in data.get(kind, ())] for kind in KINDS}
        found.append(Expectation(name, data["language"], data["style"], data["half"], path, lines))
    return found


def count(wanted: Mapping[str, Sequence[Lines]], path: Path, readings: Path | None = None) -> Count:
    """Compare the extraction of the document at `path` with what is expected of it.

    What the rules find and the model doubts counts as not extracted, what the model alone reads in it as extracted.
    """
    reading = _read(path, readings)
    rows = [((row["lines"][0], row["lines"][1]), row) for row in reading.rows if row["lines"][0]]
    asked_for = [(lines, row) for lines, row in rows if row["kind"] != "non_goal" and row["reason"] not in DOUBTS]
    tasks = [lines for lines, _ in asked_for]
    suggested = [lines for lines, row in asked_for if row["origin"] != "explicit"]
    certain = [lines for lines, row in asked_for if row["origin"] == "explicit"]
    excluded = [lines for lines, row in rows if row["kind"] == "non_goal"]
    asked = [(question["lines"][0], question["lines"][1]) for question in reading.questions]
    pairs = match(wanted["requirement"], tasks)
    used = set(pairs.values())
    known = [lines for kind in KINDS for lines in wanted[kind]]
    binding = [*wanted["requirement"], *wanted["optional"]]
    return Count(
        expected=len(wanted["requirement"]),
        found=len(pairs),
        extracted=len(tasks),
        suggested=len(suggested),
        invented=sum(not _any(lines, known) for lines in tasks),
        pieces=sum(i not in used and _any(lines, wanted["requirement"]) for i, lines in enumerate(tasks)),
        exclusions=len(wanted["exclusion"]),
        built=_violated(wanted["exclusion"], certain, binding),
        offered=_violated(wanted["exclusion"], suggested, binding),
        kept=len(match(wanted["exclusion"], excluded)),
        questions=len(wanted["question"]),
        asked=len(match(wanted["question"], asked)),
        answered=_violated(wanted["question"], certain, binding),
    )


def _read(path: Path, readings: Path | None) -> SecondReading:
    document = read_path(path)
    found = extract(document)
    if readings is None:
        return read_again(found, [])

    def reply(number: int, messages: list[Message], schema: dict[str, Any]) -> str:
        kept = readings / f"{path.stem}.{number}.json"
        return kept.read_text("utf-8") if kept.is_file() else "{}"

    return read_by_model(path.stem, document.text, found, reply, lambda problem: None)


def write_prompts(paths: Iterable[Path], folder: Path) -> None:
    """What the product asks a model about each document, one file a question."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:

        def write(number: int, messages: list[Message], schema: dict[str, Any], name: str = path.stem) -> str:
            prompt = "\n\n".join(message["content"] for message in messages)
            (folder / f"{name}.{number}.md").write_text(prompt, "utf-8")
            return "{}"

        document = read_path(path)
        read_by_model(path.stem, document.text, extract(document), write, lambda problem: None)


def match(expected: Sequence[Lines], extracted: Sequence[Lines]) -> dict[int, int]:
    """Pair as many expectations as possible with an extracted piece each, where their lines overlap."""
    beside = [[j for j, lines in enumerate(extracted) if _overlap(lines, span)] for span in expected]
    owner: dict[int, int] = {}

    def place(index: int, tried: set[int]) -> bool:
        for candidate in beside[index]:
            if candidate in tried:
                continue
            tried.add(candidate)
            if candidate not in owner or place(owner[candidate], tried):
                owner[candidate] = index
                return True
        return False

    for index in range(len(expected)):
        place(index, set())
    return {index: candidate for candidate, index in owner.items()}


def _violated(spans: Sequence[Lines], tasks: Sequence[Lines], binding: Sequence[Lines]) -> int:
    """How many spans a task touches in lines that nothing binding shares."""
    return sum(
        any(
            any(not _any((line, line), binding) for line in range(max(a, span[0]), min(b, span[1]) + 1))
            for a, b in tasks
        )
        for span in spans
    )


def _overlap(one: Lines, other: Lines) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _any(lines: Lines, spans: Iterable[Lines]) -> bool:
    return any(_overlap(lines, span) for span in spans)


def share(part: int, whole: int) -> float | None:
    """Rounded; None of nothing."""
    return round(part / whole, 3) if whole else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _print(console: Console, title: str, rows: dict[str, Count]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(title if title == "half" else f"{title} (seen half)", overflow="fold")
    heads = ("expected", "found", "extracted", "suggested", "invented", "in pieces")
    excluded_heads = ("exclusions", "as such", "as tasks", "suggested")
    for head in (*heads, *excluded_heads, "questions", "shown", "as tasks"):
        table.add_column(head, justify="right")
    for name, c in sorted(rows.items()):
        found, invented = (_percent(s) for s in (share(c.found, c.expected), c.invented_share))
        cells = (c.expected, f"{c.found}{found}", c.extracted, c.suggested, f"{c.invented}{invented}", c.pieces)
        excluded = (c.exclusions, c.kept, c.built, c.offered)
        table.add_row(name, *map(str, (*cells, *excluded, c.questions, c.asked, c.answered)))
    console.print(table)
    console.print()


def _percent(value: float | None) -> str:
    return "" if value is None else f" ({value:.0%})"
