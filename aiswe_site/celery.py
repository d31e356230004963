"""The Celery application; its jobs are those of projects.jobs."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
app = Celery("aiswe")
app.set_default()  # for every thread, so that shared tasks find the broker
app.config_from_object("django.conf:settings", namespace="CELERY")
for _module in ("runs", "chats", "forges", "upkeep"):
    app.autodiscover_tasks(["projects.jobs"], related_name=_module)


@app.task(name="aiswe.nothing")
def nothing() -> None:
    """Does nothing; its message wakes a worker that waits for one, so that it sees it should stop."""
