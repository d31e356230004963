"""Work of one requirement that did not come as a document: a ticket, an incident, a failed build."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max

from projects.models import Project, RequirementDocument, Run
from projects.services.audit.canonical import clean_json, clean_line
from projects.services.planning import documents, runs


def plan_document(document: RequirementDocument, *, by: User) -> Run:
    """Confirm a document of one requirement and have it planned. Raises ProjectsError when no planning can begin."""
    documents.confirm_requirements(document, by=None, small=True)
    return runs.start_planning(document, by=by)


def small_document(
    project: Project,
    text: str,
    *,
    name: str,
    by: User,
    acceptance: Sequence[str] = (),
    autonomy: str = "",
    start: Mapping[str, Any] | None = None,
) -> RequirementDocument:
    """Make a document of one requirement, which a person or plan_document() confirms.

    Call it inside a transaction that holds the project. `text` is the requirement, however much it holds; `autonomy`
    is the document's own, else the project's; `start` is what it began with (RequirementDocument.start).
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
        start=clean_json(dict(start or {})),
        created_by=by,
    )
    lines = [1, len(text.splitlines())]
    row = {"key": "R1", "author_key": name, "text": text, "kind": "functional", "lines": lines}
    return documents.record_extraction(document, [row | {"acceptance": [*acceptance]}], [])
