"""A sandbox that runs the same files once: for measurements that build the same task many times over.

A simulated model gives one of a handful of answers, so most runs of a matrix were made before. What is kept is the
result of a run of the product's own test script; everything else goes to a real sandbox, which is opened when it is
needed. Times in the sandbox mean nothing then, and a test that depends on time or chance keeps its first result.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandbox.base import Availability, Backend, ExecResult, ListedFile, Sandbox, SandboxError
from sandbox.paths import regular_files
from sandbox.test_script import RunsScripts

VERSION = 2
PLACE = "<token>"  # stands in a kept report for the token of its run


class MemoBackend:
    """Implements sandbox.base.Backend over another one; `folder` holds the results of runs, and may be shared."""

    def __init__(self, inner: Backend, folder: Path) -> None:
        self._inner, self._folder = inner, folder
        self.name = inner.name

    def availability(self) -> Availability:
        """The other one's."""
        return self._inner.availability()

    def open(self, **options: Any) -> Sandbox:
        """A sandbox that looks up what it can. Packages change what runs mean, so one with packages is a real one."""
        if options.get("packages") is not None:
            return self._inner.open(**options)
        return MemoSandbox(self._inner, options, self._folder)

    def reap(self) -> int:
        """The other one's."""
        return self._inner.reap()


class MemoSandbox:
    """Implements sandbox.base.Sandbox, with run_script (sandbox.test_script.RunsScripts)."""

    def __init__(self, inner: Backend, options: dict[str, Any], folder: Path) -> None:
        self._inner, self._options, self._folder = inner, options, folder
        self._about = json.dumps(
            [VERSION, inner.name, {key: repr(value) for key, value in options.items() if key != "label"}]
        )
        self.backend = inner.name
        self._files: dict[str, bytes] = {}
        self._real: Sandbox | None = None
        self._behind = False  # the real one does not hold the files yet

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files."""
        self._files |= {path: bytes(data) for path, data in files.items()}
        self._behind = True

    def mirror(self, folder: Path) -> None:
        """Hold exactly the files of a folder."""
        self._files = {name: path.read_bytes() for name, path, _ in regular_files(folder)}
        self._behind = True

    def listing(self) -> dict[str, ListedFile]:
        """What lies in the real one."""
        return self._at_hand().listing()

    def run_script(
        self, source: str, argv: Sequence[str] = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        """Run Python source, or tell what came of it the last time."""
        request, token = _request(stdin)
        place = self._place(["script", source, *argv, request, f"{seconds}"])
        if token and place.is_file():
            row = json.loads(place.read_text(encoding="utf-8"))
            report = row["report"].replace(PLACE, token)
            return ExecResult(**row | {"argv": tuple(row["argv"]), "report": report})
        real = self._at_hand()
        if not isinstance(real, RunsScripts):
            raise SandboxError(f"the {real.backend} sandbox cannot run test scripts")
        done = real.run_script(source, argv, seconds=seconds, stdin=stdin)
        if token and not (done.timed_out or done.out_of_memory):
            _keep(place, asdict(done) | {"report": done.report.replace(token, PLACE)})
        return done

    def exec(
        self,
        argv: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
    ) -> ExecResult:
        """Run a command."""
        return self._at_hand().exec(argv, seconds=seconds, stdin=stdin, env=env, cwd=cwd)

    def get(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Read files back."""
        return self._at_hand().get(paths)

    def warm_up(self) -> None:
        """Nothing is loaded before it is known to be needed."""

    def close(self) -> None:
        """End the real one, if there is one."""
        if self._real is not None:
            self._real.close()
            self._real = None

    def __enter__(self) -> MemoSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _at_hand(self) -> Sandbox:
        if self._real is None:
            self._real, self._behind = self._inner.open(**self._options), True
        if self._behind:
            with tempfile.TemporaryDirectory(prefix="aiswe-memo-") as folder:
                for name, data in self._files.items():
                    path = Path(folder) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                self._real.mirror(Path(folder))
            self._behind = False
        return self._real

    def _place(self, words: Sequence[str]) -> Path:
        made = hashlib.sha256(self._about.encode())
        for part in (*words, *(piece for name in sorted(self._files) for piece in (name, self._files[name]))):
            data = part if isinstance(part, bytes) else part.encode()
            made.update(len(data).to_bytes(8, "big") + data)
        return self._folder / f"{made.hexdigest()[:40]}.json"


def _request(stdin: bytes) -> tuple[str, str]:
    """What a script is asked for, without the token of the run, and that token ("" when it has none)."""
    try:
        asked = json.loads(stdin)
    except ValueError:
        return stdin.hex(), ""
    if not isinstance(asked, dict):
        return stdin.hex(), ""
    token = str(asked.pop("token", ""))
    return json.dumps(asked, sort_keys=True), token


def _keep(place: Path, row: Mapping[str, Any]) -> None:
    """Whole or not at all: several trials write here."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.stem}.{os.getpid()}.{threading.get_ident()}")
    part.write_text(json.dumps(row), encoding="utf-8")
    part.replace(place)
