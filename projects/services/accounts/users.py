"""The first account, and what a person may change about their own."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from projects.errors import BadInput, NotAllowed
from projects.services.accounts.browser_sessions import end_sessions
from projects.services.audit.sitelog import note

DEMO_VIEWER = "demo"  # signs in with the link that the demo prints


def needs_first_admin() -> bool:
    """Whether nobody can sign in yet. Users without a password (of commands, of the demo) are nobody who could."""
    users = get_user_model().objects
    return not users.exclude(password="").exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists()


def create_first_admin(username: str, password: str, email: str = "") -> User:
    """Create the administrator, only while nobody can sign in.

    Raises NotAllowed once somebody can and BadInput for a name or password that cannot be used.
    """
    model = get_user_model()
    name = username.strip()
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # Two browsers at once: the second waits here and then sees the first one's user.
                cursor.execute("LOCK TABLE auth_user IN SHARE ROW EXCLUSIVE MODE")
        if not needs_first_admin():
            raise NotAllowed("An account already exists. Sign in, or ask an administrator for one.")
        candidate = model(username=name, email=email.strip())
        try:
            candidate.clean_fields(exclude=["password"])
            candidate.validate_unique()
            validate_password(password, candidate)
        except ValidationError as problem:
            raise BadInput(" ".join(problem.messages)) from problem
        user = model.objects.create_superuser(username=name, email=email.strip(), password=password)
        note(user, "administrator.first", name)
        return user


def change_password(user: User, *, old: str, new: str) -> None:
    """Replace the password. Every session ends with it; the caller keeps its own alive.

    Raises NotAllowed when the old one is wrong and BadInput for a new one that cannot be used.
    """
    if not user.check_password(old):
        raise NotAllowed("That is not your current password.")
    if new == old:
        raise BadInput("The new password is the same as the old one.")
    try:
        validate_password(new, user)
    except ValidationError as problem:
        raise BadInput(" ".join(problem.messages)) from problem
    with transaction.atomic():
        user.set_password(new)
        user.save(update_fields=["password"])
        end_sessions(user)
        note(user, "password.changed", user.get_username())


def sign_out_everywhere(user: User, *, but: str | None = None) -> int:
    """End the user's sessions in all browsers except the one with the key `but`; how many were ended."""
    with transaction.atomic():
        ended = end_sessions(user, but=but)
        note(user, "sessions.ended", user.get_username(), {"count": ended})
    return ended
