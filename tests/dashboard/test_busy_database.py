"""A database that is locked or away: the page says so, and nobody is signed out."""

from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import OperationalError
from django.test import Client

from dashboard.access import gatekeeper
from projects.services.accounts.browser_sessions import SessionStore
from tests.factories import make_user

pytestmark = pytest.mark.django_db
LOCKED = "database is locked"


def broken(*_: Any, **__: Any) -> Any:
    raise OperationalError(LOCKED)


@pytest.fixture
def signed_in() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user("ada"))
    return client


@pytest.mark.parametrize("part", ["read", "write"])
def test_a_locked_database_is_answered_with_503_and_the_session_stays(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    with monkeypatch.context() as patch:
        if part == "read":
            patch.setattr(SessionStore, "_get_session_from_db", broken)
        else:
            patch.setattr(SessionStore, "create_model_instance", broken)
            patch.setattr(gatekeeper, "NOTED_EVERY", -1)  # every request writes the session
        answer = signed_in.get("/keys")
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert "aiswe_session" not in answer.cookies
    assert signed_in.get("/keys").status_code == 200


def test_a_failed_write_is_not_taken_for_a_deleted_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SessionStore()
    session.create()
    monkeypatch.setattr(SessionStore.get_model_class(), "save", broken)
    with pytest.raises(OperationalError, match=LOCKED):
        session.save()


def test_an_error_of_ours_stays_an_error(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise OperationalError("no such table: projects_run")

    monkeypatch.setattr(DatabaseStore, "_get_session_from_db", missing)
    assert signed_in.get("/keys").status_code == 500
