"""Jobs that look after what is deployed, and after the installation itself."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from projects.engine.operations import installation, loop
from projects.services.operations import traffic


@shared_task(name="projects.operations_jobs.operate")
def operate() -> None:
    """Look after what is deployed."""
    close_old_connections()
    loop.tend_all()


@shared_task(name="projects.operations_jobs.watch_installation")
def watch_installation() -> None:
    """Look after the installation itself, and forget traffic that is old."""
    close_old_connections()
    installation.watch()
    traffic.tidy(timezone.now())
