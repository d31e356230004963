"""Django's entry to the room."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The truth."""

    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"
