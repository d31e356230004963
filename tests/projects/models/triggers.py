"""Which of the triggers that keep tables insert-only are missing."""

from django.db.backends.base.base import BaseDatabaseWrapper

from projects.models.insert_only import TABLES, TRIGGERS


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of the triggers that should be there and are not; empty when the tables are guarded."""
    wanted = {f"{table}_{name}" for table in TABLES for name in TRIGGERS[connection.vendor]}
    query = "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'"
    if connection.vendor == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = {str(row[0]) for row in cursor.fetchall()}
    return sorted(wanted - found)
