"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from aiswe_site.cli import output
from aiswe_site.running.home import Home, wake_worker

as_option: Callable[..., Any] = click.option(
    "--as", "user", default="", metavar="USER", help="Act as this user; the first superuser, else operator, by default."
)


def tell_worker() -> None:
    """Wake the running server, or say that none is there to do the work."""
    if not wake_worker(Home.from_environment()):
        output.note("No worker is running yet: start `aiswe up`.")
