"""Work of one requirement that did not come as a document: a ticket, an incident."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Max

from projects.models import Project, RequirementDocument, Run
from projects.services.audit.canonical import clean_line
from projects.services.planning import documents
from projects.services.work import runs


def plan_small(
    project: Project, text: str, *, name: str, by: User, acceptance: Sequence[str] = (), autonomy: str = ""
) -> Run:
    """Make a confirmed document of one requirement and have it planned, in the name of `by`.

    Call it inside a transaction that holds the project. `text` is the requirement, however much it holds; `autonomy`
    is the document's own, else the project's. Raises ProjectsError when no planning can begin.
    """
    last = RequirementDocument.every.filter(project=project).aggregate(last=Max("version"))["last"] or 0
    document = RequirementDocument.objects.create(
        project=project,
        version=last + 1,
        filename=clean_line(f"{name}.md", 255),
        text=text,
        encoding="utf-8",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        autonomy=autonomy,
        created_by=by,
    )
    lines = [1, len(text.splitlines())]
    row = {"key": "R1", "author_key": name, "text": text, "kind": "functional", "lines": lines}
    document = documents.record_extraction(document, [row | {"acceptance": [*acceptance]}], [])
    documents.confirm_requirements(document, by=None, small=True)
    return runs.start_planning(document, by=by)
