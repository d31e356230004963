"""aiswe mcp: the product as a server of the Model Context Protocol."""

from __future__ import annotations

import contextlib
import sys

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

HOST = "127.0.0.1"


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP on this machine; each request brings an API token.")
@click.option("--port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--allow-approvals", is_flag=True, help="Over stdio: let the client confirm and approve in your name.")
@arguments.as_option
def command(http: bool, port: int, allow_approvals: bool, user: str) -> None:
    """Offer projects, plans, runs, approvals and evidence as tools and resources, until the client leaves.

    Over stdio a client starts this command and acts as you. With --http clients connect to 127.0.0.1, and the scopes
    of their token decide what they may do.
    """
    if http and (allow_approvals or user):
        raise WrongUse(
            "Over HTTP the token says who calls, and its scope 'approve' whether they may approve.",
            "Leave out --as and --allow-approvals.",
        )
    with contextlib.redirect_stdout(sys.stderr):  # stdout carries the protocol and nothing else
        django.start()
    if http:
        _serve_http(port)
    else:
        _serve_stdio(user, allow_approvals=allow_approvals)


def _serve_stdio(name: str, *, allow_approvals: bool) -> None:
    import anyio

    from aiswe_site.mcp.server import make_server
    from aiswe_site.verbs.callers import operator

    server = make_server(operator(acting_user(name), approves=allow_approvals))
    if sys.stdin.isatty():
        output.note("A client starts this command and speaks to it here (docs/how-to/mcp.md). Ctrl-D ends it.")
    try:
        anyio.run(server.run_stdio_async)
    except BaseExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
        sys.stderr.close()  # the client left in the middle of an answer


def _serve_http(port: int) -> None:
    import uvicorn

    from aiswe_site.mcp.http import PATH, make_app
    from aiswe_site.startup.supervisor import address_of, listen

    with listen(HOST, port) as listener:
        output.note(f"MCP is served at {address_of(listener).rstrip('/')}{PATH}. Ctrl-C stops it.")
        config = uvicorn.Config(make_app(), log_config=None, access_log=False, timeout_graceful_shutdown=5)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    output.note("Stopped.")
