"""aiswe up: serve the dashboard and work."""

from __future__ import annotations

import os

import click

from aiswe_site.startup.home import Home, home_lock
from aiswe_site.startup.supervisor import Supervisor, address_of, listen
from aiswe_site.terminal import output

LOCAL = ("127.0.0.1", "localhost", "::1")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
def command(host: str, port: int) -> None:
    """Serve the dashboard and work, in one process tree, until Ctrl-C or SIGTERM.

    A worker that dies is restarted and continues where it stopped.
    """
    home = Home.from_environment()
    with home_lock(home), listen(host, port) as listener:
        address = address_of(listener)
        if host not in LOCAL:
            output.note(
                f"Warning: {host} can be reached from other machines; put TLS in front (docs/explanation/security.md)."
            )

        def ready(first: bool) -> None:
            output.say(f"AI SWE is up: {address}" if first else f"AI SWE is up again: {address}")
            if first and os.environ.get("AISWE_MODEL", "").startswith("scripted:"):
                output.note("AISWE_MODEL names a recording: no model is used, and every page says so.")
            if first:
                output.say("Open it in a browser; the first visit creates the administrator. Ctrl-C stops it.")

        Supervisor(home, listener, output.note, ready).run()
    output.note("Stopped.")
