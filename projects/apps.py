"""Django's entry to the room."""

import os

from django.apps import AppConfig
from django.conf import settings

from agents import redaction


class ProjectsConfig(AppConfig):
    """The truth."""

    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tell the choke point which values this installation keeps secret."""
        redaction.configure({**redaction.secrets_in(os.environ), "session-key": settings.SECRET_KEY})
