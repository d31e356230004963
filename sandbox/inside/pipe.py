"""The agent's end of the pipe to the worker, and what it keeps of a stream."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

MAX_FRAME = 1024 * 1024 * 1024
Head = dict[str, Any]


class Refused(Exception):
    """The worker asked for a path that leaves the workspace."""


class Wire:
    """The two ends of the worker's pipe, moved away from 0 and 1 so that no command inherits them."""

    def __init__(self) -> None:
        self.inp = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
        self.out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            piece = os.read(self.inp, min(count, 1 << 20))
            if not piece:
                os._exit(0)  # the worker is gone; the kernel ends every process of this namespace with us
            parts.append(piece)
            count -= len(piece)
        return b"".join(parts)

    def receive(self) -> tuple[Head, bytes]:
        size = int.from_bytes(self._exactly(4), "big")
        head = json.loads(self._exactly(min(size, MAX_FRAME)))
        return head, self._exactly(min(int(head.get("body", 0)), MAX_FRAME))

    def send(self, head: Head, body: bytes = b"") -> None:
        text = json.dumps({**head, "body": len(body)}).encode()
        view = memoryview(len(text).to_bytes(4, "big") + text + body)
        while view:
            view = view[os.write(self.out, view) :]


class Kept:
    """The head and the tail of a stream, in flat memory."""

    def __init__(self, cap: int) -> None:
        self.cap, self.total, self.head, self.tail = cap, 0, bytearray(), bytearray()

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        room = self.cap - len(self.head)
        if room > 0:
            self.head += piece[:room]
            piece = piece[room:]
        if piece:
            self.tail += piece
            if len(self.tail) > 2 * self.cap + 65536:
                del self.tail[: len(self.tail) - self.cap]

    def parts(self) -> tuple[bytes, bytes, int]:
        """Head, tail, and how many bytes between them were dropped."""
        tail = bytes(self.tail[-self.cap :]) if self.cap else b""
        return bytes(self.head), tail, self.total - len(self.head) - len(tail)
