"""Requests to deployed applications: each has a host name of its own, so that no cookie of these pages reaches it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from projects.engine.operations import hosts
from projects.errors import ProjectsError
from projects.services.operations import traffic

log = logging.getLogger("aiswe.operations")
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Place = tuple[int, Any]  # a deployment and the address of its release

ANSWER_SECONDS = 60.0
KNOWN_SECONDS = 1.0  # so long an address is not asked for again
WRITE_SECONDS = 2.0  # between two writings of what was counted
MOST_BODY = 10 * 1024 * 1024
BAD_A_MINUTE = 20  # requests that are kept of one deployment
# Of one connection, not of a message: https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
GONE = b"<!doctype html><title>Nothing runs here</title><p>Nothing is deployed at this address, or it is starting.</p>"


class AppProxy:
    """An ASGI application in front of another: hosts of deployed applications go there, all else goes on."""

    def __init__(self, application: Any) -> None:
        self.application = application
        domain = re.escape(settings.APPS_DOMAIN)
        self.pattern = re.compile(rf"([a-z][a-z0-9-]*)\.([a-z0-9_-]+)\.{domain}(?::\d+)?") if domain else None
        self.known: dict[tuple[str, str], tuple[float, Place | None]] = {}
        self.counted: dict[tuple[int, datetime], traffic.TrafficCount] = {}
        self.kept: dict[tuple[int, datetime], int] = {}
        self.writing: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> Any:
        """Hand a request on."""
        if self.pattern is None or scope["type"] != "http":
            return await self.application(scope, receive, send)
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
        if (found := self.pattern.fullmatch(host)) is None:
            return await self.application(scope, receive, send)
        if not _is_local(scope):
            return await _answer(send, 403, b"Applications are only reachable from this machine.")
        return await self._hand_on(found[2], found[1], scope, receive, send)

    async def _hand_on(self, project: str, target: str, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        place = await self._place(project, target)
        if place is None:
            return await _answer(send, 502, GONE, "text/html")
        body = await _body(receive)
        if body is None:
            return await _answer(send, 413, b"The request has more than 10 MB.")
        deployment, address = place
        try:
            url = hosts.url_of(address, _target_of(scope))
        except ProjectsError as refused:
            return await _answer(send, 400, str(refused).encode())
        began, status, started, down = time.monotonic(), None, False, False
        try:
            async with _client(address) as client:
                headers = _headers(scope, address)
                request = client.build_request(scope["method"], url, headers=headers, content=body)
                answer = await client.send(request, stream=True)
                try:
                    down = "x-aiswe" in answer.headers and answer.status_code == 502
                    status = None if down else answer.status_code
                    await send({"type": "http.response.start", "status": answer.status_code, "headers": _back(answer)})
                    started = True
                    async for piece in answer.aiter_raw(65536):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    await send({"type": "http.response.body", "body": b""})
                finally:
                    await answer.aclose()
        except (httpx.HTTPError, OSError) as error:
            status, down = None, isinstance(error, httpx.ConnectError)
            if not started:
                await _answer(send, 502, b"The application ended without an answer.")
            else:
                await send({"type": "http.response.body", "body": b""})
        finally:
            took = int((time.monotonic() - began) * 1000)
            await self._count(deployment, scope, None if down else body, status, took)

    async def _place(self, project: str, target: str) -> Place | None:
        now = time.monotonic()
        since, place = self.known.get((project, target), (-KNOWN_SECONDS, None))
        if now - since >= KNOWN_SECONDS:
            place = await _in_database(hosts.live_on)(project, target)
            if len(self.known) > 1000:
                self.known.clear()
            self.known[project, target] = now, place
        return place

    async def _count(
        self, deployment: int, scope: dict[str, Any], body: bytes | None, status: int | None, milliseconds: int
    ) -> None:
        """Count a request, and keep it where a test may have to repeat it: not one that met nobody (no `body`)."""
        minute = datetime.now(UTC).replace(second=0, microsecond=0)
        failed = status is None or status >= 500
        self.counted.setdefault((deployment, minute), traffic.TrafficCount()).add(milliseconds, failed=failed)
        kept = self.kept.get((deployment, minute), 0)
        if body is not None and (failed or milliseconds >= traffic.SLOW_MS) and kept < BAD_A_MINUTE:
            now = {key: count for key, count in self.kept.items() if key[1] == minute}
            self.kept = now | {(deployment, minute): kept + 1}
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            await _in_database(traffic.keep_bad)(
                deployment,
                method=scope["method"],
                path=_target_of(scope),
                headers=headers,
                body=body[: traffic.MOST_BODY],
                status=status,
                ms=milliseconds,
            )
        if self.writing is None or self.writing.done():
            self.writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        """Write down what was counted, a moment later and all at once, and what came meanwhile."""
        while self.counted:
            await asyncio.sleep(WRITE_SECONDS)
            counted, self.counted = self.counted, {}
            try:
                await _in_database(traffic.record)(counted)
            except Exception:  # the database is away: these requests are not counted, and others are still answered
                log.exception("requests to applications were not counted")


def _in_database(call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    def fresh(*args: Any, **more: Any) -> Any:
        close_old_connections()
        return call(*args, **more)

    return sync_to_async(fresh, thread_sensitive=False)


def _is_local(scope: dict[str, Any]) -> bool:
    """Whether the client is this machine; under a domain that an administrator chose, whoever gets this far."""
    if settings.APPS_DOMAIN != "localhost":
        return True
    try:
        return ipaddress.ip_address((scope.get("client") or ["127.0.0.1"])[0]).is_loopback
    except ValueError:
        return True  # a Unix socket


def _client(address: Any) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(uds=address.socket or None, verify=address.tls())
    return httpx.AsyncClient(transport=transport, timeout=ANSWER_SECONDS, trust_env=False)


def _target_of(scope: dict[str, Any]) -> str:
    path: str = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    query: str = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


def _headers(scope: dict[str, Any], address: Any) -> list[tuple[bytes, bytes]]:
    own = {name.lower().encode() for name in address.headers}
    kept = [
        (name, value)
        for name, value in scope["headers"]
        if name.decode("latin-1").lower() not in HOP | {"content-length"} and name.lower() not in own
    ]
    kept += [(b"x-forwarded-proto", b"https" if settings.HTTPS else b"http")]
    return kept + [(name.encode(), value.encode()) for name, value in address.headers.items()]


def _back(answer: httpx.Response) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in answer.headers.raw if name.decode("latin-1").lower() not in HOP]


async def _body(receive: Receive) -> bytes | None:
    """All of it; None when it is too much."""
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        size += len(message.get("body", b""))
        if size > MOST_BODY:
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Send, status: int, text: bytes, kind: str = "text/plain") -> None:
    headers = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
