"""The client for a forge's address."""

from __future__ import annotations

from collections.abc import Callable

from agents.forges.contract import Forge, ForgeAddress, Kind
from agents.forges.forgejo import Forgejo
from agents.forges.github import GitHub
from agents.forges.gitlab import GitLab
from agents.workspace.fetching import RemoteAccess


def open_forge(address: ForgeAddress, access: RemoteAccess) -> Forge:
    """One repository with the credential of its host. Raises ForgeRefused when there is none."""
    made: dict[Kind, Callable[[ForgeAddress, RemoteAccess], Forge]]
    made = {"github": GitHub, "forgejo": Forgejo, "gitlab": GitLab}
    return made[address.kind](address, access)
