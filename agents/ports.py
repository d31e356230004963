"""What the engine needs from the outside: a place to write what happens, and answers from people.

The engine never imports the database; `projects.engine` gives it these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agents.capabilities import Step, secrets_in_text
from agents.effects import effect
from agents.firewall import Guard
from agents.gates.base import GateReport
from agents.llm.base import Provider
from agents.llm.runner import ModelRunner
from agents.memory.base import LessonStore
from agents.redaction import redact
from agents.workspace.repository import Repository
from sandbox.base import Backend, PackageRefused, PackageSet, Sandbox


class Waiting(Exception):
    """The step cannot go on before a person answers; it will be run again from its start."""


class Stopped(Exception):
    """Somebody paused or cancelled the run, or the task is another worker's now; the step will be run again."""


class OverBudget(Exception):
    """A limit of the project is used up; the text names it."""


@dataclass(frozen=True)
class Mark:
    """Where an event stands in the stream."""

    seq: int
    hash: str


@dataclass(frozen=True)
class Limits:
    """Budgets of one task; sources: SWE-FR-09 for retries, ACA-1 for iterations."""

    max_retries: int = 5
    max_iterations: int = 15
    warn_iterations: int = 12
    task_tokens: int = 400_000
    task_seconds: float = 3_600.0
    run_tokens: int = 4_000_000
    run_seconds: float = 86_400.0
    samples: int = 1  # of the first version; with more, the one that test runs speak for goes on (agents.search)


@dataclass(frozen=True)
class Spent:
    """What has been used: of the task's and of the run's budget."""

    task_tokens: int = 0
    run_tokens: int = 0
    task_seconds: float = 0.0
    run_seconds: float = 0.0


class Spine(Protocol):
    """The stream of events of one run, as one writer sees it."""

    def emit(
        self,
        type: str,
        *,
        summary: str,
        role: str = "runtime",
        attempt: int = 0,
        payload: Mapping[str, Any] | None = None,
        blobs: Mapping[str, Any] | None = None,
        outcome: str = "",
        error_signature: str = "",
        tokens: int = 0,
        duration_ms: int = 0,
        key: str | None = None,
    ) -> Mark:
        """Add an event; the same key twice adds it once. Raises Stopped when the lease was lost."""
        ...

    def intend(
        self,
        effect: str,
        *,
        key: str,
        summary: str,
        role: str = "runtime",
        attempt: int = 0,
        payload: Mapping[str, Any] | None = None,
        type: str = "effect.intent",
    ) -> None:
        """Commit a row that says what is about to happen; its outcome will be the row with this `key`."""
        ...

    def failed(self, *, key: str, words: str, role: str = "runtime", attempt: int = 0) -> None:
        """Say that what was announced under `key` did not come to its end."""
        ...

    def remembered(self, key: str) -> tuple[str, bool] | None:
        """The model's reply that was already paid for under this key and whether it was cut off, if any."""
        ...

    def delta(self, *, lane: str, id: str, offset: int, text: str) -> None:
        """Show text as it is written; never stored."""
        ...

    def usage(
        self,
        *,
        key: str,
        role: str,
        model: str,
        prompt: int,
        reused: int,
        completion: int,
        seconds: float,
        speed: float,
    ) -> None:
        """Add to the ledger what a call took."""
        ...

    def spent(self) -> Spent:
        """What has been used so far."""
        ...

    def head(self) -> Mark:
        """The newest event of the run."""
        ...

    def stopped(self) -> bool:
        """True when the run was paused or cancelled, or the lease is gone; cheap enough to ask five times a second."""
        ...


Answer = Literal["approved", "rejected", "pending"]


class TaskBook(Protocol):
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
    ) -> Answer:
        """Ask a person, once; return how it stands."""
        ...

    def merge_turn(self, held: Callable[[], None]) -> None:
        """Call `held` while no other task of the run merges."""
        ...


class Supply(Protocol):
    """Packages for the sandbox (sandbox.packages.PackageSupply)."""

    def check(self, requirement: str) -> Any: ...

    def look_up(self, requirement: str) -> Any: ...

    def fetch(self, requirements: Sequence[str]) -> PackageSet: ...


@dataclass
class TaskContext:
    """Everything a node may use beside the state. Clients live here; the state is plain data."""

    project: str
    run: str
    house_rules: str
    spine: Spine
    book: TaskBook
    limits: Limits
    repository: Repository
    worktree_name: str
    provider: Callable[[str], Provider]  # by persona name
    runner: ModelRunner
    backend: Backend
    supply: Supply
    lessons: LessonStore
    gates: Callable[[Path, Sequence[str], Mapping[str, Any]], GateReport]
    needs_review: bool = True
    asks_about_reach: bool = False  # a person says yes to network and subprocesses before a merge (ACA-6)
    canary: str = ""  # planted in every prompt; a reply that holds it in any disguise is withheld
    guard: Guard | None = None  # a second model that may only tighten the firewall's verdicts
    lessons_across_projects: bool = False  # else a lesson stays in the project it was learned in
    switched_off: frozenset[str] = frozenset()  # parts of the loop that a measurement does without
    _sandbox: Sandbox | None = field(default=None, repr=False)
    _packages: tuple[str, ...] = field(default=(), repr=False)

    def sandbox(self, packages: Sequence[str]) -> Sandbox:
        """The task's sandbox with these packages; made on first use, made anew when the packages change."""
        wanted = tuple(sorted(packages))
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
            "package.fetch", untrusted=("model",), outside=("package index",),
            secrets=("package name",) if secrets_in_text(wanted) else (),
        )  # fmt: skip
        if step.problem:
            self.spine.emit(
                "guard.blocked", summary="A package name holds a secret; it was not asked for", outcome="denied",
                payload={"what": "package.fetch", "reason": step.problem, "rule": "trifecta", "decision": "deny"},
            )  # fmt: skip
            raise PackageRefused(redact(names)[:200], "its name holds a secret; it was not asked for")
        with effect(
            self.spine, "package.fetch", key=key, summary=f"fetch {names[:300]} …", payload={"packages": list(wanted)}
        ):
            fetched = self.supply.fetch(wanted)
        self.spine.emit(
            "effect.done", summary=f"fetched {names[:300]}", key=key, outcome="ok",
            payload={"effect": "package.fetch", "packages": list(wanted), "hashes": dict(fetched.hashes)},
        )  # fmt: skip
        return fetched

    def close(self) -> None:
        """Give the sandbox back."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
