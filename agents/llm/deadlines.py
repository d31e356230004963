"""Holding a stream to its time limits, whichever provider it comes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TypeVar

from agents.llm.base import ModelTimeout, Stage, Timeouts

T = TypeVar("T")


async def timed(source: AsyncIterator[T], limits: Timeouts) -> AsyncIterator[T]:
    """Pass items on; raise `ModelTimeout` naming the stage when one comes too late. Closes the source in any case."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limits.total
    stage: Stage = "first_token"
    async with aclosing(source) as items:  # type: ignore[type-var]
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
