"""Runs inside a sandbox: hands requests from a listening socket of the worker on to the application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys

REFUSED = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\nx-aiswe: down\r\n\r\n"


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


async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection; 502 when nobody listens."""
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
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


async def forward(listener: int, port: int) -> None:
    """Until it is killed."""
    server = await asyncio.start_unix_server(
        lambda reader, writer: relay(port, reader, writer), sock=socket.socket(fileno=listener)
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(forward(int(sys.argv[1]), int(sys.argv[2])))
