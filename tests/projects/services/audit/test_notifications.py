"""Ringing never fails, never waits, never floods."""

import asyncio
import threading
import time
from typing import Any

import pytest
from django.db import transaction

from projects.models import Event
from projects.services.audit import notifications
from tests.factories import bare_run
from tests.rows import emit


class Layer:
    """Remembers what was sent, or does with it what the test says."""

    def __init__(self, act: Any = None) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.act = act

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.heard.append((group, message))
        if self.act is not None:
            await self.act()


@pytest.fixture
def layer(monkeypatch):
    made = Layer()
    monkeypatch.setattr(notifications, "get_channel_layer", lambda: made)
    monkeypatch.setattr(notifications, "_bell", None)
    yield made
    if notifications._bell is not None:
        notifications._bell.close()


def test_a_burst_becomes_few_pokes_and_the_last_one_names_the_last_row(layer):
    for seq in range(1, 501):
        notifications.announce(7, seq)
    assert notifications.flush(5)
    assert layer.heard[-1] == ("run.7", {"type": "run.poke", "run": 7, "seq": 500})
    assert len(layer.heard) < 20


def test_runs_are_poked_each_for_itself(layer):
    notifications.announce(1, 10)
    notifications.announce(2, 20)
    assert notifications.flush(5)
    assert {(group, message["seq"]) for group, message in layer.heard} == {("run.1", 10), ("run.2", 20)}


def test_deltas_arrive_all_and_in_order(layer):
    for offset in range(300):
        notifications.announce_delta(3, lane="coder", id="m1", offset=offset, text=str(offset))
    assert notifications.flush(5)
    assert [message["offset"] for _group, message in layer.heard] == list(range(300))
    assert layer.heard[0][1] == {"type": "run.delta", "run": 3, "lane": "coder", "id": "m1", "offset": 0, "text": "0"}


def test_it_may_be_rung_from_inside_an_event_loop(layer):
    async def ring() -> None:
        notifications.announce(4, 1)
        notifications.announce_delta(4, lane="coder", id="m", offset=0, text="x")

    asyncio.run(ring())
    assert notifications.flush(5)
    assert len(layer.heard) == 2


def test_it_may_be_rung_from_many_threads(layer):
    threads = [threading.Thread(target=notifications.announce, args=(5, seq)) for seq in range(1, 51)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notifications.flush(5)
    assert layer.heard[-1][1]["seq"] == 50


def test_a_layer_that_fails_does_not_fail_the_ringer_and_the_next_ring_is_heard(layer):
    async def refuse() -> None:
        raise ConnectionError("no Redis")

    layer.act = refuse
    notifications.announce(6, 1)
    assert notifications.flush(5)
    layer.act = None
    notifications.announce(6, 2)
    assert notifications.flush(5)
    assert layer.heard[-1][1]["seq"] == 2


def test_a_layer_that_hangs_holds_nobody_up(layer, monkeypatch):
    monkeypatch.setattr(notifications, "SEND_WITHIN", 0.2)

    async def hang() -> None:
        await asyncio.sleep(60)

    layer.act = hang
    for offset in range(5_000):  # more than are kept waiting: the rest is dropped
        notifications.announce_delta(8, lane="coder", id="m", offset=offset, text="x")
    assert notifications.flush(0.05) is False
    layer.act = None
    assert notifications.flush(10)
    assert len(layer.heard) <= notifications.MAX_DELTAS + 2


def test_a_forked_process_gets_a_bell_of_its_own(layer):
    notifications.announce(9, 1)
    first = notifications._bell
    assert first is not None
    first.pid = -1  # as it looks in a child
    notifications.announce(9, 2)
    assert notifications._bell is not first
    assert notifications.flush(5)
    first.close()


@pytest.mark.django_db(transaction=True)
def test_viewers_are_told_after_the_commit_and_not_before(layer):
    run = bare_run()
    with transaction.atomic():
        emit(run.pk, "thought", summary="not yet")
        notifications.flush(1)
        assert layer.heard == []
    assert notifications.flush(5)
    assert layer.heard == [(f"run.{run.pk}", {"type": "run.poke", "run": run.pk, "seq": 1})]


@pytest.mark.django_db(transaction=True)
def test_what_was_rolled_back_is_not_announced(layer):
    run = bare_run()
    with transaction.atomic():
        emit(run.pk, "thought", summary="never")
        transaction.set_rollback(True)
    time.sleep(0.02)
    notifications.flush(5)
    assert layer.heard == []
    assert not Event.objects.filter(run=run).exists()


@pytest.mark.django_db(transaction=True)
def test_an_event_is_kept_although_nobody_can_be_told(monkeypatch):
    monkeypatch.setattr(notifications, "get_channel_layer", lambda: None)
    run = bare_run()
    emit(run.pk, "thought", summary="kept")
    assert Event.objects.filter(run=run).count() == 1
