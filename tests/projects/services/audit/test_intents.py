"""Effects are announced, and what was announced without an outcome can be seen."""

import pytest
from django.urls import reverse

from agents.events.effects import EffectAnnounced, EffectFailed
from projects.models import Event, Run
from projects.services.audit.chain import verify_chain
from projects.services.audit.intents import announce_effect, effect_failed, in_doubt
from tests.factories import bare_run, owner_of
from tests.rows import emit

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return bare_run()


def left(run: Run) -> list[tuple[str, bool]]:
    """What verification lists; the page marks the same rows."""
    found = verify_chain(run.pk).intents
    assert in_doubt(run.pk, Event.objects.filter(run=run)) == {intent.seq for intent in found}
    return [(intent.key, intent.again) for intent in found]


def announce(run: Run, key: str = "T-01/commit") -> Event | None:
    return announce_effect(run.pk, EffectAnnounced(summary="commits …", effect="git.commit"), key=key)


def test_an_announced_effect_is_open_until_its_outcome_is_there(run):
    announce(run)
    assert left(run) == [("T-01/commit", False)]
    emit(run.pk, "git.commit", summary="commit", key="T-01/commit")
    assert left(run) == []


def test_a_failed_effect_is_closed_and_may_be_announced_again(run):
    announce(run)
    effect_failed(run.pk, EffectFailed(summary="git was away", of="T-01/commit", message="git was away"))
    assert left(run) == []
    second = announce(run)
    assert "again" not in second.payload
    emit(run.pk, "git.commit", summary="commit", key="T-01/commit")
    assert left(run) == []


def test_one_that_was_cut_short_stays_in_doubt_when_another_worker_ends_it(run):
    announce(run)
    second = announce(run)
    assert second.payload["again"] is True
    assert "outcome of the last try is unknown" in second.summary
    emit(run.pk, "git.commit", summary="commit", key="T-01/commit")
    assert left(run) == [("T-01/commit", True)]


def test_what_has_its_outcome_is_not_announced_again(run):
    announce(run)
    emit(run.pk, "git.commit", summary="commit", key="T-01/commit")
    assert announce(run) is None
    assert Event.objects.filter(run=run).count() == 2


def test_keys_that_begin_alike_are_not_mixed_up(run):
    announce(run, "T-01/commit")
    announce(run, "T-01/commit-rebased")
    effect_failed(run.pk, EffectFailed(summary="away", of="T-01/commit", message="away"))
    assert left(run) == [("T-01/commit-rebased", False)]


def test_a_failure_that_was_never_announced_is_nothing(run):
    assert effect_failed(run.pk, EffectFailed(summary="away", of="T-01/commit", message="away")) is None


def test_many_tries_keep_their_order(run):
    for _ in range(12):
        announce(run)
        effect_failed(run.pk, EffectFailed(summary="away", of="T-01/commit", message="away"))
    announce(run)
    assert left(run) == [("T-01/commit", False)]


def test_the_page_marks_them(run, client):
    announce(run)
    client.force_login(owner_of(run.project))
    page = reverse("audit-run", args=[run.pk])
    assert b"no outcome on record" in client.get(page).content
    assert (
        b"1 announced effects have no recorded outcome" in client.post(reverse("audit-verify", args=[run.pk])).content
    )
    emit(run.pk, "git.commit", summary="commit", key="T-01/commit")
    assert b"no outcome on record" not in client.get(page).content
