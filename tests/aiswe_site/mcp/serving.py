"""The real server in a process of its own, and the SDK's client on it."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.aiswe_site.running import COMMAND, REPOSITORY, WAIT_S, environment
from tests.prepared import prepared

SERVER = [*COMMAND, "mcp"]


@dataclass(frozen=True)
class Seeded:
    """A data folder with two projects, and what is known of it."""

    home: Path
    known: dict[str, Any]

    def copied(self, to: Path) -> Seeded:
        """The same in another folder, to be changed there."""
        return Seeded(Path(shutil.copytree(self.home, to)), self.known)


def seed(home: Path) -> Seeded:
    """Make one."""
    words = [sys.executable, "-m", "tests.aiswe_site.mcp.seeding"]
    done = subprocess.run(
        words,
        env=environment(prepared(home)),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return Seeded(home, json.loads(done.stdout))


@dataclass(frozen=True)
class Served:
    """A running HTTP server."""

    url: str
    seeded: Seeded


@contextlib.contextmanager
def http_server(seeded: Seeded) -> Iterator[Served]:
    """`aiswe mcp --http` on a free port."""
    words = [*SERVER, "--http", "--port", "0"]
    generous = {**environment(seeded.home), "AISWE_API_PER_MINUTE": "100000"}
    with subprocess.Popen(words, env=generous, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = iter(process.stderr.readline, "")
            found = next(match for line in said if (match := re.search(r"http://127\.0\.0\.1:\d+/mcp", line)))
            yield Served(found[0], seeded)
        finally:
            process.terminate()
            process.wait(WAIT_S)


Work = Callable[[Client], Awaitable[Any]]


def over_http(served: Served, token: str, work: Work, **options: Any) -> Any:
    """What the work gives with a client that sends this token."""

    async def main() -> Any:
        headers = {"Authorization": f"Bearer {served.seeded.known['tokens'].get(token, token)}"} if token else {}
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=WAIT_S))
            client = Client(streamable_http_client(served.url, http_client=http), **options)
            return await work(await stack.enter_async_context(client))

    return anyio.run(main)


def over_stdio(seeded: Seeded, work: Work, *words: str) -> Any:
    """What the work gives with a client that starts the server itself."""

    async def main() -> Any:
        started = StdioServerParameters(
            command=SERVER[0], args=[*SERVER[1:], *words], env=environment(seeded.home), cwd=str(REPOSITORY)
        )
        async with Client(stdio_client(started)) as client:
            return await work(client)

    return anyio.run(main)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool that does not refuse."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, (name, result.content)
    assert isinstance(result.structured_content, dict), name
    return result.structured_content


async def refusal(client: Client, name: str, **arguments: Any) -> str:
    """The sentence of a tool that refuses."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error, (name, result.structured_content)
    words = "".join(getattr(part, "text", "") for part in result.content)
    assert "Traceback" not in words
    return words
