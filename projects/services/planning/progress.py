"""What became of the requirements of a project: by its builds, and by documents that replace others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from agents.requirements.changes import Change, change_of
from projects.models import Project, Requirement, RequirementDocument, Run, Task
from projects.services.planning.keys import said_of

STATES = ("done", "stale", "in_work", "left_out", "not_planned", "removed")
DONE, STALE, IN_WORK, LEFT_OUT, NOT_PLANNED, REMOVED = STATES
Tasks = list[Task]


@dataclass(frozen=True)
class Progress:
    """A requirement and what became of it; `built`: code for it is there, perhaps for what an earlier version said.

    A requirement that a newer document no longer has is removed, one that it has in other words is stale until rebuilt.
    """

    requirement: Requirement
    state: str
    built: bool
    tasks: Sequence[Task] = ()
    before: str = ""  # of a stale one the words that were built


@dataclass(frozen=True)
class RequirementChange:
    """A requirement that a replacing document added, altered or removed, or that stayed the same."""

    change: Change
    before: Requirement | None
    after: Requirement | None

    def to_json(self) -> dict[str, str]:
        """The difference as plain data; "" for words that are not there."""
        either = self.after or self.before
        words = {"before": self.before.text if self.before else "", "after": self.after.text if self.after else ""}
        return {"change": self.change, "key": either.key if either else "", **words}


def differences(document: RequirementDocument) -> list[RequirementChange]:
    """What a document asks for against the one it replaces, in its order, then what it no longer has; [] for others.

    Keys say which requirement is which (projects.services.planning.keys); open suggestions do not count.
    """
    if document.replaces is None:
        return []
    before = {row.key: row for row in document.replaces.requirements.wanted()}
    pairs = [(before.pop(row.key, None), row) for row in document.requirements.wanted()]
    both = [RequirementChange(change_of(said_of(old) if old else None, said_of(new)), old, new) for old, new in pairs]
    return [*both, *(RequirementChange("removed", old, None) for old in before.values())]


def progress_of(project: Project, document: RequirementDocument, run: Run | None = None) -> list[Progress]:
    """Every requirement of the documents up to this one, the newest first; with `run`, as it stood with that run.

    The newest build with tasks for it decides: it is done when all of them are merged. A build that left some out takes
    nothing back that an earlier one merged. Documents may use the same keys: only what is said in the same words is the
    same work. What was removed is listed when it was planned.
    """
    confirmed = Q(document__status=RequirementDocument.Status.CONFIRMED, document__version__lt=document.version)
    rows = Requirement.objects.filter(Q(document=document) | confirmed, document__project=project)
    rows = rows.wanted().exclude(kind=Requirement.Kind.NON_GOAL).select_related("document")
    wanted = list(rows.order_by("-document__version", "ordinal"))
    final = _final(project, document)
    now = {(row.document_id, row.key) for row in wanted if row.document_id not in final}
    work, dropping = _tasks(project, run)
    known = {row.pk: _current(row, work, dropping) for row in wanted}
    was_built: dict[tuple[int, str], str] = {}
    for row in wanted:
        its = known[row.pk]
        # Of what nobody wants any more, a part is to be removed too.
        there = _is_done(its) or ((final.get(row.document_id, 0), row.key) not in now and _is_merged(its))
        if row.document_id in final and there:
            was_built.setdefault((final[row.document_id], row.key), row.text)
    found, seen, gone = list[Progress](), set[tuple[str, ...]](), set[tuple[int, str]]()
    for row in wanted:
        words, its = (row.key, *said_of(row).words), known[row.pk]
        place = final.get(row.document_id, 0), row.key
        if words in seen or (row.document_id in final and place in now):
            continue  # an earlier document may say the same
        seen.add(words)
        if row.document_id in final:
            planned = [*its, *dropping.get(row.key, [])]
            if planned and place not in gone:
                gone.add(place)
                found.append(Progress(row, REMOVED, place in was_built, planned))
            continue
        before = was_built.get((row.document_id, row.key), "")
        state = _state_of(its)
        stale = bool(before) and state == NOT_PLANNED
        found.append(Progress(row, STALE if stale else state, bool(before) or state == DONE, its, before))
    return found


@dataclass(frozen=True)
class Scope:
    """What a plan of a document is about, and what it is not: what is built as it is, and what other documents say.

    `dropped` are built requirements that the document no longer has: a task that names one removes its code.
    """

    wanted: Sequence[Progress]
    dropped: Sequence[Progress]
    built: Sequence[Progress]
    others: Sequence[Progress]


def scope_of(document: RequirementDocument) -> Scope:
    """What is to be planned: of a replacement what it touches, of any other document and where nothing is left all."""
    rows, chain = progress_of(document.project, document), {document.pk, *(one.pk for one in document.replaced())}
    own = [one for one in rows if one.requirement.document_id == document.pk]
    dropped = [one for one in rows if one.state == REMOVED and one.built and one.requirement.document_id in chain]
    built = [one for one in own if one.state == DONE] if len(chain) > 1 else []
    if len(built) == len(own) and not dropped:
        built = []
    others = [one for one in rows if one.requirement.document_id not in chain and one.state != REMOVED]
    return Scope([one for one in own if one not in built], dropped, built, others)


def dropped_words(text: str) -> str:
    """What a task that drops a requirement is told of it; the second sentence names nothing that may be removed."""
    return f"No longer wanted: the code and the tests that are there for it alone are removed.\n  It said: {text}"


def _final(project: Project, document: RequirementDocument) -> dict[int, int]:
    """Which document in force took the place of which earlier one; one that nobody confirmed replaces nothing yet."""
    found: dict[int, int] = {}
    confirmed = project.documents.filter(status=RequirementDocument.Status.CONFIRMED, version__lt=document.version)
    for one in [document, *confirmed]:  # newest first
        for earlier in one.replaced():
            found.setdefault(earlier.pk, one.pk)
    return found


def _tasks(project: Project, run: Run | None) -> tuple[dict[tuple[str, ...], Tasks], dict[str, Tasks]]:
    """Tasks by what they build (key and words), and tasks that drop what a requirement asked for, by its key."""
    tasks = Task.objects.filter(run__project=project, run__kind=Run.Kind.BUILD)
    if run is not None:
        tasks = tasks.filter(run__pk__lte=run.pk)
    work: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    dropping: dict[str, list[Task]] = defaultdict(list)
    for task in tasks.select_related("run").prefetch_related("requirements").order_by("run", "ordinal"):
        for row in task.requirements.all():
            if drops(task, row):
                dropping[row.key].append(task)
            else:
                work[row.key, *said_of(row).words].append(task)
    return work, dropping


def drops(task: Task, requirement: Requirement) -> bool:
    """True when a task removes what a requirement of an earlier document asked for."""
    return task.run.document_id is not None and requirement.document_id != task.run.document_id


def _current(row: Requirement, work: Mapping[tuple[str, ...], Tasks], dropping: Mapping[str, Tasks]) -> Tasks:
    """The tasks that decide about a requirement; those before its code was removed do not."""
    dropped = _newest(dropping.get(row.key, []))
    at = dropped[0].run_id if _is_done(dropped) else 0
    return _newest([task for task in work.get((row.key, *said_of(row).words), []) if task.run_id > at])


def _newest(tasks: list[Task]) -> list[Task]:
    """Those of the newest build or, if it left some out, of the newest that merged all of its own."""
    builds = [[task for task in tasks if task.run_id == run] for run in sorted({task.run_id for task in tasks})]
    newest = builds[-1] if builds else []
    if _state_of(newest) != LEFT_OUT:
        return newest
    return next((build for build in reversed(builds) if _is_done(build)), newest)


def _is_done(tasks: list[Task]) -> bool:
    return _state_of(tasks) == DONE


def _is_merged(tasks: list[Task]) -> bool:
    return any(task.status == Task.Status.MERGED for task in tasks)


def _state_of(tasks: list[Task]) -> str:
    if not tasks:
        return NOT_PLANNED
    if all(task.status == Task.Status.MERGED for task in tasks):
        return DONE
    if tasks[0].run.status in Run.OVER or any(task.status in Task.LEFT_OUT for task in tasks):
        return LEFT_OUT
    return IN_WORK
