"""The socket of a run: what arrives, and that nothing is missing or doubled."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator

from dashboard.live import stream
from dashboard.live.consumers import RunConsumer
from dashboard.live.feeds import Feed
from projects.models import Run
from projects.services.audit import events
from tests.dashboard.sockets import dial, end_of, frames, play, tell, wired
from tests.factories import bare_run, make_project, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_layer")]


@pytest.fixture
def run() -> Run:
    return bare_run(make_project(by=make_user("owner")))


def test_frames_cover_every_row_once(run: Run) -> None:
    tell(run, 450)
    user = run.project.created_by

    async def scene() -> list[dict[str, Any]]:
        async with wired(run, user, "?after=7", greeted=False) as wire:
            found = await frames(wire, 450)
        return found

    found = play(scene)
    assert [(f["from"], f["to"]) for f in found] == [(8, 207), (208, 407), (408, 450)]
    seqs = [int(part.split('"')[0]) for f in found for part in f["rows"].split('data-seq="')[1:]]
    assert seqs == list(range(8, 451))


def test_a_new_row_rings_through(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> tuple[dict[str, Any], str]:
        async with wired(run, user) as wire:
            await sync_to_async(tell)(run, 1, "approval.requested")
            layer = channel_layers["default"]
            await layer.group_send(f"run.{run.pk}", {"type": "run.poke", "run": run.pk, "seq": 1})
            found = (await frames(wire, 1))[0]
            panels = found["ui"]
            while 'id="run-status"' not in panels:
                panels = json.loads(await wire.receive_from(timeout=60)).get("ui", "")
        return found, panels

    found, panels = play(scene)
    assert found["say"] == [{"p": "assertive", "w": 3, "t": "row 0"}]
    assert 'id="run-why"' in panels


def test_a_lost_doorbell_costs_time_but_no_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Feed, "idle_seconds", 0.1)
    monkeypatch.setattr(events, "announce", lambda *args: None)
    user = run.project.created_by

    async def scene() -> None:
        async with wired(run, user) as wire:
            await sync_to_async(tell)(run, 3)
            assert (await frames(wire, 3))[-1]["to"] == 3

    play(scene)


def test_words_of_a_model_are_joined_and_cleaned(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> list[dict[str, Any]]:
        async with wired(run, user) as wire:
            layer = channel_layers["default"]
            for offset, text in enumerate(["a", "b", "\x1b[31mc\u202e"]):
                await layer.group_send(
                    f"run.{run.pk}",
                    {"type": "run.delta", "run": run.pk, "lane": "coder", "id": "m1", "offset": offset, "text": text},
                )
            got: list[dict[str, Any]] = []
            while "".join(t["s"] for t in got).count("c") == 0:
                got += json.loads(await wire.receive_from(timeout=60)).get("tok", [])
        return got

    got = play(scene)
    assert "".join(t["s"] for t in got) == "abc⟨U+202E⟩"
    assert {t["lane"] for t in got} == {"coder"}


def test_who_is_far_behind_gets_the_distance_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SKIP_AFTER", 300)
    tell(run, 450)
    first = stream.frame(run.pk, 0, stream.Filter())
    assert first is not None
    assert (first["skip"], first["from"], first["to"]) == (True, 1, 300)
    second = stream.frame(run.pk, 300, stream.Filter())
    assert second is not None
    assert (second["from"], second["to"], second["n"]) == (301, 450, 150)


def test_a_filter_leaves_out_rows_but_no_numbers(run: Run) -> None:
    tell(run, 5)
    tell(run, 1, "error", outcome="fail")
    found = stream.frame(run.pk, 0, stream.Filter(preset="errors"))
    assert found is not None
    assert (found["from"], found["to"], found["n"]) == (1, 6, 1)


@pytest.mark.parametrize("query", ["?after=-1", "?after=x", "?after=" + "9" * 30, "?preset=%00&q=%00&type=zz", "?%ff"])
def test_nonsense_in_the_address_is_the_beginning(run: Run, query: str) -> None:
    tell(run, 2)
    user = run.project.created_by

    async def scene() -> None:
        async with wired(run, user, query, greeted=False) as wire:
            assert (await frames(wire, 2))[0]["from"] == 1

    play(scene)


def test_a_tab_that_talks_too_much_or_too_long_is_shut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "messages_per_minute", 20)

    async def many(wire: WebsocketCommunicator) -> None:
        for _ in range(100):
            await wire.send_to(text_data='{"hidden":true}')

    assert end_of(run, run.project.created_by, many) == 4429
    assert end_of(run, run.project.created_by, lambda wire: wire.send_to(text_data="x" * 10_000)) == 4429


def test_a_broken_read_ends_the_socket_so_that_the_tab_comes_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(stream, "frame", broken)
    assert end_of(run, run.project.created_by) == 4500


def test_viewers_of_a_run_share_its_frames_and_its_totals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int | None]] = []
    drawn: list[int] = []
    frame, panels = stream.frame, stream.panels

    def counted(run_id: int, after: int, *args: Any, **more: Any) -> Any:
        made = frame(run_id, after, *args, **more)
        asked.append((after, made and made["to"]))
        return made

    monkeypatch.setattr(stream, "frame", counted)
    monkeypatch.setattr(stream, "panels", lambda run_id, stale: drawn.append(run_id) or panels(run_id, stale))
    user = run.project.created_by
    tell(run, 5)

    async def scene() -> list[list[dict[str, Any]]]:
        wires = [await sync_to_async(dial)(run.pk, user, f"?after={after}") for after in (0, 0, 0, 3)]
        for wire in wires:
            await wire.connect(timeout=60)
        first = [await frames(wire, 5) for wire in wires]
        del asked[:]
        await sync_to_async(tell)(run, 3, "run.started")
        await channel_layers["default"].group_send(f"run.{run.pk}", {"type": "run.poke", "run": run.pk, "seq": 8})
        second = [await frames(wire, 8) for wire in wires]
        for wire in wires:  # on a busy machine other frames may come before the totals
            while "run-status" not in await wire.receive_from(timeout=60):
                pass
        for wire in wires:
            await wire.disconnect()
        return [[*one, *two] for one, two in zip(first, second, strict=True)]

    found = play(scene)
    assert [[(f["from"], f["to"]) for f in each] for each in found] == [[(1, 5), (6, 8)]] * 3 + [[(4, 5), (6, 8)]]
    assert [after for after, to in asked if to] == [5], "one viewer's frame was rendered, the others got it too"
    assert drawn == [run.pk]


def test_a_hundred_sockets_opened_at_once_all_get_through(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "sockets_per_person", 100)
    tell(run, 3)
    user = run.project.created_by

    async def scene() -> None:
        wires = [await sync_to_async(dial)(run.pk, user) for _ in range(100)]

        async def watch(wire: WebsocketCommunicator) -> int:
            assert (await wire.connect(timeout=60))[0]
            found = await frames(wire, 3)
            await wire.disconnect()
            return int(found[-1]["to"])

        assert await asyncio.gather(*map(watch, wires)) == [3] * 100

    play(scene)


def test_nothing_is_left_running_after_a_hang_up(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> None:
        before = asyncio.all_tasks()
        async with wired(run, user, greeted=False) as wire:
            await wire.receive_from(timeout=60)
        if more := asyncio.all_tasks() - before:
            _, left = await asyncio.wait(more, timeout=60)
            assert not left

    play(scene)
