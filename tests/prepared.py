"""A database with all its tables, made once for the tests that start the product in a home of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
NAME = "db.sqlite3"


def prepared(home: Path) -> Path:
    """Give a home its database, unless it has one: to make all tables takes the product seconds of CPU each time."""
    if not (home / NAME).exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
        shutil.copy(_database(), home / NAME)  # with its mode
    return home


@cache
def _database() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="aiswe-tests-database-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_"))}
    kept.pop("DATABASE_URL", None)
    subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--verbosity", "0"],
        env={**kept, "AISWE_HOME": str(folder), "DJANGO_SETTINGS_MODULE": "aiswe_site.settings"},
        cwd=REPOSITORY,
        check=True,
    )
    return folder / NAME
