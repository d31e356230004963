"""A control group per sandbox, where this process may make one: memory, processes and CPU as the kernel counts them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox.base import SandboxLimits

MOUNT = Path("/sys/fs/cgroup")
PARENT = "aiswe-sandbox"


@dataclass(frozen=True)
class Group:
    """The folders that make up one sandbox's control group (one with version 2, one per controller with version 1)."""

    folders: tuple[Path, ...] = ()

    @property
    def doors(self) -> tuple[str, ...]:
        """The files into which a process writes 0 to enter."""
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def oom_kills(self) -> int:
        """How many processes the kernel has ended here for memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError, ValueError, IndexError):
                    lines = (folder / name).read_text().splitlines()
                    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        return 0

    def remove(self, seconds: float = 3.0) -> None:
        """Kill what is left in it and delete it."""
        deadline = time.monotonic() + seconds
        for folder in self.folders:
            while folder.exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                with contextlib.suppress(OSError, ValueError):
                    for pid in (folder / "cgroup.procs").read_text().split():
                        os.kill(int(pid), signal.SIGKILL)
                if time.monotonic() > deadline:
                    break
                time.sleep(0.005)


def _write(path: Path, text: str) -> bool:
    try:
        path.write_text(text)
    except OSError:
        return False
    return True


def _version_two_parent(mount: Path, own: str) -> Path | None:
    """The nearest folder above our own group where a child with memory and pids may be made."""
    here = mount / own.strip("/")
    for folder in (here, *here.parents):
        if not folder.is_relative_to(mount):
            return None
        try:
            handed_down = (folder / "cgroup.subtree_control").read_text().split()
        except OSError:
            continue
        if not os.access(folder, os.W_OK):
            continue
        if "memory" not in handed_down and not _write(folder / "cgroup.subtree_control", "+memory +pids"):
            continue
        return folder
    return None


def own_group() -> str:
    """Our own version 2 group as /proc tells it, `/` when there is none."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return "/"
    return next((line[3:] for line in lines if line.startswith("0::")), "/")


def make_group(name: str, limits: SandboxLimits, mount: Path = MOUNT, own: str | None = None) -> Group:
    """Make a control group with these limits; an empty Group where none may be made here that limits memory."""
    memory, quota, most = str(limits.memory_mb * 1024 * 1024), int(limits.cpus * 100_000), str(limits.processes + 2)
    wanted: dict[Path, dict[str, str]] = {}  # by folder, the one of memory and its limit first
    if (mount / "cgroup.controllers").exists():
        files = {"memory.max": memory, "memory.swap.max": "0", "memory.oom.group": "0", "pids.max": most}
        if parent := _version_two_parent(mount, own_group() if own is None else own):
            wanted[parent / f"{PARENT}-{name}"] = files | {"cpu.max": f"{quota} 100000"}
    elif (mount / "memory" / "cgroup.procs").exists():
        controllers = {
            "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
            "pids": {"pids.max": most},
            "cpu": {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(quota)},
        }
        there = [controller for controller in controllers if (mount / controller / "cgroup.procs").exists()]
        wanted = {mount / controller / PARENT / name: controllers[controller] for controller in there}
    folders: list[Path] = []
    for number, (folder, files) in enumerate(wanted.items()):
        written = [_write(folder / file, value) for file, value in files.items()] if _make(folder) else []
        folders += [folder] if written else []
        if number == 0 and not (written and written[0]):
            Group(tuple(folders)).remove(0)
            return Group()
    return Group(tuple(folders))


def _make(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=False)
    except OSError:
        return False
    return True


def leftover_groups(mount: Path = MOUNT, own: str | None = None) -> dict[str, Group]:
    """Groups that exist here by name, ours and those of other workers."""
    found: dict[str, list[Path]] = {}
    if (mount / "cgroup.controllers").exists():
        here = mount / (own_group() if own is None else own).strip("/")
        for parent in (here, *here.parents):
            if parent.is_relative_to(mount) and parent.is_dir():
                for folder in parent.glob(f"{PARENT}-*"):
                    found.setdefault(folder.name.removeprefix(f"{PARENT}-"), []).append(folder)
    else:
        for folder in mount.glob(f"*/{PARENT}/*"):
            if folder.is_dir():
                found.setdefault(folder.name, []).append(folder)
    return {name: Group(tuple(folders)) for name, folders in found.items()}
