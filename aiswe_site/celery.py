"""The Celery application; jobs live in projects.jobs and the modules beside it that end in _jobs."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
app = Celery("aiswe")
app.set_default()  # for every thread, so that shared tasks find the broker
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["projects"], related_name="jobs")
app.autodiscover_tasks(["projects"], related_name="operations_jobs")
app.autodiscover_tasks(["projects"], related_name="chat_jobs")
app.autodiscover_tasks(["projects"], related_name="build_jobs")
app.autodiscover_tasks(["projects"], related_name="forge_jobs")


@app.task(name="aiswe.nothing")
def nothing() -> None:
    """Does nothing; its message wakes a worker that waits for one, so that it sees it should stop."""
