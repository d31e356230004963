"""Taking back a document that was uploaded by mistake, as long as nothing was built from it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from projects.errors import IllegalMove
from projects.models import Plan, RequirementDocument, Run
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.planning.overtaken import end_planning, lock_planning
from projects.services.work.approval_requests import close_questions
from projects.services.work.locks import lock_project
from projects.services.work.moves import move_plan


def why_it_stays(document: RequirementDocument) -> str:
    """Why a document cannot be taken back, and the way out; "" when it can."""
    if (build := document.runs.filter(kind=Run.Kind.BUILD).first()) is not None:
        return f"Run {build.pk} was started to build {document}. Upload one that replaces it."
    if (newer := document.replaced_by.first()) is not None:
        return f"{newer} took the place of {document}: nothing of it is asked for any more."
    return ""


def withdraw_document(document: RequirementDocument, *, by: User) -> None:
    """Take a document back: its planning ends, its plans cannot be built, what it replaced is in force again.

    Its rows stay, for the runs that read it. Raises NotAllowed and IllegalMove (see `why_it_stays`).
    """
    require(by, document.project, "document.upload")
    reason = f"{document} was withdrawn"
    with transaction.atomic():
        planning = lock_planning(document.project)  # a run is locked before its project
        lock_project(document.project_id)
        if why := why_it_stays(document):
            raise IllegalMove(why)
        end_planning(planning, document, reason, by=by)
        for plan in document.plans.exclude(status=Plan.Status.SUPERSEDED):
            move_plan(plan, Plan.Status.SUPERSEDED, reason=reason, actor=by.get_username())
            close_questions(reason, project=document.project, kind="plan", subject=plan.content_hash)
        detail = {"document": document.pk, "replaced": str(document.replaces or "")}
        note(by, "document.withdrawn", f"{document.project.slug}: {document}", detail)
        document.status, document.replaces = RequirementDocument.Status.WITHDRAWN, None
        document.save(update_fields=["status", "replaces"])
