"""`python -m measure trials …`: what the loop adds to a weak model, and what each of its parts adds to the loop.

Every row plays the same tasks with the same seeds at the same budget of tokens. All share what was found of the model's
mistakes, and the same files are run in the sandbox once (memo.py). An interrupted matrix goes on with the same --out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agents.memory.base import LessonStore, NoLessons
from agents.memory.chroma import ChromaLessons
from measure.trials.compare import NotComparable, compare, load_side
from measure.trials.datasets import FORMATS, BadDataset, TrialTask, load_tasks
from measure.trials.memo import MemoBackend
from measure.trials.play import Settings, TrialOutcome
from measure.trials.runs import BadBudget, TrialPlan, described, digest_of, own_provider, read_budget, run_plan
from measure.trials.session import OtherSession, Session
from measure.trials.simulated import Weakness
from measure.trials.tables import CAPTION, markdown
from sandbox.base import Backend, SandboxError
from sandbox.registry import open_backend

OWN, OTHER = "own", "other"  # whose lessons: of this seed's first run, of another seed's


@dataclass(frozen=True)
class MatrixRow:
    """One line of the table. `memory` names the lessons it starts from; `heeds` that the model reads them."""

    name: str
    strategy: str = "loop"
    samples: int = 1
    off: frozenset[str] = frozenset()
    memory: str = ""
    heeds: bool = False


@dataclass(frozen=True)
class Matrix:
    """What is played by every row."""

    tasks: Sequence[TrialTask]
    digest: str
    dataset: Path
    format: str
    weakness: Weakness
    heed: float
    budget: str
    out: Path
    backend: Backend
    seeds: Sequence[int]
    parallel: int | None = None

    def folder(self, row: MatrixRow, seed: int) -> Path:
        """Where the results of a row and a seed are."""
        return self.out / row.name.replace(" ", "-").replace(",", "") / f"seed-{seed}"

    def store(self, seed: int, whose: str) -> Path:
        """Where the lessons for a seed are."""
        return self.out / "memory" / f"{whose}-{seed}"


def rows_of(samples: int, *, several_seeds: bool) -> list[MatrixRow]:
    """All rows; the first is what the others are compared with."""
    many = f"{samples} samples"
    rows = [
        MatrixRow("loop"),
        MatrixRow("single", "single"),
        MatrixRow("retry", "retry"),
        MatrixRow(f"best of {many}", "best", samples),
        *(MatrixRow(f"loop without {part}", off=frozenset({part})) for part in ("diagnosis", "diversity", "best")),
        MatrixRow(f"loop, {many}", samples=samples),
        MatrixRow(f"loop, {many}, without selection", samples=samples, off=frozenset({"selection"})),
        # Without lessons the model that heeds them does as the other: "loop" is also the run without memory.
        MatrixRow("memory, first run", memory=OWN, heeds=True),
        MatrixRow("memory, same tasks again", memory=OWN, heeds=True),
    ]
    return [*rows, MatrixRow("memory of other mistakes", memory=OTHER, heeds=True)] if several_seeds else rows


def play_matrix(matrix: Matrix, rows: Sequence[MatrixRow]) -> None:
    """Play what is not played yet, row by row: the memory of one row is what the next starts from."""
    for row in rows:
        for at, seed in enumerate(matrix.seeds):
            _play(matrix, row, seed)
            if row.name == "memory, first run":
                # Before the second run adds to it.
                _copy(matrix.store(seed, OWN), matrix.store(matrix.seeds[(at + 1) % len(matrix.seeds)], OTHER))


def _play(matrix: Matrix, row: MatrixRow, seed: int) -> None:
    weakness = replace(matrix.weakness, seed=seed, h=matrix.heed if row.heeds else 0.0)
    place = matrix.store(seed, row.memory) if row.memory else None
    tokens, calls = read_budget(matrix.budget)
    model = model_text(weakness)
    provider_of = own_provider(model, matrix.backend, matrix.out / "mistakes")
    assert provider_of is not None  # noqa: S101 - the simulated model is one of its own
    with tempfile.TemporaryDirectory(prefix="aiswe-trials-") as scratch, _lessons(place) as lessons:
        plan = TrialPlan(
            matrix.tasks,
            Settings(row.strategy, tokens, calls, row.off, row.samples),
            provider_of,
            matrix.backend,
            Path(scratch),
            lessons=lessons,
            parallel=1 if place else matrix.parallel,
        )
        about = described(
            plan,
            dataset=matrix.dataset,
            format_=matrix.format,
            digest=matrix.digest,
            model=model,
            budget=matrix.budget,
            memory=place,
        )

        def tell(outcome: TrialOutcome, done: int, of: int) -> None:
            if done == of or not done % 20:
                _note(f"{row.name}, seed {seed}: {done}/{of}")

        found = run_plan(plan, Session(matrix.folder(row, seed), about), tell=tell)
    _note(f"{row.name}, seed {seed}: {found['resolved']} of {found['tasks']}, {found['seconds']:.0f} s")


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def model_text(weak: Weakness) -> str:
    """The model as `aiswe bench tasks --model` takes it."""
    shares, _, repeats = weak.text.rpartition(",")
    return f"simulated:{shares},seed={weak.seed},{repeats}"


@contextmanager
def _lessons(place: Path | None) -> Iterator[LessonStore]:
    if place is None:
        yield NoLessons()
        return
    store = ChromaLessons(place)
    try:
        store.all()
        if store.problem:
            raise NotComparable(f"{place}: {store.problem}")
        yield store
    finally:
        store.close()


def _copy(source: Path, target: Path) -> None:
    """A copy of a memory, whole or not at all."""
    if not target.exists():
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(source, part)
        part.rename(target)


def table(matrix: Matrix, rows: Sequence[MatrixRow]) -> str:
    """All rows as Markdown, with their differences to the first."""
    sides = [load_side(matrix.folder(row, 0).parent, row.name) for row in rows]
    seeds = ", ".join(map(str, matrix.seeds))
    about = (
        f"{matrix.dataset.name}: {len(matrix.tasks)} tasks, "
        f"{model_text(matrix.weakness).rpartition(',seed=')[0]}, seeds {seeds}, "
        f"--budget {matrix.budget}; h={matrix.heed:g} in the rows with a memory. {CAPTION}"
    )
    return f"{about}\n\n{markdown(compare(sides))}"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0: measured; 1: it could not be; 2: wrong use."""
    parser = argparse.ArgumentParser(prog="measure trials", description=__doc__)
    parser.add_argument("--dataset", type=Path, required=True, help="a file, or a folder of tasks")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--out", type=Path, required=True, help="keep results here, and go on from what is there")
    parser.add_argument("--seeds", default="1", help="of the model, as in 1,2,3")
    parser.add_argument("--model", default="p=0.45,q=0.5,r=0.3", help="the simulated model's weakness")
    parser.add_argument("--heed", type=float, default=0.8, help="h of the model in the rows with a memory")
    parser.add_argument("--budget", default="6x", help="tokens for a task: a number, or 6x the first call")
    parser.add_argument("--samples", type=int, default=3, help="first versions in the rows with several")
    parser.add_argument("--limit", type=int, help="only the first N tasks")
    parser.add_argument("--parallel", type=int, help="tasks at once, in the rows without a memory")
    parser.add_argument(
        "--only", help="the rows whose names begin so, as in loop,single,retry; loop always comes first"
    )
    parser.add_argument("--backend", default="auto", help="auto, docker or bubblewrap")
    options = parser.parse_args(argv)
    try:
        seeds = list(dict.fromkeys(int(seed) for seed in options.seeds.split(",")))
        weakness = Weakness.parse(options.model.removeprefix("simulated:"))
        Weakness.parse(f"h={options.heed}")
        read_budget(options.budget)
        tasks = load_tasks(options.dataset, options.format)
        chosen = rows_of(options.samples, several_seeds=len(seeds) > 1)
        if options.samples < 2:
            raise ValueError("--samples must be at least 2")
    except (BadBudget, BadDataset, ValueError) as error:
        parser.error(str(error))
    if options.only:
        starts = tuple(part.strip() for part in options.only.split(",") if part.strip())
        chosen = [row for row in chosen if row.name == "loop" or row.name.startswith(starts)]
    try:
        matrix = Matrix(
            tasks[: options.limit],
            digest_of(tasks),
            options.dataset,
            options.format,
            weakness,
            options.heed,
            options.budget,
            options.out,
            MemoBackend(open_backend(options.backend), options.out / "runs"),
            seeds,
            options.parallel,
        )
        play_matrix(matrix, chosen)
        sys.stdout.write(f"{table(matrix, chosen)}\n")
    except (SandboxError, OtherSession, NotComparable) as error:
        _note(f"measure trials: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
