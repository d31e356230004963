"""Events, blobs and transitions are only ever inserted: the database itself refuses UPDATE and DELETE."""

from django.db import migrations

from projects.models.insert_only import FIRST_TABLES, create_statements, drop_statements


def guard(apps, schema_editor):
    for statement in create_statements(schema_editor.connection.vendor, FIRST_TABLES):
        schema_editor.execute(statement, params=None)


def unguard(apps, schema_editor):
    for statement in drop_statements(schema_editor.connection.vendor, FIRST_TABLES):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]
    operations = [migrations.RunPython(guard, unguard)]
