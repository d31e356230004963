"""Every row a page may touch, fetched through the person who asks: others' ids do not exist for them."""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, F, Model, Q, QuerySet

from projects.models import (
    Approval,
    Deployment,
    Finding,
    Incident,
    Plan,
    Project,
    Requirement,
    RequirementDocument,
    Run,
    Target,
    Task,
)

Row = TypeVar("Row", bound=Model)

# The field that leads from a row to its project, and what is fetched with the row.
PATHS: dict[type[Model], tuple[str, tuple[str, ...]]] = {
    Project: ("pk", ()),
    RequirementDocument: ("project", ("project",)),
    Requirement: ("document__project", ("document__project",)),
    Plan: ("project", ("project", "document", "decided_by")),
    Run: ("project", ("project", "plan", "document")),
    Task: ("run__project", ("run__project", "run__plan")),
    Finding: ("task__run__project", ("task__run__project",)),
    Target: ("project", ("project", "live", "wanted")),
    Deployment: ("target__project", ("target__project",)),
    Incident: ("target__project", ("target__project", "deployment", "request", "run", "fix")),
    Approval: ("project", ("project", "run", "task", "decided_by")),
}


def counted(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs with how many tasks they have and how many of those are merged, and the title of a chat."""
    return runs.annotate(
        title=F("chat__title"), done=Count("tasks", filter=Q(tasks__status=Task.Status.MERGED)), all=Count("tasks")
    )


def around(row: Model) -> dict[str, Model]:
    """A row and the rows it belongs to, by the names that templates use: task, run, project."""
    found = {str(row._meta.model_name): row}
    for name in PATHS[type(row)][0].replace("pk", "").split("__"):
        above = getattr(row, name) if name else None
        if above is None:
            break  # a project itself; or an incident of the installation, which has no target
        row = found[name] = above
    return found


def visible(model: type[Row], user: User | AnonymousUser) -> QuerySet[Row]:
    """The rows of `model` in the projects that the person is a member of; administrators see the installation's too."""
    path, related = PATHS[model]
    mine = Q(**{f"{path}__in": Project.objects.visible_to(user)})
    if model is Incident and user.is_superuser:
        mine |= Q(target=None)
    rows = model._default_manager.filter(mine)
    return rows.select_related(*related) if related else rows
