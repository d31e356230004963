"""Backups that a page has taken: by administrators, one at a time, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from projects.errors import NotAllowed, NotFound
from projects.models import SiteEvent
from projects.services.installation import backups
from projects.storage.backup import BackupFailed
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any) -> Path:
    settings.AISWE_HOME = tmp_path
    return tmp_path


def write(target: Path) -> dict[str, Any]:
    assert backups.is_being_taken()
    target.write_bytes(b"zip")
    return {"file": str(target), "bytes": 3, "entries": 1, "repositories": []}


def test_a_worker_takes_it_and_the_trail_says_for_whom(
    monkeypatch: pytest.MonkeyPatch, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL is backed up in its own way")
    root = make_user("root", superuser=True)
    monkeypatch.setattr(backups, "write_backup", write)
    with django_capture_on_commit_callbacks(execute=True):
        backups.request_backup(root)
    assert enqueued == [("projects.jobs.take_backup", ("root",))]
    backups.take_backup("root")
    (path,) = backups.kept_backups()
    row = SiteEvent.objects.get(action=backups.TAKEN)
    assert (row.actor, row.subject, row.detail["bytes"]) == ("root", path.name, 3)
    assert path.parent.stat().st_mode & 0o077 == 0
    assert not backups.is_being_taken()
    assert b"".join(backups.read_backup(path.name, by=root)) == b"zip"
    assert SiteEvent.objects.filter(action="backup.downloaded", actor="root").exists()
    for name in ("../db.sqlite3", ".turn", "x.zip"):
        with pytest.raises(NotFound):
            backups.read_backup(name, by=root)


def test_a_second_one_waits_and_a_failed_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(target: Path) -> dict[str, Any]:
        backups.take_backup("other")  # while this one is at it
        raise BackupFailed("no room")

    monkeypatch.setattr(backups, "write_backup", fails)
    backups.take_backup("root")
    row = SiteEvent.objects.get(action=backups.TAKEN)
    assert (row.actor, row.outcome, row.detail["problem"]) == ("root", "fail", "no room")
    assert backups.kept_backups() == []


def test_only_administrators_take_or_read_one(enqueued: list[Any]) -> None:
    user = make_user("ada")
    with pytest.raises(NotAllowed):
        backups.request_backup(user)
    with pytest.raises(NotAllowed):
        backups.read_backup("x.zip", by=user)
    assert enqueued == []
