"""The worker's end of the pipe to the agent inside a sandbox: frames, deadlines, and distrust of their sizes."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any, Protocol

from sandbox.base import SandboxUnavailable

MAX_HEAD = 64 * 1024 * 1024
MAX_BODY = 512 * 1024 * 1024
GONE = "the sandbox died; what ran in it proves nothing. Open a new one."
LATE = "the sandbox stopped answering and was killed. Open a new one."


class WireLine(Protocol):
    """Bytes to and from a sandbox."""

    def read(self, count: int, deadline: float) -> bytes:
        """Some bytes, at most `count`; b"" at the end; TimeoutError after `deadline` (time.monotonic)."""

    def write(self, data: memoryview, deadline: float) -> int:
        """Send some of `data`, tell how much; TimeoutError after `deadline`."""


class PipeLine:
    """A Line over the two pipes of a child process."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read, self._write = read_fd, write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    @staticmethod
    def _wait(fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError

    def read(self, count: int, deadline: float) -> bytes:
        while True:
            self._wait(self._read, select.POLLIN, deadline)
            try:
                return os.read(self._read, count)
            except BlockingIOError:
                continue

    def write(self, data: memoryview, deadline: float) -> int:
        while True:
            self._wait(self._write, select.POLLOUT, deadline)
            try:
                return os.write(self._write, data)
            except BlockingIOError:
                continue


class Channel:
    """Frames over a Line. Any failure is a SandboxUnavailable: a half-read answer can never be used."""

    def __init__(self, line: WireLine) -> None:
        self._line = line

    def _exactly(self, count: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            piece = self._line.read(min(count - len(parts), 1 << 20), deadline)
            if not piece:
                raise SandboxUnavailable(GONE)
            parts += piece
        return bytes(parts)

    def send(self, head: dict[str, Any], body: bytes, deadline: float) -> None:
        """Send one request."""
        text = json.dumps({**head, "body": len(body)}).encode()
        try:
            for part in (len(text).to_bytes(4, "big") + text, body):
                view = memoryview(part)
                while view:
                    view = view[self._line.write(view, deadline) :]
        except TimeoutError:
            raise SandboxUnavailable(LATE) from None
        except (OSError, ValueError):
            raise SandboxUnavailable(GONE) from None

    def receive(self, deadline: float, max_body: int = MAX_BODY) -> tuple[dict[str, Any], bytes]:
        """Read one answer of at most `max_body` bytes."""
        try:
            size = int.from_bytes(self._exactly(4, deadline), "big")
            if size > MAX_HEAD:
                raise SandboxUnavailable(GONE)
            head = json.loads(self._exactly(size, deadline))
            length = int(head["body"])
            if not 0 <= length <= max_body:
                raise SandboxUnavailable(GONE)
            return head, self._exactly(length, deadline)
        except TimeoutError:
            raise SandboxUnavailable(LATE) from None
        except (OSError, ValueError, KeyError, TypeError):
            raise SandboxUnavailable(GONE) from None
