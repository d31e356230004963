"""A draft of a plan: edits of one person that become one new version when that person says so, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents.events.lifecycle import PlanRefused
from projects.errors import BadInput, StaleVersion
from projects.models import Event, Plan, PlanEdits, RequirementDocument, SiteEvent
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_json
from projects.services.planning import plans
from projects.services.planning.plan_edits import apply_edits
from projects.services.planning.plan_rules import Examined, examine
from projects.services.work.locks import lock_project

MOST_EDITS = 500
MOST_REFUSALS = 20
GONE = "There is no draft: it was saved or dropped."


@dataclass(frozen=True)
class Refusal:
    """A plan that somebody wanted to store and that was refused: nothing of it is kept but this."""

    at: Any
    who: str
    why: str
    event: Event | None = None


def draft_of(document: RequirementDocument, user: User) -> PlanEdits | None:
    """The person's draft of the document's plan."""
    return PlanEdits.objects.filter(document=document, user=user).select_related("base").first()


def content_of(draft: PlanEdits) -> dict[str, Any]:
    """What the plan says with the edits."""
    return apply_edits(draft.base.content, draft.edits)


def check(draft: PlanEdits) -> Examined:
    """What the rules say of the draft as it is now."""
    return examine(content_of(draft), draft.document, order=True)


def is_stale(draft: PlanEdits) -> bool:
    """Whether another version appeared since the draft began."""
    newest = plans.newest_plan(draft.document)
    return newest is None or newest.pk != draft.base_id


def add_edit(plan: Plan, edit: dict[str, Any], *, by: User) -> PlanEdits:
    """Add an edit to the person's draft, which begins with the first one on `plan`, the newest version.

    Raises NotAllowed, BadInput for an edit that does not fit, and StaleVersion when another version appeared.
    """
    require(by, plan.project, "plan.edit")
    with transaction.atomic():
        lock_project(plan.project_id)
        draft = draft_of(plan.document, by) or PlanEdits(document=plan.document, base=plan, user=by)
        if draft.base_id != plan.pk or is_stale(draft):
            raise StaleVersion("Another version of the plan appeared. Save, move or drop the draft first.")
        if len(draft.edits) >= MOST_EDITS:
            raise BadInput(f"A draft holds {MOST_EDITS} edits. Save it first.")
        edits = [*draft.edits, clean_json(edit)]
        apply_edits(draft.base.content, edits)
        draft.edits = edits
        draft.save()
    return draft


def take_back(draft: PlanEdits, *, by: User) -> None:
    """Take the last edit back; without edits there is no draft."""
    with _held(draft, by):
        draft.edits = draft.edits[:-1]
        if draft.edits:
            draft.save()
        else:
            draft.delete()


def drop_draft(draft: PlanEdits, *, by: User) -> None:
    """Forget the draft."""
    with _held(draft, by):
        draft.delete()


def move_to_newest(draft: PlanEdits, *, by: User) -> Sequence[str]:
    """Put the edits on the newest version; returns why some no longer fit, and those are left out."""
    kept: list[Any] = []
    left: list[str] = []
    with _held(draft, by):
        newest = plans.newest_plan(draft.document)
        if newest is None:
            raise BadInput("There is no plan to edit.")
        for edit in draft.edits:
            try:
                apply_edits(newest.content, [*kept, edit])
                kept.append(edit)
            except BadInput as refusal:
                left.append(str(refusal))
        draft.base, draft.edits = newest, kept
        draft.save()
    return left


@contextmanager
def _held(draft: PlanEdits, by: User) -> Iterator[None]:
    """The draft as it is now, which no other request changes. Raises NotAllowed, and BadInput when it is gone."""
    require(by, draft.document.project, "plan.edit")
    with transaction.atomic():
        lock_project(draft.document.project_id)
        if not PlanEdits.objects.filter(pk=draft.pk).exists():
            raise BadInput(GONE)
        draft.refresh_from_db()
        yield


def save_draft(draft: PlanEdits, *, by: User, seen: int, comment: str = "") -> Plan:
    """Store the edits as one new version, which waits for approval; `seen` is how many edits the person saw.

    Raises BadInput for a plan that is not valid or says nothing new: no version is stored. Raises NotAllowed and
    StaleVersion.
    """
    with _held(draft, by):
        if seen != len(draft.edits):
            raise StaleVersion("The draft has changed since this page was opened. Review it first.")
    plan = _changed(draft.base, content_of(draft), by=by, comment=comment)
    draft.delete()
    return plan


def _changed(base: Plan, content: dict[str, Any], *, by: User, comment: str) -> Plan:
    plan = plans.edit_plan(base, content=content, by=by, comment=comment, base_hash=base.content_hash)
    if plan.pk == base.pk:
        raise BadInput(f"It says what v{base.version} says; the order of tasks alone makes no version.")
    return plan


def restore(plan: Plan, *, by: User) -> Plan:
    """Store what an earlier version says as a new one. Raises NotAllowed, StaleVersion and BadInput."""
    require(by, plan.project, "plan.edit")
    newest = plans.newest_plan(plan.document)
    if newest is None or newest.pk == plan.pk:
        raise BadInput(f"v{plan.version} is the newest version.")
    return _changed(newest, plan.content, by=by, comment=f"Restored from v{plan.version}.")


def edit_task(plan: Plan, edit: dict[str, Any], *, by: User, comment: str, base_hash: str) -> Plan:
    """Store one edit as a version of its own. Raises NotAllowed, StaleVersion and BadInput."""
    require(by, plan.project, "plan.edit")
    newest = plans.newest_plan(plan.document)
    if newest is None or newest.pk != plan.pk or newest.content_hash != base_hash:
        raise StaleVersion(f"The plan has changed; the newest version is v{newest.version if newest else 0}.")
    return _changed(plan, apply_edits(plan.content, [edit]), by=by, comment=comment)


def refusals(document: RequirementDocument) -> list[Refusal]:
    """The plans of a document that were refused, newest first."""
    run = plans.planning_run(document)
    if run is not None:
        rows = run.events.filter(type=PlanRefused.type).order_by("-seq")[:MOST_REFUSALS]
        return [Refusal(row.at, row.actor, str(row.payload.get("comment", "")), row) for row in rows]
    known = set(document.plans.values_list("pk", flat=True))
    notes = SiteEvent.objects.filter(action=plans.REFUSED, detail__plan__in=known).order_by("-seq")[:MOST_REFUSALS]
    return [Refusal(row.at, row.actor, str(row.detail.get("why", ""))) for row in notes]
