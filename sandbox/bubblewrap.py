"""Sandboxes made of Linux namespaces by bubblewrap: no daemon, no image, about fifty milliseconds to open."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import queue
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from sandbox.agent import agent_source
from sandbox.base import Availability, Limits, PackageSet, SandboxUnavailable
from sandbox.cgroups import Group, leftover_groups, make_group
from sandbox.owners import lives, me
from sandbox.python_env import PythonEnv, find_node, find_python
from sandbox.seccomp import filter_program
from sandbox.warm import WarmSandbox, environment
from sandbox.wire import Channel, PipeLine

INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
MAKE_ENV = "make it: python3.11 -m venv .venv-sandbox && .venv-sandbox/bin/pip install -r requirements/sandbox.lock.txt"
NO_NAMESPACES = (
    "this user may not make user namespaces: allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, "
    "kernel.unprivileged_userns_clone=1 on Debian), or use the docker backend"
)
ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "mime.types",
    "ssl/certs",
    "ssl/openssl.cnf",
    "fonts",
)
NO_ENTRY = 99  # the exit code that says: this control group may not be entered from here
# Enters the control groups before bubblewrap exists, so that no process of the sandbox is ever outside of them.
ENTER = f'for door in $DOORS; do echo 0 > "$door" || exit {NO_ENTRY}; done; unset DOORS; exec "$@"'
_numbers = itertools.count()


class Starter:
    """Starts processes from one thread that never ends.

    The kernel's parent-death signal is tied to the *thread* that forked: a sandbox opened by a short-lived
    pool thread would die with that thread.
    """

    def __init__(self) -> None:
        self._pid, self._lock = 0, threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]]

    def start(self, job: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Run `job` there and hand back its process."""
        with self._lock:
            if self._pid != os.getpid():  # first use, or we are a fork and the thread stayed behind
                self._pid, self._jobs = os.getpid(), queue.SimpleQueue()
                threading.Thread(target=self._loop, args=(self._jobs,), name="sandbox-starter", daemon=True).start()
        future: Future[subprocess.Popen[bytes]] = Future()
        self._jobs.put((job, future))
        return future.result(30)

    @staticmethod
    def _loop(jobs: queue.SimpleQueue[Any]) -> None:
        while True:
            job, future = jobs.get()
            try:
                future.set_result(job())
            except OSError as error:
                future.set_exception(error)


STARTER = Starter()


def _version() -> tuple[int, ...]:
    """bubblewrap's version; empty when there is none."""
    try:
        said = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(int(part) for part in re.findall(r"\d+", said)[:3])


def _as_root() -> bool:
    return os.geteuid() == 0


def identity() -> tuple[int, int]:
    """Uid and gid of the commands of a new sandbox.

    As root each sandbox gets a real uid that nobody else has: the kernel counts processes per uid, and never for root.
    As a user it is 1000 in a user namespace, which stands for our own uid outside.
    """
    if not _as_root():
        return 1000, 1000
    own = 1_000_000_000 + os.getpid() % 4_194_304 * 128 + next(_numbers) % 128
    return own, own


def _namespaces() -> list[str]:
    if _as_root():
        # No user namespace: our uid would then be a mapped root, which process limits do not bind.
        # The agent uses these capabilities once, to become an ordinary user, and drops all.
        keep = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN")
        kinds = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        return [*kinds, "--cap-drop", "ALL", *(word for name in keep for word in ("--cap-add", name))]
    return ["--unshare-user", "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"]


def _mounts(env: PythonEnv, limits: Limits, packages: PackageSet | None) -> list[str]:
    megabyte = 1024 * 1024
    words = ["--proc", "/proc", "--dev", "/dev"]
    for folder, size, mode in (
        ("/dev/shm", 64, "1777"),  # noqa: S108
        ("/tmp", max(16, limits.disk_mb // 4), "1777"),  # noqa: S108
        ("/workspace", limits.disk_mb, "0755"),
    ):
        words += ["--perms", mode, "--size", str(size * megabyte), "--tmpfs", folder]
    node = find_node()
    shown = [*env.roots, *([node] if node else [])]
    # Folders that bubblewrap makes on the way to a mount are closed to all but root.
    above = {Path("/etc"), Path("/etc/ssl")} | {parent for root in shown for parent in root.parents}
    for parent in sorted(above - {Path("/"), Path("/tmp")}):  # noqa: S108
        words += ["--perms", "0755", "--dir", str(parent)]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), f"/{name}"]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for name in ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for root in shown:
        words += ["--ro-bind", str(root), str(root)]
    if packages is not None and packages.names:
        words += ["--ro-bind", str(packages.folder), "/packages"]
    return words


