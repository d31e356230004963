"""Jobs on failed builds."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from agents.workspace.git import GitError
from projects.engine import build_fixes
from projects.errors import ProjectsError
from projects.models import RequirementDocument
from projects.services.planning.build_logs import JOB
from sandbox.base import SandboxError


@shared_task(name=JOB)
def repeat_build(document: int) -> None:
    """Repeat what a log says failed; what does fail here is planned, and a person decides about the rest."""
    close_old_connections()
    found = RequirementDocument.objects.select_related("project", "created_by").filter(pk=document).first()
    if found is not None:
        try:
            build_fixes.repeat(found)
        except (ProjectsError, GitError, SandboxError, OSError) as error:
            build_fixes.leave_to_a_person(found, str(error))
