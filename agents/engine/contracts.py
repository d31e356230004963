"""What the engine needs from the outside: the rows of a task, packages, and answers from people.

The engine never imports the database; `projects.engine` gives it these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from agents.context.knowledge import Knowledge
from agents.engine.effects import effect
from agents.engine.limits import LIMITS
from agents.events.effects import EffectAnnounced, EffectDone, GuardBlocked
from agents.events.log import EventLog
from agents.firewall.guard import Guard
from agents.firewall.trifecta import Step, secrets_in_text
from agents.gates.base import GateReport
from agents.llm.base import Provider
from agents.llm.runner import ModelRunner
from agents.memory.base import LessonStore
from agents.outside.engaged import Engaged
from agents.secrets.redaction import redact
from agents.workspace.repository import Repository
from sandbox.base import Backend, PackageRefused, PackageSet, Sandbox
from sandbox.container_report import ContainerReport
from sandbox.package_index.resolving import Resolution
from sandbox.test_setup import TestSetup

C = TypeVar("C", covariant=True)


class Stopped(Exception):
    """Somebody paused or cancelled the run, or the task is another worker's now; the step will be run again."""


class OverBudget(Exception):
    """A limit of the project is used up; the text names it."""


@dataclass(frozen=True)
class TaskLimits:
    """The limits of one task and its run (agents.engine.limits has the table)."""

    max_retries: int = LIMITS["max_retries"].default
    max_iterations: int = LIMITS["max_iterations"].default
    warn_iterations: int = LIMITS["warn_iterations"].default
    task_tokens: int = LIMITS["task_tokens"].default
    task_seconds: float = LIMITS["task_seconds"].default
    run_tokens: int = LIMITS["run_tokens"].default
    run_seconds: float = LIMITS["run_seconds"].default
    samples: int = LIMITS["samples"].default
    more_samples: int = LIMITS["more_samples"].default


ApprovalAnswer = Literal["approved", "rejected", "pending"]


class TaskStore(Protocol):
    """The rows beside the stream that belong to one task."""

    def start_attempt(self, number: int, strategy: str, diagnosis: Mapping[str, str] | None) -> None: ...

    def finish_attempt(self, number: int, outcome: str, **fields: Any) -> None: ...

    def judge_diagnosis(self, number: int, outcome: str) -> None: ...

    def record_findings(self, report: GateReport, attempt: int) -> None: ...

    def dispositions(self) -> Mapping[str, Any]:
        """What people decided about findings, by fingerprint."""
        ...

    def words(self) -> Sequence[str]:
        """What people said to this task, or to the whole run, oldest first."""
        ...

    def ask(
        self, *, kind: str, subject: str, title: str, why: str, on_yes: str, on_no: str, payload: Mapping[str, Any]
    ) -> ApprovalAnswer:
        """Ask a person, once; return how it stands."""
        ...

    def refusals(self) -> Sequence[str]:
        """What people said no to in this task, each with the reason, oldest first."""
        ...

    def merge_turn(self, merge: Callable[[], None]) -> None:
        """Call `merge` while no other task of the run merges."""
        ...


class NoTaskStore(TaskStore):
    """For work beside any run's tasks: it keeps nothing, and what needs a person is refused."""

    def start_attempt(self, *_: Any, **__: Any) -> None:
        """Not kept, like all that would be."""

    finish_attempt = judge_diagnosis = record_findings = start_attempt

    def dispositions(self) -> Mapping[str, Any]:
        return {}

    def words(self) -> Sequence[str]:
        return ()

    def ask(self, **_: Any) -> ApprovalAnswer:
        return "rejected"

    def refusals(self) -> Sequence[str]:
        return ()

    def merge_turn(self, merge: Callable[[], None]) -> None:
        merge()


class Supply(Protocol):
    """Packages for the sandbox (sandbox.packages.PackageSupply)."""

    def check(self, requirement: str) -> Any: ...

    def look_up(self, requirement: str) -> Any: ...

    def fetch(self, requirements: Sequence[str]) -> PackageSet: ...

    def resolve(self, requirements: Sequence[str], runtime: str = "") -> Resolution: ...


class Runtime(Protocol[C]):
    """What a node is called with beside the state; LangGraph's runtime is one."""

    @property
    def context(self) -> C:
        """Clients and settings of this run of the graph."""
        ...


