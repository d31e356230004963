"""One trial: a task of a dataset, solved by the real task graph in a real sandbox; only the model may be scripted."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.engine.contracts import NoTaskStore, OverBudget, TaskContext, TaskLimits
from agents.engine.state import start_state
from agents.gates.base import GateReport
from agents.llm.base import LLMError, Provider
from agents.llm.runner import ModelRunner
from agents.memory.base import LessonStore
from agents.workspace.repository import Repository
from measure.trials.counted import Counted
from measure.trials.datasets import TrialTask
from measure.trials.in_memory import MemoryEventLog
from measure.trials.notebook import Notebook, remember
from measure.trials.unsaved import run_unsaved
from sandbox.base import Backend, PackageRefused, PackageSet, SandboxError, SandboxUnavailable
from sandbox.package_index.names import Judgement, NameVerdict
from sandbox.packages import PackageSupply

STRATEGIES = ("single", "twice", "retry", "best", "loop")
OFF = ("diagnosis", "diversity", "best", "selection", "memory", "mutation", "apis")  # parts that a trial can do without
MAX_SHOTS = 60  # of plain retry, however large its budget
UNLIMITED = 4_000_000

Gates = Callable[[Path, Sequence[str], Mapping[str, Any]], GateReport]


@dataclass(frozen=True)
class Settings:
    """How to play. `budget` is in tokens sent and written, a task; None is as good as none.

    `samples` are first versions to choose from, for the strategies best and loop. `session` sets the trials of one
    session apart from those of another that uses the same memory.
    """

    strategy: str = "loop"
    budget: int | None = None
    budget_calls: float | None = None  # instead: so many times what the task's first call takes
    off: frozenset[str] = frozenset()
    samples: int = 1
    more_samples: int = 1  # to choose from after two failed tries, for the strategy loop
    session: str = ""


@dataclass
class TrialOutcome:
    """What became of a trial. Times are in seconds, tokens are estimates of agents.llm.tokens."""

    id: str
    resolved: bool = False
    first_try: bool = False
    iterations: int = 0
    calls: int = 0
    sent: int = 0
    uncached: int = 0
    generated: int = 0
    sandbox_s: float = 0.0
    seconds: float = 0.0
    verdict: str = ""
    problem: str = ""
    shown: int = 0  # lessons in the prompts of tries, each counted as often as a try was shown it
    helped: int = 0  # of these, in tries that passed
    learned: list[dict[str, Any]] = field(default_factory=list)
    showings: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


class _Timed:
    """A backend whose sandboxes' time is added up."""

    def __init__(self, backend: Backend, outcome: TrialOutcome) -> None:
        self._backend, self._outcome = backend, outcome
        self.name = backend.name

    def open(self, **options: Any) -> Any:
        """A sandbox whose calls are timed."""
        began = time.monotonic()
        made = self._backend.open(**options)
        self._outcome.sandbox_s += time.monotonic() - began
        return _TimedBox(made, self._outcome)


class _TimedBox:
    def __init__(self, box: Any, outcome: TrialOutcome) -> None:
        self._box, self._outcome = box, outcome

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._box, name)
        if not callable(found):
            return found

        def timed(*args: Any, **options: Any) -> Any:
            began = time.monotonic()
            try:
                return found(*args, **options)
            finally:
                self._outcome.sandbox_s += time.monotonic() - began

        return timed


