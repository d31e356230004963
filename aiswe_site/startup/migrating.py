"""Bringing the database up to date, one process of the machine at a time."""

from __future__ import annotations

import fcntl
from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


def migrate_in_turn() -> None:
    """Run the migrations that are missing; a process that comes meanwhile waits and finds nothing left to do.

    Every command begins with it: where exactly these are recorded as done, Django's own way of finding that out, which
    loads each of them, is left out.
    """
    settings.AISWE_HOME.mkdir(parents=True, exist_ok=True)
    with (settings.AISWE_HOME / "migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _on_disk() != set(MigrationRecorder(connection).applied_migrations()):
            call_command("migrate", interactive=False, verbosity=0)


def _on_disk() -> set[tuple[str, str]]:
    """App and name of every migration that this version has."""
    return {
        (config.label, module.name)
        for config in apps.get_app_configs()
        for module in iter_modules([str(Path(config.path, "migrations"))])
        if module.name[0] not in "_~"
    }
