"""A sandbox kept warm: the contract's verbs spoken to the agent inside, whatever holds the agent."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePath
from typing import Any, Self

from sandbox.base import (
    ExecResult,
    ListedFile,
    PackageSet,
    PathRefused,
    SandboxError,
    SandboxLimits,
    SandboxUnavailable,
)
from sandbox.paths import checked_folder, checked_path, regular_files
from sandbox.services import Service
from sandbox.wire import Channel

FILES_SECONDS = 60.0
WALL_FACTOR = 20.0  # sandbox.inside.commands gives up a command that got no CPU for so many times its limit
SILENT_SECONDS = 60.0  # between two signs of life of the agent while a command runs
GRACE_SECONDS = 10.0  # beyond a command's own limit: the agent's time to kill and collect everything
MAX_REPORT = 32 * 1024 * 1024  # of a script
MAX_GET = 64 * 1024 * 1024
MAX_MIRROR = 256 * 1024 * 1024
Beside = Callable[["WarmSandbox", Sequence[Service]], AbstractContextManager[Sequence[Service]]]
MEMORY_WORDS = ("MemoryError", "std::bad_alloc", "Cannot allocate memory", "heap out of memory")


def environment(python: PurePath, packages: PackageSet | None) -> dict[str, str]:
    """All that a command inside finds in its environment; nothing of the worker's is in it."""
    found = {
        "HOME": "/tmp",  # noqa: S108 - a private tmpfs inside the sandbox
        "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "user",
        "PYTHONDONTWRITEBYTECODE": "1",  # two edits within one second at one size would run the old bytecode
        "PYTHONNOUSERSITE": "1",
        "PIP_NO_INDEX": "1",
        # pytest shows whole comparisons, hypothesis draws the same examples each time and sets no deadline: a failure
        # is repeatable and a busy machine is none.
        "CI": "true",
    }
    if packages is not None and packages.names:
        found["PYTHONPATH"] = "/packages"
        if (packages.folder / "node_modules").is_dir():
            found["NODE_PATH"] = "/packages/node_modules"
    return found


def agent_limits(limits: SandboxLimits) -> dict[str, float | int]:
    """The limits that the agent inside looks after itself."""
    return {name: getattr(limits, name) for name in ("cpus", "file_mb", "processes", "output_bytes", "inodes")}


def as_text(head: bytes, tail: bytes, lost: int) -> str:
    """Valid text without NUL from the two kept ends of a stream; a note in the middle says what was left out."""
    middle = f"\n… {lost:,} bytes left out …\n" if lost else ""
    if not lost:
        head, tail = head + tail, b""
    return (head.decode(errors="replace") + middle + tail.decode(errors="replace")).replace("\0", "\u2400")


def _shell_code(code: int) -> int:
    """Death by a signal as a shell tells it."""
    return 128 - code if code < 0 else code


