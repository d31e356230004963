"""Django's entry to the room."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Showing it."""

    name = "dashboard"
    default_auto_field = "django.db.models.BigAutoField"
