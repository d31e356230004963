"""One process owns a lock file, and gives it back though a child still holds the file open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sandbox.locks import owned

WAITS = [sys.executable, "-c", "input()"]


def test_a_second_owner_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    with owned(tmp_path / "lock") as first, owned(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with owned(tmp_path / "lock") as third:
        assert third


def test_a_child_that_inherited_the_file_keeps_nobody_out(tmp_path: Path) -> None:
    with owned(tmp_path / "lock") as mine:
        assert mine
        descriptor = next(
            int(each.name) for each in Path("/proc/self/fd").iterdir() if each.resolve() == tmp_path / "lock"
        )
        child = subprocess.Popen(WAITS, stdin=subprocess.PIPE, pass_fds=[descriptor])
    try:
        with owned(tmp_path / "lock") as again:
            assert again
    finally:
        child.communicate(b"\n")
