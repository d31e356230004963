"""A sandbox for tests of the engine: files are kept in memory, a function answers commands. It runs nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from sandbox.base import Availability, ExecResult, ListedFile, PackageSet, SandboxUnavailable, SandboxWish
from sandbox.paths import checked_folder, checked_path, regular_files

Answer = Callable[[tuple[str, ...]], ExecResult]


def nothing_happens(argv: tuple[str, ...]) -> ExecResult:
    """The default answer: every command succeeds silently."""
    return ExecResult(argv, 0, "", "", 0.0)


class FakeSandbox:
    """One in-memory sandbox; `commands` lists what was asked of it."""

    backend = "fake"

    def __init__(self, answer: Answer, packages: PackageSet | None = None) -> None:
        self._answer, self.packages = answer, packages
        self.files: dict[str, bytes] = {}
        self.commands: list[tuple[str, ...]] = []
        self.closed = False

    def _alive(self) -> None:
        if self.closed:
            raise SandboxUnavailable("the sandbox is closed.")

    def exec(
        self,
        argv: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
    ) -> ExecResult:
        """Record the command and give the given answer."""
        self._alive()
        checked_folder(cwd)
        self.commands.append(tuple(argv))
        return self._answer(tuple(argv))

    def run_script(
        self, source: str, argv: Sequence[str] = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        """Answer like a command."""
        return self.exec(["python", *argv], seconds=seconds, stdin=stdin)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Store files; raises PathRefused like a real sandbox."""
        self._alive()
        self.files.update({checked_path(path): bytes(data) for path, data in files.items()})

    def mirror(self, folder: Path) -> None:
        """Hold exactly the regular files of `folder`."""
        self._alive()
        self.files = {checked_path(name): file.read_bytes() for name, file, _ in regular_files(folder)}

    def get(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Read files back; a missing one is left out."""
        self._alive()
        wanted = {path: checked_path(path) for path in paths}
        return {path: self.files[plain] for path, plain in wanted.items() if plain in self.files}

    def listing(self) -> dict[str, ListedFile]:
        """All files as regular ones."""
        return {
            path: ListedFile(True, False, len(data), hashlib.sha256(data).hexdigest())
            for path, data in self.files.items()
        }

    def warm_up(self) -> None:
        """There is nothing to load."""

    def close(self) -> None:
        """Forget everything."""
        self.closed = True
        self.files = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FakeBackend:
    """Makes fake sandboxes that share one answering function; `opened` lists them."""

    name = "fake"

    def __init__(self, answer: Answer = nothing_happens) -> None:
        self._answer = answer
        self.opened: list[FakeSandbox] = []

    def availability(self) -> Availability:
        """Always there."""
        return Availability(True, "fake")

    def open(self, **wanted: Unpack[SandboxWish]) -> FakeSandbox:
        """A fresh in-memory sandbox."""
        self.opened.append(FakeSandbox(self._answer, wanted.get("packages")))
        return self.opened[-1]

    def reap(self) -> int:
        """Nothing is ever left behind."""
        return 0
