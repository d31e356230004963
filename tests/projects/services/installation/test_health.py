"""The registered checks are run, kept for a moment, and run anew when asked."""

import pytest

from projects.services.installation import health


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_registered", None)
    monkeypatch.setattr(health, "_last", None)


def test_without_a_site_there_are_no_checks() -> None:
    assert health.run_checks() == []


def test_answers_are_kept_for_a_moment_and_renewed_on_demand() -> None:
    asked: list[int] = []

    def checks(awaited: object = None) -> list[health.HealthCheck]:
        asked.append(1)
        return [{"name": "disk", "ok": True, "detail": "free", "hint": "", "seconds": 0.0}]

    health.register(checks)
    assert health.run_checks()[0]["name"] == "disk"
    health.run_checks()
    assert len(asked) == 1
    health.run_checks(fresh=True)
    assert len(asked) == 2
