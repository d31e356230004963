"""The agent on stdin and stdout, which carry the protocol and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import stat
import sys
from asyncio.streams import FlowControlMixin
from typing import IO, Any, cast

from acp import run_agent

from aiswe_site.acp.agent import ChatAgent

LARGEST_MESSAGE = 50_000_000  # bytes


def serve(user: str) -> None:
    """Serve until the editor closes its end, or until told to stop. Raises ValueError where no editor is at the end."""
    given, taken = _own_streams()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve(ChatAgent(user), given, taken))
    sys.stderr.flush()
    os._exit(0)  # a thread that did not end in time must not hold the process


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """stdin and stdout for the protocol alone: all else is printed on stderr, and programs that run read nothing."""
    for number, name in ((0, "stdin"), (1, "stdout")):
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)):
            raise ValueError(f"{name} is not a pipe")
    given, taken = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return given, taken


async def _serve(agent: ChatAgent, given: IO[bytes], taken: IO[bytes]) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), given)
    transport, protocol = await loop.connect_write_pipe(FlowControlMixin, taken)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, reader.feed_eof)
    try:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await run_agent(cast(Any, agent), writer, reader, use_unstable_protocol=True)
    finally:
        await agent.leave()
