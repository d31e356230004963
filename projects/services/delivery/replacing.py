"""A repository that can no longer be read makes room: for the one of a backup, or for one that a person puts there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.contrib.auth.models import User

from agents.workspace.git import GitError
from projects.errors import IllegalMove
from projects.models import Project, Run, Task
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.storage.backup import unpack_repository
from projects.storage.paths import repository_of


def replace_repository(project: Project, *, by: User, backup: Path | None = None) -> Path | None:
    """Give a damaged repository another name, which is returned; with a `backup`, its own takes the place.

    Nothing is deleted. Raises NotAllowed, IllegalMove for a repository that can be read or is being worked in,
    BackupFailed and GitError.
    """
    require(by, project, "project.edit")
    if task := Task.objects.filter(run__project=project, status=Task.Status.RUNNING).first():
        raise IllegalMove(f"{task.key} of run {task.run_id} is at work: pause the run first.")
    if _problem(project) == "":
        raise IllegalMove(f"The repository of {project.name} can be read: there is nothing to set aside.")
    repository = repository_of(project)
    repository.root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".replacing-", dir=repository.root.parent) as draft:
        made = unpack_repository(backup, project.slug, Path(draft)) if backup else None
        aside = repository.set_aside() if repository.root.exists() else None
        if made is not None:
            made.rename(repository.root)
    names = {"aside": aside.name if aside else "", "backup": backup.name if backup else ""}
    note(by, "repository.set_aside", project.slug, names)
    return aside


def _problem(project: Project) -> str:
    """Why its repository cannot be used, at the base or at the branch of a build that is not over; "" if it can."""
    builds = (
        Run.objects.filter(project=project, kind=Run.Kind.BUILD).exclude(status__in=Run.OVER).exclude(base_commit="")
    )
    try:
        for run in (None, *builds):
            repository_of(project, run).check()
    except GitError as damaged:
        return str(damaged)
    return ""
