"""Deleting a project whole: its rows, repository, work folders and lessons. That it was stays in the site's trail."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet

from projects.errors import BadInput, IllegalMove
from projects.models import (
    Blob,
    Event,
    OriginalFile,
    Plan,
    Project,
    RequirementDocument,
    Run,
    SiteEvent,
    Task,
    Transition,
)
from projects.models.checkpoints import GraphCheckpoint, GraphWrite
from projects.models.insert_only import lifted
from projects.services.accounts.rights import require_administrator
from projects.services.audit.chain import DELETED
from projects.services.audit.sitelog import note
from projects.services.memory import lessons
from projects.services.work.locks import lock_project
from projects.storage.packages import memory_of
from projects.storage.paths import home


def delete_project(project: Project, *, by: User, named: str) -> SiteEvent:
    """Delete a project whose short name the person typed; returns what the site's trail keeps of it.

    That is its name and the end of each run's trail, so that verification knows what is gone. Its short name is never
    given again. Raises NotAllowed, BadInput for another name, and IllegalMove while a run of it is open.
    """
    require_administrator(by, "Deleting a project")
    if named != project.slug:
        raise BadInput(f"Nothing was deleted: type the short name of the project, {project.slug}.")
    with transaction.atomic():
        current = lock_project(project.pk)
        runs = Run.objects.filter(project=current)
        if (open_run := runs.exclude(status__in=Run.OVER).first()) is not None:
            raise IllegalMove(f"Run {open_run.pk} of {current.name} is open: let it finish, or cancel it first.")
        ends = list(runs.order_by("pk").values("pk", "last_seq", "head_hash"))
        trails = [{"run": end["pk"], "seq": end["last_seq"], "hash": end["head_hash"]} for end in ends]
        memory = memory_of(current)
        with lifted(connection) as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA secure_delete = ON")  # else its texts would be in the file, and in each backup
            _delete_rows(current, runs)
        kept = note(by, DELETED, current.slug, {"name": current.name, "source": current.source, "runs": trails})
    memory.unlink(missing_ok=True)
    # Of all deleted projects: what a killed process left behind is removed by the next one.
    for slug in SiteEvent.objects.filter(action=DELETED).values_list("subject", flat=True):
        _delete_folders(slug)
    if not lessons.trouble():
        lessons.forget_deleted()
    return kept


def _delete_rows(project: Project, runs: QuerySet[Run]) -> None:
    events, tasks = Event.objects.filter(run__project=project), Task.objects.filter(run__project=project)
    blobs = _named(events) - _named(Event.objects.exclude(run__project=project))
    for kind, rows in {"run": runs, "task": tasks, "plan": Plan.objects.filter(project=project)}.items():
        Transition.objects.filter(kind=kind, object_id__in=rows.values("pk")).delete()
    for pk in tasks.values_list("pk", flat=True):
        for model in (GraphCheckpoint, GraphWrite):
            model._default_manager.filter(thread_id__startswith=f"task-{pk}-g").delete()
    events.delete()
    for name in blobs:
        Blob.objects.filter(pk=name).delete()
    documents = RequirementDocument.every.filter(project=project)
    originals = list(documents.exclude(original=None).values_list("original", flat=True))
    runs.delete()
    project.plans.all().delete()
    project.delete()
    OriginalFile.objects.filter(pk__in=originals, documents=None).delete()


def _named(events: QuerySet[Event]) -> set[str]:
    """The contents that events point at."""
    values = (value for blobs in events.values_list("blobs", flat=True).iterator() for value in blobs.values())
    return {name for value in values for name in ([value] if isinstance(value, str) else value)}


def _delete_folders(slug: str) -> None:
    """A project's folders below the data folder; a link that somebody put in the place of one is left alone."""
    repositories = home() / "repositories"
    folders: list[Path] = [repositories / slug, home() / "worktrees" / slug]
    for folder in [*folders, *repositories.glob(f"{slug}.set-aside-*")]:
        if folder.name.startswith(slug) and folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
