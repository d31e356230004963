"""Guessing becomes slow, and nobody can lock somebody else out."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from projects.errors import TooManyTries
from projects.models import Tries
from projects.services.accounts import throttle
from tests.projects.threads import at_once

pytestmark = pytest.mark.django_db


class Clock:
    """The time, as the test wants it."""

    def __init__(self) -> None:
        self.now: datetime = timezone.now()

    def pass_(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(throttle.timezone, "now", lambda: clock.now)
    return clock


def fail(times: int, account: str = "ada", address: str = "10.0.0.1") -> None:
    for _ in range(times):
        throttle.begin("password", account, address)


def wait_of(account: str = "ada", address: str = "10.0.0.1") -> int:
    """Seconds until the next try is heard; 0 when it would be heard now (and then it counts)."""
    try:
        throttle.begin("password", account, address)
    except TooManyTries as wait:
        return wait.seconds
    return 0


def test_a_few_mistakes_are_free_and_then_the_wait_doubles(clock: Clock) -> None:
    fail(5)
    waits = []
    for _ in range(9):
        waits.append(wait_of())
        clock.pass_(seconds=waits[-1] + 0.1)
        assert wait_of() == 0
    assert waits == [5, 10, 20, 40, 80, 160, 320, 640, 900]


def test_the_refusal_says_when_to_come_again_and_asking_by_then_makes_it_no_longer(clock: Clock) -> None:
    fail(5)
    with pytest.raises(TooManyTries, match=rf"in 5 seconds, after {clock.now + timedelta(seconds=5):%H:%M:%S} UTC"):
        throttle.begin("password", "ada", "10.0.0.1")
    assert [wait_of() for _ in range(50)] == [5] * 50
    clock.pass_(seconds=6)
    assert wait_of() == 0


def test_the_right_answer_takes_its_try_back(clock: Clock) -> None:
    for _ in range(40):
        throttle.begin("password", "ada", "10.0.0.1")
        throttle.succeeded("password", "ada", "10.0.0.1")
    fail(5)
    assert wait_of() == 5


def test_a_name_written_otherwise_is_the_same_account(clock: Clock) -> None:
    fail(3, " ADA")
    fail(2, "ada ")
    assert wait_of("Ada") == 5


def test_one_address_cannot_try_many_accounts(clock: Clock) -> None:
    for number in range(30):
        fail(1, f"user{number}")
    assert wait_of("another") == 5
    assert wait_of("another", "10.0.0.2") == 0


def test_many_addresses_cannot_try_one_account_for_ever_and_its_owner_still_comes_in(clock: Clock) -> None:
    throttle.begin("password", "ada", "192.168.1.5")
    throttle.succeeded("password", "ada", "192.168.1.5")
    for number in range(60):
        clock.pass_(seconds=301)
        throttle.begin("password", "ada", f"10.0.1.{number}")
    assert wait_of("ada", "10.0.9.9") == 300
    assert wait_of("ada", "192.168.1.5") == 0


def test_what_is_old_is_forgotten_and_removed(clock: Clock) -> None:
    fail(5, "nobody", "10.0.0.7")
    clock.pass_(hours=25)
    assert wait_of() == 0
    assert Tries.objects.count() == 3, "only the rows of this last try are left"


def test_nothing_that_was_typed_is_kept(clock: Clock) -> None:
    fail(1, "my secret password", "10.0.0.1")
    assert "secret" not in str(list(Tries.objects.values()))


def test_an_exception_in_the_check_counts_as_wrong(clock: Clock) -> None:
    def broken() -> bool:
        raise OSError

    for _ in range(5):
        with pytest.raises(OSError):
            throttle.guarded("code", "7", "10.0.0.1", broken)
    with pytest.raises(TooManyTries):
        throttle.guarded("code", "7", "10.0.0.1", lambda: True)


@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_time_are_counted_each() -> None:
    results = at_once([lambda: throttle.begin("password", "ada", "10.0.0.1") for _ in range(12)])
    heard = [result for result in results if result is None]
    refused: list[Any] = [result for result in results if isinstance(result, TooManyTries)]
    assert (len(heard), len(refused)) == (5, 7)
