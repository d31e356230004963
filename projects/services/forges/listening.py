"""What a project hears of its forge: the webhook and its secret, polling, and whether comments are work."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import User
from django.db import transaction

from projects.models import ForgeLink
from projects.services.accounts.rights import require
from projects.services.audit.sealing import seal
from projects.services.audit.sitelog import note


def new_secret(link: ForgeLink, *, by: User) -> str:
    """Give the webhook a secret and return it, this once; the one before ends. Raises NotAllowed."""
    require(by, link.project, "project.edit")
    made = secrets.token_urlsafe(32)
    with transaction.atomic():
        link.secret = seal(made.encode()).decode()
        link.save(update_fields=["secret"])
        note(by, "forge.secret_changed", link.project.slug, {"forge": str(link)})
    return made


def listen(link: ForgeLink, *, by: User, takes_requests: bool | None = None, polls: bool | None = None) -> None:
    """Say whether comments of mapped people are work, and whether the forge is asked now and then.

    Raises NotAllowed.
    """
    require(by, link.project, "project.edit")
    given = {"takes_requests": takes_requests, "polls": polls}
    changes = {name: value for name, value in given.items() if value is not None and value != getattr(link, name)}
    if not changes:
        return
    with transaction.atomic():
        for name, value in changes.items():
            setattr(link, name, value)
        link.save(update_fields=[*changes])
        note(by, "forge.listening_changed", link.project.slug, {"forge": str(link), **changes})
