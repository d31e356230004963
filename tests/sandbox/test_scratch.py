"""Folders of image builds: what may be deleted, and what not."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import scratch
from sandbox.base import SandboxError
from sandbox.owners import me
from tests.needs import missing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return scratch.private_folder()


@pytest.fixture
def mounted(place: Path) -> Iterator[Path]:
    """The folder of a dead builder with /proc and a file system mounted in it, one inside the other."""
    if os.geteuid() != 0:
        missing("mounting needs root")
    folder, umount = place / f"{scratch.PREFIX}4194999-1-x", str(shutil.which("umount"))
    for name, kind in (("root/a b", "tmpfs"), ("root/a b/proc", "proc")):
        (folder / name).mkdir(parents=True)
        subprocess.run(["mount", "-t", kind, kind, str(folder / name)], check=True)
    (folder / "root" / "a b" / "kept").touch()
    yield folder
    for name in ("root/a b/proc", "root/a b"):  # by itself: what a test replaced is still replaced
        subprocess.run([umount, "-l", str(folder / name)], check=False, capture_output=True)
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.slow
def test_what_a_dead_builder_left_mounted_is_unmounted_deepest_first_and_deleted(mounted: Path) -> None:
    assert [each.name for each in scratch.mounts_below(mounted)] == ["proc", "a b"]
    assert scratch.remove_leftovers() == [mounted]
    assert not mounted.exists()
    assert scratch.mounts_below(mounted) == []


@pytest.mark.slow
def test_while_something_cannot_be_unmounted_nothing_is_deleted(
    mounted: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (mounted / "before").touch()
    (tmp_path / "umount").write_text("#!/bin/sh\nexit 32\n")
    (tmp_path / "umount").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(scratch.StillMounted, match="a b/proc is still mounted"):
        scratch.remove(mounted)
    assert scratch.remove_leftovers() == []
    assert (mounted / "before").exists()


@pytest.mark.slow
def test_deleting_never_crosses_into_another_file_system(mounted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "mounts_below", lambda folder: [])  # as if the kernel had not told
    with pytest.raises(scratch.StillMounted, match="another file system"):
        scratch.remove(mounted)
    assert (mounted / "root" / "a b" / "kept").exists()


def test_a_living_builders_folder_and_what_carries_no_builder_stay(place: Path) -> None:
    for name in (f"{scratch.PREFIX}{me()}-x", "other", "note.json"):
        (place / name).mkdir()
    (place / f"{scratch.PREFIX}1-0-dead").mkdir()
    assert [path.name for path in scratch.remove_leftovers()] == [f"{scratch.PREFIX}1-0-dead"]
    assert len(list(place.iterdir())) == 3


def test_links_are_deleted_and_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    with scratch.scratch_folder() as folder:
        (folder / "link").symlink_to(tmp_path / "elsewhere")
    assert not folder.exists()
    assert (tmp_path / "elsewhere" / "kept").exists()


def test_a_folder_of_somebody_else_is_refused(place: Path, tmp_path: Path) -> None:
    place.rmdir()
    place.symlink_to(tmp_path)
    with pytest.raises(SandboxError, match="belongs to another user: remove it, or set TMPDIR"):
        scratch.private_folder()
