"""What waits for a person, the most costly first: how long it has waited times how many tasks stand behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents.engine.waiting import UNCONFIRMED
from projects.models import Approval, Plan, Project, Run, Task
from projects.services.accounts.rights import Person, projects_where
from projects.services.decisions.approvals import pending_for

UNSETTLED = frozenset(Task.Status.values) - set(Task.SETTLED)


@dataclass(frozen=True)
class OpenQuestion:
    """A question, or a document whose requirements nobody has confirmed (then `approval` is None)."""

    approval: Approval | None
    run: Run | None
    project: Project
    kind: str
    title: str
    evidence: str  # one sentence
    since: datetime
    waits: timedelta
    behind: int  # tasks that cannot go on

    @property
    def waits_words(self) -> str:
        """How long it has waited: 47 min, 5 h, 3 days."""
        whole = int(self.waits.total_seconds()) // 60
        if whole < 60:
            return f"{whole} min" if whole else "under a minute"
        return f"{whole // 60} h" if whole < 48 * 60 else f"{whole // (24 * 60)} days"

    @property
    def weight(self) -> float:
        """What its waiting costs: seconds times tasks."""
        return self.waits.total_seconds() * max(1, self.behind)


def first_sentence(text: str) -> str:
    """The first sentence of a reason, without line breaks."""
    line = " ".join(text.split())
    head, stop, _ = line.partition(". ")
    return f"{head}." if stop else line


def _evidence(question: Approval) -> str:
    """Why it is asked, in one sentence, with the task it is about."""
    said = first_sentence(question.why)
    named = question.task is None or question.task.key in said or question.task.key in question.title
    return said if named or question.task is None else f"{question.task.key}: {said}"


def waiting_for(user: Person, now: datetime, projects: Iterable[int] | None = None) -> list[OpenQuestion]:
    """What waits for this person, of all projects or some. Takes a constant number of queries."""
    asked, runs = pending_for(user), Run.objects.none()
    if user.is_authenticated:
        runs = Run.objects.filter(status=Run.Status.NEEDS_YOU, wait_reason__in=UNCONFIRMED)
        runs = runs.filter(project__in=projects_where(user, "requirement.edit")).select_related("project", "document")
    if projects is not None:
        asked, runs = asked.filter(project__in=list(projects)), runs.filter(project__in=list(projects))
    questions = list(asked)
    followers = _followers({one.run_id for one in questions if one.run_id is not None})
    subjects = [one.subject for one in questions if one.kind == Approval.Kind.PLAN and one.task_id is None]
    plans = Plan.objects.filter(content_hash__in=subjects).values_list("project_id", "content_hash", "content")
    sizes = {(project, digest): len(content.get("tasks", [])) for project, digest, content in plans}
    found = [
        OpenQuestion(
            one,
            one.run,
            one.project,
            one.get_kind_display(),
            one.title,
            _evidence(one),
            one.requested_at,
            now - one.requested_at,
            sizes.get((one.project_id, one.subject), 0) or followers.behind(one.run_id, one.task_id),
        )
        for one in questions
    ]
    for run in runs:
        since = run.why_since or run.created_at
        title = f"Confirm the requirements of {run.document.filename}" if run.document else "Confirm the requirements"
        found.append(OpenQuestion(None, run, run.project, "Requirements", title, run.why, since, now - since, 0))
    return sorted(found, key=lambda one: (-one.weight, one.since))


@dataclass(frozen=True)
class _Graph:
    open_tasks: dict[int, set[int]]  # of each run
    unblocks: dict[int, set[int]]

    def behind(self, run: int | None, task: int | None) -> int:
        """How many open tasks cannot go on: the task and what needs it; without a task, all of the run."""
        open_tasks = self.open_tasks.get(run or 0, set())
        if task is None:
            return len(open_tasks)
        reached, queue = {task}, [task]
        for one in queue:
            fresh = self.unblocks.get(one, set()) - reached
            reached |= fresh
            queue += fresh
        return len((reached & open_tasks) - {task})


def _followers(runs: set[int]) -> _Graph:
    open_tasks: dict[int, set[int]] = defaultdict(set)
    unblocks: dict[int, set[int]] = defaultdict(set)
    for pk, run in Task.objects.filter(run__in=runs, status__in=UNSETTLED).order_by().values_list("pk", "run_id"):
        open_tasks[run].add(pk)
    edges = Task.needs.through.objects.filter(from_task__run__in=runs)
    for task, needed in edges.values_list("from_task_id", "to_task_id"):
        unblocks[needed].add(task)
    return _Graph(open_tasks, unblocks)
