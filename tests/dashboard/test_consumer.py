"""The socket: who may listen, what arrives, and that nothing is missing or doubled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser

from aiswe_site.asgi import application
from dashboard import stream
from dashboard.consumers import RunConsumer
from dashboard.feeds import Feed
from projects.models import Run
from projects.services.audit import events
from tests.e2e.serve import session_of
from tests.factories import bare_run, make_project, make_user
from tests.rows import emit

pytestmark = pytest.mark.django_db(transaction=True)
ORIGIN = (b"origin", b"http://127.0.0.1")


@pytest.fixture(autouse=True)
def _own_layer(settings: Any) -> Iterator[None]:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


@pytest.fixture
def run() -> Run:
    return bare_run(make_project(by=make_user("owner")))


def tell(run: Run, count: int, type: str = "thought", **more: Any) -> None:
    for number in range(count):
        emit(run.pk, type, summary=f"row {number}", role="coder", **more)


def dial(run_id: int, user: Any = None, query: str = "", origin: tuple[bytes, bytes] = ORIGIN) -> WebsocketCommunicator:
    headers = [origin, (b"host", b"127.0.0.1")]
    if user is not None:
        headers.append((b"cookie", f"aiswe_session={session_of(user)}".encode()))
    return WebsocketCommunicator(application, f"/ws/runs/{run_id}{query}", headers=headers)


async def frames(wire: WebsocketCommunicator, upto: int) -> list[dict[str, Any]]:
    """Messages until one reaches `upto`."""
    found = []
    while not found or found[-1].get("to", 0) < upto:
        message = json.loads(await wire.receive_from(timeout=60))
        if "to" in message:
            found.append(message)
    return found


async def closed_with(wire: WebsocketCommunicator) -> int:
    while True:
        message = await wire.receive_output(timeout=60)
        if message["type"] == "websocket.close":
            return int(message["code"])


def play(scene: Any) -> Any:
    """Run one scene in a loop of its own."""
    return async_to_sync(scene)()


def person(kind: str, run: Run) -> Any:
    if kind == "anonymous":
        return None
    if kind == "stranger":
        return make_user("stranger")
    if kind == "owner":
        return run.project.created_by
    return make_user(kind, role=kind, project=run.project)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("anonymous", 4401),
        ("stranger", 4403),
        ("viewer", 0),
        ("manager", 0),
        ("auditor", 0),
        ("owner", 0),
    ],
)
def test_who_may_listen(run: Run, kind: str, code: int) -> None:
    tell(run, 1)
    user = person(kind, run)

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        assert (await wire.connect(timeout=60))[0]
        if code:
            assert await closed_with(wire) == code
        else:
            assert (await frames(wire, 1))[0]["from"] == 1
            await wire.disconnect()

    play(scene)


def test_a_run_that_does_not_exist_looks_like_somebody_elses(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk + 999, user)
        await wire.connect(timeout=60)
        assert await closed_with(wire) == 4403

    play(scene)


@pytest.mark.parametrize(
    "origin",
    [b"http://evil.example", b"http://127.0.0.1:9999", b"https://127.0.0.1", b"http://127.0.0.1.evil.example", b"null"],
)
def test_a_page_of_another_host_port_or_scheme_is_refused(run: Run, origin: bytes) -> None:
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user, origin=(b"origin", origin))
        connected, _ = await wire.connect(timeout=60)
        assert not connected

    play(scene)


def test_who_signs_out_stops_hearing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "recheck_seconds", 0.05)
    monkeypatch.setattr(RunConsumer, "idle_seconds", 0.05)
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)

        def sign_out() -> None:
            from projects.models import BrowserSession

            BrowserSession.objects.all().delete()

        await sync_to_async(sign_out)()
        assert await closed_with(wire) == 4401

    play(scene)


def test_who_leaves_the_project_stops_hearing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "recheck_seconds", 0.05)
    monkeypatch.setattr(RunConsumer, "idle_seconds", 0.05)
    user = make_user("viewer", role="viewer", project=run.project)

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)
        await sync_to_async(run.project.memberships.filter(user=user).delete)()
        assert await closed_with(wire) == 4403

    play(scene)


def test_frames_cover_every_row_once(run: Run) -> None:
    tell(run, 450)
    user = run.project.created_by

    async def scene() -> list[dict[str, Any]]:
        wire = await sync_to_async(dial)(run.pk, user, "?after=7")
        await wire.connect(timeout=60)
        found = await frames(wire, 450)
        await wire.disconnect()
        return found

    found = play(scene)
    assert [(f["from"], f["to"]) for f in found] == [(8, 207), (208, 407), (408, 450)]
    seqs = [int(part.split('"')[0]) for f in found for part in f["rows"].split('data-seq="')[1:]]
    assert seqs == list(range(8, 451))


def test_a_new_row_rings_through(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> tuple[dict[str, Any], str]:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)
        await sync_to_async(tell)(run, 1, "approval.requested")
        layer = channel_layers["default"]
        await layer.group_send(f"run.{run.pk}", {"type": "run.poke", "run": run.pk, "seq": 1})
        found = (await frames(wire, 1))[0]
        panels = found["ui"]
        while 'id="run-status"' not in panels:
            panels = json.loads(await wire.receive_from(timeout=60)).get("ui", "")
        await wire.disconnect()
        return found, panels

    found, panels = play(scene)
    assert found["say"] == [{"p": "assertive", "w": 3, "t": "row 0"}]
    assert 'id="run-why"' in panels


def test_a_lost_doorbell_costs_time_but_no_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Feed, "idle_seconds", 0.1)
    monkeypatch.setattr(events, "announce", lambda *args: None)
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)
        await sync_to_async(tell)(run, 3)
        assert (await frames(wire, 3))[-1]["to"] == 3
        await wire.disconnect()

    play(scene)


def test_words_of_a_model_are_joined_and_cleaned(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> list[dict[str, Any]]:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)
        layer = channel_layers["default"]
        for offset, text in enumerate(["a", "b", "\x1b[31mc\u202e"]):
            await layer.group_send(
                f"run.{run.pk}",
                {"type": "run.delta", "run": run.pk, "lane": "coder", "id": "m1", "offset": offset, "text": text},
            )
        got: list[dict[str, Any]] = []
        while "".join(t["s"] for t in got).count("c") == 0:
            got += json.loads(await wire.receive_from(timeout=60)).get("tok", [])
        await wire.disconnect()
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
        wire = await sync_to_async(dial)(run.pk, user, query)
        await wire.connect(timeout=60)
        assert (await frames(wire, 2))[0]["from"] == 1
        await wire.disconnect()

    play(scene)


def test_a_tab_that_talks_too_much_is_shut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "messages_per_minute", 20)
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        for _ in range(100):
            await wire.send_to(text_data='{"hidden":true}')
        assert await closed_with(wire) == 4429

    play(scene)


def test_a_long_message_is_shut(run: Run) -> None:
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.send_to(text_data="x" * 10_000)
        assert await closed_with(wire) == 4429

    play(scene)


def test_a_broken_read_ends_the_socket_so_that_the_tab_comes_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(stream, "frame", broken)
    user = run.project.created_by

    async def scene() -> None:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        assert await closed_with(wire) == 4500

    play(scene)


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
        texts = [await wire.receive_from(timeout=60) for wire in wires]
        assert all("run-status" in text for text in texts)
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
        before = len(asyncio.all_tasks())
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=60)
        await wire.receive_from(timeout=60)
        await wire.disconnect()
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) <= before

    play(scene)


def test_nobody_is_nobody() -> None:
    from dashboard import access

    assert not access.visible(Run, AnonymousUser()).exists()
