"""The HTTP layer under the Ollama client: what its library neither sends nor keeps.

It adds `truncate` and `shift` (the client has no parameter for them, and without them a server drops old messages
in silence), turns "busy" answers into errors that keep `Retry-After` (the client throws headers away), caps a line
that never ends, and notices the header by which a recording makes itself known.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from email.utils import parsedate_to_datetime
from time import time

import httpx

from agents.llm.base import MAX_REPLY_BYTES, ModelUnavailable, ReplyTooLong

RECORDED_HEADER = "X-Recorded"
BUSY = {429: "is busy", 502: "is not reachable behind its gateway", 503: "is overloaded", 504: "is not answering"}
END_S = 0.2  # how long the end of an answer may come after its last line or the mark of its end
_MAX_RETRY_AFTER = 3600.0
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def clean(text: object, limit: int = 300) -> str:
    """A server's words, fit to be shown on one line."""
    return _UNPRINTABLE.sub(" ", str(text))[:limit].strip()


def retry_after_seconds(value: str | None) -> float | None:
    """Read a Retry-After header: seconds or a date, bounded to an hour; None when absent or senseless."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER) if seconds == seconds else None


class _CappedLines(httpx.AsyncByteStream):
    """A response body whose lines may not pass a size."""

    def __init__(self, inner: httpx.AsyncByteStream, limit: int) -> None:
        self._inner, self._limit = inner, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        run = 0
        async for chunk in self._inner:
            cut = chunk.rfind(b"\n")
            run = run + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if max(run, len(chunk)) > self._limit:
                raise ReplyTooLong(self._limit)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class OllamaTransport(httpx.AsyncHTTPTransport):
    """An ordinary transport with the four additions above."""

    def __init__(self, on_recorded: Callable[[bool], None], limit: int = 4 * MAX_REPLY_BYTES) -> None:
        super().__init__()
        self._on_recorded, self._limit = on_recorded, limit

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send, look at the headers, and hand the body on with its cap."""
        response = await super().handle_async_request(_strict(request))
        self._on_recorded(RECORDED_HEADER in response.headers)
        if response.status_code in BUSY:
            await response.aclose()
            raise ModelUnavailable(
                f"The model server {BUSY[response.status_code]} (HTTP {response.status_code}).",
                retry_after_seconds(response.headers.get("Retry-After")),
            )
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _CappedLines(response.stream, self._limit)
        return response


def _strict(request: httpx.Request) -> httpx.Request:
    """Ask the server to refuse, not to shorten, a conversation longer than the window."""
    if request.url.path != "/api/chat" or not request.content.startswith(b"{"):
        return request
    headers = {key: value for key, value in request.headers.items() if key.lower() != "content-length"}
    content = b'{"truncate":false,"shift":false,' + request.content[1:]
    return httpx.Request(
        request.method, request.url, headers=headers, content=content, extensions=dict(request.extensions)
    )
