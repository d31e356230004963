"""Daphne with a large answer, in a process of its own: `python -m tests.aiswe_site.startup.slow_readers PATIENCE`.

`/large` sends PIECES pieces; any other address says how many were sent. The port is printed first.
"""

from __future__ import annotations

import sys
from typing import Any

PIECE, PIECES = b"x" * 65_536, 1_000
sent = 0


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer as fast as `send` allows."""
    global sent
    await send({"type": "http.response.start", "status": 200})
    if scope["path"] == "/large":
        for _ in range(PIECES):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            sent += 1
        await send({"type": "http.response.body"})
    else:
        await send({"type": "http.response.body", "body": str(sent).encode()})


def main() -> None:
    """Serve until killed."""
    import daphne.http_protocol
    import daphne.server

    from aiswe_site.startup import bounded

    bounded.PATIENCE = float(sys.argv[1])
    bounded.bound_bodies(daphne.http_protocol, 1_000_000)
    bounded.bound_answers(daphne.server.Server)
    server = daphne.server.Server(application, endpoints=["tcp:0:interface=127.0.0.1"], verbosity=0)

    def ready() -> None:
        sys.stdout.write(f"{server.listening_addresses[0][1]}\n")
        sys.stdout.flush()

    daphne.server.reactor.callLater(0, ready)
    server.run()


if __name__ == "__main__":
    main()
