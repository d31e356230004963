import pytest

from projects.models import Event
from projects.services.events import emit, events_after, verify_chain
from tests.factories import bare_run

pytestmark = pytest.mark.django_db


def test_events_of_a_run_are_numbered_from_one_without_a_gap():
    run = bare_run()
    for number in range(5):
        emit(run.pk, "thought", summary=f"thought {number}")
    assert [event.seq for event in events_after(run.pk, 0)] == [1, 2, 3, 4, 5]
    assert verify_chain(run.pk).ok


def test_the_same_key_twice_is_one_row():
    run = bare_run()
    first = emit(run.pk, "cmd", summary="pytest", key="T-01/verify/1")
    second = emit(run.pk, "cmd", summary="pytest, again", key="T-01/verify/1")
    assert first.pk == second.pk
    assert second.summary == "pytest"
    assert Event.objects.filter(run=run).count() == 1