class WarmSandbox:
    """One open sandbox, see sandbox.base.Sandbox. One command runs at a time; `close` may come from any thread."""

    def __init__(
        self,
        backend: str,
        channel: Channel,
        limits: SandboxLimits,
        *,
        kill: Callable[[], None],
        why_dead: Callable[[], str] = str,
        oom_kills: Callable[[], int] = int,
        release: Callable[[], object] = bool,
        shown: tuple[str, ...] = (),
        tag: str = "",
        run_beside: Beside | None = None,
    ) -> None:
        """`shown` are the host's paths that can be read inside; `tag` names it to its engine (a container's id).

        `run_beside` runs servers in containers of that engine.
        """
        self.backend, self.limits, self.shown, self.tag = backend, limits, shown, tag
        self._channel, self._kill, self._why_dead, self._oom_kills = channel, kill, why_dead, oom_kills
        self._release, self._lock, self._dead = release, threading.Lock(), ""
        self._run_beside = run_beside

    def greet(self, hello: dict[str, Any], seconds: float = 20.0) -> None:
        """Configure the agent; raises SandboxUnavailable with its standard error when it does not start."""
        try:
            self._channel.send(hello, b"", time.monotonic() + seconds)
            self._channel.receive(time.monotonic() + seconds)
        except SandboxUnavailable as error:
            reason = self._why_dead().strip()
            self.close()
            raise SandboxUnavailable(f"the sandbox did not start: {reason or error}") from None

    def _ask(
        self, head: dict[str, Any], body: bytes, seconds: float, max_body: int, silent: float = SILENT_SECONDS
    ) -> tuple[dict[str, Any], bytes]:
        if self._dead:
            raise SandboxUnavailable(self._dead)
        with self._lock:
            deadline = time.monotonic() + seconds
            try:
                self._channel.send(head, body, deadline)
                answer, data = self._channel.receive(min(deadline, time.monotonic() + silent), max_body)
                while "beat" in answer:
                    answer, data = self._channel.receive(min(deadline, time.monotonic() + silent), max_body)
            except SandboxUnavailable as error:
                self._give_up(str(error))
                raise SandboxUnavailable(self._dead) from None
        if "refused" in answer:
            raise PathRefused(str(answer["refused"]))
        if "error" in answer:
            raise SandboxError(f"the sandbox could not do it: {answer['error']}")
        if "broken" in answer:
            self._give_up(str(answer["broken"]))
            raise SandboxUnavailable(self._dead)
        return answer, data

    def ask(self, head: dict[str, Any], *, seconds: float, max_body: int = 0) -> tuple[dict[str, Any], bytes]:
        """One request to a process 1 that knows it; raises SandboxError."""
        return self._ask(head, b"", seconds, max_body)

    def _give_up(self, reason: str) -> None:
        self._dead = self._dead or reason
        self._kill()

    def run_script(
        self, source: str, argv: Sequence[str] = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        """Run Python source in a fork of a process that has imported the test tools already; for pytest_run."""
        return self.exec(["python", *argv], seconds=seconds, stdin=stdin, script=source)

    def exec(
        self,
        argv: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
        script: str | None = None,
    ) -> ExecResult:
        words = tuple(str(word) for word in argv)
        if not words or not words[0] or any("\0" in word for word in words):
            raise SandboxError("a command needs a program, and no word of it may hold a NUL")
        extra = {str(key): str(value) for key, value in (env or {}).items()}
        if any("\0" in key + value or "=" in key or not key for key, value in extra.items()):
            raise SandboxError("an environment name or value holds a NUL or an equals sign")
        limit = min(seconds if seconds is not None else self.limits.seconds, self.limits.seconds)
        kills = self._oom_kills()
        head = {
            "do": "run",
            "argv": [word.encode(errors="surrogateescape").decode(errors="replace") for word in words],
            "env": extra,
            "cwd": checked_folder(cwd),
            "seconds": max(0.05, limit),
            "script": script,
        }
        room = 4 * self.limits.output_bytes + MAX_REPORT + 4096
        answer, data = self._ask(head, stdin, WALL_FACTOR * limit + GRACE_SECONDS, room)
        return self._result(words, answer, data, self._oom_kills() > kills)

    def _result(self, argv: tuple[str, ...], answer: dict[str, Any], data: bytes, oom: bool) -> ExecResult:
        try:
            sizes, (out_lost, err_lost) = [int(size) for size in answer["sizes"]], answer["lost"]
            marks = [0, *(sum(sizes[: at + 1]) for at in range(5))]
            parts = [data[marks[at] : marks[at + 1]] for at in range(5)]
            cpu, why, code, took = float(answer["cpu"]), str(answer["why"]), answer["code"], float(answer["seconds"])
        except (KeyError, ValueError, TypeError):
            self._give_up("the sandbox answered nonsense and was killed. Open a new one.")
            raise SandboxUnavailable(self._dead) from None
        if not answer.get("gone", False):
            # Its result is valid, but a process inside survives being killed.
            self._give_up("processes in the sandbox would not end, so it was removed. Open a new one.")
        out, err = as_text(parts[0], parts[1], int(out_lost)), as_text(parts[2], parts[3], int(err_lost))
        killed_for_memory = oom or bool(answer.get("oom")) or why == "memory"
        reported = bool(code) and any(word in err[-4000:] for word in MEMORY_WORDS)
        if why == "inodes":
            err += f"\nstopped: more than {self.limits.inodes:,} files (No space left on device)\n"
        if why == "output":
            err += "\nstopped: more than 64 MB of output\n"
        return ExecResult(
            argv=argv,
            exit_code=None if why or killed_for_memory or code is None else _shell_code(int(code)),
            out=out,
            err=err,
            seconds=took,
            truncated=bool(out_lost or err_lost or why == "output"),
            timed_out=why in ("timeout", "starved"),
            starved=why == "starved",
            cpu_seconds=cpu,
            report=parts[4].decode(errors="replace"),
            out_of_memory=killed_for_memory or reported,
        )

    def beside(self, services: Sequence[Service]) -> AbstractContextManager[Sequence[Service]]:
        """See sandbox.services.RunsBeside; none without an engine."""
        return self._run_beside(self, services) if self._run_beside and services else nullcontext(())

    def warm_up(self) -> None:
        """Let the agent import the test tools now, without waiting for it."""
        with self._lock:
            try:
                self._channel.send({"do": "warm"}, b"", time.monotonic() + 5)
            except SandboxUnavailable as error:
                self._give_up(str(error))

    def answers(self, seconds: float = 5.0) -> bool:
        """Whether the agent inside still answers; a sandbox that does not is dead from then on."""
        try:
            self._ask({"do": "ping"}, b"", seconds, 0)
        except SandboxError:
            return False
        return True

    def put(self, files: Mapping[str, bytes]) -> None:
        wanted = {checked_path(path): data for path, data in files.items()}
        self._send_files(wanted, dict.fromkeys(wanted, 0o644), strict=True)

    def _send_files(self, files: Mapping[str, bytes], modes: Mapping[str, int], *, strict: bool) -> None:
        listing = [[path, len(data), modes[path]] for path, data in files.items()]
        self._ask({"do": "put", "files": listing, "strict": strict}, b"".join(files.values()), FILES_SECONDS, 0)

    def mirror(self, folder: Path) -> None:
        contents: dict[str, bytes] = {}
        modes: dict[str, int] = {}
        total = 0
        for name, file, runs in regular_files(folder):
            path = checked_path(name)
            contents[path], modes[path] = file.read_bytes(), 0o755 if runs else 0o644
            total += len(contents[path])
            if total > MAX_MIRROR:
                raise SandboxError(f"{folder} holds more than {MAX_MIRROR // 2**20} MB: too much for a sandbox")
        wanted = {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()}
        answer, _ = self._ask({"do": "clear", "wanted": wanted}, b"", FILES_SECONDS, 0)
        missing = [path for path in answer["missing"] if path in contents]
        if missing:
            self._send_files({path: contents[path] for path in missing}, modes, strict=False)

    def get(self, paths: Sequence[str]) -> dict[str, bytes]:
        wanted = {checked_path(path): path for path in paths}
        answer, data = self._ask({"do": "get", "paths": list(wanted), "room": MAX_GET}, b"", FILES_SECONDS, MAX_GET)
        found, at = {}, 0
        for path, size in answer["files"]:
            if path in wanted:
                found[wanted[path]] = data[at : at + size]
            at += size
        return found

    def listing(self) -> dict[str, ListedFile]:
        answer, _ = self._ask({"do": "list"}, b"", FILES_SECONDS, 0)
        return {str(path): ListedFile(*facts) for path, *facts in answer["files"]}

    def close(self) -> None:
        self._give_up("the sandbox is closed.")
        with self._lock:  # a thread that still listens would otherwise listen to a number that is used anew
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
