"""aiswe bench: whole tasks with known answers, to measure a model, or the scaffold around it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import output
from aiswe_site.cli.problems import NO, Missing, WrongUse

if TYPE_CHECKING:
    from agents.llm.base import Provider
    from agents.trials.datasets import TrialTask
    from agents.trials.play import Outcome
    from sandbox.base import Backend

OFF = ("diagnosis", "diversity", "best")


@click.group()
def command() -> None:
    """Measure on tasks with known answers."""


@command.command("tasks")
@click.option(
    "--dataset", required=True, type=click.Path(exists=True, path_type=Path), help="A file, or a folder of tasks."
)
@click.option("--format", "format_", required=True, type=click.Choice(["humaneval", "mbpp", "folder"]))
@click.option("--model", required=True, help="reference, simulated:p=0.45,q=0.5,r=0.3,seed=1, or ollama:NAME.")
@click.option("--strategy", type=click.Choice(["single", "retry", "loop"]), default="loop", show_default=True)
@click.option("--limit", type=click.IntRange(1), help="Only the first N tasks.")
@click.option("--parallel", type=click.IntRange(1, 32), help="Tasks at once; as many as processors by default.")
@click.option(
    "--budget", metavar="TOKENS|Nx", help="Tokens for a task, sent and written: a number, or 6x the first call."
)
@click.option("--off", metavar="PART,…", default="", help=f"Parts of the loop to switch off: {', '.join(OFF)}.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Keep results here, and go on from what is there."
)
@click.option("--backend", default="auto", show_default=True, help="Sandbox: auto, docker or bubblewrap.")
@click.option("--gates", "with_gates", is_flag=True, help="Run the review gates too.")
@output.json_option
def tasks(
    dataset: Path, format_: str, model: str, strategy: str, limit: int | None, parallel: int | None, budget: str | None, off: str,
    out: Path | None, backend: str, with_gates: bool, as_json: bool,
) -> int:  # fmt: skip
    """Build every task of DATASET with the real loop, in the sandbox, and count.

    An interrupted run goes on with the same --out. Exit code 1 when a task was not resolved.
    """
    from agents.trials.datasets import BadDataset, load_tasks
    from agents.trials.play import Settings
    from agents.trials.session import OtherSession, Session
    from sandbox.base import SandboxError, SandboxUnavailable
    from sandbox.registry import open_backend

    switched = frozenset(filter(None, (part.strip() for part in off.split(","))))
    if unknown := sorted(switched - set(OFF)):
        raise WrongUse(f"--off {', '.join(unknown)}: known parts are {', '.join(OFF)}")
    tokens, calls = _budget(budget)
    try:
        found = load_tasks(dataset, format_, limit)
    except BadDataset as error:
        raise WrongUse(str(error)) from None
    try:
        engine = open_backend(backend)
    except SandboxUnavailable as error:
        raise Missing(str(error), "aiswe doctor") from None
    except SandboxError as error:
        raise WrongUse(str(error)) from None
    settings = Settings(strategy=strategy, budget=tokens, budget_calls=calls, off=switched)
    about = {
        "dataset": str(dataset.resolve()), "format": format_, "model": model, "strategy": strategy, "budget": budget,
        "off": sorted(switched), "gates": with_gates, "backend": engine.name,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="aiswe-trials-") as scratch:
        folder = out or Path(scratch) / "session"
        try:
            session = Session(folder, about)
        except OtherSession as error:
            raise WrongUse(str(error)) from None
        figures = _play(session, found, model, settings, engine, Path(scratch), parallel, with_gates)
    document = about | figures | ({"folder": str(out)} if out else {})
    output.answer(document, as_json=as_json, people=lambda: _people(document))
    return 0 if figures["resolved"] == figures["tasks"] else NO


def _budget(text: str | None) -> tuple[int | None, float | None]:
    if text is None:
        return None, None
    try:
        number = float(text.removesuffix("x"))
        if number > 0:
            return (None, number) if text.endswith("x") else (int(number), None)
    except ValueError:
        pass
    raise WrongUse(f"--budget {text}: it is a number of tokens, or a multiple of the first call such as 6x")


def _play(
    session: Any, found: list[TrialTask], model: str, settings: Any, backend: Backend, scratch: Path, parallel: int | None, with_gates: bool
) -> dict[str, Any]:  # fmt: skip
    from agents.llm.runner import ModelRunner
    from agents.memory.chroma import NoLessons
    from agents.trials.play import play
    from agents.trials.session import Clock, report
    from sandbox.base import SandboxUnavailable

    gates = None
    if with_gates:
        from agents.gates.run import run_gates

        def gates(root: Path, paths: Any, dispositions: Any) -> Any:
            return run_gates(root, paths=list(paths))

    provider_of = _providers(model, backend, session.folder / "mistakes")
    clock = Clock()
    with ModelRunner(attempts=3) as runner:

        def one(task: TrialTask) -> Outcome:
            return play(
                task, provider_of(task), settings, backend=backend, runner=runner, lessons=NoLessons(),
                folder=scratch / "work", gates=gates,
            )  # fmt: skip

        def tell(outcome: Outcome, done: int, of: int) -> None:
            output.note(
                f"{done}/{of} {outcome.id}: {'resolved' if outcome.resolved else outcome.problem or outcome.verdict}"[
                    :160
                ]
            )

        try:
            outcomes = session.run(found, one, parallel=parallel or os.cpu_count() or 1, tell=tell)
        except SandboxUnavailable as error:
            raise Missing(str(error), "aiswe doctor") from None
    seconds, cpu = clock.look()
    return report(outcomes, engine_cpu_s=cpu, seconds=seconds)


def _providers(model: str, backend: Backend, kept: Path) -> Any:
    """Task to provider."""
    from agents.llm.base import LLMError
    from agents.llm.registry import make_provider
    from agents.trials.mistakes import find_mistakes
    from agents.trials.simulated import SimulatedProvider, Weakness

    kind, _, rest = model.partition(":")
    if kind == "reference":
        return lambda task: SimulatedProvider(task, (), Weakness(), name="reference", model="reference")
    if kind == "simulated":
        try:
            weakness = Weakness.parse(rest)
        except ValueError as error:
            raise WrongUse(f"--model {model}: {error}") from None

        def simulated(task: TrialTask) -> Provider:
            return SimulatedProvider(task, find_mistakes(backend, task, seed=weakness.seed, kept=kept), weakness)

        return simulated
    if kind == "ollama" and rest:
        from django.conf import settings

        try:
            made = make_provider("ollama", server=settings.OLLAMA_URL, model=rest, window=settings.MODEL_WINDOW)
        except LLMError as error:
            raise WrongUse(str(error)) from None
        health = made.health()
        if not health.ok:
            raise Missing(health.problem, health.way_out)
        return lambda task: made
    raise WrongUse(f"--model {model}: it is reference, simulated:p=…,q=…,r=…,seed=…, or ollama:NAME")


def _people(found: dict[str, Any]) -> None:
    low, high = found["intervals"]["resolved"]
    output.say(f"resolved {found['resolved']} of {found['tasks']} ({100 * low:.1f}–{100 * high:.1f} %, 95 %)")
    rate = found["self_correction_rate"]
    if rate is not None:
        low, high = found["intervals"]["self_correction_rate"]
        output.say(
            f"self-corrected {found['repaired']}: {100 * rate:.1f} % of what failed first ({100 * low:.1f}–{100 * high:.1f} %)"
        )
    rounds, tokens = found["iterations"], found["tokens"]
    output.say(f"iterations: mean {rounds['mean']:.2f}, p50 {rounds['p50']:g}, p95 {rounds['p95']:g}")
    output.say(
        f"tokens: {tokens['sent']:,} sent, {tokens['uncached']:,} of them not reusable by a prefix cache, {tokens['generated']:,} written"
    )
    output.say(
        f"{found['seconds']:.1f} s, engine {found['engine_cpu_s']:.1f} s of processor, sandbox {found['sandbox_s']:.1f} s"
    )
    for one in found["unresolved"][:20]:
        output.say(f"  ✕ {one['id']}: {' '.join(one['why'].split())[:120]}")
