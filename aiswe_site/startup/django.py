"""Django for every process of the product that is not started by Django itself."""

from __future__ import annotations

import os


def start(*, migrate: bool = True) -> None:
    """Load Django and bring the database up to date."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
    import django

    django.setup()
    if migrate:
        from aiswe_site.startup.migrating import migrate_in_turn

        migrate_in_turn()
