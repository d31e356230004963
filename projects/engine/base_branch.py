"""The base branch of a project after others moved it: a person decides when a run takes that in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from agents.events.effects import SystemNotice
from agents.workspace.git import GitError
from agents.workspace.repository import TakenIn
from projects.errors import BadInput, IllegalMove
from projects.models import Run, Task
from projects.services.accounts.rights import require
from projects.services.audit.events import emit
from projects.services.work import leases
from projects.storage.paths import repository_of
from projects.workers.owners import this_worker

MERGE_SECONDS = 600.0


def base_moved(run: Run) -> bool:
    """Whether others moved the base branch under a build whose commits are not on it."""
    if run.kind != Run.Kind.BUILD or not run.base_commit:
        return False
    try:
        repository = repository_of(run.project, run)
        return repository.base_moved() and (run.status not in Run.OVER or repository.is_ahead())
    except GitError:  # what is wrong with the repository is said where it is needed
        return False


def outcome_of(run: Run, taken: TakenIn) -> str:
    """What came of taking the base in, in a sentence."""
    if taken.conflicts:
        return f"Both sides changed {', '.join(taken.conflicts)}: merge branch aiswe/run-{run.pk} by hand."
    if taken.commits:
        many = "commit now stands" if len(taken.commits) == 1 else "commits now stand"
        return f"{len(taken.commits)} {many} on the newest {run.project.base_branch}."
    return f"The run stands on the newest {run.project.base_branch}."


def take_in_base(run: Run, *, by: User) -> TakenIn:
    """Put the run's commits on top of what others put on the base branch; doing it again changes nothing.

    The tests have not run on the result: the base follows with the next merge, whose tests run on all of it. Nothing
    moves when there are conflicts. Raises NotAllowed, IllegalMove (a task is being merged) and BadInput (git refused).
    """
    require(by, run.project, "run.control")
    owner = f"{this_worker()}#base"
    if not leases.acquire_merge(run.pk, owner=owner, seconds=MERGE_SECONDS):
        raise IllegalMove(f"A task of run {run.pk} is being merged: try again in a minute.")
    try:
        repository = repository_of(run.project, run)
        taken = repository.take_in_base()
        with transaction.atomic():
            for task in Task.objects.filter(run=run, status=Task.Status.MERGED):
                # By their trailers, so that a kill between both steps is made good by the next time.
                Task.objects.filter(pk=task.pk).update(commit=repository.merged(str(run.pk), task.key) or task.commit)
            if taken.commits:
                text = f"{len(taken.commits)} commits of the run now stand on the newest {repository.base}."
                details = {"commits": taken.commits}
                notice = SystemNotice(summary=text, role="user", text=text, details=details)
                emit(run.pk, notice, actor=by.get_username())
    except GitError as refused:
        raise BadInput(str(refused)) from None
    finally:
        leases.release_merge(run.pk, owner=owner)
    return taken
