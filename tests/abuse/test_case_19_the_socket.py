"""Case 19: the socket, asked for by everybody, in every state, and shouted at.

Who may listen is said by the same table of rights as the pages (user × project × state); a right that ends while the
stream runs ends the stream. The rest of the socket's behaviour is in tests/dashboard/live/test_consumer.py; a frame
over the server's limit meets the real server in tests/e2e/test_accounts.py.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter

from dashboard.access import gatekeeper
from dashboard.live import consumers, feeds
from dashboard.live.consumers import RunConsumer
from dashboard.routing import websocket_urlpatterns
from projects.models import BrowserSession, Run
from projects.services.accounts import second_factor, users
from projects.services.accounts.browser_sessions import SessionStore
from projects.services.planning import projects
from tests.dashboard.conftest import own_layer
from tests.dashboard.permissions import PERSONS, ROLES
from tests.dashboard.sockets import closed_with, dial, frames, play, tell
from tests.factories import bare_run, make_project, make_user
from tests.tables import each_row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_layer")]
__all__ = ["own_layer"]
FAR = 9_999


@pytest.fixture(autouse=True)
def _counters() -> None:
    consumers._open.clear()


@pytest.fixture
def run() -> Run:
    run = bare_run(make_project(by=make_user("ada")))
    tell(run, 1)
    return run


def person(kind: str, run: Run) -> Any:
    """Somebody of that kind; None is nobody."""
    if kind == "anonymous":
        return None
    if kind == "ada":
        return run.project.created_by
    if kind == "root":
        return make_user("root", superuser=True)
    if kind == "stranger":  # a manager, but of something else
        return make_project(by=make_user("stranger")).created_by
    return make_user(kind, role=kind, project=run.project)


EXPECTED = {"anonymous": 4401, "stranger": 4403, **dict.fromkeys(ROLES, 0), "ada": 0, "root": 0}


def test_every_socket_is_in_this_case() -> None:
    router = URLRouter(websocket_urlpatterns)
    assert [str(route.pattern) for route in router.routes] == ["ws/runs/<int:pk>"]
    assert set(EXPECTED) == set(PERSONS)


async def _answer(run_id: int, user: Any) -> int:
    wire = await sync_to_async(dial)(run_id, user)
    assert (await wire.connect(timeout=10))[0]
    message = await wire.receive_output(timeout=10)
    await wire.disconnect()
    return int(message.get("code", 0))


@pytest.mark.parametrize("kind", PERSONS)
def test_who_may_listen_to_which_run_in_which_state(run: Run, kind: str) -> None:
    user = person(kind, run)

    async def scene() -> list[int]:
        found = []
        for state in Run.Status.values:
            await Run.objects.filter(pk=run.pk).aupdate(status=state)
            found.append(await _answer(run.pk, user))
        return [*found, await _answer(run.pk + FAR, user)]

    *states, nothing = play(scene)
    assert set(states) == {EXPECTED[kind]}, "a run that is over is read like one that goes on"
    assert nothing == (4401 if kind == "anonymous" else 4403), "what does not exist is like what is not yours"


@each_row(
    ("origin", "lets_in"),
    [
        ("http://127.0.0.1", True),
        ("HTTP://127.0.0.1", True),
        ("http://127.0.0.1:8000", False),
        ("http://localhost", False),
        ("https://127.0.0.1", False),
        ("https://evil.example", False),
        ("null", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://evil.example/127.0.0.1", False),
        ("", False),
        ("http://127.0.0.1@evil.example", False),
        ("file://", False),
    ],
)
def test_only_pages_of_this_site_open_it(run: Run, origin: str, lets_in: bool) -> None:
    user = run.project.created_by

    async def scene() -> bool:
        wire = await sync_to_async(dial)(run.pk, user, origin=(b"origin", origin.encode()))
        let_in = bool((await wire.connect(timeout=10))[0])
        await wire.disconnect()
        return let_in

    assert play(scene) is lets_in


def _ending(name: str, settings: Any) -> Callable[[Run, Any], Any]:
    """What ends a right, while the stream runs."""

    def leave(run: Run, user: Any) -> None:
        for role in ("viewer", "auditor"):
            run.project.memberships.filter(user=user, role=role).delete()

    def demand(run: Run, user: Any) -> None:
        settings.REQUIRE_SECOND_FACTOR = True

    def outdate(run: Run, user: Any) -> None:
        for row in BrowserSession.objects.filter(user=user):
            session = SessionStore(row.session_key)
            session[gatekeeper.SEEN] = int(time.time()) - settings.SESSION_IDLE_SECONDS - 60
            session.save()

    return {
        "signed out": lambda run, user: BrowserSession.objects.filter(user=user).delete(),
        "signed out everywhere": lambda run, user: users.sign_out_everywhere(user),
        "new password": lambda run, user: users.change_password(user, old="a long enough passphrase", new="b" * 20),
        "role taken": lambda run, user: projects.remove_member(run.project, user, "viewer", by=run.project.created_by),
        "all roles gone": leave,
        "deactivated": lambda run, user: type(user).objects.filter(pk=user.pk).update(is_active=False),
        "removed": lambda run, user: user.delete(),
        "second factor demanded": demand,
        "session too old": outdate,
    }[name]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("signed out", 4401),
        ("signed out everywhere", 4401),
        ("new password", 4401),
        ("role taken", 4403),
        ("all roles gone", 4403),
        ("deactivated", 4401),
        ("removed", 4401),
        ("second factor demanded", 4403),
        ("session too old", 4401),
    ],
)
def test_a_right_that_ends_ends_the_stream(
    run: Run, ending: str, code: int, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunConsumer, "recheck_seconds", 0.05)
    monkeypatch.setattr(RunConsumer, "idle_seconds", 0.05)
    user = person("viewer", run)

    async def scene() -> tuple[int, str]:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=10)
        await frames(wire, 1)
        await sync_to_async(_ending(ending, settings))(run, user)
        got = await closed_with(wire)
        await sync_to_async(tell)(run, 1, "error")
        left = "" if await wire.receive_nothing(0.2) else "something was sent after the end"
        return got, left

    assert play(scene) == (code, "")


def test_nobody_waits_for_the_next_look_when_the_bell_rings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunConsumer, "recheck_seconds", 3600)
    monkeypatch.setattr(RunConsumer, "idle_seconds", 3600)
    user = person("viewer", run)

    async def scene() -> int:
        from channels.layers import channel_layers

        from projects.services.audit.notifications import person_group

        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=10)
        await frames(wire, 1)
        await sync_to_async(BrowserSession.objects.filter(user=user).delete)()
        await channel_layers["default"].group_send(person_group(user.pk), {"type": "run.recheck"})
        return await closed_with(wire)

    assert play(scene) == 4401


def test_what_ends_a_right_rings_that_bell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from projects.services.accounts import browser_sessions

    rung: list[int] = []
    monkeypatch.setattr(browser_sessions, "announce_recheck", rung.append)
    monkeypatch.setattr(projects, "announce_recheck", rung.append)
    user = person("viewer", run)
    users.sign_out_everywhere(user)
    projects.remove_member(run.project, user, "viewer", by=run.project.created_by)
    assert rung == [user.pk, user.pk]


def test_ten_thousand_messages_shut_the_socket_and_no_other(run: Run) -> None:
    loud, quiet = run.project.created_by, person("viewer", run)

    async def scene() -> tuple[int, int]:
        other = await sync_to_async(dial)(run.pk, quiet)
        await other.connect(timeout=10)
        await frames(other, 1)
        wire = await sync_to_async(dial)(run.pk, loud)
        await wire.connect(timeout=10)
        for number in range(10_000):
            await wire.send_to(text_data='{"hidden":true}' if number % 2 else "x")
        code = await closed_with(wire)
        await sync_to_async(tell)(run, 1)
        await other.send_to(text_data='{"hidden":false}')
        from channels.layers import channel_layers

        await channel_layers["default"].group_send(f"run.{run.pk}", {"type": "run.poke", "run": run.pk, "seq": 2})
        reached = (await frames(other, 2))[-1]["to"]
        await other.disconnect()
        await wire.disconnect()
        return code, reached

    assert play(scene) == (4429, 2)


@pytest.mark.parametrize("what", [{"text_data": "x" * 201}, {"bytes_data": b"x"}, {"text_data": "x" * 1_000_000}])
def test_a_frame_that_no_page_of_ours_sends_shuts_it(run: Run, what: dict[str, Any]) -> None:
    user = run.project.created_by

    async def scene() -> int:
        wire = await sync_to_async(dial)(run.pk, user)
        await wire.connect(timeout=10)
        await wire.send_to(**what)
        return await closed_with(wire)

    assert play(scene) == 4429


def test_one_persons_sockets_have_an_end_and_count_no_longer_when_closed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunConsumer, "sockets_per_person", 5)
    user, other = run.project.created_by, person("viewer", run)

    async def scene() -> list[int]:
        wires = []
        for _ in range(5):
            wire = await sync_to_async(dial)(run.pk, user)
            await wire.connect(timeout=10)
            await frames(wire, 1)
            wires.append(wire)
        codes = [await _answer(run.pk, user), await _answer(run.pk, other)]
        await wires.pop().disconnect()
        codes.append(await _answer(run.pk, user))
        for wire in wires:
            await wire.disconnect()
        return codes

    assert play(scene) == [4429, 0, 0]
    assert not consumers._open


def test_a_slow_reader_costs_a_bounded_amount(run: Run) -> None:
    """Rows wait in the database, words of a model are joined and cut: nothing piles up for a tab that does not read."""
    user = run.project.created_by

    async def scene() -> tuple[int, int]:
        feed, consumer = feeds.Feed(run.pk), RunConsumer()
        consumer.texts, consumer.wake = [], asyncio.Event()
        words = {"type": "run.delta", "lane": "coder", "id": "m", "text": "word " * 20}
        for number in range(5_000):
            feed._take({**words, "offset": number})
            consumer.ring(f"message {number}")
        feed.close()
        return sum(len(json.dumps(one)) for one in feed._words.values()), len(consumer.texts)

    size, messages = play(scene)
    assert size < 15_000
    assert messages == RunConsumer.most_texts
    assert user.is_active


def test_a_code_is_asked_for_before_the_socket_is_open(run: Run) -> None:
    """A browser whose password was right and whose code is still to come is nobody to the socket."""
    user = run.project.created_by
    secret = second_factor.new_secret()
    import pyotp

    second_factor.turn_on(user, secret, pyotp.TOTP(secret).now())
    session = SessionStore()
    session["awaits_code"] = {"user": user.pk, "hash": user.get_session_auth_hash(), "at": time.time(), "next": "/"}
    session.create()
    assert consumers._permission(session.session_key, run.pk) == (4401, 0)
    assert consumers._permission("0" * 32, run.pk) == (4401, 0)
    assert consumers._permission(None, run.pk) == (4401, 0)
