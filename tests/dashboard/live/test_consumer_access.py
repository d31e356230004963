"""The socket of a run: who may listen, and until when."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser

from dashboard.live.consumers import RunConsumer
from projects.models import BrowserSession, Run
from tests.dashboard.sockets import closed_with, dial, end_of, frames, play, tell
from tests.factories import bare_run, make_project, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_layer")]


@pytest.fixture
def run() -> Run:
    return bare_run(make_project(by=make_user("owner")))


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
    assert end_of(Run(pk=run.pk + 999), run.project.created_by) == 4403


@pytest.mark.parametrize(("signs_out", "code"), [(True, 4401), (False, 4403)])
def test_who_signs_out_or_leaves_the_project_stops_hearing(
    run: Run, monkeypatch: pytest.MonkeyPatch, signs_out: bool, code: int
) -> None:
    monkeypatch.setattr(RunConsumer, "recheck_seconds", 0.05)
    monkeypatch.setattr(RunConsumer, "idle_seconds", 0.05)
    user = make_user("viewer", role="viewer", project=run.project)

    async def leave(wire: WebsocketCommunicator) -> None:
        await wire.receive_from(timeout=60)
        rows = BrowserSession.objects.all() if signs_out else run.project.memberships.filter(user=user)
        await sync_to_async(rows.delete)()

    assert end_of(run, user, leave) == code


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


def test_nobody_is_nobody() -> None:
    from dashboard.access import visibility

    assert not visibility.visible(Run, AnonymousUser()).exists()
