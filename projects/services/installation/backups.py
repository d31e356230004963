"""Backups of this installation: written to a file from the command line, or kept in AISWE_HOME/backups by a page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from projects.errors import BadInput, NotFound
from projects.models import Project
from projects.services.accounts.rights import require_administrator
from projects.services.audit.checkpoints import heads_path, held
from projects.services.audit.sitelog import note
from projects.storage.backup import BackupFailed, Installation, back_up
from projects.storage.paths import home, repository_of
from projects.workers.queue import enqueue
from sandbox.locks import owned

TAKEN = "backup.taken"
CHUNK = 1 << 20


def is_offered() -> bool:
    """Whether the database is one that this backs up."""
    return bool(connection.vendor == "sqlite")


def write_backup(target: Path) -> dict[str, Any]:
    """Back up everything to a new file. Raises BadInput with PostgreSQL, BackupFailed and OSError."""
    if not is_offered():
        raise BadInput(
            "The database is PostgreSQL, which has its own way of being backed up: `pg_dump --format=custom`, then "
            f"copy {settings.AISWE_HOME} (docs/how-to/backup.md has both)."
        )
    found = {each.slug: repository_of(each).git_dir for each in Project.objects.order_by("slug")}
    repositories = {slug: folder for slug, folder in found.items() if (folder / "HEAD").is_file()}
    database = Path(str(connection.settings_dict["NAME"]))
    what = Installation(home(), database, repositories, lambda: held(heads_path()))
    entries = back_up(what, target, settings.VERSION)
    size = target.stat().st_size
    return {"file": str(target), "bytes": size, "entries": len(entries), "repositories": sorted(repositories)}


def request_backup(by: User) -> None:
    """Have a worker take one into the folder of backups. Raises NotAllowed and BadInput with PostgreSQL."""
    require_administrator(by, "Backing up")
    if not is_offered():
        raise BadInput("The database is PostgreSQL, which has its own way of being backed up: docs/how-to/backup.md.")
    enqueue("projects.jobs.take_backup", by.get_username())


def take_backup(by: str) -> None:
    """Take the backup that was asked for, unless one is being taken; success and failure stand in the site's trail."""
    with _turn() as mine:
        if not mine:
            return
        target = kept_folder() / time.strftime("aiswe-%Y%m%d-%H%M%S.zip", time.gmtime())
        try:
            made = write_backup(target)
        except (BackupFailed, OSError) as trouble:
            note(by, TAKEN, target.name, {"problem": str(trouble)[:500]}, outcome="fail")
        else:
            note(by, TAKEN, target.name, {"bytes": made["bytes"], "repositories": made["repositories"]})


def kept_backups() -> list[Path]:
    """The backups in the folder, newest first."""
    return sorted(kept_folder().glob("aiswe-*.zip"), reverse=True)


def is_being_taken() -> bool:
    """Whether a worker is at it."""
    with _turn() as free:
        return not free


def read_backup(name: str, *, by: User) -> Iterator[bytes]:
    """The content of a kept backup, piece by piece. Raises NotAllowed and NotFound."""
    require_administrator(by, "Downloading a backup")
    path = next((path for path in kept_backups() if path.name == name), None)
    if path is None:
        raise NotFound("There is no such backup.")
    note(by, "backup.downloaded", name)
    return _pieces(path)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece


def kept_folder() -> Path:
    """Where they are, readable by their owner alone."""
    folder = home() / "backups"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _turn() -> AbstractContextManager[bool]:
    """Whether nobody else takes a backup, and keep others from it; a killed process gives its turn back."""
    return owned(kept_folder() / ".turn")
