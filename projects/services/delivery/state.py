"""What became of the requirements of a project, with its tests and commits; and what a build amounts to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet

from agents.events.effects import ContainerTried, TestsRan
from agents.workspace import changes
from agents.workspace.git import GitError
from projects.errors import NotFound
from projects.models import Event, Project, Requirement, RequirementDocument, Run, Task
from projects.services.delivery.downloads import RESULTS, branches, git_dir_of, result_of
from projects.services.delivery.start import StartWords, how_to_start
from projects.services.planning import runs
from projects.services.planning.progress import DONE, LEFT_OUT, NOT_PLANNED, Progress, progress_of
from projects.storage.paths import repository_of

__all__ = [
    "LEFT_OUT",
    "RequirementState",
    "RunResult",
    "project_state",
    "requirement_states",
    "result",
    "tried_containers",
]


@dataclass(frozen=True)
class RequirementState:
    """A requirement and what became of it; `tests` are those that its commits added."""

    requirement: Requirement
    state: str
    tests: int = 0
    commits: Sequence[str] = ()
    tasks: Sequence[Task] = ()


def _document(project: Project) -> RequirementDocument | None:
    """The newest confirmed document, else the newest."""
    confirmed = project.documents.filter(status=RequirementDocument.Status.CONFIRMED).first()
    return confirmed or project.documents.first()


def requirement_states(project: Project, run: Run | None = None) -> list[RequirementState]:
    """Every requirement of the newest confirmed document in its order, then what was planned of earlier documents.

    With `run`, as it stood with that run.
    """
    document = run.document if run is not None else _document(project)
    if document is None:
        return []
    rows = progress_of(project, document, run)
    found = [one for one in rows if one.tasks or one.requirement.document_id == document.pk]
    commits = {task.commit for one in found for task in one.tasks if task.commit}
    try:
        tests = changes.tests_added(git_dir_of(project), commits)
    except (NotFound, GitError):
        tests = {}
    return [_with_tests(one, tests) for one in found]


def _with_tests(one: Progress, tests: dict[str, int]) -> RequirementState:
    commits = [task.commit for task in one.tasks if task.commit]
    number = sum(tests.get(sha, 0) for sha in dict.fromkeys(commits))
    return RequirementState(one.requirement, one.state, number, commits, one.tasks)


def project_state(project: Project, url: str = "") -> dict[str, Any]:
    """The state of a project as plain data; `head` is "" while it has no code."""
    try:
        git_dir_of(project)
        head = repository_of(project).head()
    except (NotFound, GitError):
        head = ""
    rows = [
        {
            "document": str(one.requirement.document),
            "key": one.requirement.key,
            "author_key": one.requirement.author_key,
            "state": one.state,
            "tests": one.tests,
            "commits": list(one.commits),
        }
        for one in requirement_states(project)
    ]
    return {"project": project.slug, "requirements": rows, "head": head, "url": url}


@dataclass(frozen=True)
class RunResult:
    """What a build amounts to."""

    run: Run
    requirements: Sequence[RequirementState]
    left_out: Sequence[Task]
    commit: str
    files: int = 0
    added: int = 0
    removed: int = 0
    tests: dict[str, Any] = field(default_factory=dict)
    coverage: float | None = None
    totals: dict[str, Any] = field(default_factory=dict)
    took: timedelta | None = None
    start: StartWords | None = None
    containers: Sequence[Event] = ()  # what came of building each Dockerfile

    @property
    def branch(self) -> str:
        """The branch with its results; "" when it has none of its own."""
        name = f"{RESULTS}{self.run.pk}"
        return name if name in branches(self.run.project) else ""

    @property
    def asked(self) -> Sequence[RequirementState]:
        """The requirements of its own document: what it is measured by."""
        return [one for one in self.requirements if one.requirement.document_id == self.run.document_id]

    @property
    def met(self) -> int:
        """How many of them are met."""
        return sum(one.state == DONE for one in self.asked)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.run.status in Run.OVER

    @property
    def is_whole(self) -> bool:
        """Whether it may look like a success."""
        finished = self.run.status == Run.Status.FINISHED and not self.left_out
        return finished and bool(self.commit) and self.met == len(self.asked)

    @property
    def unplanned(self) -> int:
        """How many of them have no task."""
        return sum(one.state == NOT_PLANNED for one in self.asked)


def result(run: Run) -> RunResult:
    """What a build amounts to now."""
    tasks = list(run.tasks.order_by("ordinal"))
    tested = run.tasks.filter(status=Task.Status.MERGED, attempts__outcome="passed").order_by("-finished_at").first()
    attempt = tested.attempts.exclude(tests={}).order_by("-number").first() if tested else None
    # The newest run of the suite: where others merged meanwhile, it ran again after the attempt was judged.
    suite = run.events.filter(task=tested, type=TestsRan.type).order_by("-seq").first() if tested else None
    commit, size = result_of(run), (0, 0, 0)
    start = None
    if commit:
        folder = git_dir_of(run.project)
        try:
            first = base_of(run)
            size = changes.size_of(folder, first, commit) if first else size
            start = how_to_start(repository_of(run.project), commit)
        except GitError:  # a commit that is gone: what is known is shown without it
            start = None
    left = [task for task in tasks if task.status != Task.Status.MERGED]
    return RunResult(
        run,
        requirement_states(run.project, run),
        left if run.status in Run.OVER else [task for task in left if task.status in Task.LEFT_OUT],
        commit,
        *size,
        tests=suite.payload if suite else attempt.tests if attempt else {},
        coverage=attempt.branch_coverage if attempt else None,
        totals=runs.totals(run),
        took=run.finished_at - run.started_at if run.finished_at and run.started_at else None,
        start=start,
        containers=tried_containers(run.events.filter(task__status=Task.Status.MERGED)),
    )


def tried_containers(events: QuerySet[Event]) -> list[Event]:
    """Of each Dockerfile the last time that it was built and started, or was not."""
    rows = events.filter(type=ContainerTried.type).order_by("seq")
    return list({str(row.payload.get("path")): row for row in rows}.values())


def base_of(run: Run) -> str:
    """The commit a run started from: the one noted, or the parent of its first merge; "" when it merged nothing."""
    if run.base_commit:
        return run.base_commit
    tasks = run.tasks.exclude(commit="").order_by(F("finished_at").asc(nulls_last=True))
    first = tasks.values_list("commit", flat=True).first()
    return repository_of(run.project).store.parent(first) if first else ""
