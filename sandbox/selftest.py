"""Try to break out of a sandbox by its configuration, and tell what was possible."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.base import Backend, Limits, Sandbox, SandboxError
from sandbox.registry import load_backend

LOOK = Path(__file__).parent / "inside" / "look_around.py"
SMALL = Limits(memory_mb=256, processes=48, file_mb=64, disk_mb=32, output_bytes=10_000, seconds=30)
FORKS = """
import os, time
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""
MEMORY = "kept = []\nwhile True: kept.append(bytearray(16 * 1024 * 1024))"
DISK = "open('/workspace/big', 'wb').write(b'x' * (48 * 1024 * 1024))"
DAEMON = "setsid sleep 300 </dev/null >/dev/null 2>&1 & sleep 300"


@dataclass(frozen=True)
class Probe:
    """One thing that was tried; `ok` when the sandbox held."""

    name: str
    ok: bool
    detail: str


class Decoy:
    """A listener on the host's loopback that counts who reaches it."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.hits = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.hits += 1
            connection.close()

    def close(self) -> None:
        """Stop listening."""
        # close() alone does not wake a thread that waits in accept.
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        finally:
            self._socket.close()


@contextmanager
def planted_secret() -> Iterator[str]:
    """A secret in this process's environment while the sandbox is made."""
    name, value = "AISWE_SELFTEST_SECRET", secrets.token_hex(16)
    os.environ[name] = value
    try:
        yield value
    finally:
        os.environ.pop(name, None)


def selftest(backend_name: str) -> list[Probe]:
    """Probe a backend by name; raises SandboxError for an unknown one. A sandbox that does not open is one failed probe."""
    return probe_backend(load_backend(backend_name))


def probe_backend(backend: Backend) -> list[Probe]:
    """All probes in one fresh sandbox of this backend."""
    decoy = Decoy()
    try:
        with planted_secret() as secret, backend.open(limits=SMALL, label="selftest") as box:
            return [*_looks(box, decoy, secret), *_limits(box)]
    except SandboxError as error:
        return [Probe("sandbox opens", False, str(error))]
    finally:
        decoy.close()


def _looks(box: Sandbox, decoy: Decoy, secret: str) -> list[Probe]:
    done = box.exec(["python", "-c", LOOK.read_text(), str(decoy.port), secret], seconds=30)
    try:
        seen: dict[str, Any] = json.loads(done.out)
    except ValueError:
        return [Probe("probe program runs", False, (done.err or done.out)[-300:])]
    reached = [str(target) for target in seen["reached"]]
    mine = os.readlink("/proc/self/ns/pid")
    return [
        Probe(
            "no network",
            not reached and decoy.hits == 0,
            f"reached {reached}, decoy hits {decoy.hits}"
            if reached or decoy.hits
            else f"{seen['tried']} targets, none reached",
        ),
        Probe("no name resolution", not seen["resolved"], str(seen["resolved"] or "no name resolves")),
        Probe("no engine socket", not seen["sockets"], str(seen["sockets"] or "none to be seen")),
        Probe(
            "environment is our own", seen["environment"] == [], str(seen["environment"] or "nothing of the worker's")
        ),
        Probe(
            "worker's secret not visible",
            not seen["secret"],
            str(seen["secret"] or "not in /proc, not in the environment"),
        ),
        Probe("not root", seen["uid"] != 0 and seen["gid"] != 0, f"uid {seen['uid']}, gid {seen['gid']}"),
        Probe("no capabilities", seen["capabilities"] == 0, f"{seen['capabilities']:#x}"),
        Probe("no new privileges", seen["no_new_privileges"] == 1, str(seen["no_new_privileges"])),
        Probe("system calls are filtered", seen["seccomp"] == 2, f"mode {seen['seccomp']}"),
        Probe(
            "root is read-only",
            not seen["written"],
            str(seen["written"] or "nothing outside of /workspace, /tmp and /dev/shm"),
        ),
        Probe("process ids are its own", seen["pid_namespace"] != mine, seen["pid_namespace"]),
        Probe(
            "no namespaces or mounts",
            not seen["escapes"],
            str(seen["escapes"] or "unshare, mount and ptrace are refused"),
        ),
        Probe("agent is out of reach", not seen["agent"], str(seen["agent"] or "process 1 cannot be opened")),
    ]


def _limits(box: Sandbox) -> list[Probe]:
    def probe(name: str, run: Callable[[], tuple[bool, str]]) -> Probe:
        try:
            return Probe(name, *run())
        except SandboxError as error:
            return Probe(name, False, str(error))

    def forks() -> tuple[bool, str]:
        done = box.exec(["python", "-c", FORKS], seconds=20)
        after = box.exec(["true"])
        count = int(done.out) if done.out.strip().isdigit() else -1
        return (
            0 <= count < SMALL.processes and after.ok,
            f"{count} processes, next command {'runs' if after.ok else 'fails'}",
        )

    def memory() -> tuple[bool, str]:
        done = box.exec(["python", "-c", MEMORY], seconds=20)
        return done.out_of_memory and not done.ok, f"exit {done.exit_code}, out of memory: {done.out_of_memory}"

    def disk() -> tuple[bool, str]:
        done = box.exec(["python", "-c", DISK])
        box.exec(["rm", "-f", "big"])
        return "No space left" in done.err, (done.err.strip().splitlines() or ["nothing was said"])[-1]

    def output() -> tuple[bool, str]:
        done = box.exec(["sh", "-c", "yes | head -c 5000000"])
        return done.truncated and len(
            done.out
        ) < 3 * SMALL.output_bytes, f"{len(done.out)} characters kept of 5,000,000"

    def timeout() -> tuple[bool, str]:
        done = box.exec(["sh", "-c", DAEMON], seconds=1)
        left = box.exec(["python", "-c", "import os; print(sum(n.isdigit() for n in os.listdir('/proc')))"])
        return (
            done.timed_out and left.out.strip() == "2",
            f"processes left: {left.out.strip()} (the agent and the one that counts)",
        )

    return [
        probe("fork bomb contained", forks),
        probe("memory bomb killed", memory),
        probe("full disk reported", disk),
        probe("output capped", output),
        probe("timeout kills children", timeout),
    ]
