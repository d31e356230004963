"""Hands requests on to an application that no network reaches: in its sandbox from a listening socket of the worker,
beside its container from a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Coroutine

REFUSED = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\nx-aiswe: down\r\n\r\n"
CONNECT_SECONDS = 10  # a lost first packet is tried for two minutes, and the client learns nothing meanwhile


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All of one direction."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


async def relay(host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection; 502 when nobody listens."""
    try:
        connecting = asyncio.open_connection(host, port)
        inner_reader, inner_writer = await asyncio.wait_for(connecting, CONNECT_SECONDS)
    except (OSError, TimeoutError):
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(reader.read(65536), 1)  # else the client gets a reset and not the answer
            writer.write(REFUSED)
            await writer.drain()
        writer.close()
        return
    try:
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
    finally:
        inner_writer.close()
        writer.close()


async def forward(listener: str, port: int, host: str = "127.0.0.1") -> None:
    """Until it is killed. `listener` is a socket's number, or "port": the application's, on all interfaces."""

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Coroutine[None, None, None]:
        return relay(host, port, reader, writer)

    if listener == "port":
        server: asyncio.Server = await asyncio.start_server(accept, "0.0.0.0", port)  # noqa: S104 - in a container
    else:
        server = await asyncio.start_unix_server(accept, sock=socket.socket(fileno=int(listener)))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(forward(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
