"""Time limits of a stream, the same for every provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from agents.llm.base import ModelTimeout, Stage, Timeouts

T = TypeVar("T")


async def timed(source: AsyncGenerator[T, None], limits: Timeouts) -> AsyncGenerator[T, None]:
    """Pass items on; raises `ModelTimeout` with the stage in which one came too late. Always closes the source."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limits.total
    stage: Stage = "first_token"
    async with aclosing(source) as items:
        while True:
            allowed = limits.first_token if stage == "first_token" else limits.idle
            left = end - loop.time()
            late: tuple[Stage, float] = ("total", limits.total) if left <= allowed else (stage, allowed)
            try:
                async with asyncio.timeout(max(0.0, min(left, allowed))):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise ModelTimeout(*late) from None
            stage = "idle"
            yield item
