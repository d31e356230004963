"""The socket of a run as a test holds it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from channels.testing import WebsocketCommunicator

from aiswe_site.asgi import application
from projects.models import Run
from tests.e2e.scenes import session_of
from tests.rows import emit

ORIGIN = (b"origin", b"http://127.0.0.1")


def tell(run: Run, count: int, type: str = "thought", **more: Any) -> None:
    for number in range(count):
        emit(run.pk, type, summary=f"row {number}", role="coder", **more)


def dial(run_id: int, user: Any = None, query: str = "", origin: tuple[bytes, bytes] = ORIGIN) -> WebsocketCommunicator:
    headers = [origin, (b"host", b"127.0.0.1")]
    if user is not None:
        headers.append((b"cookie", f"aiswe_session={session_of(user)}".encode()))
    return WebsocketCommunicator(application, f"/ws/runs/{run_id}{query}", headers=headers)


@asynccontextmanager
async def wired(run: Run, user: Any, query: str = "", *, greeted: bool = True) -> AsyncIterator[WebsocketCommunicator]:
    """The socket of a run, connected, its first message read; closed after the block, unless the server did it."""
    wire = await sync_to_async(dial)(run.pk, user, query)
    await wire.connect(timeout=60)
    if greeted:
        await wire.receive_from(timeout=60)
    yield wire
    await wire.disconnect()


async def frames(wire: WebsocketCommunicator, upto: int) -> list[dict[str, Any]]:
    """Messages until one reaches `upto`."""
    found = []
    while not found or found[-1].get("to", 0) < upto:
        message = json.loads(await wire.receive_from(timeout=60))
        if "to" in message:
            found.append(message)
    return found


def end_of(run: Run, user: Any, then: Callable[[WebsocketCommunicator], Awaitable[object]] | None = None) -> int:
    """The code with which the server closes the socket of a run after `then`."""

    async def scene() -> int:
        async with wired(run, user, greeted=False) as wire:
            if then is not None:
                await then(wire)
            return await closed_with(wire)

    return int(play(scene))


async def closed_with(wire: WebsocketCommunicator) -> int:
    while True:
        message = await wire.receive_output(timeout=60)
        if message["type"] == "websocket.close":
            return int(message["code"])


def play(scene: Any) -> Any:
    """Run one scene in a loop of its own."""
    return async_to_sync(scene)()
