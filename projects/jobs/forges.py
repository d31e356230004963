"""Jobs that ask the forges: after a delivery, and by the clock."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from projects.models import PullRequest
from projects.services.forges import polling


@shared_task(name="projects.forge_jobs.read_request")
def read_request(pk: int) -> None:
    """Bring one pull request up to date."""
    close_old_connections()
    request = PullRequest.objects.select_related("link__project", "run").filter(pk=pk).first()
    if request is not None:
        polling.bring_up_to_date(request, timezone.now())


@shared_task(name="projects.forge_jobs.tend")
def tend() -> None:
    """Wake what waits for a forge."""
    close_old_connections()
    polling.tend(timezone.now())
