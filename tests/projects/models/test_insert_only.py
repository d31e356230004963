"""The database itself refuses to change what was written, whoever asks."""

import pytest
from django.db import DatabaseError, connection, transaction

from projects.models import Blob, Event, SiteEvent, Transition
from projects.models.insert_only import create_statements
from projects.services.audit.sitelog import note
from tests.factories import make_task
from tests.projects.models.triggers import missing_triggers
from tests.rows import emit, run_statements

pytestmark = pytest.mark.django_db


@pytest.fixture
def task():
    task = make_task(status="ready")
    emit(task.run_id, "cmd", summary="ls", blobs={"output": "a file"}, key="once")
    note("anna", "role.given", "ben", {"role": "viewer"})
    return task


def refused(call):
    with pytest.raises(DatabaseError, match="is insert-only"), transaction.atomic():
        call()


@pytest.mark.parametrize(
    ("model", "column"), [(Event, "summary"), (Blob, "content"), (Transition, "reason"), (SiteEvent, "actor")]
)
def test_update_and_delete_are_refused(task, model, column):
    before = list(model.objects.order_by("pk").values())
    assert before
    refused(lambda: model.objects.update(**{column: "rewritten"}))
    refused(lambda: model.objects.all().delete())
    assert list(model.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("model", [Event, Transition, SiteEvent])
def test_saving_a_row_again_is_refused(task, model):
    refused(model.objects.first().save)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="INSERT OR REPLACE is SQLite's")
@pytest.mark.parametrize("columns", [("id", "seq", "key"), ("seq",), ("key",)])
def test_replacing_a_row_by_insert_is_refused(task, columns):
    row = Event.objects.filter(key="once").values().get()
    row["summary"] = "rewritten"
    if "id" not in columns:
        row["id"] += 1_000
    if "seq" not in columns:
        row["seq"] += 1_000
    if "key" not in columns:
        row["key"] = None
    row["payload"] = row["blobs"] = "{}"
    names = ", ".join(f'"{name}"' for name in row)

    def replace():
        with connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(row))
            cursor.execute(f"INSERT OR REPLACE INTO projects_event ({names}) VALUES ({marks})", list(row.values()))

    refused(replace)
    assert Event.objects.get(key="once").summary == "ls"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="INSERT OR REPLACE is SQLite's")
def test_replacing_content_by_insert_changes_nothing(task):
    blob = Blob.objects.get(content="a file")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO projects_blob (sha256, content, created_at) VALUES (%s, 'forged', '2026-01-01')",
            [blob.pk],
        )
    assert Blob.objects.get(pk=blob.pk).content == "a file"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no TRUNCATE")
def test_truncate_is_refused():
    def truncate():
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE projects_event CASCADE")

    refused(truncate)


def test_a_project_with_a_stream_cannot_be_deleted(task):
    with pytest.raises(Exception, match=r"protected|PROTECT"):
        task.run.project.delete()


def test_after_all_migrations_every_trigger_is_there():
    assert missing_triggers(connection) == []


def test_a_dropped_trigger_is_noticed(unguarded):
    assert len(missing_triggers(connection)) == (12 if connection.vendor == "sqlite" else 8)


def test_guarding_twice_changes_nothing():
    run_statements(connection, create_statements(connection.vendor))
    assert missing_triggers(connection) == []


def test_another_database_is_refused():
    with pytest.raises(ValueError, match="mysql"):
        create_statements("mysql")


@pytest.mark.django_db(transaction=True)
def test_a_test_with_real_transactions_is_cleared_and_guarded_again():
    make_task(status="ready")
    assert missing_triggers(connection) == []
