"""Sessions of trials as commands start them: which model, which memory, and what is written down."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.llm.base import Provider
from agents.llm.runner import ModelRunner
from agents.memory.base import LessonStore, NoLessons
from measure.trials.datasets import TrialTask
from measure.trials.mistakes import find_mistakes
from measure.trials.notebook import remember
from measure.trials.play import Gates, Settings, TrialOutcome, play
from measure.trials.session import Clock, Session, report
from measure.trials.simulated import SimulatedProvider, Weakness
from sandbox.base import Backend

TURNS = 3  # of a trial that Python itself broke off
ProviderOf = Callable[[TrialTask], Provider]
Tell = Callable[[TrialOutcome, int, int], None]


class BadBudget(ValueError):
    """A budget that cannot be read; the text names it and what it may be."""


@dataclass(frozen=True)
class TrialPlan:
    """What one session plays. `lessons` is the memory that its trials read and that stays for the next session."""

    tasks: Sequence[TrialTask]
    settings: Settings
    provider_of: ProviderOf
    backend: Backend
    scratch: Path
    gates: Gates | None = None
    lessons: LessonStore = field(default_factory=NoLessons)
    parallel: int | None = None

    @property
    def at_once(self) -> int:
        """Trials at once. One with a memory, unless told otherwise: what the first task teaches is for the second."""
        remembers = not isinstance(self.lessons, NoLessons) and "memory" not in self.settings.off
        return self.parallel or (1 if remembers else os.cpu_count() or 1)


def run_plan(plan: TrialPlan, session: Session, *, tell: Tell = lambda outcome, done, of: None) -> dict[str, Any]:
    """Play what the session has not played yet; the figures of all of it. Raises SandboxUnavailable.

    An outcome is written down before the memory gets its lessons, and they are given again when the session goes on:
    whatever moment it stops at, each is learned once, and from a trial that came to its end.
    """
    clock, settings = Clock(), replace(plan.settings, session=session.name)
    with ModelRunner(attempts=3) as runner:

        def one(task: TrialTask) -> TrialOutcome:
            for turn in range(TURNS):
                try:
                    return play(
                        task,
                        plan.provider_of(task),
                        settings,
                        backend=plan.backend,
                        runner=runner,
                        lessons=plan.lessons,
                        folder=plan.scratch / "work",
                        gates=plan.gates,
                        keep=False,
                    )
                except SystemError:
                    # Threads that parse at the same time can make Python 3.11 lose count of its depth
                    # (github.com/python/cpython/issues/106905). Nothing was written down yet: the trial begins anew.
                    if turn + 1 == TURNS:
                        raise
            raise AssertionError("TURNS is at least one")

        outcomes = session.run(
            plan.tasks,
            one,
            parallel=plan.at_once,
            tell=tell,
            after=lambda outcome: remember(plan.lessons, outcome.learned, outcome.showings),
        )
    seconds, cpu = clock.look()
    return report(outcomes, engine_cpu_s=cpu, seconds=seconds)


def own_provider(model: str, backend: Backend, kept: Path) -> ProviderOf | None:
    """The provider of each task for the models that need no server, reference and simulated:…; None for any other.

    `kept` is the folder of the mistakes that the simulated one makes; sessions may share it. Raises ValueError.
    """
    kind, _, rest = model.partition(":")
    if kind == "reference" and not rest:
        return lambda task: SimulatedProvider(task, (), Weakness(), name="reference", model="reference")
    if kind != "simulated":
        return None
    weakness = Weakness.parse(rest)
    return lambda task: SimulatedProvider(task, find_mistakes(backend, task, seed=weakness.seed, kept=kept), weakness)


def read_budget(text: str | None) -> tuple[int | None, float | None]:
    """(tokens, None) of "40000", (None, times) of "6x", (None, None) of None. Raises BadBudget."""
    if text is None:
        return None, None
    try:
        number = float(text.removesuffix("x"))
        if 0 < number < float("inf"):
            return (None, number) if text.endswith("x") else (int(number), None)
    except ValueError:
        pass
    raise BadBudget(f"{text!r} is not a budget: give a number of tokens, or a multiple of the first call such as 6x")


def digest_of(tasks: Sequence[TrialTask]) -> str:
    """Equal for equal tasks, wherever they lie."""
    rows = [
        [task.id, task.title, task.text, dict(task.tests), dict(task.reference), dict(task.start)] for task in tasks
    ]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def described(
    plan: TrialPlan, *, dataset: Path, format_: str, digest: str, model: str, budget: str | None, memory: Path | None
) -> dict[str, Any]:
    """The settings that make two sessions comparable, for the head of the results; `digest` is that of all tasks."""
    settings = plan.settings
    return {
        "dataset": str(dataset.resolve()),
        "format": format_,
        "digest": digest,
        "model": model,
        "strategy": settings.strategy,
        "samples": settings.samples,
        "more_samples": settings.more_samples,
        "budget": budget,
        "off": sorted(settings.off),
        "memory": str(memory.resolve()) if memory else None,
        "gates": plan.gates is not None,
        "backend": plan.backend.name,
    }
