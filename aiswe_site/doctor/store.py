"""Where data lives and how it travels to the pages."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import DatabaseError, connection, transaction

from agents.memory import minilm
from agents.memory.embedders import HASHING, MINILM, embedding_in
from aiswe_site.doctor.result import CheckVerdict
from projects.storage.disk_space import size_of

PAGES_NEED = ("css/base.css", "css/tokens.css", "favicon.svg")


def database() -> CheckVerdict:
    """It can be written, and readers do not wait for writers."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE TABLE aiswe_doctor (probe integer)")
            cursor.execute("INSERT INTO aiswe_doctor VALUES (1)")
            transaction.set_rollback(True)
        with connection.cursor() as cursor:
            if connection.vendor != "sqlite":
                return CheckVerdict(True, f"{connection.vendor}: writable")
            cursor.execute("PRAGMA journal_mode")
            mode = cursor.fetchone()[0]
    except DatabaseError as error:
        return CheckVerdict(
            False, f"It cannot be written: {error}", f"Check the owner and the free space of {settings.AISWE_HOME}."
        )
    return CheckVerdict(
        mode == "wal",
        f"SQLite: writable, journal mode {mode}",
        "Keep AISWE_HOME on a local disk: WAL does not work on network file systems.",
    )


def channel_layer() -> CheckVerdict:
    """A message sent comes back."""

    async def echo() -> bool:
        layer = get_channel_layer()
        assert layer is not None  # noqa: S101  the settings always name one
        channel, word = await layer.new_channel(), secrets.token_hex(4)
        await layer.send(channel, {"type": "doctor.echo", "word": word})
        return bool((await layer.receive(channel))["word"] == word)

    started = time.monotonic()
    try:
        came_back = async_to_sync(echo)()
    except OSError as error:
        return CheckVerdict(False, f"It does not answer: {error}", "Start Redis, or unset REDIS_URL to run without it.")
    kind = "Redis" if settings.REDIS_URL else "in memory"
    took = (time.monotonic() - started) * 1000
    return CheckVerdict(came_back, f"{kind}: a message came back in {took:.0f} ms", "Restart aiswe.")


def memory() -> CheckVerdict:
    """The memory can be written, and the embedding that the settings name is there."""
    folder = Path(settings.AISWE_HOME) / "chroma"
    chosen = embedding_in(folder, settings.EMBEDDING)
    if chosen == MINILM:
        try:
            minilm.folder()
        except minilm.NotInstalled as missing:
            return CheckVerdict(False, "The embedding is minilm, which is not installed", str(missing))
    vectors = f"embedding {chosen}"
    if chosen == HASHING and minilm.is_installed():
        vectors += " (MiniLM is installed too: AISWE_EMBEDDING=minilm, then index the projects again)"
    if not folder.exists():
        return CheckVerdict(True, f"Empty: it fills with the first import or lesson; {vectors}")
    try:
        probe = folder / f".doctor-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        return CheckVerdict(False, f"{folder} cannot be written: {error.strerror}", "Check the owner of the folder.")
    return CheckVerdict(True, f"{folder}: {size_of(folder) / 1e6:.1f} MB; {vectors}")


def static_files() -> CheckVerdict:
    """Style sheets and scripts are there."""
    missing = [name for name in PAGES_NEED if finders.find(name) is None]
    return CheckVerdict(
        not missing,
        f"Missing: {', '.join(missing)}" if missing else "All there",
        "Run aiswe from a complete checkout: git status shows what was removed.",
    )
