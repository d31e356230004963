"""What must be in place in every process that uses Django: the Celery application."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """The wiring as a Django application."""

    name = "aiswe_site"

    def ready(self) -> None:
        """Make ours the current Celery application, so that jobs enqueued by name find the broker."""
        from aiswe_site.celery import app

        app.set_default()
