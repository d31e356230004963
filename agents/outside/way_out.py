"""The hosts that an administrator named, reached from a sandbox without a network: the worker answers its sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from functools import partial

from agents.firewall.trifecta import is_outside
from agents.outside.table import OutsideAgent
from sandbox.inside.forward import relay
from sandbox.package_index.egress import MAX_HEAD, PORT, Egress


def _target(host: str) -> str:
    return (host if ":" in host else f"{host}:443").lower()


def _own_ports(agent: OutsideAgent) -> list[int]:
    """Ports of servers on this machine: inside they stand at the same address."""
    return [int(_target(host).rpartition(":")[2]) for host in agent.hosts if not is_outside(host)]


def ports_of(agent: OutsideAgent) -> list[int]:
    """The ports that are to listen inside."""
    return [*dict.fromkeys([*_own_ports(agent), *([PORT] if agent.outside_hosts else [])])]


def variables_of(agent: OutsideAgent) -> dict[str, str]:
    """What tells programs of the way out."""
    if not agent.outside_hosts:
        return {}
    proxy = f"http://127.0.0.1:{PORT}"
    names = {name: proxy for each in ("HTTPS_PROXY", "HTTP_PROXY") for name in (each, each.lower())}
    return {**names, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "NODE_USE_ENV_PROXY": "1"}


async def open_way(
    agent: OutsideAgent, listeners: Mapping[int, socket.socket], refused: Callable[[str], None]
) -> list[asyncio.Server]:
    """Answer the sockets: own ports lead to this machine's, the other is a proxy to the named hosts alone.

    `refused` hears of other hosts that were asked for.
    """
    own, egress = _own_ports(agent), Egress(map(_target, agent.outside_hosts), refused)
    servers = []
    for port, listener in listeners.items():
        serve = partial(relay, "127.0.0.1", port) if port in own else egress.serve
        servers.append(await asyncio.start_server(serve, sock=listener, limit=MAX_HEAD))
    return servers
