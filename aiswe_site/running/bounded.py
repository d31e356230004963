"""Requests whose bodies are bounded while they arrive.

Twisted reads a whole form into memory, several times its size, before the application sees a byte of it: the bound has
to stand in front of that.
"""

from __future__ import annotations

import time
from io import BytesIO
from typing import Any

MEGABYTE = 1024 * 1024
# Of a body that is refused so much is read and thrown away, so that the sender gets to read the answer.
MOST_THROWN_AWAY = 1024 * MEGABYTE


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

        def process(self) -> Any:
            """Hand the request to the application, or refuse it."""
            if self.taken <= limit:
                return super().process()
            self.request_start = time.time()
            words = (
                f"The upload has more than {limit // MEGABYTE} MB and was not read. "
                "A requirements document may have 5 MB. Split it, or leave out what is not text."
            )
            return self.basic_error(413, b"Too large", words)

    protocol.WebRequest = BoundedRequest
