"""Forges of our own: the documented routes of GitHub, Forgejo and GitLab over https, with real git behind them.

`forge = open_server("github", folder, pem)`; then `forge.repository("acme/shop", {...})`, and what people do there:
`commit`, `issue`, `comment`, `line_comment`, `review`, `merge`, `close`, `build_fails`. Webhooks are in `forge.sent`.
"""

from __future__ import annotations

from pathlib import Path

from tests.forge_server.forgejo import ServedForgejo
from tests.forge_server.github import ServedGitHub
from tests.forge_server.gitlab import ServedGitLab
from tests.forge_server.server import ServedForge
from tests.forge_server.world import ServedRepository

__all__ = ["KINDS", "ServedForge", "ServedRepository", "open_server"]

KINDS: dict[str, type[ServedForge]] = {"github": ServedGitHub, "forgejo": ServedForgejo, "gitlab": ServedGitLab}


def open_server(kind: str, folder: Path, pem: Path) -> ServedForge:
    """A running forge; `pem` is of tests.agents.workspace.git_server.certificate(). Call close() at the end."""
    return KINDS[kind](folder, pem)
