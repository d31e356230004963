"""Django's entry to the room."""

import os

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import pre_migrate

from agents.secrets import redaction
from projects.storage.data_version import refuse_old_data


class ProjectsConfig(AppConfig):
    """The database room."""

    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Configure redaction with the secrets of this installation; check the data before they are migrated."""
        pre_migrate.connect(refuse_old_data, sender=self)
        own = {"session-key": settings.SECRET_KEY, "search-key": settings.SEARCH_KEY}
        rows = [*settings.GIT_TOKENS, *settings.JIRA_TOKENS]  # host=token, host=user:token
        own |= {f"token-{number}": row.rpartition("=")[2].rpartition(":")[2] for number, row in enumerate(rows, 1)}
        redaction.configure({**redaction.secrets_in(os.environ), **own})
