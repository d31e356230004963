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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Unpack

from sandbox.base import (
    Availability,
    PackageSet,
    SandboxLimits,
    SandboxUnavailable,
    SandboxUnsafe,
    SandboxWish,
)
from sandbox.bubblewrap_line import as_root, etc_paths, host_paths, identity, mounts, namespaces, small_files
from sandbox.cgroups import Group, leftover_groups, make_group
from sandbox.expected_state import line_problems
from sandbox.node_env import find_node_modules
from sandbox.owners import lives, me
from sandbox.python_env import PythonEnv, find_python
from sandbox.seccomp import filter_program
from sandbox.warm import WarmSandbox, agent_limits, environment
from sandbox.wire import Channel, PipeLine

INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
MAKE_ENV = "make it: python3.11 -m venv .venv-sandbox && .venv-sandbox/bin/pip install -r requirements/sandbox.lock.txt"
NO_NAMESPACES = (
    "this user may not make user namespaces: allow them (sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, "
    "kernel.unprivileged_userns_clone=1 on Debian), or use the docker backend"
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
        answer = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(int(part) for part in re.findall(r"\d+", answer)[:3])


def _pipe_with(data: bytes) -> int:
    """A file descriptor from which `data` can be read once."""
    fd = os.memfd_create("aiswe")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


@dataclass(frozen=True)
class _Wanted:
    """What one sandbox is to hold."""

    env: PythonEnv
    limits: SandboxLimits
    packages: PackageSet | None
    node_modules: Path | None
    program: str = ""  # of process 1, else the agent
    inherited: tuple[int, ...] = ()  # open files that it gets
    folders: tuple[Path, ...] = ()  # of the host, shown read-only at their own path

    def host_paths(self) -> list[tuple[Path, str]]:
        own = host_paths(self.env, self.node_modules)
        return own + [(folder, str(folder)) for folder in self.folders if str(folder) not in dict(own).values()]

    def shown(self) -> tuple[str, ...]:
        """Where something of the host, or made for this sandbox, can be read."""
        return (*etc_paths(), *small_files(0, 0), *(place for _, place in self.host_paths()))


class BubblewrapBackend:
    """Sandboxes by `bwrap`, as root or as a user that may make user namespaces."""

    name = "bubblewrap"

    def __init__(self, also: Sequence[str] = ()) -> None:
        """`also` are bubblewrap options besides ours: tests show with them that dangerous ones are refused."""
        self._also = tuple(also)

    def availability(self) -> Availability:
        """Tell whether bwrap, the sandbox's Python and the kernel's namespaces are there."""
        version = _version()
        if not version:
            return Availability(False, problem="bubblewrap (bwrap) is not installed", hint=INSTALL)
        text = ".".join(map(str, version))
        if version < (0, 6):
            return Availability(False, text, f"bubblewrap {text} is too old, 0.6 is needed", INSTALL)
        env = find_python()
        if isinstance(env, str):
            return Availability(False, text, env, MAKE_ENV)
        # What a sandbox mounts, and not all there is: mounts of others come and go meanwhile.
        trial = ["bwrap", *namespaces(), *mounts(SandboxLimits(), None, []), "true"]
        try:
            done = subprocess.run(trial, capture_output=True, text=True, timeout=10, check=False, env={})
        except (OSError, subprocess.TimeoutExpired) as error:
            return Availability(False, text, f"bubblewrap does not start: {error}", INSTALL)
        if done.returncode:
            problem = done.stderr.strip()[:200] or "no reason given"
            return Availability(False, text, f"bubblewrap cannot make a sandbox: {problem}", NO_NAMESPACES)
        return Availability(True, text)

    def open(self, **wanted: Unpack[SandboxWish]) -> WarmSandbox:
        """Make a fresh sandbox; raises SandboxUnavailable, and SandboxUnsafe before anything of it runs."""
        return self.open_with("", (), **wanted)

    def open_with(
        self, program: str, inherited: Sequence[int], folders: Sequence[Path] = (), **wanted: Unpack[SandboxWish]
    ) -> WarmSandbox:
        """A sandbox whose process 1 is `program` and has these open files; otherwise like open().

        `folders` of the host can be read in it.
        """
        limits = wanted.get("limits", SandboxLimits())
        env = find_python()
        if isinstance(env, str):
            raise SandboxUnavailable(f"{env}; {MAKE_ENV}")
        if shutil.which("bwrap") is None:
            raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed; {INSTALL}")
        packages, modules = wanted.get("packages"), find_node_modules()
        parts = _Wanted(env, limits, packages, modules, program, tuple(inherited), tuple(folders))
        group = make_group(f"{me()}-{next(_numbers)}", limits)
        sandbox = self._open(parts, group)
        if sandbox is None:
            sandbox = self._open(parts, Group())
        if sandbox is None:
            raise SandboxUnavailable("the sandbox did not start")
        return sandbox

    def _open(self, wanted: _Wanted, group: Group) -> WarmSandbox | None:
        """A sandbox in that control group; None when the kernel does not let us in there."""
        uid, gid = identity()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the sandbox
        try:
            process = self._start(wanted, group, uid, gid, stderr)
        except (SandboxUnsafe, OSError) as error:
            group.remove()
            stderr.close()
            if isinstance(error, SandboxUnsafe):
                raise
            raise SandboxUnavailable(f"bubblewrap does not start: {error.strerror or error}") from None
        assert process.stdin is not None  # noqa: S101 - asked to be a pipe, like the other
        assert process.stdout is not None  # noqa: S101
        channel = Channel(PipeLine(process.stdout.fileno(), process.stdin.fileno()))
        undertaker = _Undertaker(process, group, stderr)
        limits = wanted.limits
        sandbox = WarmSandbox(
            self.name,
            channel,
            limits,
            kill=undertaker.bury,
            why_dead=lambda: _tail(stderr),
            oom_kills=group.oom_kills,
            release=undertaker.release,
            shown=wanted.shown(),
        )
        hello = {
            "uid": uid,
            "gid": gid,
            "env": environment(wanted.env.python, wanted.packages),
            "site": [str(wanted.env.site_packages)],
            "address_space_mb": 0 if group.folders else limits.memory_mb,
            "limits": agent_limits(limits),
        }
        try:
            sandbox.greet(hello)
        except SandboxUnavailable:
            if group.folders and process.returncode == NO_ENTRY:
                return None
            raise
        return sandbox

    def _start(self, wanted: _Wanted, group: Group, uid: int, gid: int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
        fds: list[int] = []
        words = ["bwrap", *namespaces(), "--clearenv", "--new-session", "--die-with-parent", "--as-pid-1"]
        words += ["--hostname", "sandbox", *mounts(wanted.limits, wanted.packages, wanted.host_paths())]
        try:
            for path, data in small_files(uid, gid, wanted.program).items():
                fds.append(_pipe_with(data))
                words += ["--perms", "0444", "--ro-bind-data", str(fds[-1]), path]
            words += [*self._also, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace"]
            program = filter_program(platform.machine(), counted=bool(group.folders))
            if program:
                fds.append(_pipe_with(program))
                words += ["--seccomp", str(fds[-1])]
            words += ["--", str(wanted.env.python), "-I", "-S", "/.agent.py"]
            if problems := line_problems(words, as_root=as_root(), filtered=bool(program)):
                raise SandboxUnsafe(f"bubblewrap would not hold: {'; '.join(problems)}")
            command: Sequence[str] = words
            surroundings = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
            if group.doors:
                command = ["sh", "-c", ENTER, "sh", *words]
                surroundings["DOORS"] = " ".join(group.doors)
            return STARTER.start(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=surroundings,
                    pass_fds=[*fds, *wanted.inherited],
                    bufsize=0,
                )
            )
        finally:
            for fd in fds:
                os.close(fd)

    def reap(self) -> int:
        """Remove the control groups that dead workers left behind (processes die with them); return how many."""
        count = 0
        for name, group in leftover_groups().items():
            if not lives("-".join(name.split("-")[:2])):
                group.remove()
                count += 1
        return count


def _tail(stderr: IO[bytes]) -> str:
    with contextlib.suppress(OSError, ValueError):
        stderr.seek(0)
        return stderr.read()[-300:].decode(errors="replace")
    return ""


class _Undertaker:
    """Ends a sandbox's processes and frees what they held, once, from whichever thread comes first."""

    def __init__(self, process: subprocess.Popen[bytes], group: Group, stderr: IO[bytes]) -> None:
        self._process, self._group, self._stderr = process, group, stderr
        self._lock, self._done = threading.Lock(), False

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
        for file in (self._process.stdin, self._process.stdout, self._stderr):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()
