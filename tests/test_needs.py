"""Where something is missing a test is skipped with the reason; the continuous integration never skips one."""

from __future__ import annotations

import pytest

from tests.needs import missing


def test_at_home_a_test_that_lacks_something_is_skipped_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install redis-server"):
        missing("redis-server is not installed (apt-get install redis-server)")


def test_in_ci_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="redis-server"):
        missing("redis-server is not installed (apt-get install redis-server)")
