"""Try to break out of a sandbox, and tell what was possible."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.base import Backend, Sandbox, SandboxError, SandboxLimits, SandboxUnavailable, SandboxUnsafe
from sandbox.canary_listeners import CanaryListeners
from sandbox.expected_state import load_expected_state, shared_namespaces, strange_mounts

LOOK = Path(__file__).parent / "inside" / "look_around.py"
SMALL = SandboxLimits(
    memory_mb=256, processes=48, file_mb=24, disk_mb=32, inodes=2_000, output_bytes=10_000, seconds=30
)
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
DISK = "for name in 'ab': open(f'/workspace/{name}', 'wb').write(b'x' * (20 * 1024 * 1024))"
FILE = "open('/workspace/big', 'wb').write(b'x' * (30 * 1024 * 1024))"
FILES = "import time\nfor n in range(1_000_000):\n    open(f'/workspace/f{n}', 'w').close()"
COUNT_FILES = "import os; print(len(os.listdir('/workspace')))"
TOOLS = "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if u.find_spec(n) is None))"
NEEDED = ("pytest", "pytest_cov", "coverage", "hypothesis")
OLDEST_NODE = 20  # in images; bubblewrap shows whatever Node the host has
CLEAN = ["sh", "-c", "rm -rf /workspace/*"]
DAEMON = "setsid sleep 300 </dev/null >/dev/null 2>&1 & sleep 300"


@dataclass(frozen=True)
class Probe:
    """One thing that was tried; `ok` when the sandbox held."""

    name: str
    ok: bool
    detail: str


@contextmanager
def planted_secret() -> Iterator[str]:
    """A secret in this process's environment while the sandbox is made."""
    name, value = "AISWE_SELFTEST_SECRET", secrets.token_hex(16)
    os.environ[name] = value
    try:
        yield value
    finally:
        os.environ.pop(name, None)


def probe_backend(backend: Backend) -> list[Probe]:
    """All probes in one fresh sandbox; takes seconds, because limits are reached on purpose.

    A sandbox that does not open is one failed probe.
    """
    try:
        with (
            CanaryListeners(everywhere=True) as listeners,
            planted_secret() as secret,
            backend.open(limits=SMALL, label="selftest") as box,
        ):
            return [*_looks(box, listeners, secret), *_tools(box), *_limits(box)]
    except SandboxError as error:
        return [Probe("sandbox opens", False, str(error))]


def refuse_unsafe(backend: Backend) -> None:
    """Raise SandboxUnsafe, naming what was possible, unless a fresh sandbox looks as it should.

    Raises SandboxUnavailable when none opens (then nothing is known of it), and when tools that tests need are not in
    it.
    """
    with (
        CanaryListeners() as listeners,
        planted_secret() as secret,
        backend.open(limits=SMALL, label="self-check") as box,
    ):
        failed = [probe for probe in _looks(box, listeners, secret) if not probe.ok]
        lacks = [probe.detail for probe in _tools(box) if not probe.ok]
    if lacks and not failed:
        raise SandboxUnavailable(f"the {backend.name} sandbox is not used: {'; '.join(lacks)}")
    if failed:
        words = "; ".join(f"{probe.name}: {probe.detail}" for probe in failed)
        raise SandboxUnsafe(f"the {backend.name} sandbox does not hold and is not used ({words[:1500]})")


def look_around(box: Sandbox, listeners: CanaryListeners, secret: str) -> dict[str, Any]:
    """What a program sees inside that tries all the ways out; raises SandboxUnsafe when it cannot tell."""
    done = box.exec(
        ["python", "-c", LOOK.read_text(), json.dumps(listeners.targets() | {"secret": secret})], seconds=30
    )
    try:
        found = json.loads(done.out)
    except ValueError:
        raise SandboxUnsafe(f"the probe program does not run: {(done.err or done.out)[-300:]}") from None
    return dict(found)


