"""What the person may do on this page, and who may where they may not."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User

from projects.models import Project
from projects.models.project import Role
from projects.services.accounts import rights


@dataclass(frozen=True)
class May:
    """One verb for one person: allowed or not, and the roles that are."""

    ok: bool
    who: str


def roles_with(verb: str) -> str:
    """The roles that include a verb, in words: "Architect or Developer"."""
    labels = [str(Role(role).label) for role in rights.roles_that_may(verb)]
    return " or ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels) or "an administrator"


def may(user: User | AnonymousUser, project: Project, verb: str) -> May:
    """Whether the person may, and who else."""
    return May(rights.can(user, project, verb), roles_with(verb))
