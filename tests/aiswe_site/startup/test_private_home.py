"""The data folder belongs to one user, whatever stood before; its keys are whole or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from aiswe_site.startup import home as home_module
from aiswe_site.startup.home import Home, NotOurs, keep_database_private, keep_private
from projects.errors import UnusableKey
from projects.storage import key_files
from projects.storage.key_files import kept_key, make_once, replace_file
from tests.aiswe_site.running import aiswe


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_and_a_database_open_to_others_are_closed_and_it_is_said_once(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o755)
    database = folder / "db.sqlite3"
    database.touch()
    database.chmod(0o644)
    first = aiswe("history", home=folder)
    second = aiswe("history", home=folder)
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stderr.count("could be used by other users") == 2
    assert "could be used" not in second.stderr
    assert (mode(folder), mode(database)) == (0o700, 0o600)


def test_a_new_database_is_private_from_its_first_byte(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        keep_database_private(tmp_path / "db.sqlite3")
    finally:
        os.umask(old)
    assert mode(tmp_path / "db.sqlite3") == 0o600


def test_a_folder_of_another_user_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module.os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(NotOurs, match="belongs to another user") as refused:
        keep_private(tmp_path, 0o700)
    assert "AISWE_HOME" in refused.value.hint
    with pytest.raises(NotOurs):
        Home(tmp_path)


def test_a_full_disk_leaves_no_empty_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(key_files.os, "fsync", full)
        for write in (make_once, replace_file):
            with pytest.raises(OSError, match="No space"):
                write(tmp_path / "secret_key", b"x" * 64)
    assert list(tmp_path.iterdir()) == []
    key = kept_key(tmp_path / "secret_key", lambda: "x" * 64, 50)
    assert kept_key(tmp_path / "secret_key", lambda: "y" * 64, 50) == key
    assert mode(tmp_path / "secret_key") == 0o600


@pytest.mark.parametrize("content", ["", "short", "\n\n"])
def test_an_incomplete_key_is_refused_and_left_as_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / "secret_key").write_text(content)
    with pytest.raises(UnusableKey, match="Put it back from a backup"):
        kept_key(tmp_path / "secret_key", lambda: "x" * 64, 50)
    assert (tmp_path / "secret_key").read_text() == content


def test_a_command_says_that_the_key_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    done = aiswe("history", home=tmp_path)
    assert done.returncode == 1
    assert "holds no complete key" in done.stderr
    assert "Traceback" not in done.stderr
