"""Database triggers that make the audit tables insert-only, on SQLite and PostgreSQL.

Whoever owns the database can drop them; that is what the hash chain is for. They stop everything short of that: a
bug, an admin's click, an ORM call in a shell.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper

TABLES = ("projects_event", "projects_blob", "projects_transition", "projects_siteevent")

TRIGGERS = {"sqlite": ("no_update", "no_delete", "no_overwrite"), "postgresql": ("no_change", "no_truncate")}

# INSERT OR REPLACE deletes without firing a DELETE trigger on SQLite, so an insert over an existing row is refused too.
# The same blob again is no change: it is ignored.
SQLITE_OVERWRITES = {
    "projects_event": (
        "EXISTS (SELECT 1 FROM projects_event WHERE id = NEW.id) "
        "OR EXISTS (SELECT 1 FROM projects_event WHERE run_id = NEW.run_id AND seq = NEW.seq) "
        'OR EXISTS (SELECT 1 FROM projects_event WHERE run_id = NEW.run_id AND "key" = NEW."key")',
        "ABORT, 'projects_event is insert-only'",
    ),
    "projects_blob": ("EXISTS (SELECT 1 FROM projects_blob WHERE sha256 = NEW.sha256)", "IGNORE"),
    "projects_transition": (
        "EXISTS (SELECT 1 FROM projects_transition WHERE id = NEW.id)",
        "ABORT, 'projects_transition is insert-only'",
    ),
    "projects_siteevent": (
        "EXISTS (SELECT 1 FROM projects_siteevent WHERE id = NEW.id OR seq = NEW.seq)",
        "ABORT, 'projects_siteevent is insert-only'",
    ),
}


def create_statements(vendor: str) -> list[str]:
    """SQL that makes the tables insert-only; running it twice changes nothing."""
    if vendor == "sqlite":
        made = []
        for table in TABLES:
            for verb in ("UPDATE", "DELETE"):
                made.append(
                    f"CREATE TRIGGER IF NOT EXISTS {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END"
                )
            when, action = SQLITE_OVERWRITES[table]
            made.append(
                f"CREATE TRIGGER IF NOT EXISTS {table}_no_overwrite BEFORE INSERT ON {table} WHEN {when} "
                f"BEGIN SELECT RAISE({action}); END"
            )
        return made
    if vendor == "postgresql":
        made = [
            "CREATE OR REPLACE FUNCTION projects_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME; END $$"
        ]
        for table in TABLES:
            made.append(
                f"CREATE OR REPLACE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION projects_insert_only()"
            )
            made.append(
                f"CREATE OR REPLACE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION projects_insert_only()"
            )
        return made
    raise ValueError(f"the audit tables cannot be made insert-only on {vendor}: use SQLite or PostgreSQL")


def drop_statements(vendor: str) -> list[str]:
    """SQL that removes the triggers: for undoing the migration, and for tests that clear the tables."""
    on = "" if vendor == "sqlite" else " ON {}"
    return [f"DROP TRIGGER IF EXISTS {table}_{name}{on.format(table)}" for table in TABLES for name in TRIGGERS[vendor]]


def guard(_apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The migration that makes the tables insert-only."""
    for statement in create_statements(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def unguard(_apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The way back."""
    for statement in drop_statements(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


@contextmanager
def lifted(connection: BaseDatabaseWrapper) -> Iterator[CursorWrapper]:
    """The tables without their triggers, in a transaction that puts them back: for deleting a project whole."""
    with connection.cursor() as cursor:
        for statement in drop_statements(connection.vendor):
            cursor.execute(statement)
        yield cursor
        for statement in create_statements(connection.vendor):
            cursor.execute(statement)
