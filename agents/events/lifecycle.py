"""Events of the state of runs, plans, tasks and attempts, and of what people are asked and say.

Types and payload names are a stable interface (docs/reference/events.md, written from these classes by
scripts/reference_pages.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agents.events.base import DECISIONS, ERRORS, NEEDS, EventKind, Panel, Rows, Urgency, kind

RUN: Sequence[Panel] = ("run",)
TASK: Sequence[Panel] = ("task", "run")


@kind("run.queued", "run", "run", "info", panels=RUN)
class RunQueued(EventKind):
    """A run was started and waits for a worker. What it works on: a document, a plan with its tasks, a module, or a
    change between two commits (`change`, with `request` the number of a pull request of the linked forge).
    """

    kind: str
    recording: bool
    document: int | None = None
    plan: int | None = None
    version: int | None = None
    hash: str = ""
    tasks: int | None = None
    module: str = ""
    change: str = ""
    request: str = ""


@dataclass(frozen=True, kw_only=True)
class RunMoved(EventKind):
    """The run went from one state to another; with `wait`, what it waits for since, with `detail`."""

    from_: str
    to: str
    reason: str
    wait: str = ""
    detail: str = ""


@kind("run.started", "run", "run", "info", panels=RUN)
class RunStarted(RunMoved):
    """A worker took the run."""


@kind("run.resumed", "run", "run", "info", panels=RUN)
class RunResumed(RunMoved):
    """The run continues after a pause."""


@kind("run.paused", "paused", "run", "warn", urgency=Urgency.PROGRESS, panels=RUN)
class RunPaused(RunMoved):
    """The run was paused, or waits for a person (outcome `needs_you`)."""


@kind("run.finished", "run", "run", "info", urgency=Urgency.PROGRESS, panels=RUN)
class RunFinished(RunMoved):
    """The run is over: outcome `ok`, `fail` or `cancelled`."""


@kind("run.waiting", "paused", "waits", panels=RUN)
class RunWaiting(EventKind):
    """What the run waits for changed, while its state did not; without `wait` it goes on."""

    wait: str = ""
    detail: str = ""


@kind("requirement.extracted", "doc", "requirement", "info")
class RequirementsExtracted(EventKind):
    """The document was read: `explicit`, `implied` and `unmapped` counts."""

    counts: Mapping[str, int]
    role: str = "planner"


@dataclass(frozen=True, kw_only=True)
class PlanChanged(EventKind):
    """A version of the plan was made or decided on."""

    plan: int
    version: int
    hash: str
    problems: Rows
    comment: str


@kind("plan.proposed", "plan", "plan", "info", urgency=Urgency.PROGRESS, panels=RUN)
class PlanProposed(PlanChanged):
    """The planner made a version; outcome `fail` when it is not valid."""


@kind("plan.sampled", "plan", "plan", "info", panels=RUN)
class PlanSampled(EventKind):
    """The planner made one of several plans to compare (blob `plan`); a person may take it as a version."""

    sample: int
    tasks: int
    role: str = "planner"


@kind("plan.edited", "plan", "plan", "info", panels=RUN)
class PlanEdited(PlanChanged):
    """A person made a version; outcome `fail` when it is not valid."""


@kind("plan.approved", "plan", "plan", "info", presets=DECISIONS, panels=RUN)
class PlanApproved(PlanChanged):
    """The version may be built."""


@kind("plan.rejected", "plan", "plan", "info", panels=RUN)
class PlanRejected(PlanChanged):
    """A person asked for changes."""


@kind("plan.refused", "plan", "plan", "err", panels=RUN)
class PlanRefused(PlanChanged):
    """A version that a person wanted was not stored, because of what `comment` says; `plan` is the one it came from."""


@dataclass(frozen=True, kw_only=True)
class TaskMoved(EventKind):
    """The task went from one state to another; with `wait`, what it waits for since, with `detail`."""

    key: str
    from_: str
    to: str
    reason: str
    wait: str = ""
    detail: str = ""


@kind("task.queued", "task", "task", "info", panels=TASK)
class TaskQueued(TaskMoved):
    """The task waits for others."""


@kind("task.ready", "task", "task", "info", panels=TASK)
class TaskReady(TaskMoved):
    """A worker may take the task."""


@kind("task.started", "running", "task", "run", panels=TASK)
class TaskStarted(TaskMoved):
    """A worker took the task."""


@kind("task.blocked", "paused", "task", "needs", presets=NEEDS, panels=TASK)
class TaskBlocked(TaskMoved):
    """The task waits for a person (outcome `needs_you`) or for a task that was given up (`blocked`)."""


@kind("task.done", "passed", "task", "ok", urgency=Urgency.PROGRESS, panels=TASK)
class TaskDone(TaskMoved):
    """The task is `merged` or `skipped`."""


@kind("task.failed", "failed", "task", "err", presets=ERRORS, urgency=Urgency.FAILURE, panels=TASK)
class TaskFailed(TaskMoved):
    """The task is `escalated` or `cancelled`."""


@kind("task.added", "task", "sub-task", "info", presets=DECISIONS, panels=TASK)
class TaskAdded(EventKind):
    """A sub-task became part of the run: `asked_by` is the key of the task that waits for it, `what` is to be made."""

    key: str
    asked_by: str
    what: str
    path: str
    reason: str


@kind("attempt.started", "retry", "attempt", panels=TASK)
class AttemptStarted(EventKind):
    """A try begins."""

    number: int
    strategy: str


@dataclass(frozen=True, kw_only=True)
class AttemptEnded(EventKind):
    """What came of a try; `signature` names its failure, `diagnosis_outcome` is confirmed or refuted."""

    number: int
    strategy: str
    signature: str
    diagnosis_outcome: str


@kind("attempt.passed", "passed", "attempt", "ok", panels=TASK)
class AttemptPassed(AttemptEnded):
    """The try passed tests and gates."""

    outcome: str = "ok"


@kind("attempt.failed", "failed", "attempt", "err", presets=ERRORS, panels=TASK)
class AttemptFailed(AttemptEnded):
    """The try failed its tests, or was rejected after them."""

    outcome: str = "fail"


@kind("attempt.taken_back", "undo", "taken back", "warn", presets=DECISIONS, panels=TASK)
class AttemptTakenBack(EventKind):
    """A try made it worse: the next one starts from the better try `to`; `worse` counts what the last one gave."""

    to: int
    worse: Mapping[str, int]


@kind(
    "approval.requested",
    "needs",
    "approval",
    "needs",
    presets=NEEDS,
    urgency=Urgency.QUESTION,
    panels=TASK,
    words=("summary",),
)
class ApprovalRequested(EventKind):
    """A person is asked."""

    approval: int
    kind: str
    title: str
    subject: str


@kind("approval.decided", "passed", "approval", "ok", presets=DECISIONS, panels=TASK)
class ApprovalDecided(EventKind):
    """A question was answered or closed, or a finding was disposed of."""

    kind: str
    answer: str
    reason: str
    approval: int | None = None
    title: str = ""
    finding: int | None = None
    fingerprint: str = ""
    first: str = ""
    second: str | None = None
    expires_at: datetime | None = None


@kind("human.message", "human", "you said", "info", presets=DECISIONS, words=("text",))
class HumanMessage(EventKind):
    """A person's words to the agents."""

    text: str
    role: str = "user"


@kind("todo.changed", "task", "TODO", "info", panels=RUN)
class TodoChanged(EventKind):
    """A TODO of a conversation was made or went to `state`: pending, in_progress, done, failed or skipped."""

    number: int
    description: str
    expected: str
    state: str
    reason: str
    role: str = "coder"
