"""Case 12: nothing gets out of a sandbox: HTTP, DNS, cloud metadata, gateways, the dashboard's port, sockets of any
kind.
"""

from __future__ import annotations

import socket

import pytest

from sandbox.base import Sandbox
from sandbox.canary_listeners import GREETING, CanaryListeners
from sandbox.selftest import look_around
from tests.tables import each_row


@pytest.fixture
def listeners() -> CanaryListeners:
    """Listeners on every address of this host."""
    return CanaryListeners(everywhere=True)


def test_a_listener_counts_whoever_reaches_it(listeners: CanaryListeners) -> None:
    """Without this a canary that hears nothing would prove nothing."""
    with listeners:
        for host, port in listeners.tcp:
            with socket.create_connection((host, port), 5) as visitor:
                assert visitor.recv(16) == GREETING
        for host, port in listeners.udp:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as visitor:
                visitor.settimeout(5)
                visitor.sendto(b"hello", (host, port))
                assert visitor.recv(16) == GREETING
        for place in (listeners.unix, "\0" + listeners.abstract):
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.settimeout(5)
                visitor.connect(place)
                assert visitor.recv(16) == GREETING
        assert len(listeners.hits) == len(listeners.tcp) + len(listeners.udp) + 2


def test_no_target_is_reached_and_no_listener_is_hit(box: Sandbox, listeners: CanaryListeners) -> None:
    with listeners:
        seen = look_around(box, listeners, "no secret")
    assert seen["tried"] >= 30
    assert seen["reached"] == []
    assert seen["resolved"] == []
    assert listeners.hits == ()


SENDERS = {
    "raw packets": "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
    "frames": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)",
    "an interface of its own": "import fcntl, struct; fcntl.ioctl(open('/dev/net/tun', 'r+b'), 0x400454ca, "
    "struct.pack('16sH', b't', 2))",
    "an address for the loopback": "import fcntl, socket, struct; fcntl.ioctl(socket.socket(socket.AF_INET, "
    "socket.SOCK_DGRAM), 0x8914, struct.pack('16sH14x', b'lo', 1))",
    "another network namespace": "import os, ctypes; os._exit(7 if "
    "ctypes.CDLL(None).setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0) else 0)",
    "a pipe to the agent": "open('/proc/1/fd/101', 'wb')",
}


@each_row("source", SENDERS.values(), ids=SENDERS)
def test_what_a_program_would_make_a_way_out_of_is_refused(box: Sandbox, source: str) -> None:
    assert not box.exec(["python", "-c", source]).ok


TOOLS = [
    ["sh", "-c", "exec 3<>/dev/tcp/127.0.0.1/{port}"],
    ["bash", "-c", "echo secret > /dev/tcp/127.0.0.1/{port}"],
    ["bash", "-c", "echo secret > /dev/udp/127.0.0.1/{udp}"],
    ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/', timeout=2)"],
    ["python", "-m", "pip", "download", "--isolated", "--retries", "0", "-i", "http://127.0.0.1:{port}/simple", "six"],
    ["git", "clone", "git://127.0.0.1:{port}/x"],
]


@pytest.mark.parametrize("words", TOOLS, ids=[words[0] + str(at) for at, words in enumerate(TOOLS)])
def test_ordinary_tools_reach_nobody(box: Sandbox, listeners: CanaryListeners, words: list[str]) -> None:
    port, udp = listeners.tcp[0][1], listeners.udp[0][1]
    with listeners:
        done = box.exec([word.format(port=port, udp=udp) for word in words], seconds=20)
    assert listeners.hits == ()
    assert not done.ok or "/dev/udp/" in words[-1]  # a datagram into the void is no error to its sender