def _small_files(uid: int, gid: int) -> dict[str, bytes]:
    return {
        "/.agent.py": agent_source().encode(),
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nuser:x:{uid}:{gid}::/tmp:/bin/sh\n".encode(),
        "/etc/group": f"root:x:0:\nuser:x:{gid}:\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    }


def _pipe_with(data: bytes) -> int:
    """A file descriptor from which `data` can be read once."""
    fd = os.memfd_create("aiswe")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class BubblewrapBackend:
    """Sandboxes by `bwrap`, as root or as a user that may make user namespaces."""

    name = "bubblewrap"

    def availability(self) -> Availability:
        """Tell whether bwrap, the sandbox's Python and the kernel's namespaces are there."""
        version = _version()
        if not version:
            return Availability(False, problem="bubblewrap (bwrap) is not installed", way_out=INSTALL)
        text = ".".join(map(str, version))
        if version < (0, 6):
            return Availability(False, text, f"bubblewrap {text} is too old, 0.6 is needed", INSTALL)
        env = find_python()
        if isinstance(env, str):
            return Availability(False, text, env, MAKE_ENV)
        trial = ["bwrap", *_namespaces(), "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
        try:
            done = subprocess.run(trial, capture_output=True, text=True, timeout=10, check=False, env={})
        except (OSError, subprocess.TimeoutExpired) as error:
            return Availability(False, text, f"bubblewrap does not start: {error}", INSTALL)
        if done.returncode:
            problem = done.stderr.strip()[:200] or "no reason given"
            return Availability(False, text, f"bubblewrap cannot make a sandbox: {problem}", NO_NAMESPACES)
        return Availability(True, text)

    def open(self, *, limits: Limits | None = None, packages: PackageSet | None = None, label: str = "") -> WarmSandbox:
        """Make a fresh sandbox; raises SandboxUnavailable."""
        limits = limits or Limits()
        env = find_python()
        if isinstance(env, str):
            raise SandboxUnavailable(f"{env}; {MAKE_ENV}")
        if shutil.which("bwrap") is None:
            raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed; {INSTALL}")
        group = make_group(f"{me()}-{next(_numbers)}", limits)
        sandbox = self._open(env, limits, packages, group)
        if sandbox is None:
            sandbox = self._open(env, limits, packages, Group())
        if sandbox is None:
            raise SandboxUnavailable("the sandbox did not start")
        return sandbox

    def _open(self, env: PythonEnv, limits: Limits, packages: PackageSet | None, group: Group) -> WarmSandbox | None:
        """A sandbox in that control group; None when the kernel does not let us in there."""
        uid, gid = identity()
        said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the sandbox
        try:
            process = self._start(env, limits, packages, group, uid, gid, said)
        except OSError as error:
            group.remove()
            said.close()
            raise SandboxUnavailable(f"bubblewrap does not start: {error.strerror or error}") from None
        assert process.stdin is not None  # noqa: S101 - asked to be a pipe, like the other
        assert process.stdout is not None  # noqa: S101
        channel = Channel(PipeLine(process.stdout.fileno(), process.stdin.fileno()))
        undertaker = _Undertaker(process, group, said)
        sandbox = WarmSandbox(
            self.name,
            channel,
            limits,
            kill=undertaker.bury,
            why_dead=lambda: _tail(said),
            oom_kills=group.oom_kills,
            release=undertaker.release,
        )
        hello = {
            "uid": uid,
            "gid": gid,
            "env": environment(env.python, packages),
            "site": [str(env.site_packages)],
            "address_space_mb": 0 if group.folders else limits.memory_mb,
            "limits": {
                "cpus": limits.cpus,
                "file_mb": limits.file_mb,
                "processes": limits.processes,
                "output_bytes": limits.output_bytes,
            },
        }
        try:
            sandbox.greet(hello)
        except SandboxUnavailable:
            if group.folders and process.returncode == NO_ENTRY:
                return None
            raise
        return sandbox

    def _start(
        self,
        env: PythonEnv,
        limits: Limits,
        packages: PackageSet | None,
        group: Group,
        uid: int,
        gid: int,
        said: IO[bytes],
    ) -> subprocess.Popen[bytes]:
        fds: list[int] = []
        words = ["bwrap", *_namespaces(), "--clearenv", "--new-session", "--die-with-parent", "--as-pid-1"]
        words += ["--hostname", "sandbox", *_mounts(env, limits, packages)]
        for path, data in _small_files(uid, gid).items():
            fds.append(_pipe_with(data))
            words += ["--perms", "0444", "--ro-bind-data", str(fds[-1]), path]
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace"]
        program = filter_program(platform.machine())
        if program:
            fds.append(_pipe_with(program))
            words += ["--seccomp", str(fds[-1])]
        words += ["--", str(env.python), "-I", "-S", "/.agent.py"]
        command: Sequence[str] = words
        surroundings = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
        if group.doors:
            command = ["sh", "-c", ENTER, "sh", *words]
            surroundings["DOORS"] = " ".join(group.doors)
        try:
            return STARTER.start(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    env=surroundings,
                    pass_fds=fds,
                    bufsize=0,
                )
            )
        finally:
            for fd in fds:
                os.close(fd)

    def reap(self) -> int:
        """Remove what dead workers left behind (their processes died with them; control groups stay); return how many."""
        count = 0
        for name, group in leftover_groups().items():
            if not lives("-".join(name.split("-")[:2])):
                group.remove()
                count += 1
        return count


def _tail(said: IO[bytes]) -> str:
    with contextlib.suppress(OSError, ValueError):
        said.seek(0)
        return said.read()[-300:].decode(errors="replace")
    return ""


class _Undertaker:
    """Ends a sandbox's processes and frees what they held, once, from whichever thread comes first."""

    def __init__(self, process: subprocess.Popen[bytes], group: Group, said: IO[bytes]) -> None:
        self._process, self._group, self._said, self._lock, self._done = process, group, said, threading.Lock(), False

    def bury(self) -> None:
        with self._lock:
            if self._done:
                return
            self._done = True
            self._process.kill()  # process 1 inside dies with it, and the kernel ends all the others
            self._process.wait(10)
            self._group.remove()

    def release(self) -> None:
        """Close the pipes and the file; only when nobody uses them any more."""
        for file in (self._process.stdin, self._process.stdout, self._said):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()