@dataclass(kw_only=True)
class ModelContext:
    """What a question to a model needs: the project and its rules, the record, the limits, and the clients."""

    project: str
    house_rules: str
    event_log: EventLog
    limits: TaskLimits
    provider: Callable[[str], Provider]  # by persona name
    runner: ModelRunner
    recipe_lines: Mapping[str, str] = field(default_factory=dict)  # of system prompts, by persona: from its recipe
    canary: str = ""  # planted in every prompt; a reply that holds it in any disguise is withheld


@dataclass(kw_only=True)
class TaskContext(ModelContext):
    """Everything a node may use beside the state. Clients live here; the state is plain data."""

    run: str
    task_store: TaskStore
    repository: Repository
    worktree_name: str
    backend: Backend
    supply: Supply
    lessons: LessonStore
    gates: Callable[[Path, Sequence[str], Mapping[str, Any]], GateReport]
    knowledge: Knowledge = field(default_factory=Knowledge)  # documentation and meaning, beside the repository
    # Asks for a sub-task by what is missing, its path and why; returns what came of it, raises Waiting until then.
    sub_task: Callable[[str, str, str], str] | None = None
    try_container: Callable[[Path, str], ContainerReport] | None = None  # a Dockerfile of a folder, on an engine
    needs_review: bool = True
    asks_about_reach: bool = False  # a person says yes to network and subprocesses before a merge (ACA-6)
    guard: Guard | None = None  # a second model that may only tighten the firewall's verdicts
    lessons_across_projects: bool = False  # else a lesson stays in the project it was learned in
    switched_off: frozenset[str] = frozenset()  # parts of the loop that a measurement does without
    test_setup: TestSetup = field(default_factory=TestSetup)  # how this repository's tests are run
    test_packages: tuple[str, ...] = ()  # what they need: every sandbox has it, and no task lists it
    # Fingerprints of what the gates find in a file at a commit, by both: one scan serves all candidates of a task.
    found_before: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict, repr=False)
    outside: Engaged | None = None  # another agent that writes the code of this task
    _sandbox: Sandbox | None = field(default=None, repr=False)
    _packages: tuple[str, ...] = field(default=(), repr=False)

    def sandbox(self, packages: Sequence[str]) -> Sandbox:
        """The task's sandbox with these packages; made on first use, made anew when the packages change."""
        wanted = tuple(sorted({*packages, *self.test_packages}))
        if self._sandbox is not None and wanted == self._packages:
            return self._sandbox
        self.close()
        fetched = self._fetched(wanted) if wanted else None
        self._sandbox = self.backend.open(packages=fetched, label=self.worktree_name)
        self._packages = wanted
        return self._sandbox

    def at_hand(self) -> Sandbox:
        """The sandbox as it stands, or one without packages: nothing is fetched for it."""
        return self._sandbox or self.sandbox(())

    @property
    def at_hand_packages(self) -> tuple[str, ...]:
        """What the sandbox at hand has beside what always stands ready."""
        return self._packages if self._sandbox is not None else ()

    def packages(self, packages: Sequence[str]) -> PackageSet:
        """These packages, fetched and unpacked; raises PackageRefused, and IndexUnavailable while no index answers."""
        return self._fetched(tuple(sorted(packages)))

    def _fetched(self, wanted: tuple[str, ...]) -> PackageSet:
        key = f"{self.worktree_name}/packages/{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:16]}"
        names = ", ".join(wanted)
        # A name is all that leaves this machine, and models write names: it must not carry a secret out.
        step = Step(
            "package.fetch",
            untrusted=("model",),
            outside=("package index",),
            secrets=("package name",) if secrets_in_text(wanted) else (),
        )
        if step.problem:
            self.event_log.emit(
                GuardBlocked(
                    summary="A package name holds a secret; it was not asked for",
                    what="package.fetch",
                    reason=step.problem,
                    rule="trifecta",
                    decision="deny",
                )
            )
            raise PackageRefused(redact(names)[:200], "its name holds a secret; it was not asked for")
        announcement = EffectAnnounced(summary=f"fetch {names[:300]} …", effect="package.fetch", packages=wanted)
        with effect(self.event_log, announcement, key=key):
            fetched = self.supply.fetch(wanted)
        done = EffectDone(
            summary=f"fetched {names[:300]}", effect="package.fetch", packages=wanted, hashes=dict(fetched.hashes)
        )
        self.event_log.emit(done, key=key)
        return fetched

    def close(self) -> None:
        """Give the sandbox back."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
