"""The order in which rows are locked: run, then project, then tasks. Keeping to it is what rules out deadlocks.

NO KEY UPDATE is enough for counting under the lock, and lets others insert rows that merely point at the locked one.
"""

from __future__ import annotations

from projects.errors import BadInput, IllegalMove
from projects.models import Project, Run


def lock_run(run_id: int) -> Run:
    """The run's row, held until the transaction ends. Call it inside transaction.atomic().

    On SQLite the whole database is already held, because transactions begin IMMEDIATE. Raises BadInput when there is
    no such run.
    """
    run = Run.objects.select_for_update(no_key=True).filter(pk=run_id).first()
    if run is None:
        raise BadInput(f"There is no run {run_id}.")
    return run


def lock_project(project_id: int) -> Project:
    """The project's row, held until the transaction ends: versions of its documents and plans are counted under it."""
    return Project.objects.select_for_update(no_key=True).get(pk=project_id)


def lock_project_in_use(project_id: int) -> Project:
    """lock_project() for starting work. Raises IllegalMove for a project that was set aside."""
    project = lock_project(project_id)
    if project.archived_at is not None:
        raise IllegalMove(f"{project.name} is archived: take it up again first (`aiswe project unarchive`).")
    return project
