"""Where something of a project is shown."""

from __future__ import annotations

from django.urls import reverse

from projects.models import Requirement

PAGE_LINES = 2_000  # of a document, on one page


def sentence(requirement: Requirement) -> str:
    """The address of the line that a requirement was read from, or of its card when no line says it."""
    document, line = requirement.document, requirement.line_start
    where = f"{reverse('requirements', args=[document.project_id])}?v={document.version}"
    if line > PAGE_LINES:
        where += f"&from={line}"
    return f"{where}#L{line}" if line else f"{where}#R-{requirement.pk}"
