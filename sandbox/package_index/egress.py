"""The way out to the package indexes and nowhere else, for workers in a network that leads nowhere:
`python -m sandbox.package_index.egress` is an HTTPS proxy (CONNECT) for the hosts of an allow-list.
"""

from __future__ import annotations

import asyncio
import os
import sys
import urllib.parse
from collections.abc import Callable, Iterable

from sandbox.package_index.index import NONE, PYPI, npm_registry, python_index

VARIABLE, PORT = "AISWE_EGRESS_HOSTS", 3128
PYPI_FILES = "files.pythonhosted.org"
MAX_HEAD, HEAD_S, IDLE_S, PIECE = 8_192, 10.0, 120.0, 1 << 16
CLOSED = "HTTP/1.1 {} {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def allowed_targets() -> frozenset[str]:
    """`host:port` of the configured indexes, and of those that AISWE_EGRESS_HOSTS names besides."""
    found = set(os.environ.get(VARIABLE, "").replace(",", " ").split())
    for address in (python_index(), npm_registry()):
        if address != NONE:
            found.add(urllib.parse.urlsplit(address).netloc.rpartition("@")[2])
        if address == PYPI:
            found.add(PYPI_FILES)
    return frozenset((one if ":" in one else f"{one}:443").lower() for one in found if one)


class Egress:
    """Joins a client with an allowed host; it sees host names and ciphertext, never what is fetched."""

    def __init__(self, allowed: Iterable[str], refused: Callable[[str], None] | None = None) -> None:
        """`allowed` are targets as `host:port`; `refused` is told of others, else standard error is."""
        self.allowed, self.refused = frozenset(allowed), refused or _say_refused

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its CONNECT to the end of either side."""
        try:
            status = await self._answer(reader, writer)
            if status:
                writer.write(status.encode())
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """What refuses the client; "" after it has been served."""
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_S)
        method, _, rest = head.decode("latin-1").partition(" ")
        target = rest.partition(" ")[0].lower()
        if method != "CONNECT":
            return CLOSED.format(405, "Only CONNECT")
        if target not in self.allowed:
            self.refused(target[:100])
            return CLOSED.format(403, "Host not allowed")
        host, _, port = target.rpartition(":")
        try:
            far_reader, far_writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), HEAD_S)
        except (OSError, TimeoutError):
            return CLOSED.format(502, "Host does not answer")
        try:
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            far_writer.close()
        return ""


def _say_refused(target: str) -> None:
    print(f"refused: {target!r}", file=sys.stderr, flush=True)  # noqa: T201


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await asyncio.wait_for(source.read(PIECE), IDLE_S):
        sink.write(piece)
        await sink.drain()
    sink.write_eof()


async def _main() -> None:
    allowed = allowed_targets()
    server = await asyncio.start_server(Egress(allowed).serve, "0.0.0.0", PORT, limit=MAX_HEAD)  # noqa: S104
    print(f"leads to {', '.join(sorted(allowed)) or 'no host'}", file=sys.stderr, flush=True)  # noqa: T201
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
