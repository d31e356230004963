"""The database of an installation, from its URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from aiswe_site.startup.configuration import WrongSetting

SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"


def database(url: str, home: Path) -> dict[str, Any]:
    """Django's description of the database at `url`; "" is SQLite in `home`. Raises WrongSetting.

    PostgreSQL: user, password, host (a percent-encoded folder for a socket) and port may be missing; what follows a
    question mark are options of the connection.
    """
    if not url:
        return _sqlite(str(home / "db.sqlite3"), home)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongSetting("DATABASE_URL has an unusable host or port.") from None
    if parts.scheme == "sqlite" and parts.path.strip("/"):
        return _sqlite(unquote(parts.path.removeprefix("/")), home)
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise WrongSetting("DATABASE_URL must be postgres://user:password@host:port/name or sqlite:///path.")
    return {
        "ENGINE": POSTGRESQL,
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "OPTIONS": dict(parse_qsl(parts.query)),
    }


def _sqlite(name: str, home: Path) -> dict[str, Any]:
    return {
        "ENGINE": SQLITE,
        "NAME": name,
        "OPTIONS": {
            # IMMEDIATE: a writer waits for its turn at BEGIN instead of failing in the middle of a transaction.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
            "PRAGMA temp_store=MEMORY;",
        },
        # Threads (worker, live server) need a file also in tests: an in-memory database belongs to one thread.
        "TEST": {"NAME": str(home / "test.sqlite3")},
    }
