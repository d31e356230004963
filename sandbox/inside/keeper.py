"""Keeps one application up inside a sandbox: its process, its output, and the way of requests to it.

Process 1 calls this instead of running commands. Requests come through a listening socket that the worker made and
handed in: the sandbox has no network, and what is in it can only answer.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import NoReturn

from sandbox.inside.commands import Commands
from sandbox.inside.pipe import Head, Wire
from sandbox.inside.processes import kill_everything, resident_bytes
from sandbox.inside.serve import main

KEPT_BYTES = 256 * 1024  # of output
MOST_SENT = 64 * 1024
PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # before a process that ended is started again
STEADY_SECONDS = 60.0  # so long up, and the pauses begin anew
FOREVER = 1_000_000_000


class Output:
    """The last of what was printed, by its position in all of it."""

    def __init__(self) -> None:
        self.total, self.kept = 0, bytearray()

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        self.kept += piece
        del self.kept[: max(0, len(self.kept) - KEPT_BYTES)]

    def after(self, position: int) -> tuple[bytes, int, bool]:
        """At most MOST_SENT bytes from there on, where they end, and whether some before them are gone."""
        begin = self.total - len(self.kept)
        start = min(max(position, begin), self.total)
        piece = bytes(self.kept[start - begin : start - begin + MOST_SENT])
        return piece, start + len(piece), start > position


class Keeper:
    """One application: started, watched, started again when it ends."""

    def __init__(self, wire: Wire, commands: Commands, head: Head) -> None:
        self.wire, self.commands, self.head = wire, commands, {**head, "seconds": FOREVER, "cwd": "."}
        self.output, self.pid, self.forwarder, self.read = Output(), 0, 0, -1
        self.restarts, self.detail = 0, ""
        self.exit_code: int | None = None
        self.asked = False  # a person or the worker wanted the restart: no crash
        self.started, self.again = 0.0, 0.0  # when it was started, when it will be again
        self.failures, self.watched = 0, 0.0

    def start(self) -> None:
        """Fork the application, its output into a pipe of ours."""
        read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(write, True)
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        trouble_read, trouble = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(int(self.head["listener"]))
            self.commands._child(self.head, (null, write, write), write, trouble)
        for fd in (write, null, trouble):
            os.close(fd)
        failed = os.read(trouble_read, 20)  # closed by a successful exec
        os.close(trouble_read)
        if failed:
            self.output.add(f"cannot be started: {os.strerror(int(failed))}\n".encode())
        self.read, self.started = read, time.monotonic()

    def forward(self) -> None:
        """Fork the process that hands requests on."""
        self.forwarder = os.fork()
        if self.forwarder == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            words = ["-I", "-S", "-c", self.head["forwarder"], str(self.head["listener"]), str(self.head["port"])]
            os.execv(sys.executable, [sys.executable, *words])  # noqa: S606 - no shell is the point

    def collect(self) -> None:
        """Note what ended, and when it is started again."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self.forwarder:
                self.forward()
            elif pid == self.pid:
                self._ended(os.waitstatus_to_exitcode(status))

    def _ended(self, code: int) -> None:
        self.drain()
        os.close(self.read)
        self.pid, self.read = 0, -1
        self.exit_code = 128 - code if code < 0 else code
        if time.monotonic() - self.started > STEADY_SECONDS:
            self.failures = 0
        self.again = time.monotonic() + PAUSES[min(self.failures, len(PAUSES) - 1)]
        self.failures += 1

    def drain(self) -> None:
        """Take what it printed."""
        while self.read >= 0:
            try:
                piece = os.read(self.read, 65536)
            except BlockingIOError:
                return
            if not piece:
                return
            self.output.add(piece)

    def end(self) -> None:
        """End the application with all its processes; the forwarder is started again."""
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + 3
            while self.pid and time.monotonic() < deadline:
                self.collect()
                time.sleep(0.02)
        status: dict[int, int] = {}
        kill_everything(status)
        if self.pid:
            self._ended(os.waitstatus_to_exitcode(status.get(self.pid, 9)))
        self.forward()

    def look(self) -> Head:
        state = "running" if self.pid else "exited"
        detail = self.detail or (f"ended with exit code {self.exit_code}" if not self.pid else "")
        memory = resident_bytes() / 1024 / 1024
        return {
            "state": state,
            "restarts": self.restarts,
            "exit_code": self.exit_code,
            "detail": detail,
            "memory_mb": round(memory, 1),
        }

    def answer(self, head: Head) -> tuple[Head, bytes]:
        kind = head["do"]
        if kind == "look":
            return self.look(), b""
        if kind == "log":
            piece, position, lost = self.output.after(int(head["after"]))
            return {"position": position, "lost": lost}, piece
        if kind == "restart":
            self.end()
            self.again, self.failures, self.detail, self.asked = 0.0, 0, "", True
            return {}, b""
        if kind == "ping":
            return {}, b""
        return {"error": f"unknown request {kind!r}"}, b""

    def serve(self) -> NoReturn:
        """Until the worker goes away."""
        self.forward()
        self.start()
        self.wire.send({})
        while True:
            poll = select.poll()
            poll.register(self.wire.inp, select.POLLIN)
            poll.register(self.commands.woken, select.POLLIN)
            if self.read >= 0:
                poll.register(self.read, select.POLLIN)
            ready = dict(poll.poll(500))
            if self.commands.woken in ready:
                os.read(self.commands.woken, 512)
            self.drain()
            self.collect()
            if self.wire.inp in ready:
                self.wire.send(*self.answer(self.wire.receive()[0]))
            self._watch()

    def _watch(self) -> None:
        now = time.monotonic()
        if not self.pid and now >= self.again:
            self.restarts += not self.asked
            self.asked = False
            self.start()
        if self.pid and now - self.watched > 2:
            self.watched = now
            if trouble := self.commands.overuse():
                self.detail = f"stopped: more {trouble} than it may use"
                self.output.add(f"{self.detail}\n".encode())
                self.end()


def keep(wire: Wire, commands: Commands, head: Head) -> NoReturn:
    """Serve one application until the worker goes away."""
    os.set_inheritable(int(head["listener"]), True)
    Keeper(wire, commands, head).serve()


if __name__ == "__main__":
    main({"serve": keep})