class NoSupply:
    """Trials install nothing: what the sandbox has must do."""

    def __init__(self, folder: Path) -> None:
        self._own = PackageSupply(folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def check(self, requirement_line: str) -> NameVerdict:
        """Nothing beside what stands ready; the model is told so, and may do without."""
        return replace(
            self._own.check(requirement_line),
            judgement=Judgement.REFUSED,
            reason="trials install no packages; do without it",
        )

    def fetch(self, requirements: Sequence[str]) -> PackageSet:
        """Nothing is fetched."""
        raise PackageRefused(", ".join(requirements), "trials install no packages")


def play(
    task: TrialTask,
    provider: Provider,
    settings: Settings,
    *,
    backend: Backend,
    runner: ModelRunner,
    lessons: LessonStore,
    folder: Path,
    gates: Gates | None = None,
    keep: bool = True,
) -> TrialOutcome:
    """Build the task; whatever happens is in the outcome. Raises SandboxUnavailable when nothing can be measured.

    With keep=False the caller gives `lessons` what the outcome carries (measure.trials.notebook.remember).
    """
    outcome, counted, began = TrialOutcome(task.id), Counted(provider), time.monotonic()
    book = Notebook(lessons)
    shots = 1 if settings.strategy != "retry" else MAX_SHOTS
    for shot in range(shots):
        budget = _budget(settings, counted)
        if shot and counted.used + counted.first_call > budget:
            break
        place = folder / f"{task.name}-{shot}"
        try:
            _shoot(task, counted, settings, budget, outcome, place, backend, runner, book, gates)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        if outcome.resolved:
            break
    outcome.calls, outcome.sent, outcome.uncached = counted.calls, counted.sent, counted.uncached
    outcome.generated, outcome.seconds = counted.generated, time.monotonic() - began
    outcome.first_try = outcome.resolved and outcome.iterations == 1
    outcome.learned, outcome.showings = book.learned, book.showings
    outcome.shown = len(outcome.showings)
    outcome.helped = sum(bool(showing["passed"]) for showing in outcome.showings)
    if keep:
        remember(lessons, outcome.learned, outcome.showings)
    return outcome


def _budget(settings: Settings, counted: Counted) -> int:
    if settings.budget_calls is not None and counted.first_call:
        return int(settings.budget_calls * counted.first_call)
    return settings.budget or UNLIMITED


def _shoot(
    task: TrialTask,
    counted: Counted,
    settings: Settings,
    budget: int,
    outcome: TrialOutcome,
    place: Path,
    backend: Backend,
    runner: ModelRunner,
    lessons: Notebook,
    gates: Gates | None,
) -> None:
    repository = Repository(place / "repository", place / "trees")
    repository.ensure(task.id)
    if task.start:
        base = repository.head()
        tree = repository.worktree("start", base)
        tree.write(dict(task.start))
        repository.fast_forward(tree.commit(base, "Files as given", "", {}))
        repository.remove("start")
    timed: Any = _Timed(backend, outcome)
    # Twice: the tests are seen when one has failed, and then once more.
    twice = settings.strategy == "twice"
    many, samples = settings.strategy == "loop", settings.samples if settings.strategy in ("best", "loop") else 1
    limits = TaskLimits(
        max_retries=8 if many else int(twice),
        max_iterations=15 if many else samples + twice,
        samples=samples,
        more_samples=settings.more_samples if many else 1,
        run_tokens=UNLIMITED,
        task_tokens=_ceiling(settings, counted.first_call) if counted.first_call else budget,
    )
    supply: Any = NoSupply(place / "packages")
    event_log = MemoryEventLog(lambda: counted.used)
    context = TaskContext(
        project="trial",
        run=f"{settings.session}.{place.name}",
        house_rules="",
        event_log=event_log,
        task_store=NoTaskStore(),
        limits=limits,
        repository=repository,
        worktree_name="t",
        provider=lambda persona: counted.provider,
        runner=runner,
        backend=timed,
        supply=supply,
        lessons=lessons,
        gates=gates or (lambda root, paths, dispositions: GateReport("pass", (), {}, ())),
        needs_review=False,
        switched_off=settings.off | ({"tests"} if twice else set()),
    )

    def known(first_call: int) -> None:
        context.limits = replace(limits, task_tokens=_ceiling(settings, first_call))

    counted.on_first = known
    state = start_state(
        {
            "key": "T-01",
            "title": task.title or task.id,
            "description": task.text,
            "expects": "",
            "files": sorted(task.reference),
            "packages": [],
            "requirements": [],
            "note": "",
            "generation": 1,
            "tests_given": dict(task.tests),
        }
    )
    try:
        run_unsaved(state, context)
        outcome.verdict = str(state["verdict"])
        outcome.problem = str(state["escalation"])[:400]
    except OverBudget as over:
        outcome.verdict, outcome.problem = "budget", str(over)
    except LLMError as error:
        outcome.verdict, outcome.problem = "model", str(error)
    except SandboxUnavailable:
        raise
    except SandboxError as error:  # of this task alone, such as a path that leaves the workspace
        outcome.verdict, outcome.problem = "sandbox", str(error)
    finally:
        context.close()
    outcome.iterations += state["counters"]["iteration"]
    outcome.resolved = outcome.verdict == "merged"


def _ceiling(settings: Settings, first_call: int) -> int:
    """Where the engine stops to ask. A budget in calls stops a call that would go over, as plain retry's does: the next

    is taken to be as large as the first, so a call may begin while that much is left. It is known after the first call.
    """
    if settings.budget_calls is None:
        return settings.budget or UNLIMITED
    return int(settings.budget_calls * first_call) - first_call + 1
