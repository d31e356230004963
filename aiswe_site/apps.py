"""What must be in place in every process that uses Django: the Celery application and the health checks."""

from __future__ import annotations

from django.apps import AppConfig

from projects.services.insight import health


def checks() -> list[health.HealthCheck]:
    """The doctor's checks, imported when somebody asks."""
    from aiswe_site import doctor

    return [*doctor.checks()]


class SiteConfig(AppConfig):
    """The wiring as a Django application."""

    name = "aiswe_site"

    def ready(self) -> None:
        """Make ours the current Celery application, so that jobs enqueued by name find the broker."""
        from aiswe_site.celery import app

        app.set_default()
        health.register(checks)
