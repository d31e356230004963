"""Codes of the app and recovery codes: right ones once, everything else never."""

import time
from typing import Any

import pyotp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projects.errors import BadInput
from projects.models import RecoveryCode, SecondFactor, SiteEvent
from projects.services.accounts import second_factor
from projects.services.audit.sealing import unseal
from tests.factories import make_user
from tests.projects.threads import at_once

pytestmark = pytest.mark.django_db


def code_at(secret: str, steps: int = 0) -> str:
    """The code the app shows now, or some steps of 30 s away."""
    return pyotp.TOTP(secret).at(time.time(), counter_offset=steps)


def with_factor(user: Any) -> tuple[str, list[str]]:
    secret = second_factor.new_secret()
    codes = second_factor.turn_on(user, secret, code_at(secret, -1))  # the present one stays unused
    return secret, codes


def test_it_is_on_only_after_a_first_right_code(ada: Any) -> None:
    secret = second_factor.new_secret()
    with pytest.raises(BadInput, match="clock of the phone"):
        second_factor.turn_on(ada, secret, "000000" if code_at(secret) != "000000" else "111111")
    assert not second_factor.has_one(ada)
    second_factor.turn_on(ada, secret, code_at(secret))
    assert second_factor.has_one(ada)
    with pytest.raises(BadInput, match="already"):
        second_factor.turn_on(ada, secret, code_at(secret, 1))


def test_a_code_is_accepted_once_whatever_its_spaces(ada: Any) -> None:
    secret, _ = with_factor(ada)
    code, older = code_at(secret), code_at(secret, -1)
    assert second_factor.check(ada, f" {code[:3]} {code[3:]} ")
    assert not second_factor.check(ada, code)
    assert not second_factor.check(ada, older), "nor one older than it"


def test_a_clock_may_be_one_step_off_and_no_more(ada: Any) -> None:
    secret, _ = with_factor(ada)
    assert [second_factor.check(ada, code_at(secret, steps)) for steps in (3, -3, 1)] == [False, False, True]


def test_a_recovery_code_works_once_in_any_spelling_and_is_kept_as_a_hash(ada: Any) -> None:
    _, codes = with_factor(ada)
    kept = str(list(RecoveryCode.objects.values()))
    assert not [code for code in codes if code in kept or code.replace("-", "") in kept]
    assert len(set(codes)) == 10
    assert second_factor.check(ada, codes[0].upper().replace("-", " "))
    assert not second_factor.check(ada, codes[0])
    assert second_factor.codes_left(ada) == 9


def test_codes_are_wrong_once_there_are_new_ones_and_for_somebody_else(ada: Any) -> None:
    _, old = with_factor(ada)
    new = second_factor.renew_codes(ada)
    eve = make_user("eve")
    with_factor(eve)
    assert not second_factor.check(ada, old[1])
    assert not second_factor.check(eve, new[1])
    assert second_factor.check(ada, new[1])


def test_the_secret_is_not_in_the_database_and_without_its_key_a_recovery_code_helps(ada: Any, settings: Any) -> None:
    secret, codes = with_factor(ada)
    assert secret not in SecondFactor.objects.get(user=ada).secret
    settings.SECRET_KEY = "another" * 8
    assert not second_factor.check(ada, code_at(secret))
    assert second_factor.check(ada, codes[0])


def test_off_means_that_no_code_is_right(ada: Any) -> None:
    secret, codes = with_factor(ada)
    assert second_factor.turn_off(ada)
    assert not second_factor.turn_off(ada)
    assert not second_factor.check(ada, code_at(secret))
    assert not second_factor.check(ada, codes[0])
    assert list(SiteEvent.objects.values_list("action", flat=True)) == ["second_factor.on", "second_factor.off"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_no_other_text_is_a_code(ada: Any, words: str) -> None:
    if not second_factor.has_one(ada):
        with_factor(ada)
    secret = unseal(SecondFactor.objects.get(user=ada).secret.encode()).decode()
    right = {code_at(secret, step) for step in (-1, 0, 1)}
    if "".join(words.split()) not in right:
        assert not second_factor.check(ada, words)


@pytest.mark.django_db(transaction=True)
def test_of_one_code_sent_at_the_same_time_from_two_places_one_is_accepted() -> None:
    ada = make_user("ada")
    secret, codes = with_factor(ada)
    code = code_at(secret)
    assert sorted(at_once([lambda: second_factor.check(ada, code) for _ in range(4)])) == [False, False, False, True]
    assert sorted(at_once([lambda: second_factor.check(ada, codes[0]) for _ in range(4)])) == [False] * 3 + [True]
