"""Where work on a pull request begins: at the commit that its branch stands at, not at the base branch."""

from __future__ import annotations

from django.db.models import QuerySet

from projects.models import PullRequest, RequirementDocument

# In RequirementDocument.start: which pull request, what came of it, and when (Unix time) its results are pushed again.
REQUEST, ENDED, AGAIN_AT = "request", "ended", "again_at"


def starts_at(document: RequirementDocument | None) -> str:
    """The commit that work on a document builds on; "" for one that is about no pull request."""
    number = document.start.get(REQUEST) if document is not None else None
    rows = PullRequest.objects.filter(pk=number) if number else PullRequest.objects.none()
    return rows.values_list("commit", flat=True).first() or ""


def open_work(request: PullRequest) -> QuerySet[RequirementDocument]:
    """The documents about a pull request of which nothing came yet."""
    mine = {f"start__{REQUEST}": request.pk, f"start__{ENDED}__isnull": True}
    return RequirementDocument.objects.filter(project=request.link.project_id, **mine).order_by("pk")
