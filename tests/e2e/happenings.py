"""What happens on the site while a browser looks at it."""

from __future__ import annotations

import threading
from typing import Any

from projects.services.audit.notifications import Doorbell
from tests.e2e.scenes import KEPT, last_of, session_of

BUSY = threading.Event()
LOSSLESS = Doorbell._send


def do_emit(run: int, count: int, type: str = "thought", text: str = "thought", **more: Any) -> dict[str, Any]:
    """Add events to a run."""
    from tests.rows import emit

    for number in range(count):
        emit(run, type, summary=f"{text} {number}", role="coder", payload={"text": text}, **more)
    return {"last": last_of(run)}


def do_write(run: int) -> dict[str, Any]:
    """Write to a run until it is to be quiet, and drop half of the doorbells."""
    import random

    from django.db import connection

    from tests.rows import emit

    chance = random.Random(7)

    async def sometimes(bell: Doorbell, group: str, message: dict[str, Any]) -> None:
        if chance.random() < 0.5:
            await LOSSLESS(bell, group, message)

    Doorbell._send = sometimes  # type: ignore[method-assign]
    kinds = ["cmd", "cmd", "thought", "file.diff", "file.diff", "cmd", "test.result"]

    def write() -> None:
        while BUSY.is_set():
            text = "The sum is taken of the wrong list. " * chance.randint(1, 5)
            for _ in range(chance.randint(1, 6)):
                emit(run, chance.choice(kinds), summary=text[:60], role="coder", payload={"text": text})
            threading.Event().wait(0.1)
        connection.close()

    BUSY.set()
    KEPT.append(threading.Thread(target=write, daemon=True))
    KEPT[-1].start()
    return {"last": last_of(run)}


def do_quiet(run: int) -> dict[str, Any]:
    """Stop writing, and lose no doorbell any more: tests that follow, in any order, hear everything."""
    BUSY.clear()
    KEPT[-1].join()
    Doorbell._send = LOSSLESS  # type: ignore[method-assign]
    return {"last": last_of(run)}


def do_last(run: int) -> dict[str, Any]:
    """The newest event."""
    return {"last": last_of(run)}


def do_hostile(run: int, texts: list[str]) -> dict[str, Any]:
    """The same strings in every place a row, an inspector or a panel shows."""
    from tests.rows import emit

    for text in texts:
        emit(
            run,
            "thought",
            summary=text,
            role="coder",
            actor=text[:100],
            payload={"text": text, text[:20]: text},
            blobs={"output": text, "prompt": [text]},
        )
    return {"last": last_of(run)}


def do_everywhere(text: str) -> dict[str, Any]:
    """The same text in every place a page shows one."""
    from tests.dashboard.markup import pages_of, put_everywhere

    put_everywhere(KEPT[0], text)
    return {"pages": pages_of(KEPT[0])}


def do_delta(run: int, lane: str, id: str, text: str, offset: int = 0) -> dict[str, Any]:
    """Words of a model that are not stored."""
    from projects.services.audit.notifications import announce_delta

    announce_delta(run, lane=lane, id=id, offset=offset, text=text)
    return {}


def do_big(count: int, failed: int = 0) -> dict[str, Any]:
    """A run with many events, inserted at once; each `failed`th one failed."""
    from django.utils import timezone

    from projects.models import Event, Project, Run

    run = Run.objects.create(project=Project.objects.first(), kind="build", status="running")
    now = timezone.now()
    Event.objects.bulk_create(
        [
            Event(
                run=run,
                seq=n,
                at=now,
                type="thought",
                role="coder",
                summary=f"row {n}",
                outcome="fail" if failed and n % failed == 0 else "",
                prev_hash="0" * 64,
                hash="0" * 64,
            )
            for n in range(1, count + 1)
        ],
        batch_size=2_000,
    )
    Run.objects.filter(pk=run.pk).update(last_seq=count)
    return {"run": run.pk}


def do_demo(upto: int) -> dict[str, Any]:
    """Let the demo, which begins at the first call, go on until its build has so many events."""
    from tests.e2e.held_demo import HeldDemo

    demo = next((kept for kept in KEPT if isinstance(kept, HeldDemo)), None)
    if demo is None:
        KEPT.append(demo := HeldDemo(KEPT[0].owner))
    return demo.go_on(upto)


def do_move(task: int, to: str) -> dict[str, Any]:
    """Move a task along."""
    from projects.models import Task
    from projects.services.work import tasks

    row = Task.objects.get(pk=task)
    tasks.move_task(row, to)
    return {"last": last_of(row.run_id)}


def do_person(name: str, factor: bool = False, project: int = 0, superuser: bool = False) -> dict[str, Any]:
    """One more person, on request with a second factor, as a viewer of a project or as an administrator."""
    from projects.models import Project
    from projects.services.accounts import second_factor
    from tests.factories import make_user

    user = make_user(
        name,
        role="viewer" if project else "",
        project=Project.objects.filter(pk=project).first(),
        superuser=superuser,
    )
    secret = second_factor.new_secret()
    if factor:
        import pyotp

        second_factor.turn_on(user, secret, pyotp.TOTP(secret).now())
    return {"session": session_of(user), "secret": secret}


def do_sign_out(session: str) -> dict[str, Any]:
    """End a session."""
    from projects.models import BrowserSession

    BrowserSession.objects.filter(session_key=session).delete()
    return {}


def do_ask(subject: str) -> dict[str, Any]:
    """A question for the owner."""
    from projects.services.work import approval_requests

    project = KEPT[0].project
    asked = approval_requests.ask(project, kind="package", subject=subject, title=f"Install {subject}?")
    return {"approval": asked.pk}


def do_answer(approval: int) -> dict[str, Any]:
    """The owner's answer to it."""
    from projects.models import Approval
    from projects.services.decisions import approvals

    approvals.decide(Approval.objects.get(pk=approval), by=KEPT[0].owner, yes=True)
    return {}
