"""Control groups of both versions, on a folder that looks like them."""

from __future__ import annotations

from pathlib import Path

from sandbox.base import SandboxLimits
from sandbox.cgroups import leftover_groups, make_group

LIMITS = SandboxLimits(cpus=0.5, memory_mb=64, processes=10)


def version_two(root: Path) -> Path:
    """A hierarchy where a service manager handed memory and pids down to a user's slice."""
    own = root / "user.slice" / "app.scope"
    own.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    (root / "user.slice" / "cgroup.subtree_control").write_text("cpu memory pids")
    return root


def test_version_two_makes_a_group_beside_our_own(tmp_path: Path) -> None:
    group = make_group("1-2-3", LIMITS, version_two(tmp_path), own="/user.slice/app.scope")
    folder = tmp_path / "user.slice" / "aiswe-sandbox-1-2-3"
    assert group.folders == (folder,)
    assert (folder / "memory.max").read_text() == str(64 * 1024 * 1024)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "pids.max").read_text() == "12"
    assert (folder / "cpu.max").read_text() == "50000 100000"
    assert list(leftover_groups(tmp_path, own="/user.slice/app.scope")) == ["1-2-3"]


def test_version_two_counts_the_kernels_kills(tmp_path: Path) -> None:
    group = make_group("1-2-3", LIMITS, version_two(tmp_path), own="/user.slice/app.scope")
    (group.folders[0] / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    assert group.oom_kills() == 2


def test_version_one_makes_a_group_for_each_controller(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpu"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").write_text("")
    group = make_group("1-2-3", LIMITS, tmp_path)
    assert [folder.parent.parent.name for folder in group.folders] == ["memory", "pids", "cpu"]
    assert (group.folders[0] / "memory.limit_in_bytes").read_text() == str(64 * 1024 * 1024)
    assert (group.folders[2] / "cpu.cfs_quota_us").read_text() == "50000"
    assert list(leftover_groups(tmp_path)) == ["1-2-3"]


def test_without_a_memory_controller_there_is_no_group(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    (tmp_path / "pids" / "cgroup.procs").write_text("")
    assert make_group("1-2-3", LIMITS, tmp_path).folders == ()
    assert make_group("1-2-3", LIMITS, tmp_path / "nowhere").folders == ()
    assert not (tmp_path / "pids" / "aiswe-sandbox" / "1-2-3").exists()
