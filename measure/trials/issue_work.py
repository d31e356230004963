"""One issue, worked on by the product's own engine, and judged by the tests that nobody who worked on it has seen."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from graphlib import TopologicalSorter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from agents.context.files import outline
from agents.engine.baseline import configured, first_setup, look, measure_suite
from agents.engine.contracts import NoTaskStore, OverBudget, TaskContext, TaskLimits
from agents.engine.planner_context import PlanContext
from agents.engine.planner_graph import PlanState, after_structure, reason, structure
from agents.engine.state import TaskState, start_state
from agents.events.base import EventKind
from agents.languages.registry import languages
from agents.llm.base import LLMError, Provider
from agents.llm.runner import ModelRunner
from agents.memory.base import NoLessons
from agents.planning.graph import needs_of
from agents.planning.model import PlanDraft, PlanTask
from agents.planning.parse import parse_plan
from agents.planning.validate import validate_plan
from agents.workspace.fetching import take_commit
from agents.workspace.git import GitError, raw
from agents.workspace.repository import Repository
from agents.workspace.worktree import PLAIN
from measure.trials.counted import Counted
from measure.trials.in_memory import MemoryEventLog
from measure.trials.issue_judge import ERROR, RESOLVED, CannotWork, Ground, judge
from measure.trials.issues import Issue
from measure.trials.play import Gates
from measure.trials.unsaved import run_unsaved
from sandbox.base import Backend, PackageRefused, PackageSet, SandboxError
from sandbox.package_index.names import Judgement
from sandbox.packages import PackageSupply


@dataclass(frozen=True)
class Workshop:
    """What all issues of a session are worked with."""

    provider_of: Callable[[Issue, Repository], Provider]
    backend: Backend
    runner: ModelRunner
    supply: PackageSupply
    gates: Gates
    scratch: Path


@dataclass
class IssueOutcome:
    """What became of an issue. Tokens are estimates of agents.llm.tokens; `tests` counts passed of those to pass."""

    instance_id: str
    repo: str
    status: str = ERROR
    cause: str = ""
    patch: str | None = None  # None: it did not come to a prediction
    calls: int = 0
    sent: int = 0
    generated: int = 0
    attempts: int = 0
    seconds: float = 0.0
    tests: dict[str, list[int]] = field(default_factory=dict)
    broken: bool = False  # what failed is not the issue's own: sandbox, package index, model server, disk
    events: list[EventKind] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Its row in the report: without patch and events, which have files of their own."""
        return {name: value for name, value in asdict(replace(self, events=[])).items() if name not in _APART}


_APART = frozenset({"patch", "events"})


def work_on(issue: Issue, source: Path, shop: Workshop) -> IssueOutcome:
    """Work on the issue in a repository of its own, and judge what came of it.

    Whatever happens is in the outcome; `broken` says that it may happen to the next issue as well.
    """
    outcome, place, began = IssueOutcome(issue.id, issue.repo), shop.scratch / issue.id, time.monotonic()
    counted: Counted | None = None
    shutil.rmtree(place, ignore_errors=True)
    try:
        repository = Repository(place / "repository", place / "trees")
        take_commit(source, repository.root, issue.base_commit)
        ground = _ground(issue, repository, shop)
        counted = Counted(shop.provider_of(issue, repository))
        _build(issue, ground, shop, counted, outcome)
        verdict = judge(issue, ground, shop.backend, outcome.patch or "")
        outcome.status, outcome.tests = verdict.status, verdict.tests
        outcome.cause = "" if verdict.status == RESOLVED else outcome.cause or verdict.cause
    except (CannotWork, GitError, PackageRefused) as cause:
        outcome.cause = str(cause)
    except (SandboxError, LLMError, OSError) as cause:
        outcome.status, outcome.patch, outcome.broken = ERROR, None, True
        outcome.cause = f"{type(cause).__name__}: {cause}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
        outcome.seconds = round(time.monotonic() - began, 1)
        if counted is not None:
            outcome.calls, outcome.sent, outcome.generated = counted.calls, counted.sent, counted.generated
    return outcome


