"""Answers that are sent while they are made, from blocking code, under the asynchronous server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from projects.services.delivery.downloads import Download


class Pieces:
    """Pieces that are made in threads; Django calls `close` at the end or when nobody listens.

    A plain iterator would be read to its end before the first byte is sent.
    """

    def __init__(self, pieces: Iterator[bytes], close: Callable[[], None]) -> None:
        self._pieces, self.close = pieces, close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await asyncio.to_thread(next, self._pieces, None)) is not None:
            if piece:  # an empty one would end the answer
                yield piece


def as_file(name: str) -> dict[str, str]:
    """The headers of a download; a browser never shows it as a page of this site."""
    return {"Content-Disposition": str(content_disposition_header(True, name)), "X-Content-Type-Options": "nosniff"}


def attachment(file: Download) -> StreamingHttpResponse:
    """A download that is made while it is sent."""

    def close() -> None:
        try:
            file.pieces.close()  # type: ignore[attr-defined]  # they come from generators
        except ValueError:  # a thread is still in it; the generator is closed when that thread lets go of it
            return

    return StreamingHttpResponse(Pieces(file.pieces, close), content_type=file.type, headers=as_file(file.name))
