"""The site's own trail, insert-only like the others."""

from django.db import migrations, models

from projects.models.insert_only import create_statements, drop_statements

TABLE = ("projects_siteevent",)


def guard(apps, schema_editor):
    for statement in create_statements(schema_editor.connection.vendor, TABLE):
        schema_editor.execute(statement, params=None)


def unguard(apps, schema_editor):
    for statement in drop_statements(schema_editor.connection.vendor, TABLE):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0003_accounts"),
    ]

    operations = [
        migrations.CreateModel(
            name="SiteEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveBigIntegerField(help_text="Gapless from 1.", unique=True)),
                ("at", models.DateTimeField()),
                (
                    "actor",
                    models.CharField(
                        blank=True, help_text="The user's name, the command line or a worker.", max_length=120
                    ),
                ),
                (
                    "action",
                    models.CharField(help_text="What was done, like session.started or role.given.", max_length=60),
                ),
                ("subject", models.CharField(blank=True, help_text="To whom or what.", max_length=200)),
                ("outcome", models.CharField(blank=True, max_length=20)),
                ("detail", models.JSONField(default=dict)),
                ("prev_hash", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ["seq"],
                "indexes": [models.Index(fields=["action", "seq"], name="projects_si_action_8a92d4_idx")],
            },
        ),
        migrations.RunPython(guard, unguard),
    ]
