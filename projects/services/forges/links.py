"""Which repository on which forge a project belongs to, and who of its people is who here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.contrib.auth.models import User
from django.db import models, transaction

from agents.forges.addresses import forge_address
from agents.forges.contract import Forge, ForgeAddress, ForgeRefused, Kind
from agents.forges.opening import open_forge
from projects.errors import BadInput
from projects.models import Project
from projects.models.forges import ForgeLink, ForgePerson
from projects.services.accounts.rights import require, require_administrator
from projects.services.audit.sitelog import note
from projects.services.repositories.importing import remote_access


def link_project(project: Project, *, by: User, address: str = "", kind: Kind | None = None) -> ForgeLink:
    """Connect a project to its repository on a forge, which is asked; by default the one that it was imported from.

    `kind` is needed for forges that do not say what they are. Raises NotAllowed and BadInput.
    """
    require(by, project, "project.edit")
    given = address.strip() or next((one for one in (project.source, project.push_remote) if "://" in one), "")
    if not given:
        raise BadInput(
            f"{project.name} was not imported from an address: give its repository's, https://host/owner/name."
        )
    with in_words():
        place = forge_address(given, remote_access(), kind)
        path = open_forge(place, remote_access()).repository().path
    host = place.host if place.port == 443 else f"{place.host}:{place.port}"
    values = {"kind": place.kind, "host": host, "path": path}
    with transaction.atomic():
        known = link_of(project)
        if known is not None and (known.host, known.path) != (host, path) and known.requests.exists():
            raise BadInput(f"{project.name} has pull requests on {known}: unlink it from there first.")
        link, _ = ForgeLink.objects.update_or_create(
            project=project, defaults=values, create_defaults={**values, "created_by": by}
        )
        note(by, "forge.linked", project.slug, values)
    return link


def unlink_project(project: Project, *, by: User) -> None:
    """Forget the forge, and what was known of the pull requests there; nothing changes on the forge."""
    require(by, project, "project.edit")
    link = needed_link(project)
    with transaction.atomic():
        numbers = list(link.requests.values_list("number", flat=True))
        link.delete()
        note(by, "forge.unlinked", project.slug, {"host": link.host, "path": link.path, "requests": numbers})


def map_person(link: ForgeLink, login: str, user: User, *, by: User) -> ForgePerson:
    """Say that an account of the forge is a user here; it is asked for its number, since names change hands.

    For administrators: what the account writes then counts as that user's words. Raises NotAllowed and BadInput.
    """
    require_administrator(by, "Saying who is who on a forge")
    with in_words():
        found = forge_of(link).person(login)
    with transaction.atomic():
        row, _ = ForgePerson.objects.update_or_create(
            kind=link.kind,
            host=link.host,
            ident=found.ident,
            defaults={"login": found.login[:120], "user": user, "created_by": by},
        )
        detail = {"host": link.host, "account": found.ident, "login": found.login}
        note(by, "forge.person_mapped", user.get_username(), detail)
    return row


def forget_person(link: ForgeLink, login: str, *, by: User) -> None:
    """Take back who an account is. Raises NotAllowed and BadInput."""
    require_administrator(by, "Saying who is who on a forge")
    row = people_of(link).filter(login__iexact=login).first()
    if row is None:
        raise BadInput(f"No account {login[:80]} of {link.host} is mapped.")
    with transaction.atomic():
        row.delete()
        note(by, "forge.person_forgotten", row.user.get_username(), {"host": link.host, "login": row.login})


def people_of(link: ForgeLink) -> models.QuerySet[ForgePerson]:
    """The accounts of its forge that are users here."""
    return ForgePerson.objects.filter(kind=link.kind, host=link.host).select_related("user").order_by("login")


def link_of(project: Project) -> ForgeLink | None:
    """The project's place on a forge, if it has one."""
    return ForgeLink.objects.filter(project=project).first()


def needed_link(project: Project) -> ForgeLink:
    """The project's place on a forge. Raises BadInput."""
    link = link_of(project)
    if link is None:
        raise BadInput(f"{project.name} is not linked to a forge: `aiswe forge link {project.slug}` does it.")
    return link


def forge_of(link: ForgeLink) -> Forge:
    """The forge with this installation's credential. Raises ForgeRefused."""
    host, _, port = link.host.partition(":")
    return open_forge(ForgeAddress(cast(Kind, link.kind), host, link.path, int(port or 443)), remote_access())


@contextmanager
def in_words() -> Iterator[None]:
    """What a forge refuses as bad input, which pages and commands show."""
    try:
        yield
    except ForgeRefused as refused:
        raise BadInput(str(refused)) from refused  # whoever waits for a forge asks the cause for how long


def remote_of(link: ForgeLink) -> str:
    """The address that git pushes to."""
    return f"https://{link.host}/{link.path}.git"
