"""The Celery application; jobs live in projects.jobs."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
app = Celery("aiswe")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["projects"], related_name="jobs")
