"""Keeps one program beside the files of a sandbox: it talks with the worker through pipes that were handed in.

Process 1 calls this instead of running commands. The sandbox has no network; where the worker knows a way out, it is
given sockets that listen in here, and answers them itself.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from typing import NoReturn

from sandbox.inside.commands import Commands
from sandbox.inside.pipe import Head, Kept, Refused, Wire
from sandbox.inside.processes import kill_everything
from sandbox.inside.serve import about_files, main

WORDS_BYTES = 4096  # of what it says on its standard error
LOOK_SECONDS = 1.0
FOREVER = 1_000_000_000


class CompanionProcess:
    """One program with its processes, until it ends or uses more than it may."""

    def __init__(self, wire: Wire, commands: Commands, head: Head) -> None:
        self.wire, self.commands, self.head = wire, commands, {**head, "seconds": FOREVER, "cwd": "."}
        self.words, self.pid, self.read, self.detail = Kept(WORDS_BYTES), 0, -1, ""
        self.exit_code: int | None = None

    def start(self) -> None:
        """Hand the listening sockets out, then fork the program with the pipes as its input and output."""
        given = [int(self.head[name]) for name in ("input", "output", "sockets")]
        found = [socket.create_server(("127.0.0.1", int(port))) for port in self.head["ports"]]
        with socket.socket(fileno=given.pop()) as out:
            if found:
                socket.send_fds(out, [b"\n"], [each.fileno() for each in found])
        for each in found:
            each.close()
        self.read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        trouble_read, trouble = os.pipe2(os.O_CLOEXEC)
        for fd in given:
            os.set_inheritable(fd, False)
        self.pid = os.fork()
        if self.pid == 0:
            self.commands._child(self.head, (given[0], given[1], write), write, trouble)
        for fd in (write, trouble, *given):
            os.close(fd)
        failed = os.read(trouble_read, 20)  # closed by a successful exec
        os.close(trouble_read)
        if failed:
            self.detail = f"cannot be started: {os.strerror(int(failed))}"

    def collect(self) -> None:
        """Note that it ended; nothing of it stays."""
        while self.pid:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self.pid:
                code = os.waitstatus_to_exitcode(status)
                self.pid, self.exit_code = 0, 128 - code if code < 0 else code
                kill_everything({})

    def answer(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        if head["do"] == "look":
            first, last, _ = self.words.parts()
            said = (first + last)[-WORDS_BYTES:].decode(errors="replace")
            return {"runs": bool(self.pid), "exit_code": self.exit_code, "detail": self.detail, "said": said}, b""
        return about_files(head, body) or ({"error": f"unknown request {head['do']!r}"}, b"")

    def serve(self) -> NoReturn:
        """Until the worker goes away."""
        self.start()
        self.wire.send({})
        looked = time.monotonic()
        while True:
            poll = select.poll()
            for fd in (self.wire.inp, self.commands.woken, self.read):
                if fd >= 0:
                    poll.register(fd, select.POLLIN)
            ready = dict(poll.poll(500))
            if self.commands.woken in ready:
                os.read(self.commands.woken, 512)
            if self.read in ready and not self.commands._drain(self.read, self.words):
                os.close(self.read)
                self.read = -1
            self.collect()
            if self.wire.inp in ready:
                self.wire.send(*self._safely(*self.wire.receive()))
            if self.pid and time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                if trouble := self.commands.overuse():
                    self.detail = f"was stopped: it used more {trouble} than it may"
                    os.kill(self.pid, signal.SIGKILL)

    def _safely(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        try:
            return self.answer(head, body)
        except Refused as refusal:
            return {"refused": str(refusal)}, b""
        except (OSError, ValueError, RecursionError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            return {"error": reason}, b""


def accompany(wire: Wire, commands: Commands, head: Head) -> NoReturn:
    """Keep one program until the worker goes away."""
    CompanionProcess(wire, commands, head).serve()


if __name__ == "__main__":
    main({"accompany": accompany})
