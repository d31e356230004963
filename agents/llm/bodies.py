"""The body of a model server's answer: complete, or as lines or events while it comes, always bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar, cast

import httpx

from agents.llm.base import ReplyTooLong
from agents.llm.sse import EventReader, LineTooLong, ServerSentEvent
from agents.llm.tokens import count_tokens

Item = TypeVar("Item")
THINK, THOUGHT = "<think>", "</think>"  # around thoughts that a server leaves in the text
END_S = 0.2  # how long the end of an answer may come after the mark of its end


class ThoughtsRanOut(Exception):
    """The model thought longer than it may, or until its tokens were used up, and has not begun to answer."""

    def __init__(self, reply: PartialReply) -> None:
        super().__init__()
        self.reply = reply


@dataclass
class PartialReply:
    """What a reply has brought so far; `began` and `first`, when its first text came, are on the monotonic clock."""

    limit: int  # bytes
    tail_s: float  # how long the token counts may come after the last text
    most_thoughts: int | None = None  # tokens before the answer begins
    began: float = field(default_factory=monotonic)
    parts: list[str] = field(default_factory=list)
    size: int = 0
    reason: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    first: float = 0.0
    done: bool = False
    thoughts: list[str] = field(default_factory=list)
    thought_tokens: int = 0
    answering: bool = False  # something other than thoughts has come

    @property
    def thought(self) -> str:
        """The thoughts before the answer, so far."""
        return "".join(self.thoughts)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.parts)

    def add(self, text: str, thought: str = "") -> None:
        """Add a piece of text or of thoughts. Raises ReplyTooLong, and ThoughtsRanOut beyond `most_thoughts`."""
        self.size += len(text.encode("utf-8", "replace")) + len(thought)
        if self.size > self.limit:
            raise ReplyTooLong(self.limit)
        if text:
            self.first = self.first or monotonic()
            self.parts.append(text)
        if self.answering:
            return
        if text:
            head, tail = "".join(self.parts[:8]).lstrip(), "".join(self.parts[-8:])
            self.answering = not head.startswith(THINK[: len(head)]) or THOUGHT in tail
            thought = thought or (text if head.startswith(THINK) else "")
        if thought and not self.answering:
            self.thoughts.append(thought)
            self.thought_tokens += count_tokens(thought)
            if self.most_thoughts is not None and self.thought_tokens > self.most_thoughts:
                raise ThoughtsRanOut(self)

    def need_answer(self) -> None:
        """Raise ThoughtsRanOut for a reply that was cut off at its limit of tokens while the model still thought."""
        if self.reason == "length" and self.thoughts and not self.answering:
            raise ThoughtsRanOut(self)

    @property
    def left_s(self) -> float | None:
        """How many seconds the rest of an answer may take once its text is complete; None before that."""
        return END_S if self.done else self.tail_s if self.reason else None


def events(response: httpx.Response, reply: PartialReply) -> AsyncGenerator[ServerSentEvent, None]:
    """The server-sent events of an answer."""
    return with_tail(_all_events(response, 4 * reply.limit), reply)


def lines(response: httpx.Response, reply: PartialReply) -> AsyncGenerator[bytes, None]:
    """The lines of an answer that are not empty."""
    return with_tail(_all_lines(response, 4 * reply.limit), reply)


async def complete_body(response: httpx.Response, limit: int) -> bytes:
    """The complete body; raises ReplyTooLong when it passes `limit` bytes."""
    found = await body_up_to(response, limit)
    if len(found) > limit:
        raise ReplyTooLong(limit)
    return found


async def body_up_to(response: httpx.Response, limit: int) -> bytes:
    """The body, read until it passes `limit` bytes."""
    found = bytearray()
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            found += piece
            if len(found) > limit:
                break
    return bytes(found)


async def with_tail(source: AsyncGenerator[Item, None], reply: PartialReply) -> AsyncGenerator[Item, None]:
    """Read to the end, because only then can the connection be reused; after the text not for long."""
    async with aclosing(source) as items:
        while True:
            try:
                async with asyncio.timeout(reply.left_s):
                    item = await anext(items)
            except (StopAsyncIteration, TimeoutError):
                return
            except httpx.TransportError:
                if reply.left_s is None:
                    raise
                return
            yield item


async def _all_events(response: httpx.Response, limit: int) -> AsyncGenerator[ServerSentEvent, None]:
    reader = EventReader(limit)
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            for event in reader.feed(piece):
                yield event
    for event in reader.end():
        yield event


async def _all_lines(response: httpx.Response, limit: int) -> AsyncGenerator[bytes, None]:
    rest = b""
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            *complete, rest = (rest + piece).split(b"\n")
            if len(rest) > limit:
                raise LineTooLong
            for line in complete:
                if line.strip():
                    yield line
    if rest.strip():
        yield rest


def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    return cast(AsyncGenerator[bytes, None], response.aiter_bytes())  # declared as an iterator, which has no aclose()
