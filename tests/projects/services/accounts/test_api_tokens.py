"""A token is found by its whole text while it lives, and by nothing else."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from projects.errors import BadInput, NotAllowed
from projects.models import ApiToken, SiteEvent
from projects.services.accounts import api_tokens
from tests.rows import fresh
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def make(user: Any, **more: Any) -> tuple[ApiToken, str]:
    return api_tokens.make_token(user, **{"name": "CI", "scopes": ["read"], "days": 30, **more})


def test_its_text_is_found_and_kept_nowhere(ada: Any) -> None:
    token, text = make(ada)
    assert text.startswith(f"aiswe_{token.public}_")
    assert api_tokens.find(text) == token
    secret = text.rpartition(token.public + "_")[2]
    assert secret not in str(list(ApiToken.objects.values())) + str(list(SiteEvent.objects.values()))


def test_any_other_text_is_not_found(ada: Any) -> None:
    token, text = make(ada)
    _, other = make(ada)
    mixed = text[: text.index(token.public) + len(token.public)] + other[other.index("_", 6) :]
    for wrong in (
        "",
        "aiswe",
        "aiswe__",
        text[:-1],
        text + "x",
        text.upper(),
        mixed,
        "x" * 500,
        "ghp_" + text,
        "aiswe_\x00_y",
    ):
        assert api_tokens.find(wrong) is None, wrong


def test_it_ends_by_revocation_expiry_and_with_its_owner(ada: Any) -> None:
    token, text = make(ada)
    api_tokens.revoke(token, by=ada)
    api_tokens.revoke(token, by=ada)
    assert api_tokens.find(text) is None
    old, text = make(ada)
    ApiToken.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api_tokens.find(text) is None
    _, text = make(ada)
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)
    assert api_tokens.find(text) is None
    assert SiteEvent.objects.filter(action="token.revoked").count() == 1


@each_row(
    "wrong",
    [{"name": " "}, {"scopes": []}, {"scopes": ["read", "root"]}, {"days": 0}, {"days": 366}, {"scopes": ["READ"]}],
)
def test_what_cannot_be_is_refused(ada: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        make(ada, **wrong)
    assert not ApiToken.objects.exists()


def test_there_is_an_end_to_tokens(ada: Any) -> None:
    for _ in range(api_tokens.MOST):
        make(ada)
    with pytest.raises(BadInput, match="Revoke one"):
        make(ada)
    assert api_tokens.revoke_all(ada, by=ada) == api_tokens.MOST
    make(ada)


def test_last_used_is_noted_but_not_on_every_request(ada: Any, django_assert_num_queries: Any) -> None:
    token, text = make(ada)
    api_tokens.find(text)
    assert fresh(token).last_used_at is not None
    with django_assert_num_queries(1):
        api_tokens.find(text)


def test_a_scope_is_needed_and_a_demanded_second_factor_too(ada: Any, settings: Any) -> None:
    token, _ = make(ada, scopes=["run", "read"])
    api_tokens.require_scope(token, "run")
    for scope in ("approve", "write", "admin", ""):
        with pytest.raises(NotAllowed, match="may read, run"):
            api_tokens.require_scope(token, scope)
    settings.REQUIRE_SECOND_FACTOR = True
    with pytest.raises(NotAllowed, match="second factor"):
        api_tokens.require_scope(token, "run")
