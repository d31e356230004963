"""The sandbox contract: what every backend that runs untrusted code promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypedDict, Unpack

Ecosystem = Literal["python", "node"]  # which environment is prepared inside


class SandboxError(Exception):
    """Something is wrong with the sandbox itself; its text is safe to show to a person."""


class SandboxUnavailable(SandboxError):
    """No engine answers, or the sandbox died: nothing was proven about the code in it."""


class SandboxPreparing(SandboxUnavailable):
    """There is no sandbox yet; its text says how far what it needs is."""


class SandboxUnsafe(SandboxUnavailable):
    """The sandbox would not hold: its configuration, or what a probe saw inside, is not what it should be."""


class PathRefused(SandboxError):
    """A file path would leave the workspace (absolute, `..`, NUL, link out of the tree, too long)."""


class PackageRefused(SandboxError):
    """A package is not on the allow-list, does not exist, or has no wheel."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name, self.reason = name, reason


@dataclass(frozen=True)
class SandboxLimits:
    """What one sandbox may use. Sources: ACA-6 and SWE-NFR-04 for CPU, memory and time."""

    cpus: float = 1.0
    memory_mb: int = 1024
    processes: int = 128
    file_mb: int = 200
    disk_mb: int = 512
    inodes: int = 200_000  # files and folders in each writable place
    output_bytes: int = 1_000_000  # kept from the head and again from the tail of each stream
    seconds: float = 300.0


@dataclass(frozen=True)
class ExecResult:
    """What a command did. A failed command is data, never an exception."""

    argv: tuple[str, ...]
    exit_code: int | None  # None: killed by us (see timed_out, out_of_memory)
    out: str
    err: str
    seconds: float
    truncated: bool = False
    timed_out: bool = False
    out_of_memory: bool = False
    starved: bool = False  # it timed out because the machine had no CPU for it
    cpu_seconds: float = 0.0  # of all its processes
    report: str = ""  # what a script wrote to its report (sandbox.warm.WarmSandbox.run_script)

    @property
    def ok(self) -> bool:
        """True when the command ended by itself with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class Availability:
    """Whether a backend can be used here, and what to do when it cannot."""

    ok: bool
    version: str = ""
    problem: str = ""
    hint: str = ""
    preparing: str = ""  # it works by itself soon: how far that is


@dataclass(frozen=True)
class ListedFile:
    """What lies in a workspace under a path: a regular file with its size and sha256, or something else."""

    regular: bool
    program: bool = False
    size: int = 0
    sha256: str = ""


class Sandbox(Protocol):
    """One ephemeral sandbox: made for one task, kept warm while the task lasts, then gone with all it held."""

    backend: str

    def exec(
        self,
        argv: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
    ) -> ExecResult:
        """Run a command below /workspace; raises SandboxUnavailable when the sandbox itself broke."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files (paths relative to /workspace); raises PathRefused before anything is written."""

    def mirror(self, folder: Path) -> None:
        """Make /workspace hold exactly the regular files of `folder` (without .git); links are not followed."""

    def get(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Read regular files back; a missing path is left out; raises PathRefused for an escape."""

    def listing(self) -> dict[str, ListedFile]:
        """All that lies in /workspace but folders, by path; links are not followed."""

    def warm_up(self) -> None:
        """Load the test tools ahead of their first use, without waiting for it."""

    def close(self) -> None:
        """Kill everything inside and remove it; may be called twice."""

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *exc: object) -> None: ...


@dataclass(frozen=True)
class PackageSet:
    """Packages fetched outside and unpacked without running any of their code.

    `folder` is mounted read-only into the sandbox and put on PYTHONPATH; its `node_modules`, if any, is where Node
    looks.
    """

    folder: Path
    names: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)  # file name -> sha256
    locks: Mapping[str, str] = field(default_factory=dict)  # file of the repository -> text that pins all of them


class SandboxWish(TypedDict, total=False):
    """What can be asked of a sandbox when it is made."""

    limits: SandboxLimits  # else the backend's
    packages: PackageSet | None
    label: str  # shown to people who look at what runs


class Backend(Protocol):
    """Makes sandboxes."""

    name: str

    def availability(self) -> Availability:
        """Tell whether this backend works here, quickly and without side effects."""

    def open(self, **wanted: Unpack[SandboxWish]) -> Sandbox:
        """Make a fresh sandbox; raises SandboxUnavailable."""

    def reap(self) -> int:
        """Remove what dead workers left behind; return how many."""
