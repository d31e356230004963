"""Bringing the database up to date, one process of the machine at a time."""

from __future__ import annotations

import fcntl

from django.conf import settings
from django.core.management import call_command


def migrate_in_turn() -> None:
    """Run the migrations that are missing; a process that comes meanwhile waits and finds nothing left to do."""
    settings.AISWE_HOME.mkdir(parents=True, exist_ok=True)
    with (settings.AISWE_HOME / "migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("migrate", interactive=False, verbosity=0)
