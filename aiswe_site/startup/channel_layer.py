"""An in-memory channel layer that any thread of the process may use.

The stock layer keeps asyncio queues; a put from another thread's event loop does not wake the loop that waits in
get(), so a worker thread's message arrives up to a second late. Here every call is sent to the loop that serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from channels.layers import InMemoryChannelLayer


class ThreadBridgeLayer(InMemoryChannelLayer):
    """InMemoryChannelLayer whose methods run on the serving loop, whoever calls them."""

    serving_loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Name the loop that consumers wait in; call it once when the server starts."""
        self.serving_loop = loop

    async def _there(self, call: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        loop = self.serving_loop
        if loop is None or loop is asyncio.get_running_loop() or not loop.is_running():
            return await call(*args)

        async def run() -> Any:
            return await call(*args)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), loop))

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        await self._there(super().send, channel, message)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._there(super().group_send, group, message)

    async def group_add(self, group: str, channel: str) -> None:
        await self._there(super().group_add, group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        await self._there(super().group_discard, group, channel)
