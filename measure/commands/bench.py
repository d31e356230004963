"""aiswe bench: whole tasks with known answers, to measure a model, or the scaffold around it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agents.llm.registry import DEFAULT_PROVIDER, model_servers
from aiswe_site.cli.commands.sandbox import BACKENDS
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import Missing, WrongUse
from measure.commands.shared import product_gates, served
from measure.commands.swebench import swebench

if TYPE_CHECKING:
    from agents.memory.base import LessonStore
    from measure.trials.play import TrialOutcome
    from measure.trials.runs import ProviderOf
    from sandbox.base import Backend

PARTS = "diagnosis, diversity, best, selection, memory, mutation, apis"


@click.group()
def command() -> None:
    """Measure on tasks with known answers."""


command.add_command(swebench)


@command.command("tasks")
@click.option(
    "--dataset", required=True, type=click.Path(exists=True, path_type=Path), help="A file, or a folder of tasks."
)
@click.option("--format", "format_", required=True, type=click.Choice(["humaneval", "mbpp", "folder", "exercism"]))
@click.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="reference, simulated:p=0.45,q=0.5,r=0.3,h=0,seed=1, or any model the product can build with: "
    f"{', '.join(f'{kind.name}:NAME' for kind in model_servers())}, SERVER:NAME of models.toml, scripted:NAME.",
)
@click.option(
    "--strategy", type=click.Choice(["single", "twice", "retry", "best", "loop"]), default="loop", show_default=True
)
@click.option(
    "--samples", type=click.IntRange(1, 32), default=1, show_default=True, help="First versions, for best and loop."
)
@click.option(
    "--more-samples",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Versions to choose from after two failed tries, for loop.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first N tasks.")
@click.option(
    "--parallel",
    type=click.IntRange(1, 32),
    help="Concurrent tasks; the number of processors by default, 1 with --memory.",
)
@click.option(
    "--budget", metavar="TOKENS|Nx", help="Tokens for a task, sent and written: a number, or 6x the first call."
)
@click.option("--off", metavar="PART,…", default="", help=f"Parts of the loop to switch off: {PARTS}.")
@click.option(
    "--memory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep lessons in this folder and use those in it.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Keep results here and resume from them.")
@click.option(
    "--mistakes", type=click.Path(file_okay=False, path_type=Path), help="Share what a simulated model gets wrong here."
)
@click.option("--backend", type=BACKENDS, default="auto", show_default=True, help="The sandbox.")
@click.option("--gates", "with_gates", is_flag=True, help="Run the review gates too.")
@output.json_option
def tasks(
    dataset: Path,
    format_: str,
    model: str,
    strategy: str,
    samples: int,
    more_samples: int,
    limit: int | None,
    parallel: int | None,
    budget: str | None,
    off: str,
    memory: Path | None,
    out: Path | None,
    mistakes: Path | None,
    backend: str,
    with_gates: bool,
) -> int:
    """Build every task of the dataset with the real loop, in the sandbox, and count the results.

    An interrupted session continues with the same --out. Exit code 1 when a task was not resolved.
    """
    from measure.trials.datasets import BadDataset, load_tasks
    from measure.trials.play import Settings
    from measure.trials.runs import BadBudget, TrialPlan, described, digest_of, read_budget, run_plan
    from measure.trials.session import OtherSession, Session
    from sandbox.registry import open_backend

    if samples > 1 and strategy not in ("best", "loop"):
        raise WrongUse(
            f"--samples {samples} is for the strategies best and loop; {strategy} draws one version at a time"
        )
    try:
        tokens, calls = read_budget(budget)
        found = load_tasks(dataset, format_)
    except BadBudget as error:
        raise WrongUse(f"--budget {error}") from None
    except BadDataset as error:
        raise WrongUse(str(error)) from None
    settings = Settings(
        strategy=strategy,
        budget=tokens,
        budget_calls=calls,
        off=_parts(off),
        samples=samples,
        more_samples=more_samples,
    )
    engine = open_backend(backend)
    with tempfile.TemporaryDirectory(prefix="aiswe-trials-") as scratch, _memory(memory) as lessons:
        folder = out or Path(scratch) / "session"
        plan = TrialPlan(
            found[:limit],
            settings,
            _providers(model, engine, mistakes or folder / "mistakes"),
            engine,
            Path(scratch),
            product_gates() if with_gates else None,
            lessons,
            parallel,
        )
        about = described(
            plan, dataset=dataset, format_=format_, digest=digest_of(found), model=model, budget=budget, memory=memory
        )
        try:
            figures = run_plan(plan, Session(folder, about), tell=_tell)
        except OtherSession as error:
            raise WrongUse(str(error)) from None
    document = about | figures | ({"folder": str(out)} if out else {})
    return output.answer(document, lambda: _people(document), ok=figures["resolved"] == figures["tasks"])


@command.command("compare")
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@output.json_option
def compare_(folders: tuple[Path, ...]) -> None:
    """Compare the sessions in FOLDERS with each other, and each with the first, on the same tasks.

    A folder is the --out of a session, or contains several such folders that differ only in the seed.
    """
    from measure.trials.compare import NotComparable, compare, load_side

    names = [folder.resolve().name for folder in folders]
    try:
        sides = [
            load_side(folder, name if names.count(name) == 1 else str(folder))
            for folder, name in zip(folders, names, strict=True)
        ]
        rows = compare(sides)
    except NotComparable as error:
        raise WrongUse(str(error)) from None
    from measure.trials.tables import CAPTION, DIFFERENCES, FIGURES, differences, figures

    def people() -> None:
        # In parts, because a terminal is narrow.
        output.table(FIGURES[:5], [figures(row)[:5] for row in rows])
        output.table(("what", *FIGURES[5:]), [(row["name"], *figures(row)[5:]) for row in rows])
        if len(rows) > 1:
            output.table(("what", *DIFFERENCES), [(row["name"], *differences(row)) for row in rows[1:]])
        output.say(CAPTION)

    output.answer({"sides": rows}, people)


def _parts(text: str) -> frozenset[str]:
    from measure.trials.play import OFF

    switched = frozenset(filter(None, (part.strip() for part in text.split(","))))
    if unknown := sorted(switched - set(OFF)):
        raise WrongUse(f"--off {', '.join(unknown)}: known parts are {', '.join(OFF)}")
    return switched


@contextmanager
def _memory(folder: Path | None) -> Iterator[LessonStore]:
    """The memory in a folder, or one that remembers nothing."""
    from agents.memory.base import NoLessons

    if folder is None:
        yield NoLessons()
        return
    django.start(migrate=False)
    from django.conf import settings

    from agents.memory.chroma import ChromaLessons
    from agents.memory.embedders import embedder_of, embedding_in
    from agents.memory.meaning import meaning_of

    named = embedding_in(folder, settings.EMBEDDING)
    embedder = embedder_of(named, settings.MODEL_URLS[DEFAULT_PROVIDER])
    store = ChromaLessons(folder, settings.LESSON_THRESHOLD, meaning_of(embedder), named)
    try:
        known = len(store.all())
        if store.problem:
            raise Missing(f"--memory {folder}: {store.problem}", "Wait for the other one, or choose another folder.")
        output.note(f"The memory in {folder} holds {known} {'lesson' if known == 1 else 'lessons'}.")
        yield store
        if store.hint:
            output.note(store.hint)
    finally:
        store.close()


def _tell(outcome: TrialOutcome, done: int, of: int) -> None:
    words = "resolved" if outcome.resolved else outcome.problem or outcome.verdict
    output.note(f"{done}/{of} {outcome.id}: {words}"[:160])


def _providers(model: str, backend: Backend, kept: Path) -> ProviderOf:
    """Task to provider: one that needs no server, or whatever the product builds with."""
    from measure.trials.runs import own_provider

    try:
        own = own_provider(model, backend, kept)
    except ValueError as error:
        raise WrongUse(f"--model {model}: {error}") from None
    if own is not None:
        return own
    made = served(model)
    return lambda task: made


def _people(found: dict[str, Any]) -> None:
    low, high = found["intervals"]["resolved"]
    output.say(f"resolved {found['resolved']} of {found['tasks']} ({100 * low:.1f}–{100 * high:.1f} %, 95 %)")
    rate = found["self_correction_rate"]
    if rate is not None:
        low, high = found["intervals"]["self_correction_rate"]
        output.say(
            f"self-corrected {found['repaired']}: {100 * rate:.1f} % of what failed first "
            f"({100 * low:.1f}–{100 * high:.1f} %)"
        )
    rounds, tokens, lessons = found["iterations"], found["tokens"], found["lessons"]
    output.say(f"iterations: mean {rounds['mean']:.2f}, p50 {rounds['p50']:g}, p95 {rounds['p95']:g}")
    output.say(
        f"tokens: {tokens['sent']:,} sent, {tokens['uncached']:,} of them not reusable by a prefix cache, "
        f"{tokens['generated']:,} written"
    )
    if found["memory"]:
        output.say(f"lessons: shown {lessons['shown']}, helped {lessons['helped']}, learned {lessons['learned']}")
    output.say(
        f"{found['seconds']:.1f} s, engine {found['engine_cpu_s']:.1f} s of processor, sandbox "
        f"{found['sandbox_s']:.1f} s"
    )
    for one in found["unresolved"][:20]:
        output.say(f"  ✕ {one['id']}: {' '.join(one['why'].split())[:120]}")