def _looks(box: Sandbox, listeners: CanaryListeners, secret: str) -> list[Probe]:
    seen, expected = look_around(box, listeners, secret), load_expected_state(box.backend)
    probes = []

    def none(name: str, found: Any, otherwise: str) -> None:
        probes.append(Probe(name, not found, ", ".join(map(str, found)) if found else otherwise))

    none("nothing is reached", seen["reached"], f"{seen['tried']} targets, none answered")
    none(
        "canary listeners are not reached",
        listeners.hits,
        f"{len(listeners.tcp) + len(listeners.udp) + 2} of them, 0 hits",
    )
    none("no name resolution", seen["resolved"], "no name resolves")
    none("no engine socket", seen["sockets"], "none to be seen")
    none(
        "only the loopback",
        set(seen["interfaces"]) - expected.interfaces,
        ", ".join(seen["interfaces"]) or "no interface",
    )
    none(
        "environment is our own",
        set(seen["environment"]) - expected.environment,
        f"{len(seen['environment'])} names, all ours",
    )
    none("worker's secret not visible", seen["secret"], "not in /proc, not in the environment")
    mine = shared_namespaces(box.backend, seen["namespaces"])
    none("namespaces are its own", mine, ", ".join(expected.namespaces))
    strange = strange_mounts(box.backend, seen["mounts"], getattr(box, "shown", ()))
    none("mounts are the expected ones", strange, f"{len(seen['mounts'])}, the host's read-only")
    none("devices are the harmless ones", set(seen["devices"]) - expected.devices, ", ".join(seen["devices"]))
    probes.append(
        Probe("not root", 0 not in (seen["uid"], seen["gid"], *seen["groups"]), f"uid {seen['uid']}, gid {seen['gid']}")
    )
    probes.append(Probe("no capabilities", seen["capabilities"] == 0, f"{seen['capabilities']:#x}"))
    probes.append(Probe("no new privileges", seen["no_new_privileges"] == 1, str(seen["no_new_privileges"])))
    probes.append(Probe("system calls are filtered", seen["seccomp"] == 2, f"mode {seen['seccomp']}"))
    none("root is read-only", seen["written"], "nothing outside of /workspace, /tmp and /dev/shm")
    probes.append(Probe("processes are its own", seen["processes"] <= 2, f"{seen['processes']} to be seen"))
    none("no namespaces or mounts", seen["escapes"], "unshare, mount, chroot and ptrace are refused")
    none("agent is out of reach", seen["agent"], "process 1 cannot be opened")
    return probes


def _tools(box: Sandbox) -> list[Probe]:
    done = box.exec(["python", "-c", TOOLS, *NEEDED], seconds=30)
    lacking = done.out.split() if done.ok else [f"a Python that runs ({done.err[-200:]})"]
    found = f"it has no {', '.join(lacking)}" if lacking else ", ".join(NEEDED)
    probes = [Probe("test tools are there", not lacking, found)]
    if box.backend == "docker":
        said = box.exec(["node", "--version"], seconds=30).out.strip()
        major = said.removeprefix("v").partition(".")[0]
        recent = major.isdigit() and int(major) >= OLDEST_NODE
        told = f"its Node is {said or 'missing'}" + ("" if recent else f", and {OLDEST_NODE} is needed")
        probes.append(Probe("Node is recent", recent, told))
    return probes


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
        runs = "runs" if after.ok else "fails"
        return 0 <= count <= SMALL.processes and after.ok, f"{count} processes, next command {runs}"

    def memory() -> tuple[bool, str]:
        done = box.exec(["python", "-c", MEMORY], seconds=20)
        return done.out_of_memory and not done.ok, f"exit {done.exit_code}, out of memory: {done.out_of_memory}"

    def refused(source: str, words: str) -> tuple[bool, str]:
        done = box.exec(["python", "-c", source], seconds=20)
        box.exec(CLEAN)
        return words in done.err, (done.err.strip().splitlines() or ["no message"])[-1]

    def inodes() -> tuple[bool, str]:
        done = box.exec(["python", "-c", FILES], seconds=25)
        made = box.exec(["python", "-c", COUNT_FILES]).out.strip()
        clean = box.exec(CLEAN).ok and box.exec(["python", "-c", COUNT_FILES]).out.strip() == "0"
        return "No space left" in done.err and clean, f"stopped at {made} files, and they could be removed"

    def output() -> tuple[bool, str]:
        done = box.exec(["sh", "-c", "yes | head -c 5000000"])
        kept = len(done.out)
        return done.truncated and kept < 3 * SMALL.output_bytes, f"{kept} characters kept of 5,000,000"

    def timeout() -> tuple[bool, str]:
        done = box.exec(["sh", "-c", DAEMON], seconds=1)
        left = box.exec(["python", "-c", "import os; print(sum(n.isdigit() for n in os.listdir('/proc')))"])
        words = f"processes left: {left.out.strip()} (the agent and the one that counts)"
        return done.timed_out and left.out.strip() == "2", words

    return [
        probe("fork bomb contained", forks),
        probe("memory bomb killed", memory),
        probe("full disk reported", lambda: refused(DISK, "No space left")),
        probe("large file refused", lambda: refused(FILE, "File too large")),
        probe("too many files stopped", inodes),
        probe("output capped", output),
        probe("timeout kills children", timeout),
    ]
