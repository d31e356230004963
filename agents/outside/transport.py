"""Messages of another agent as lines of JSON, within bounds: what floods, or is no JSON, ends the conversation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

MOST_LINE = 8 * 1024 * 1024
MOST_BYTES = 128 * 1024 * 1024  # of one turn
MOST_MESSAGES = 20_000  # of one turn
MOST_UNREADABLE = 20  # some programs print a word before they talk


class BoundedTransport:
    """Implements acp's transport of messages. When a bound is crossed the stream ends, and `problem` says which."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """`reader` is to have MOST_LINE as its limit."""
        self._reader, self._writer = reader, writer
        self._lock = asyncio.Lock()
        self.problem, self.unreadable = "", 0
        self.new_turn()

    def new_turn(self) -> None:
        """Begin to count anew."""
        self.messages = self.bytes = 0

    async def send(self, message: dict[str, Any]) -> None:
        async with self._lock:
            self._writer.write(json.dumps(message, separators=(",", ":")).encode(errors="replace") + b"\n")
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        while not self.problem:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                self.problem = f"sent a message of more than {MOST_LINE >> 20} MB"
                break
            except (asyncio.IncompleteReadError, OSError):
                break
            self.messages, self.bytes = self.messages + 1, self.bytes + len(line)
            if self.messages > MOST_MESSAGES or self.bytes > MOST_BYTES:
                self.problem = f"sent more than {MOST_MESSAGES:,} messages or {MOST_BYTES >> 20} MB in one turn"
                break
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            self.unreadable += 1
            if self.unreadable > MOST_UNREADABLE:
                self.problem = f"sent more than {MOST_UNREADABLE} lines that are not messages"
        return None

    async def close(self) -> None:
        self._writer.close()
