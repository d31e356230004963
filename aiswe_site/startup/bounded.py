"""Requests and answers whose bodies are bounded on their way.

Twisted reads a whole form into memory, several times its size, before the application sees a byte of it: the bound has
to stand in front of that. Daphne takes an answer as fast as it is made, whether its client reads or not: the
application has to wait for the client.
"""

from __future__ import annotations

import asyncio
import json
import time
from io import BytesIO
from typing import Any

MEGABYTE = 1024 * 1024
# Of a body that is refused so much is read and thrown away, so that the sender gets to read the answer.
MOST_THROWN_AWAY = 1024 * MEGABYTE
PATIENCE = 300.0  # seconds in which a client has to read what one connection buffers, about 128 KB


class Flow:
    """Whether a client reads: a producer to Twisted, which pauses it while the connection's buffer is full."""

    def __init__(self) -> None:
        self._free = asyncio.Event()
        self._free.set()

    async def wait(self) -> bool:
        """Wait until there is room; False when the client has not read for too long."""
        try:
            await asyncio.wait_for(self._free.wait(), PATIENCE)
        except TimeoutError:
            return False
        return True

    def pauseProducing(self) -> None:
        """The buffer is full."""
        self._free.clear()

    def resumeProducing(self) -> None:
        """The buffer is empty."""
        self._free.set()

    stopProducing = resumeProducing  # the client is gone, which the application is told by itself


def bound_answers(server: Any) -> None:
    """Make the application wait while a client of Daphne (`server` is its class Server) does not read its answer."""
    handle_reply = server.handle_reply

    async def handle_reply_and_wait(self: Any, protocol: Any, message: dict[str, Any]) -> None:
        await handle_reply(self, protocol, message)
        if message["type"] == "http.response.start" and protocol.channel is not None and not protocol.producer:
            protocol.registerProducer(Flow(), True)
        if isinstance(flow := getattr(protocol, "producer", None), Flow) and not await flow.wait():
            protocol.transport.abortConnection()

    server.handle_reply = handle_reply_and_wait


def bound_bodies(protocol: Any, limit: int) -> None:
    """Make Daphne (`protocol` is its module http_protocol) answer 413 to bodies of more than `limit` bytes."""

    class BoundedRequest(protocol.WebRequest):  # type: ignore[misc]  # the base is known at run time only
        """Throws away what is too much, and says so at the end."""

        error_template = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>%(title)s</title></head>'
            '<body><h1>%(title)s</h1><p>%(body)s</p><p><a href="/">Go to the projects</a></p></body></html>'
        )
        taken = 0
        content: Any

        def gotLength(self, length: int | None) -> None:
            """The body's length, when it is known beforehand."""
            super().gotLength(0 if length is not None and length > limit else length)

        def handleContentChunk(self, data: bytes) -> None:
            """Keep a piece, or count it."""
            self.taken += len(data)
            if self.taken <= limit:
                super().handleContentChunk(data)
            elif self.taken > MOST_THROWN_AWAY:
                self.channel.transport.abortConnection()
            elif self.content.tell():
                self.content.close()
                self.content = BytesIO()

        def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
            """All has arrived: nothing of a refused form is parsed."""
            if self.taken > limit:
                self.requestHeaders.removeHeader(b"content-type")
                self.content = BytesIO()
            super().requestReceived(command, path, version)

        def finish(self) -> None:
            """The answer is whole."""
            if self.producer and self.channel is not None:
                self.unregisterProducer()
            super().finish()

        def process(self) -> Any:
            """Hand the request to the application, or refuse it."""
            if self.taken <= limit:
                return super().process()
            self.request_start = time.time()
            words = (
                f"The upload has more than {limit // MEGABYTE} MB and was not read. "
                "A requirements document may have 5 MB. Split it, or leave out what is not text."
            )
            if self.path.startswith(b"/api/"):
                problem = {"type": "about:blank", "title": "Content Too Large", "status": 413, "detail": words}
                self.setResponseCode(413, b"Too large")
                self.setHeader(b"Content-Type", b"application/problem+json")
                self.write(json.dumps(problem).encode())
                return self.finish()
            return self.basic_error(413, b"Too large", words)

    protocol.WebRequest = BoundedRequest