def _ground(issue: Issue, repository: Repository, shop: Workshop) -> Ground:
    base = issue.base_commit
    spoken, layout = look(repository, base)
    if spoken is None or layout is None:
        raise CannotWork("It has no files of a language whose tests can be run.")
    if layout.problem:
        raise CannotWork(layout.problem)
    allowed = {line: shop.supply.check(line).judgement for line in (*layout.needed, *layout.useful)}
    if asks := [line for line in layout.needed if allowed[line] is not Judgement.ALLOWED]:
        raise CannotWork(f"Its tests need packages that are not allowed: {', '.join(asks)} (--allow NAME).")
    useful = [line for line in layout.useful if allowed[line] is Judgement.ALLOWED]
    packages, fetched = _packages(shop.supply, layout.needed, useful)
    plugins = spoken.test_plugins(fetched.folder) if fetched else []
    setup = replace(first_setup(layout.setup), plugins=(*layout.setup.plugins, *plugins))
    setup = configured(setup, repository, base)
    tree = repository.worktree("baseline", base)
    with shop.backend.open(packages=fetched, label=issue.id) as sandbox:
        measured = measure_suite(spoken, sandbox, tree.path, setup)
    repository.remove("baseline")
    if measured.problem:
        raise CannotWork(f"Its tests cannot be run: {measured.problem}")
    return Ground(repository, base, spoken, measured.setup, packages, fetched)


def _packages(
    supply: PackageSupply, needed: Sequence[str], useful: Sequence[str]
) -> tuple[tuple[str, ...], PackageSet | None]:
    """What is fetched; what is only of use is left out where it cannot be had."""
    try:
        if useful:
            return (*needed, *useful), supply.fetch([*needed, *useful])
    except PackageRefused:
        pass
    return tuple(needed), supply.fetch(needed) if needed else None


class _OneRequirement:
    """What reasoning and structuring need of a PlanStore: the issue is the one requirement."""

    def __init__(self, issue: Issue) -> None:
        self._rows: list[dict[str, Any]] = [
            {"key": issue.id, "text": issue.text, "kind": "functional", "acceptance": []}
        ]

    def requirements(self) -> list[dict[str, Any]]:
        """The issue."""
        return self._rows

    def passages(self) -> str:
        """Nothing: an issue is shown whole."""
        return ""

    def background(self) -> list[str]:
        """Nothing: an issue is all that its repository is asked for."""
        return []

    def problems_of(self, plan: Mapping[str, Any]) -> list[str]:
        """As for a project's plan."""
        parsed, problems = parse_plan(plan)
        if parsed is not None:
            problems = [*problems, *validate_plan(parsed, {row["key"]: row["kind"] for row in self._rows})]
        return [problem.message for problem in problems if problem.severity == "error"]

    def additions_of(self, plan: Mapping[str, Any]) -> list[str]:
        """None: an issue rarely names the page or the changelog that its repository keeps."""
        return []

    def tasks_of(self, state: PlanState) -> list[PlanTask]:
        """The tasks in an order that respects their needs; a plan that stayed invalid is one task with its files."""
        parsed = parse_plan(state["plan"])[0] or PlanDraft()
        if not state["problems"]:
            tasks = {task.key: task for task in parsed.tasks}
            return [tasks[key] for key in TopologicalSorter(needs_of(parsed)).static_order()]
        files = tuple(dict.fromkeys(path for task in parsed.tasks for path in task.files))
        row = self._rows[0]
        title = " ".join(str(row["text"]).split())[:80]
        return [PlanTask("T-01", title, requirements=(row["key"],), files=files)]


