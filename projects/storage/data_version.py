"""Refuse a database that a newer version made, or an earlier development version: nothing in it is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import connections
from django.db.migrations.loader import MigrationLoader

from projects.errors import OldData


def refuse_old_data(using: str = "default", **_: Any) -> None:
    """A receiver of `pre_migrate`. Raises OldData when migrations were applied that this version does not have."""
    connection = connections[using]
    loader = MigrationLoader(connection)
    applied = {name for app, name in loader.applied_migrations if app == "projects"}
    known = {name for app, name in loader.disk_migrations if app == "projects"}
    if applied <= known:
        return
    newest = max(applied)
    if known & applied and newest > max(known):
        raise OldData(
            f"The database {connection.settings_dict['NAME']} was made by a newer version of AI SWE (it has {newest}; "
            f"this one ends at {max(known)}): install that version, or restore a backup; nothing in it was changed."
        )
    database = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        home = Path(database).parent
        raise OldData(
            f"The data in {home} were made by an earlier development version and cannot be read: "
            "move that folder aside, or set AISWE_HOME to another one; nothing in it was changed."
        )
    raise OldData(
        f"The database {database} was made by an earlier development version and cannot be read: "
        "name another one in DATABASE_URL; nothing in it was changed."
    )
