"""Listeners on the host that nobody inside a sandbox may ever reach; each counts who came."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import selectors
import shutil
import socket
import struct
import threading
from typing import Any, Self

from sandbox.paths import socket_folder

SIOCGIFADDR = 0x8915
GREETING = b"canary"


def host_addresses() -> list[str]:
    """The IPv4 addresses of this host except the loopback."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(asker.fileno(), SIOCGIFADDR, struct.pack("256s", name[:15].encode()))
                found.append(socket.inet_ntoa(answer[20:24]))
    return sorted(set(found) - {"127.0.0.1"})


class CanaryListeners:
    """TCP and UDP on the loopback, a Unix socket in a folder and one in the kernel's table of abstract names.

    With `everywhere` TCP and UDP listen on each address of the host too: for self-tests that a person asks for.
    """

    def __init__(self, *, everywhere: bool = False) -> None:
        self._hits: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._folder = socket_folder("aiswe-listener-")
        self._folder.chmod(0o755)
        self.tcp: list[tuple[str, int]] = []
        self.udp: list[tuple[str, int]] = []
        self.unix = str(self._folder / "socket")
        self.abstract = f"aiswe-listener-{secrets.token_hex(8)}"
        for address in ("127.0.0.1", "::1", *(host_addresses() if everywhere else ())):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with contextlib.suppress(OSError):  # a host without IPv6 has nothing to be reached by it
                self.tcp.append((address, self._listen(family, socket.SOCK_STREAM, (address, 0))))
                self.udp.append((address, self._listen(family, socket.SOCK_DGRAM, (address, 0))))
        self._listen(socket.AF_UNIX, socket.SOCK_STREAM, self.unix)
        os.chmod(self.unix, 0o777)  # noqa: S103 - a canary listener must be reachable
        self._listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract)
        self._stop, self._stopped = socket.socketpair()
        self._selector.register(self._stopped, selectors.EVENT_READ, "stop")
        self._thread = threading.Thread(target=self._count, name="listeners", daemon=True)
        self._thread.start()

    def _listen(self, family: int, kind: int, place: Any) -> int:
        end = socket.socket(family, kind)
        try:
            end.bind(place)
            if kind == socket.SOCK_STREAM:
                end.listen(16)
        except OSError:
            end.close()
            raise
        end.setblocking(False)
        shown = "abstract socket" if isinstance(place, str) and place.startswith("\0") else str(place)
        self._selector.register(end, selectors.EVENT_READ, f"{socket.SocketKind(kind).name} {shown}")
        return int(end.getsockname()[1]) if family != socket.AF_UNIX else 0

    def _count(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data == "stop":
                    return
                end: Any = key.fileobj
                with contextlib.suppress(OSError):
                    if end.type == socket.SOCK_DGRAM:
                        _, whom = end.recvfrom(512)
                        self._hits.append(str(key.data))
                        end.sendto(GREETING, whom)
                    else:
                        visitor, _ = end.accept()
                        self._hits.append(str(key.data))
                        with visitor:
                            visitor.sendall(GREETING)

    @property
    def hits(self) -> tuple[str, ...]:
        """Which of them were reached, in order."""
        return tuple(self._hits)

    def targets(self) -> dict[str, Any]:
        """Where they are, as plain data for a probe."""
        return {"tcp": self.tcp, "udp": self.udp, "unix": [self.unix], "abstract": [self.abstract]}

    def close(self) -> None:
        """Stop listening and count what came last."""
        self._stop.send(b"x")
        self._thread.join(5)
        for key in list(self._selector.get_map().values()):
            end: Any = key.fileobj
            end.close()
        self._selector.close()
        self._stop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
