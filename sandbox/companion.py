"""A program of somebody else's beside a copy of files: in a bubblewrap sandbox of its own, talking through pipes.

Nothing of the host can be written from there, and of it only the system's programs and the folders named can be read.
There is no network: a worker that knows a way out gets listening sockets from inside, and answers them itself.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.agent import companion_source
from sandbox.base import PackageSet, SandboxLimits, SandboxUnavailable
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.registry import open_backend

ANSWER_SECONDS = 20.0
MOST_PORTS = 16


@dataclass(frozen=True)
class CompanionState:
    """How the program is: whether it runs, else why not, and the end of what it said on its standard error."""

    runs: bool
    exit_code: int | None = None
    detail: str = ""
    said: str = ""


class Companion:
    """A sandbox for one program. Files go in before it starts and come out at any time; `close` ends all of it."""

    def __init__(
        self, folders: Sequence[Path], limits: SandboxLimits, label: str, packages: PackageSet | None = None
    ) -> None:
        """Open the sandbox, in which these folders of the host and packages can be read. Raises SandboxUnavailable.

        Only bubblewrap holds a program of the host: an image would not have it.
        """
        backend = open_backend("bubblewrap")
        if not isinstance(backend, BubblewrapBackend):
            raise SandboxUnavailable("bubblewrap is not what it should be")
        self.listeners: dict[int, socket.socket] = {}
        input_end, write = os.pipe()
        read, output_end = os.pipe()
        self._sockets, sockets = socket.socketpair()
        self.reads, self.writes = open(read, "rb", buffering=0), open(write, "wb", buffering=0)  # noqa: SIM115
        self._inside = {"input": input_end, "output": output_end, "sockets": sockets.fileno()}
        try:
            inherited = tuple(self._inside.values())
            self.sandbox = backend.open_with(
                companion_source(), inherited, folders, limits=limits, label=label, packages=packages
            )
        except BaseException:
            self._close_ours()
            raise
        finally:
            os.close(input_end)
            os.close(output_end)
            sockets.close()

    def start(self, argv: Sequence[str], environment: Mapping[str, str], ports: Sequence[int] = ()) -> None:
        """Start the program; connections to these ports of its own loopback come out of `listeners`.

        Raises SandboxError.
        """
        head = {
            "do": "accompany",
            "argv": list(argv),
            "env": dict(environment),
            **self._inside,
            "ports": list(ports)[:MOST_PORTS],
        }
        self.sandbox.ask(head, seconds=ANSWER_SECONDS)
        if head["ports"]:
            self._sockets.settimeout(ANSWER_SECONDS)
            try:
                _, numbers, _, _ = socket.recv_fds(self._sockets, 1, MOST_PORTS)
            except OSError as error:
                raise SandboxUnavailable(f"the sandbox gave no sockets: {error}") from None
            self.listeners = {port: socket.socket(fileno=number) for port, number in zip(ports, numbers, strict=False)}

    def look(self) -> CompanionState:
        """How the program is. Raises SandboxError."""
        told, _ = self.sandbox.ask({"do": "look"}, seconds=ANSWER_SECONDS)
        code = told.get("exit_code")
        return CompanionState(
            bool(told.get("runs")),
            int(code) if code is not None else None,
            str(told.get("detail", ""))[:300],
            str(told.get("said", "")),
        )

    def close(self) -> None:
        """Kill everything inside and remove it; may be called twice, from any thread."""
        self.sandbox.close()
        self._close_ours()

    def _close_ours(self) -> None:
        for pipe in (self.reads, self.writes):
            with contextlib.suppress(OSError):
                pipe.close()
        for one in (self._sockets, *self.listeners.values()):
            one.close()
