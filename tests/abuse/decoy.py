"""A server on this machine that nobody should ever reach; it counts who does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Decoy:
    """Its port on every address of this machine, and what came in."""

    port: int
    hits: list[bytes] = field(default_factory=list)


@contextmanager
def decoy() -> Iterator[Decoy]:
    """Listen on all addresses while the block lasts."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.2)
        made, done = Decoy(server.getsockname()[1]), threading.Event()

        def listen() -> None:
            while not done.is_set():
                try:
                    peer, _ = server.accept()
                except TimeoutError:
                    continue
                with peer:
                    peer.settimeout(0.5)
                    try:
                        made.hits.append(peer.recv(1000))
                    except OSError:
                        made.hits.append(b"")

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            done.set()
            thread.join(5)