def _build(issue: Issue, ground: Ground, shop: Workshop, counted: Counted, outcome: IssueOutcome) -> None:
    """Plan, then work on each task until one is left open; the patch of what there is then is in the outcome."""
    before = 0  # tokens of what was done before: limits are those of a task
    event_log = MemoryEventLog(lambda: counted.used - before)
    outcome.events = event_log.events
    common: dict[str, Any] = {
        "project": issue.repo,
        "house_rules": "",
        "event_log": event_log,
        "limits": TaskLimits(),
        "provider": lambda persona: counted.provider,
        "runner": shop.runner,
    }
    files: dict[str, str] = {}
    repository, store, given = ground.repository, _OneRequirement(issue), _given(issue, ground)
    try:
        tasks = _planned(store, ground, issue, common)
        for task in tasks:
            before, last = counted.used, task is tasks[-1]
            known = ground.setup.known_failures - ({*issue.fail_to_pass} if last and issue.given else set())
            context = TaskContext(
                **common,
                run=issue.id,
                task_store=NoTaskStore(),
                repository=repository,
                worktree_name=task.key,
                backend=shop.backend,
                supply=shop.supply,
                lessons=NoLessons(),
                gates=shop.gates,
                test_setup=replace(configured(ground.setup, repository), known_failures=known),
                test_packages=ground.packages,
            )
            row = task.to_json() | {"note": "", "generation": 1, "requirements": store.requirements()}
            state = start_state(row | ({"tests_given": given} if last and given else {}))
            try:
                run_unsaved(state, context)
            finally:
                context.close()
                outcome.attempts += state["counters"]["attempt"]
                files = {} if state["verdict"] == "merged" else _best(state)
            if files or state["verdict"] != "merged":
                outcome.cause = str(state["escalation"]).partition("\n\n")[0][:400]
                break
    except OverBudget as limit:
        outcome.cause = str(limit)
    tree = repository.candidate("patch", repository.head(), files)
    end = tree.commit(repository.head(), "The work", "", {})
    paths = [change.path for change in tree.changes(ground.base) if _is_source(change.path, ground)]
    # As git gives it: line ends are part of a patch.
    diff = raw(repository.root, "diff", "--no-renames", *PLAIN, ground.base, end, "--", *paths) if paths else b""
    outcome.patch = diff.decode("utf-8", "replace")


def _planned(store: _OneRequirement, ground: Ground, issue: Issue, common: Mapping[str, Any]) -> list[PlanTask]:
    code = outline(ground.repository, ground.base, issue.text)
    plan_store: Any = store
    seen: dict[str, Any] = {"code": code, "repository": ground.repository, "commit": ground.base}
    context = PlanContext(**common, **seen, text=issue.text, comment="", task_store=plan_store)
    runtime: Any = SimpleNamespace(context=context)
    state = PlanState(step=0)
    state.update(cast(PlanState, reason(state, runtime)))
    while True:
        state.update(cast(PlanState, structure(state, runtime)))
        if after_structure(state) == "propose":
            return store.tasks_of(state)


def _given(issue: Issue, ground: Ground) -> dict[str, str]:
    """The files of the failing tests, where the issue says that they are right."""
    paths = dict.fromkeys(test.partition("::")[0] for test in issue.fail_to_pass) if issue.given else {}
    texts = {path: ground.repository.read(ground.base, path) for path in paths}
    if missing := next((path for path, text in texts.items() if text is None), ""):
        raise CannotWork(f"Its failing tests are in {missing}, which is not there at the base commit.")
    return {path: text or "" for path, text in texts.items()}


def _best(state: TaskState) -> dict[str, str]:
    """What a task that was left open came to: its best try, else the newest."""
    best = state["history"]["best"] or state["candidate"]
    return dict(best.get("files") or {})


def _is_source(path: str, ground: Ground) -> bool:
    """Whether a change belongs into a prediction: no test, and no lock file that the product writes."""
    told = [word for word in ground.setup.arguments if not word.startswith("-")]
    return not ground.spoken.is_test(path, told) and path not in {one.lock for one in languages()}
