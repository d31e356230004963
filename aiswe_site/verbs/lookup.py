"""What verbs share: rows as the caller sees them, pages of lists, and the words for what comes next."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet
from pydantic import Field

from aiswe_site.startup.home import Home, wake_worker
from aiswe_site.verbs.callers import APPROVE, Caller
from dashboard.access import visibility
from projects.errors import NotFound
from projects.models import Approval, Plan, Project, RequirementDocument, Run, Task

MOST = 200  # rows of a page
LISTERS = {Plan: "list_plans", Approval: "list_approvals", Run: "list_runs"}  # for the others list_projects
Slug = Annotated[str, Field(min_length=1, max_length=80, description="Short name of the project (list_projects).")]
AnyProject = Annotated[str, Field(max_length=80, description='Only of this project; "" for all.')]
Number = Annotated[int, Field(ge=1, le=10**15)]
OrNewest = Annotated[int, Field(ge=0, le=10**15, description="Its number; 0 for the newest of the project.")]
Reason = Annotated[str, Field(max_length=4_000, description="Why; it is kept on the trail.")]
TaskKey = Annotated[str, Field(min_length=1, max_length=40, description="Key of the task, like T-01 (run_status).")]
Cursor = Annotated[
    str, Field(pattern=r"^[0-9]{0,15}$", description="`next` of the page before; the first page without it.")
]
Limit = Annotated[int, Field(ge=1, le=MOST, description="Rows of a page at most.")]
Row = TypeVar("Row", bound=Model)


def row_of(caller: Caller, model: type[Row], **by: Any) -> Row:
    """The row as the caller sees it. Raises NotFound, also for what exists and they may not see."""
    found = visibility.visible(model, caller.user).filter(**by).first()
    if found is None:
        word, lister = model._meta.verbose_name, LISTERS.get(model, "list_projects")
        raise NotFound(f"There is no {word} {next(iter(by.values()))!r} that you see. `{lister}` shows what there is.")
    return found


def document_of(caller: Caller, slug: str, number: int) -> RequirementDocument:
    """A document of a project, the newest for 0. Raises NotFound."""
    project = row_of(caller, Project, slug=slug)
    if number:
        return row_of(caller, RequirementDocument, pk=number, project=project)
    if (newest := project.documents.first()) is not None:
        return newest
    raise NotFound(f"{project.name} has no document yet. `add_document` gives it one.")


def named_task(caller: Caller, run: int, key: str) -> Task:
    """A task of a run by its key. Raises NotFound."""
    row = row_of(caller, Run, pk=run)
    found = row.tasks.filter(key=key).first()
    if found is None:
        keys = ", ".join(row.tasks.values_list("key", flat=True)[:20]) or "none"
        raise NotFound(f"Run {row.pk} has no task {key!r}; it has {keys}.")
    return found


def page_of(rows: QuerySet[Row], cursor: str, limit: int, *, newest_first: bool = True) -> tuple[list[Row], str | None]:
    """A page of rows by their numbers, and the cursor of the next one; None at the end."""
    if cursor:
        rows = rows.filter(**{"pk__lt" if newest_first else "pk__gt": int(cursor)})
    found = list(rows.order_by("-pk" if newest_first else "pk")[: limit + 1])
    return found[:limit], str(found[limit - 1].pk) if len(found) > limit else None


def by_person(caller: Caller, verb: str, command: str) -> str:
    """The next step where a person decides: by a verb that the caller may use, or by the person alone."""
    also = f", or `{verb}` at their word" if caller.may(APPROVE) else ""
    return f"A person decides: the dashboard, `{command}`{also}."


def woken() -> str:
    """Wake the server that does the work, or say that none is there to do it."""
    if settings.REDIS_URL or wake_worker(Home.from_environment()):
        return ""
    return "No `aiswe up` runs on this data folder: the work begins when it is started."
