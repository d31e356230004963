"""What must be in place in every process that uses Django: the health checks."""

from __future__ import annotations

from collections.abc import Collection

from django.apps import AppConfig

from projects.services.installation import health


def checks(awaited: Collection[str] | None = None) -> list[health.HealthCheck]:
    """The doctor's checks, imported when somebody asks."""
    from aiswe_site import doctor

    return [*doctor.checks(awaited)]


class SiteConfig(AppConfig):
    """The wiring as a Django application."""

    name = "aiswe_site"

    def ready(self) -> None:
        """Offer the doctor's checks to the page of health."""
        health.register(checks)
