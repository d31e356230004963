"""Verbs on suggestions: requirements that the rules did not find in a document, and the model did."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from agents.requirements.second_reading import DOUBTS
from projects.errors import BadInput, IllegalMove
from projects.models import Requirement, RequirementDocument
from projects.models.requirements import RequirementQuerySet
from projects.services.accounts.rights import require
from projects.services.planning.documents import set_requirement
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


def suggested(document: RequirementDocument) -> RequirementQuerySet:
    """What the document does not say itself: a rule or a model inferred it."""
    return document.requirements.exclude(origin__in=(Requirement.Origin.EXPLICIT, Requirement.Origin.MANUAL))


def decide_suggestions(document: RequirementDocument, keys: Collection[str], *, by: User, reject_others: bool) -> None:
    """Accept the open suggestions of these keys; the others stay open, or are rejected.

    Raises NotAllowed, and BadInput for a key that is not a suggestion's and what set_requirement() refuses.
    """
    with transaction.atomic():
        known = set(suggested(document).values_list("key", flat=True))
        if unknown := sorted(set(keys) - known):
            there = ", ".join(sorted(known)) or "none"
            raise BadInput(f"{', '.join(unknown[:5])} is not a suggestion in {document}. Suggestions: {there}.")
        for row in suggested(document).filter(status=Requirement.Status.PROPOSED):
            if row.key in keys or reject_others:
                status = Requirement.Status.ACCEPTED if row.key in keys else Requirement.Status.REJECTED
                set_requirement(row, by=by, status=status)
