"""The embedded host: each release in a bubblewrap sandbox that stays open, reached through a Unix socket."""

from __future__ import annotations

import shutil
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.agent import forwarder_source, keeper_source
from sandbox.base import SandboxError
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.hosting.base import Address, HostingError, Log, Release, Seen
from sandbox.paths import socket_folder
from sandbox.warm import WarmSandbox

ANSWER_SECONDS = 20.0
BACKLOG = 64


@dataclass
class _Up:
    release: Release
    sandbox: WarmSandbox
    folder: Path

    @property
    def socket(self) -> str:
        return str(self.folder / "app")


class BubblewrapHost:
    """Releases of this process: they end with it, and whoever watches starts them again."""

    kind = "sandbox"

    def __init__(self) -> None:
        self._backend, self._lock, self._up = BubblewrapBackend(), threading.Lock(), dict[str, _Up]()

    def problem(self) -> str:
        found = self._backend.availability()
        return "" if found.ok else f"{found.problem}; {found.hint}"

    def start(self, release: Release) -> None:
        """Open a sandbox, copy the files in, start the command. Raises HostingError."""
        if not release.command:
            raise HostingError("no start command is known; name one, for example: uvicorn main:app --port 8000")
        self.stop(release.name)
        folder = socket_folder("aiswe-app-")
        up: _Up | None = None
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(folder / "app"))
                listener.listen(BACKLOG)
                sandbox = self._backend.open_with(
                    keeper_source(),
                    (listener.fileno(),),
                    limits=release.limits,
                    packages=release.packages,
                    label=release.name,
                )
                up = _Up(release, sandbox, folder)
                sandbox.mirror(release.folder)
                sandbox.ask(
                    {
                        "do": "serve",
                        "argv": list(release.command),
                        "env": {**release.environment, "PORT": str(release.port)},
                        "port": release.port,
                        "listener": listener.fileno(),
                        "forwarder": forwarder_source(),
                    },
                    seconds=ANSWER_SECONDS,
                )
        except (SandboxError, OSError) as error:
            if up is not None:
                up.sandbox.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise HostingError(f"the application's sandbox did not start: {error}") from None
        with self._lock:
            self._up[release.name] = up

    def look(self, name: str) -> Seen:
        up = self._up.get(name)
        if up is None:
            return Seen("gone")
        try:
            told, _ = up.sandbox.ask({"do": "look"}, seconds=ANSWER_SECONDS)
        except SandboxError as error:
            return Seen("gone", detail=str(error))
        return _seen(told)

    def logs(self, name: str, after: int = 0) -> Log:
        told, text = self._ask(name, {"do": "log", "after": after})
        return Log(text.decode(errors="replace").replace("\0", "\u2400"), int(told["position"]), bool(told["lost"]))

    def restart(self, name: str) -> None:
        self._ask(name, {"do": "restart"})

    def stop(self, name: str) -> None:
        with self._lock:
            up = self._up.pop(name, None)
        if up is not None:
            up.sandbox.close()
            shutil.rmtree(up.folder, ignore_errors=True)

    def address(self, name: str) -> Address:
        up = self._up.get(name)
        if up is None:
            raise HostingError(f"{name} does not run here")
        return Address(socket=up.socket)

    def names(self) -> list[str]:
        with self._lock:
            return list(self._up)

    def close(self) -> None:
        """Stop all of them."""
        for name in self.names():
            self.stop(name)

    def _ask(self, name: str, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        up = self._up.get(name)
        if up is None:
            raise HostingError(f"{name} does not run here")
        try:
            return up.sandbox.ask(head, seconds=ANSWER_SECONDS, max_body=1024 * 1024)
        except SandboxError as error:
            raise HostingError(f"{name} does not answer: {error}") from None


def _seen(told: dict[str, Any]) -> Seen:
    code = told.get("exit_code")
    return Seen(
        state="running" if told.get("state") == "running" else "exited",
        restarts=int(told.get("restarts", 0)),
        exit_code=int(code) if code is not None else None,
        detail=str(told.get("detail", ""))[:300],
        memory_mb=float(told.get("memory_mb", 0)),
    )
