"""The session engine: Django's database sessions, with the person in a column of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import OperationalError, transaction

from projects.models import BrowserSession
from projects.services.audit.notifications import announce_recheck


class SessionStore(DatabaseStore):
    """Rows of BrowserSession."""

    @classmethod
    def get_model_class(cls) -> Any:
        """The model of the sessions."""
        return BrowserSession

    def create_model_instance(self, data: Any) -> Any:
        """The row of a session, under its person once there is one."""
        row: Any = super().create_model_instance(data)
        pk = str(data.get(SESSION_KEY, ""))
        row.user_id = int(pk) if pk.isdecimal() else None
        return row

    def save(self, must_create: bool = False) -> None:
        """Store the session. Raises OperationalError when the database cannot be written now.

        Django takes every failed write for a session that was deleted meanwhile, and tells the person so.
        """
        try:
            super().save(must_create)
        except UpdateError as error:
            if isinstance(error.__context__, OperationalError):
                raise error.__context__ from None
            raise


def end_sessions(user: User, *, but: str | None = None) -> int:
    """End every session of the user, except the one with the key `but`, with their streams; how many were ended."""
    rows = BrowserSession.objects.filter(user=user)
    ended, _ = (rows.exclude(session_key=but) if but else rows).delete()
    transaction.on_commit(partial(announce_recheck, user.pk))
    return ended
