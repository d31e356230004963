"""aiswe acp: the conversation in an editor, by the Agent Client Protocol."""

from __future__ import annotations

import sys

import click

from aiswe_site.cli.arguments import as_option
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse


@click.command()
@as_option
def command(user: str) -> None:
    """Speak the Agent Client Protocol on stdin and stdout, for an editor that starts this.

    Zed, JetBrains, Neovim and VS Code hold chats with it in the folder that they have open (docs/how-to/editors.md).
    Files are read and written by the editor, after your leave; commands run in the sandbox on a copy. Each session is
    on record as a chat.
    """
    if sys.stdin.isatty():
        output.note("An editor starts this and speaks to it: docs/how-to/editors.md. Ctrl-D ends it.")
    from aiswe_site.acp.server import serve

    try:
        serve(user)
    except ValueError as wrong:
        raise WrongUse(f"It cannot be spoken to: {wrong}.", "An editor starts it with pipes.") from None
