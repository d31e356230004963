"""Whom a command acts as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from django.contrib.auth.models import User

OPERATOR = "operator"


def acting_user(name: str) -> User:
    """The user a command acts as: the named one, else the first superuser, else a new "operator".

    Whoever may run the command owns the database file already, so this gives nobody a right they lacked. The operator
    has no password: nobody can sign in as it.
    """
    from django.contrib.auth import get_user_model

    users = get_user_model().objects
    if name:
        found = users.filter(username=name).first()
        if found is None:
            raise WrongUse(f"There is no user {name!r}.", "Leave out --as, or name a user of this installation.")
        return found
    first = users.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if first is not None:
        return first
    user, made = users.get_or_create(username=OPERATOR)
    if made:
        user.set_unusable_password()
        user.save()
    return user
