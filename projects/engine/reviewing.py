"""A review of a change of a project, on request: a run of its own, so that every word and command is on its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.engine.change_review.findings import ChangeReview
from agents.engine.change_review.review import review_change
from agents.engine.contracts import NoTaskStore
from agents.events.lifecycle import RunQueued
from agents.forges.contract import ForgeRefused
from agents.memory.base import NoLessons
from agents.secrets.redaction import redact
from agents.workspace.addresses import SourceRefused
from agents.workspace.export import commit_at
from agents.workspace.fetching import ORIGIN
from agents.workspace.git import GitError, git
from projects.engine.building import task_context
from projects.engine.on_request import run_on_request
from projects.errors import BadInput
from projects.models import Baseline, Project, Run
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_text
from projects.services.delivery.changes import parted
from projects.services.forges.links import forge_of, needed_link
from projects.services.forges.reviewing import fetched
from projects.services.work.moves import move_run
from projects.storage.disk_space import need_room
from projects.storage.paths import ensure_repository

if TYPE_CHECKING:
    from pathlib import Path

    from django.contrib.auth.models import User

MOST_WORDS = 2_000  # of the commits' messages


@dataclass(frozen=True)
class Reviewed:
    """A review, and the run that has the record."""

    review: ChangeReview
    run: int


def commits_of(project: Project, change: str) -> tuple[str, str]:
    """The commits of BASE..HEAD, or of BASE...HEAD the one where both parted and HEAD. Raises BadInput."""
    folder = ensure_repository(project).git_dir
    base, dots, head = change.partition("..")
    if not (dots and base and head.lstrip(".")):
        raise BadInput(f"{change[:200]!r} does not name a change: write BASE..HEAD, two branches, tags or commits.")
    first, last = _commit(folder, base), _commit(folder, head.removeprefix("."))
    return (parted(folder, first, last) if head.startswith(".") else first), last


def _commit(folder: Path, name: str) -> str:
    for one in (name, f"{ORIGIN}/{name}"):  # a branch that came with the import
        try:
            return commit_at(folder, one)
        except GitError as refused:
            problem = str(refused)
    raise BadInput(f"{problem.replace(ORIGIN + '/', '')}.")


def review_on_request(
    project: Project, base: str, head: str, *, by: User, about: str = "", request: str = "", run_suites: bool = True
) -> Reviewed:
    """Review what the commit `head` changes against `base`; nothing is changed by it, and nothing sent anywhere.

    `about` is what its author says; the messages of its commits by default. Raises NotAllowed, BadInput (there is no
    change), IllegalMove (somebody stopped it), LLMError, OverBudget, NoRoom and SandboxError.
    """
    require(by, project, "run.start")
    need_room()
    repository = ensure_repository(project)
    if git(repository.git_dir, "diff", "--quiet", base, head, check=False).returncode == 0:
        raise BadInput(f"Nothing differs between {base[:10]} and {head[:10]}.")
    about = about or git(repository.git_dir, "log", "--format=%B", "-20", f"{base}..{head}").stdout[:MOST_WORDS]
    queued = RunQueued(
        summary=f"review of {base[:10]}..{head[:10]}",
        role="user",
        kind=Run.Kind.REVIEW,
        change=f"{base}..{head}",
        request=request,
        recording=project.is_recording,
    )
    baseline = project.baselines.first()
    unusable = baseline.problem if baseline is not None and baseline.status == Baseline.Status.UNUSABLE else ""
    with run_on_request(project, queued, by) as (run, event_log):
        name = f"review-{run.pk}"
        context = task_context(run, event_log, task_store=NoTaskStore(), worktree_name=name, lessons=NoLessons())
        try:
            review = review_change(
                context, base, head, about=redact(clean_text(about)), run_suites=run_suites and not unusable
            )
        finally:
            context.close()
            repository.remove(name)
        if unusable and run_suites:
            review.notes.append(f"Its own tests were not run: {unusable}")
        count = len(review.findings)
        move_run(run, Run.Status.FINISHED, reason=f"{count or 'no'} remark{'s' * (count != 1)}")
    return Reviewed(review, run.pk)


def review_request(project: Project, number: int, *, by: User, run_suites: bool = True) -> Reviewed:
    """Fetch a pull request and review what it changes since it left its base; nothing is written to the forge.

    Its title and text are quoted to the model as its author's. Raises NotAllowed, BadInput, and what
    review_on_request() raises.
    """
    require(by, project, "run.start")
    link = needed_link(project)
    try:
        request = forge_of(link).request(number)
        base, head = fetched(project, link, request)
    except (ForgeRefused, SourceRefused) as refused:
        raise BadInput(str(refused)) from None
    about = f"{request.title}\n\n{request.text}"
    return review_on_request(project, base, head, by=by, about=about, request=str(number), run_suites=run_suites)
