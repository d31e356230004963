"""A data folder of an earlier development version is refused in one sentence, and left as it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.aiswe_site.running import aiswe
from tests.prepared import prepared


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder whose database had other migrations."""
    folder = tmp_path / "home"
    folder.mkdir()
    with sqlite3.connect(folder / "db.sqlite3") as database:
        database.execute("CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied text)")
        database.execute("INSERT INTO django_migrations VALUES (1, 'projects', '0001_initial', '2026-01-01')")
        database.execute("CREATE TABLE projects_run (id integer PRIMARY KEY)")
        database.execute("INSERT INTO projects_run VALUES (7)")
    database.close()
    return folder


@pytest.mark.parametrize("words", [("history",), ("up", "--port", "0")])
def test_it_is_refused_with_the_folder_and_a_way_out(home: Path, words: tuple[str, ...]) -> None:
    done = aiswe(*words, home=home)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert f"The data in {home} were made by an earlier development version and cannot be read" in said
    assert "move that folder aside, or set AISWE_HOME to another one" in said
    assert "Traceback" not in said
    with sqlite3.connect(home / "db.sqlite3") as database:
        assert database.execute("SELECT id FROM projects_run").fetchall() == [(7,)]
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    assert tables == {"django_migrations", "projects_run"}


@pytest.mark.parametrize("words", [("history",), ("up", "--port", "0"), ("backup", "b.zip")])
def test_a_newer_version_s_data_are_refused_and_left_as_they_are(tmp_path: Path, words: tuple[str, ...]) -> None:
    home = prepared(tmp_path / "home")
    with sqlite3.connect(home / "db.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('projects', '9000_later', '2030-01-01')"
        )
    database.close()
    done = aiswe(*words, home=home)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "was made by a newer version of AI SWE (it has 9000_later" in said
    assert "Traceback" not in said
