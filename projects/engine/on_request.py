"""A run for the time of a command: what a person asked for and waits for, with every word and command on its record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from agents.engine.contracts import Stopped
from agents.engine.effects import in_words
from agents.events.lifecycle import RunQueued
from projects.engine.event_log import DatabaseEventLog
from projects.engine.model_clients import announce, label
from projects.errors import IllegalMove, ProjectsError
from projects.models import Project, Run
from projects.services.audit.events import emit
from projects.services.work import leases
from projects.services.work.locks import lock_project
from projects.services.work.moves import move_run
from projects.workers.owners import is_alive, this_worker

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@contextmanager
def run_on_request(
    project: Project, queued: RunQueued, by: User, *, known: tuple[type[Exception], ...] = ()
) -> Iterator[tuple[Run, DatabaseEventLog]]:
    """A run of the kind that its first event names; it is over when the block ends, whatever happened inside.

    Of `known` errors the text is the reason that is shown. Raises IllegalMove when a person stopped it.
    """
    kind = Run.Kind(queued.kind)
    _close_orphans(project, kind)
    actor = this_worker()
    with transaction.atomic():
        lock_project(project.pk)
        run = Run.objects.create(project=project, kind=kind, started_by=by, recording=queued.recording)
        emit(run.pk, queued, actor=by.get_username())
        token = leases.claim(Run, run.pk, owner=actor, seconds=settings.LEASE_SECONDS)
        move_run(run, Run.Status.RUNNING, actor=actor)
    try:
        label(run)
        event_log = DatabaseEventLog(run, actor=actor, token=token)
        announce(run, event_log)
        yield run, event_log
    except Stopped:
        _end(run, "stopped by a person")
        raise IllegalMove(f"Run {run.pk} was stopped before it was done.") from None
    except BaseException as error:
        is_known = isinstance(error, (ProjectsError, *known))
        _end(run, str(error) if is_known else in_words(error) if isinstance(error, Exception) else "interrupted")
        raise
    finally:
        leases.release(Run, run.pk, token=token)


def _close_orphans(project: Project, kind: Run.Kind) -> None:
    """Runs whose command was killed have nobody left to end them."""
    for run in Run.objects.filter(project=project, kind=kind).exclude(status__in=Run.OVER):
        if run.lease_owner and not is_alive(run.lease_owner):
            _end(run, "its command was killed")


def _end(run: Run, why: str) -> None:
    """End a run that did not come to its end; whoever stopped it may have done so already."""
    run.refresh_from_db()
    to = Run.Status.CANCELLED if run.status == Run.Status.PAUSED else Run.Status.FAILED
    if run.status not in Run.OVER:
        with suppress(ProjectsError):
            move_run(run, to, reason=why, actor=this_worker())
