"""The line that starts a bubblewrap sandbox: namespaces, mounts, and the few files that are made for it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from sandbox.agent import agent_source
from sandbox.base import PackageSet, SandboxLimits
from sandbox.python_env import PythonEnv, find_node

ETC = tuple(
    "ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime mime.types ssl/certs ssl/openssl.cnf fonts".split()
)
_numbers = itertools.count()


def as_root() -> bool:
    """Whether this process is root, and needs no user namespace."""
    return os.geteuid() == 0


def identity() -> tuple[int, int]:
    """Uid and gid of the commands of a new sandbox.

    As root each sandbox gets a real uid that nobody else has: the kernel counts processes per uid, and never for root.
    As a user it is 1000 in a user namespace, which stands for our own uid outside.
    """
    if not as_root():
        return 1000, 1000
    own = 1_000_000_000 + os.getpid() % 4_194_304 * 128 + next(_numbers) % 128
    return own, own


def namespaces() -> list[str]:
    """bubblewrap's words for what is not shared with the host."""
    if as_root():
        # No user namespace: our uid would then be a mapped root, which process limits do not bind.
        # The agent uses these capabilities once, to become an ordinary user, and drops all.
        keep = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN")
        kinds = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        return [*kinds, "--cap-drop", "ALL", *(word for name in keep for word in ("--cap-add", name))]
    return ["--unshare-user", "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"]


def etc_paths() -> list[str]:
    """The host's files that programs need from /etc."""
    return [f"/etc/{name}" for name in ETC]


def host_paths(env: PythonEnv, node_modules: Path | None) -> list[tuple[Path, str]]:
    """Folders of the host other than /usr that are mounted read-only: their path outside and inside."""
    node = find_node()
    shown = [(root, str(root)) for root in (*env.roots, *([node] if node else []))]
    return shown + ([(node_modules, "/node_modules")] if node_modules else [])


def mounts(limits: SandboxLimits, packages: PackageSet | None, shown: list[tuple[Path, str]]) -> list[str]:
    """bubblewrap's words for all that can be seen inside."""
    megabyte = 1024 * 1024
    words = ["--proc", "/proc", "--dev", "/dev"]
    for folder, size, mode in (
        ("/dev/shm", 64, "1777"),  # noqa: S108
        ("/tmp", max(16, limits.disk_mb // 4), "1777"),  # noqa: S108
        ("/workspace", limits.disk_mb, "0755"),
    ):
        words += ["--perms", mode, "--size", str(size * megabyte), "--tmpfs", folder]
    # Folders that bubblewrap makes on the way to a mount are closed to all but root.
    above = {Path("/etc"), Path("/etc/ssl")} | {parent for _, place in shown for parent in Path(place).parents}
    for parent in sorted(above - {Path("/"), Path("/tmp")}):  # noqa: S108
        words += ["--perms", "0755", "--dir", str(parent)]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), f"/{name}"]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for path_in_etc in etc_paths():
        words += ["--ro-bind-try", path_in_etc, path_in_etc]
    for root, place in shown:
        words += ["--ro-bind", str(root), place]
    if packages is not None and packages.names:
        words += ["--ro-bind", str(packages.folder), "/packages"]
    return words


def small_files(uid: int, gid: int, program: str = "") -> dict[str, bytes]:
    """Files that exist only in this sandbox, by their place in it; `program` is its process 1, else the agent."""
    return {
        "/.agent.py": (program or agent_source()).encode(),
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nuser:x:{uid}:{gid}::/tmp:/bin/sh\n".encode(),
        "/etc/group": f"root:x:0:\nuser:x:{gid}:\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    }
