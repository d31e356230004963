"""What is particular to the bubblewrap backend."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandbox import bubblewrap
from sandbox.base import SandboxUnavailable
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.cgroups import Group
from sandbox.owners import lives, me
from sandbox.seccomp import DENIED, filter_program
from tests.needs import missing
from tests.sandbox.conftest import SMALL

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> BubblewrapBackend:
    """The backend as on a machine where no control group may be made."""
    made = BubblewrapBackend()
    state = made.availability()
    if not state.ok:
        missing(f"bubblewrap: {state.problem}")
    monkeypatch.setattr(bubblewrap, "make_group", lambda name, limits: Group())
    return made


@pytest.mark.parametrize(
    "bomb",
    [
        "kept = []\nwhile True: kept.append(bytearray(1 << 24))",
        "import mmap\nkept = []\nwhile True:\n    kept.append(mmap.mmap(-1, 1 << 24))\n    "
        "kept[-1].write(b'x' * (1 << 24))",
        "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        kept = b'x' * (40 << 20)\n  "
        "      time.sleep(20)\ntime.sleep(20)",
    ],
)
def test_memory_is_bounded_without_control_groups(plain: BubblewrapBackend, bomb: str) -> None:
    with plain.open(limits=SMALL) as box:
        done = box.exec(["python", "-c", bomb], seconds=20)
        assert done.out_of_memory, done
        assert not done.timed_out
        assert box.exec(["true"]).ok


def test_node_runs_without_control_groups(plain: BubblewrapBackend) -> None:
    if shutil.which("node") is None:
        missing("node is not installed")
    with plain.open() as box:
        assert box.exec(["sh", "-c", "node -e 'console.log(6 * 7)'"]).out == "42\n"


def test_a_control_group_that_cannot_be_entered_is_done_without(
    plain: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    monkeypatch.setattr(bubblewrap, "make_group", lambda name, limits: Group((closed,)))
    with plain.open(limits=SMALL) as box:
        assert box.exec(["true"]).ok


def test_without_an_environment_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AISWE_SANDBOX_PYTHON", str(tmp_path))
    assert "sandbox.lock.txt" in BubblewrapBackend().availability().hint
    with pytest.raises(SandboxUnavailable, match="no virtual environment"):
        BubblewrapBackend().open()


def test_without_bubblewrap_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    state = BubblewrapBackend().availability()
    assert not state.ok
    assert "apt-get install bubblewrap" in state.hint
    with pytest.raises(SandboxUnavailable, match="not installed"):
        BubblewrapBackend().open()


def test_reaping_removes_the_control_groups_of_the_dead() -> None:
    real = bubblewrap.make_group("4194304000-1-1", SMALL)
    if not real.folders:
        missing("no control group may be made here")
    BubblewrapBackend().reap()
    assert not any(folder.exists() for folder in real.folders)


def test_an_owner_is_known_by_more_than_its_number() -> None:
    assert lives(me())
    assert not lives(f"{os.getpid()}-1")
    assert not lives("nonsense")


def test_the_filter_knows_each_call_on_each_processor() -> None:
    assert all(len(numbers) == len(set(numbers)) == 38 for numbers in DENIED.values())
    assert len(filter_program("x86_64")) % 8 == 0
    assert filter_program("riscv64") == b""


def test_whether_it_works_does_not_depend_on_what_else_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []
    run = subprocess.run

    def watched(argv: list[str], *args: Any, **more: Any) -> Any:
        tried.append(argv)
        return run(argv, *args, **more)

    monkeypatch.setattr(subprocess, "run", watched)
    BubblewrapBackend().availability()
    trial = tried[-1]
    assert "--tmpfs" in trial
    assert ["/", "/"] not in [trial[at : at + 2] for at in range(len(trial))]
