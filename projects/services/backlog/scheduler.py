"""The backlog's scheduler: one ticket after another, in order, inside the window, while the caps allow.

Called by every sweep with the time; what it did is in the database, so a sweep that is missed costs only time.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction

from agents.requirements.extract import extract
from projects.errors import ProjectsError
from projects.models import BacklogItem, Plan, Project, Run
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note
from projects.services.backlog.forecast import State, does_not_fit, progress_of
from projects.services.backlog.hours import closed
from projects.services.backlog.items import open_items
from projects.services.planning import runs
from projects.services.planning.small_work import plan_document, small_document
from projects.services.work.locks import lock_project

log = logging.getLogger(__name__)
SCHEDULER = "scheduler"


def advance_all(now: datetime) -> None:
    """One step for every project whose backlog has something assigned."""
    waiting = BacklogItem.objects.filter(left_out="", done_at=None, assigned_at__isnull=False)
    for project in Project.objects.filter(archived_at=None, pk__in=waiting.values("project")):
        try:
            advance(project, now)
        except ProjectsError as refusal:
            log.warning("the backlog of %s rests: %s", project.slug, refusal)


def held_up_by(project: Project) -> str:
    """What else the project is at, which a new plan or build would get in the way of; "" for nothing."""
    run = Run.objects.filter(project=project).exclude(status__in=Run.OVER).order_by("pk").first()
    if run is not None:
        return f"run {run.pk}"
    undecided = (Plan.Status.DRAFTING, Plan.Status.PROPOSED, Plan.Status.INVALID)
    plan = Plan.objects.filter(project=project, status__in=undecided).first()
    return f"plan v{plan.version}" if plan is not None else ""


def advance(project: Project, now: datetime) -> None:
    """Bring the first ticket that is not done one step on, if this is the hour for it and nothing else is going on."""
    if closed(project, now) is not None or held_up_by(project):
        return
    for item in open_items(project).filter(assigned_at__isnull=False).select_related("document", "assigned_by"):
        stands = progress_of(item)
        if stands.state == State.DONE:
            BacklogItem.objects.filter(pk=item.pk).update(done_at=now)
            continue
        if stands.state == State.LEFT_OUT:
            _leave_out(item, stands.why)
            continue
        if stands.state == State.APPROVED:
            _build(item)
        elif stands.state == State.WAITING and not does_not_fit(item, now):
            _begin(item)
        return  # in order: nothing overtakes a ticket that needs somebody, or that does not fit


def _begin(item: BacklogItem) -> None:
    """Make the ticket a document of one requirement and have it planned, in the name of who assigned it."""
    project, by = item.project, item.assigned_by
    if by is None:
        return
    try:
        with transaction.atomic():
            lock_project(project.pk)
            if not BacklogItem.objects.filter(pk=item.pk, document=None, assigned_at__isnull=False).exists():
                return
            text = f"{item.title}\n\n{item.text}".strip()
            # Rules find one requirement in a sentence; a ticket is one however many it holds.
            found = extract(text).requirements
            own = [one for one in found if one.kind != "acceptance"]
            acceptance = [*(own[0].acceptance if len(own) == 1 else ()), *(one.text for one in found if one not in own)]
            run = plan_document(
                small_document(project, text, name=item.key, by=by, acceptance=acceptance, autonomy=item.autonomy),
                by=by,
            )
            item.document = run.document
            item.save(update_fields=["document"])
            note(SCHEDULER, "backlog.begun", project.slug, {"item": item.key, "run": run.pk})
    except ProjectsError as refusal:
        _leave_out(item, str(refusal))


def _build(item: BacklogItem) -> None:
    plan = Plan.objects.filter(document=item.document, status=Plan.Status.APPROVED).first()
    if plan is None:
        return
    try:
        run = runs.start_build(plan, by=item.assigned_by)
        note(SCHEDULER, "backlog.build_begun", item.project.slug, {"item": item.key, "run": run.pk})
    except ProjectsError as refusal:
        _leave_out(item, str(refusal))


def _leave_out(item: BacklogItem, why: str) -> None:
    """Take a ticket out of the queue that cannot be begun, so that it does not hold up the others for ever."""
    BacklogItem.objects.filter(pk=item.pk).update(left_out=clean_line(why, 300))
    note(SCHEDULER, "backlog.left_out", item.project.slug, {"item": item.key, "why": why}, outcome="fail")
