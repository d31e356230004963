"""From a sentence of a requirement document to the merged lines and back, with what is missing in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from agents.events.reasoning import DecisionMade
from agents.workspace import blame
from agents.workspace.git import GitError, git
from agents.workspace.written import LineSpan, TestPlace, WrittenLines, written
from projects.errors import NotFound
from projects.models import Attempt, Event, Finding, Plan, Project, Requirement, Task
from projects.services.audit.exports import csv_row
from projects.services.delivery.downloads import git_dir_of, result_of
from projects.services.delivery.state import RequirementState, requirement_states
from projects.services.planning.keys import said_of
from projects.services.planning.progress import DONE, IN_WORK, LEFT_OUT, NOT_PLANNED, REMOVED, STALE
from projects.services.work.findings import SEVERE, still_holds
from projects.storage.paths import repository_of

GAP, PLANNED, NOTHING_YET = "gap", "planned", "nothing_yet"
ORDER = (GAP, IN_WORK, PLANNED, NOTHING_YET, DONE, REMOVED)
MOST_DECISIONS = 2_000
MOST_UNASKED = 200
_TO_DECIDE = (*SEVERE, "MEDIUM", "WARNING")


@dataclass(frozen=True)
class Gap:
    """Where the chain of a requirement breaks: the column, and what is missing in words."""

    cell: str
    words: str
    state: str  # the same for the whole row


@dataclass(frozen=True)
class TraceRow:
    """A requirement with everything that answers to it; `planned` are tasks of a plan that is not built yet."""

    requirement: Requirement
    state: str
    gap: Gap | None = None
    tasks: Sequence[Task] = ()
    plan: Plan | None = None
    planned: Sequence[str] = ()
    spans: Sequence[LineSpan] = ()
    tests: Sequence[TestPlace] = ()
    tests_added: int = 0
    findings: Sequence[Finding] = ()
    open_findings: int = 0
    decisions: Sequence[Event] = ()
    commits: Sequence[Task] = ()  # the merged tasks whose commits these are

    @property
    def lines(self) -> int:
        """How many lines of the branch were written for it."""
        return sum(span.lines for span in self.spans)


@dataclass(frozen=True)
class Unasked:
    """Lines of one file from one commit that no requirement in force asks for; `task` is None for commits of people."""

    place: LineSpan
    lines: int
    commit: str
    subject: str
    task: Task | None
    why: str
    tests: int = 0


@dataclass(frozen=True)
class Trace:
    """The matrix of a project: its rows, gaps first, and what is on its branch without a requirement."""

    rows: Sequence[TraceRow]
    at: str = ""  # the branch or commit whose lines are meant; "" while there is no code
    note: str = ""
    unasked: Sequence[Unasked] = ()
    unasked_lines: int = 0
    tests_unasked: int = 0
    before: int = 0
    lines: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """How many requirements are in force."""
        return sum(row.state != REMOVED for row in self.rows)


def trace(project: Project) -> Trace:
    """The traceability matrix of a project as it is now, in a number of queries that its size does not change."""
    states = requirement_states(project)
    merged = list(
        Task.objects.filter(run__project=project)
        .exclude(commit="")
        .select_related("run")
        .prefetch_related("requirements")
        .order_by("run", "finished_at", "ordinal")
    )
    at, lines, note = _lines(project, [task.commit for task in merged])
    serving: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in merged:
        for requirement in task.requirements.all():
            serving[_said(requirement)].append(task)
    known = _Known(project, [*merged, *(task for one in states for task in one.tasks)], lines)
    rows = [known.row(one, serving[_said(one.requirement)]) for one in states]
    rows.sort(key=lambda row: ORDER.index(row.state))
    counts = {name: sum(row.state == name for row in rows) for name in ORDER}
    if lines is None:
        return Trace(rows, at, note, counts=counts)
    wanted = {_said(one.requirement) for one in states if one.state != REMOVED}
    unasked = _unasked(project, lines, merged, wanted)
    return Trace(
        rows,
        at,
        note,
        unasked[:MOST_UNASKED],
        sum(one.lines for one in unasked),
        sum(one.tests for one in unasked),
        lines.before,
        lines.lines,
        counts,
    )


def _said(requirement: Requirement) -> tuple[str, ...]:
    return (requirement.key, *said_of(requirement).words)


def _lines(project: Project, commits: Sequence[str]) -> tuple[str, WrittenLines | None, str]:
    """The branch or commit whose lines are meant, its lines by commit, and a note on either."""
    note = ""
    try:
        folder, at, head = git_dir_of(project), project.base_branch, repository_of(project).head()
        build = project.runs.filter(kind="build", tasks__commit__gt="").order_by("-pk").first()
        own = result_of(build) if build is not None else ""
        if own and git(folder, "rev-list", "--max-count=1", own, f"^{head}").stdout.strip():
            at = head = own  # its results are on a branch of their own
            note = f"Lines are those of run {build.pk}, which {project.base_branch} does not have yet." if build else ""
        found = written(folder, head, commits)
    except NotFound:
        return "", None, ""
    except GitError as refused:
        return "", None, f"Lines of code are not shown: {refused}."
    return at, found, note


class _Known:
    """What the rows are made from, each kind fetched once."""

    def __init__(self, project: Project, tasks: Iterable[Task], lines: WrittenLines | None) -> None:
        self.lines = lines
        pks = {task.pk for task in tasks}
        self.findings: dict[int, list[Finding]] = defaultdict(list)
        for finding in Finding.objects.filter(task__in=pks):
            self.findings[finding.task_id].append(finding)
        self.failing = _failing(pks)
        self.by_task: dict[int, list[Event]] = defaultdict(list)
        self.by_name: dict[str, list[Event]] = defaultdict(list)
        events = Event.objects.filter(run__project=project, type=DecisionMade.type).order_by("-pk")
        for event in reversed(list(events.select_related("task")[:MOST_DECISIONS])):
            payload = event.payload if isinstance(event.payload, dict) else {}
            names = payload.get("requirements")
            for name in names if isinstance(names, list) and names else ():
                self.by_name[str(name)].append(event)
            if not names and event.task_id:
                self.by_task[event.task_id].append(event)
        self.plans: dict[int, Plan] = {}
        usable = (Plan.Status.PROPOSED, Plan.Status.APPROVED)
        for plan in Plan.objects.filter(project=project, status__in=usable).order_by("version"):
            self.plans[plan.document_id] = plan

    def row(self, one: RequirementState, serving: Sequence[Task]) -> TraceRow:
        """The row of a requirement; `serving` are the merged tasks that name it in these words."""
        requirement = one.requirement
        merged = list({task.pk: task for task in (*serving, *(t for t in one.tasks if t.commit))}.values())
        tasks = list({task.pk: task for task in (*one.tasks, *merged)}.values())
        commits = dict.fromkeys(task.commit for task in merged)
        spans = [span for sha in commits for span in (self.lines.spans.get(sha, ()) if self.lines else ())]
        tests = [test for sha in commits for test in (self.lines.tests.get(sha, ()) if self.lines else ())]
        findings = [finding for task in tasks for finding in self.findings[task.pk]]
        is_open = sum(_is_open(finding) for finding in findings)
        plan = self.plans.get(requirement.document_id)
        planned = _planned(plan, requirement) if one.state in (NOT_PLANNED, STALE) else []
        gap = self._gap(one, merged, plan, planned, is_open)
        state = GAP if gap else one.state
        if state == NOT_PLANNED:
            state = PLANNED if planned else NOTHING_YET
        return TraceRow(
            requirement,
            state,
            gap,
            tasks,
            plan,
            planned,
            spans,
            tests,
            max(one.tests, len(tests)),
            findings,
            is_open,
            self._decisions(requirement, tasks),
            list({task.commit: task for task in merged}.values()),
        )

    def _gap(
        self, one: RequirementState, merged: Sequence[Task], plan: Plan | None, planned: Sequence[str], is_open: int
    ) -> Gap | None:
        if one.state == STALE:
            words = f"planned: {', '.join(planned[:3])}" if planned else "no task since"
            return Gap("tasks", f"its words changed, {words}", "stale")
        if one.state == NOT_PLANNED:
            return Gap("tasks", "no task", "not planned") if plan is not None and not planned else None
        if one.state == LEFT_OUT:
            left = [task for task in one.tasks if task.status != Task.Status.MERGED]
            said = ", ".join(f"{task.key} {task.get_status_display().lower()}" for task in left[:3])
            return Gap("tasks", said or "no task", "left out")
        if one.state != DONE:
            return None
        if any(not task.commit for task in one.tasks):
            return Gap("commits", "no commit", "no commit")
        if any(task.pk in self.failing for task in one.tasks):
            return Gap("tests", "a test fails", "test fails")
        if not one.tests and any(task.kind == "code" for task in merged):
            return Gap("tests", "no test", "no test")
        return Gap("findings", f"{is_open} open", "open finding") if is_open else None

    def _decisions(self, requirement: Requirement, tasks: Sequence[Task]) -> list[Event]:
        """Those that name it, and those of its tasks that name no requirement at all."""
        own, runs = {task.pk for task in tasks}, {task.run_id for task in tasks}
        names = {requirement.key, requirement.author_key} - {""}
        named = [event for name in names for event in self.by_name[name]]
        fits = [event for event in named if event.task_id in own or event.run_id in runs or event.task_id is None]
        found = {event.pk: event for event in (*fits, *(event for pk in own for event in self.by_task[pk]))}
        # The reviewer's yes comes last: what was chosen says more.
        return sorted(found.values(), key=lambda event: (event.payload.get("choice") == "approve", event.pk))


def _is_open(finding: Finding) -> bool:
    if finding.state == Finding.State.FIXED or still_holds(finding, timezone.now()):
        return False
    return finding.blocks or finding.severity.upper() in _TO_DECIDE


def _failing(tasks: set[int]) -> set[int]:
    """The tasks whose newest try ended with tests that fail."""
    newest: dict[int, tuple[Any, ...]] = {}
    rows = Attempt.objects.filter(task__in=tasks).order_by("task", "number")
    for task, *counts in rows.values_list("task_id", "tests__failed", "tests__errors"):
        newest[task] = tuple(counts)
    return {task for task, counts in newest.items() if any(counts)}


def _planned(plan: Plan | None, requirement: Requirement) -> list[str]:
    if plan is None or not isinstance(plan.content, dict):
        return []
    tasks = [task for task in plan.content.get("tasks") or () if isinstance(task, dict)]
    return [str(task.get("key")) for task in tasks if requirement.key in (task.get("requirements") or ())]


def _unasked(
    project: Project, lines: WrittenLines, merged: Sequence[Task], wanted: set[tuple[str, ...]]
) -> list[Unasked]:
    by_commit = {task.commit: task for task in merged}
    odd: dict[str, str] = {}
    for sha in lines.spans:
        task = by_commit.get(sha)
        if task is None:
            odd[sha] = "Committed by hand: no task of this project wrote it."
        elif not (own := list(task.requirements.all())):
            odd[sha] = "The task names no requirement."
        elif not any(_said(requirement) in wanted for requirement in own):
            odd[sha] = f"What asked for it is no longer wanted: {', '.join(row.key for row in own[:4])}."
    told = blame.origins(git_dir_of(project), odd)
    found = []
    for sha, why in odd.items():
        files: dict[str, list[LineSpan]] = defaultdict(list)
        for span in lines.spans[sha]:
            files[span.path].append(span)
        for path, spans in files.items():
            tests = sum(test.path == path for test in lines.tests.get(sha, ()))
            subject = told[sha].subject if sha in told else ""
            size = sum(span.lines for span in spans)
            found.append(Unasked(spans[0], size, sha, subject, by_commit.get(sha), why, tests))
    return sorted(found, key=lambda one: (-one.lines, one.place.path))


COLUMNS = (
    "requirement author_id document lines text origin state missing tasks code tests findings decisions commits".split()
)


def records(found: Trace) -> list[dict[str, Any]]:
    """The matrix as plain data, a row for each requirement, then one for each place that nobody asked for."""
    rows = []
    for row in found.rows:
        one = row.requirement
        rows.append(
            {
                "requirement": one.key,
                "author_id": one.author_key,
                "document": str(one.document),
                "lines": f"{one.line_start}-{one.line_end}" if one.line_start else "",
                "text": one.text,
                "origin": one.origin,
                "state": row.gap.state if row.gap else row.state.replace("_", " "),
                "missing": row.gap.words if row.gap else "",
                "tasks": [f"{task.key} (run {task.run_id}, {task.status})" for task in row.tasks] or list(row.planned),
                "code": [f"{span.path}:{span.first}-{span.last}" for span in row.spans],
                "tests": [f"{test.path}:{test.line} {test.name}" for test in row.tests],
                "findings": [f"{each.tool} {each.rule} {each.severity} {each.state}" for each in row.findings],
                "decisions": [f"run {event.run_id} event {event.seq}: {event.summary}" for event in row.decisions],
                "commits": [task.commit for task in row.commits],
            }
        )
    for place in found.unasked:
        rows.append(
            {
                "requirement": "",
                "state": "not asked for",
                "missing": place.why,
                "tasks": [place.task.key] if place.task else [],
                "code": [f"{place.place.path}:{place.place.first} ({place.lines} lines)"],
                "commits": [place.commit],
            }
        )
    return rows


def as_csv(found: Trace) -> str:
    """The same as CSV; several entries of a cell stand on lines of their own."""
    lines = [csv_row(COLUMNS)]
    for row in records(found):
        cells = (row.get(name, "") for name in COLUMNS)
        lines.append(csv_row("\n".join(cell) if isinstance(cell, list) else cell for cell in cells))
    return "".join(lines)
