"""Answers that are sent while they are made, from blocking code, under the asynchronous server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

from django.http import StreamingHttpResponse

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


def attachment(file: Download) -> StreamingHttpResponse:
    """A download; a browser never shows it as a page of this site."""

    def close() -> None:
        try:
            file.pieces.close()  # type: ignore[attr-defined]  # they come from generators
        except ValueError:  # a thread is still in it; the generator is closed when that thread lets go of it
            return

    headers = {"Content-Disposition": f'attachment; filename="{file.name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(Pieces(file.pieces, close), content_type=file.type, headers=headers)
