"""Verbs on suggestions: requirements that the rules did not find in a document, and the model did."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from agents.requirements.second_reading import DOUBTS
from projects.errors import IllegalMove
from projects.models import Requirement, RequirementDocument
from projects.models.requirements import RequirementQuerySet
from projects.services.accounts.rights import require
from projects.services.work.locks import lock_project


def read_by_model(document: RequirementDocument) -> RequirementQuerySet:
    """The open suggestions in the document's own words: the model reads them as asked for, and the rules do not."""
    found = document.requirements.filter(status=Requirement.Status.PROPOSED, origin=Requirement.Origin.INFERRED)
    return found.exclude(line_start=0).exclude(kind=Requirement.Kind.NON_GOAL).exclude(reason__in=DOUBTS)


def accept_read(document: RequirementDocument, *, by: User) -> int:
    """Accept what the model reads as asked for; how many these are. Raises NotAllowed and IllegalMove."""
    require(by, document.project, "requirement.edit")
    with transaction.atomic():
        lock_project(document.project_id)
        document.refresh_from_db()
        if document.status == RequirementDocument.Status.CONFIRMED:
            raise IllegalMove(f"{document} is confirmed; upload a new version to change what was confirmed.")
        return read_by_model(document).update(status=Requirement.Status.ACCEPTED)
