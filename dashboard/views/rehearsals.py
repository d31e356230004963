"""What came of a project's past commits when they were done again: how far it can be trusted with this repository."""

from __future__ import annotations

from django.http import HttpResponse

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.text.safe import one_line
from projects.models import Project
from projects.models.project import Autonomy
from projects.services.insight.rehearsals import REFERENCE, rehearsals_of
from projects.storage.paths import home, repository_of


@page("GET", Project)
def overview(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Each rehearsal of the project's repository: what to expect, and the commits it was learned from."""
    levels = dict(Autonomy.choices)
    found = [
        {**document, "order": order, "title": _title(order.model), "level": levels[document["autonomy"]]}
        for order, document in rehearsals_of(repository_of(project).git_dir.resolve(), home())
    ]
    return show(request, "pages/rehearsals.html", {"rehearsals": found})


def _title(model: str) -> str:
    if model == REFERENCE:
        return "Upstream's own change in place of a model"
    return f"Built by {one_line(model, 80)}" if model else "Looked at without a model"
