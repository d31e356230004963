"""An answer is made as fast as its client reads it, so that slow clients do not fill the memory."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.aiswe_site.startup.slow_readers import PIECE, PIECES
from tests.waiting import eventually

ALL = len(PIECE) * PIECES


@contextmanager
def served(patience: float) -> Iterator[int]:
    """A server that waits so many seconds for a client that does not read; gives its port."""
    command = [sys.executable, "-m", "tests.aiswe_site.startup.slow_readers", str(patience)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def asked(port: int) -> Iterator[socket.socket]:
    """A client that asked for the large answer, and has read its first byte."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /large HTTP/1.0\r\nHost: localhost\r\n\r\n")
        client.recv(1)
        yield client


def count(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
        return int(answer.read())


def test_what_a_client_does_not_read_is_not_made_and_one_that_reads_gets_all() -> None:
    with served(300) as port, asked(port) as client:
        assert count(port) < PIECES / 2
        read = 1
        while piece := client.recv(1_000_000):
            read += len(piece)
        assert read > ALL
        assert count(port) == PIECES
        with asked(port):
            pass
        assert count(port) >= PIECES  # one that goes without reading keeps nobody from being served


def test_a_client_that_never_reads_is_let_go() -> None:
    with served(0.1) as port, asked(port) as client:
        assert eventually(lambda: client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET)
