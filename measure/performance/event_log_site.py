"""The real site in a process of its own, on the port it is given, with writers that can be told to write.

Orders come as JSON lines on stdin and are answered on stdout. Moments are `time.monotonic()`, which all processes of
a machine share. It stops when stdin ends.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure.performance import builds

TEXT = "The coder reads the failing test and finds that the sum is taken of the wrong list. " * 5


def main() -> None:
    """Serve until stdin ends."""
    import daphne.server  # installs the asyncio reactor; before anything else that knows Twisted

    builds.set_up()
    from channels.layers import get_channel_layer
    from twisted.internet import reactor

    from aiswe_site.asgi import application
    from projects.workers import queue

    queue.send = lambda name, args: None  # nothing runs jobs here
    layer: Any = get_channel_layer()
    reactor.callWhenRunning(lambda: layer.bind(daphne.server.twisted_loop))
    reactor.callWhenRunning(lambda: threading.Thread(target=_listen, daemon=True).start())
    daphne.server.Server(
        beside_bare(application),
        endpoints=[f"tcp:{sys.argv[1]}:interface=127.0.0.1"],
        signal_handlers=False,
        server_name="",
        websocket_handshake_timeout=60,
        verbosity=0,
    ).run()


def _listen() -> None:
    orders: dict[str, Callable[..., dict[str, Any]]] = {
        "prepare": prepare,
        "burst": burst,
        "pace": pace,
        "create": create,
        "raw": raw,
        "audience": audience,
        "spread": spread,
        "cpu": lambda: {"seconds": time.process_time()},
        "big": big,
    }
    _answer({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        try:
            _answer(orders[order.pop("do")](**order))
        except Exception as problem:  # noqa: BLE001  the parent decides what it means
            _answer({"error": f"{type(problem).__name__}: {problem}"})
    os._exit(0)


def _answer(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def prepare() -> dict[str, Any]:
    """A signed-in session, and a run for each measurement."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from projects.models import Run
    from projects.services.accounts.browser_sessions import SessionStore
    from projects.services.planning import projects

    user = builds.make_user()
    project = projects.create_project("Bench", by=user)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    made = [Run.objects.create(project=project, kind=Run.Kind.BUILD, status=Run.Status.RUNNING).pk for _ in range(7)]
    return {"session": session.session_key, "runs": made[:4], "scraps": made[4:]}


def beside_bare(application: Any) -> Any:
    """The site, with a consumer under /ws/bare/N that passes on what its group is sent and does nothing else."""
    from channels.generic.websocket import AsyncWebsocketConsumer

    class Bare(AsyncWebsocketConsumer):
        async def connect(self) -> None:
            await self.accept()
            await self.channel_layer.group_add(self.scope["path"].replace("/", "."), self.channel_name)
            await self.send(text_data="{}")

        async def bare_row(self, message: dict[str, Any]) -> None:
            await self.send(text_data=message["text"])

    bare = Bare.as_asgi()

    async def either(scope: Any, receive: Any, send: Any) -> None:
        await (bare if scope["path"].startswith("/ws/bare/") else application)(scope, receive, send)

    return either


def audience(people: int, runs: int) -> dict[str, Any]:
    """Sessions of people who see a project, and runs of it."""
    place = prepare()
    from projects.models import Run
    from tests.e2e.scenes import session_of
    from tests.factories import make_user

    project = Run.objects.get(pk=place["runs"][0]).project
    sessions = [session_of(make_user(f"v{number}", role="viewer", project=project)) for number in range(people)]
    made = [Run.objects.create(project=project, kind="build", status="running").pk for _ in range(runs)]
    return {"sessions": sessions, "runs": made}


def spread(where: str, runs: list[int], count: int, rate: float) -> dict[str, Any]:
    """`count` events in turn to the runs, `rate` a second; each with the moment of its commit."""
    from asgiref.sync import async_to_sync
    from channels.layers import get_channel_layer

    layer: Any = get_channel_layer()
    send = async_to_sync(layer.group_send)
    cpu, began, written, seqs = time.process_time(), time.monotonic(), [], dict.fromkeys(runs, 0)
    for number in range(count):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        run = runs[number % len(runs)]
        seqs[run] += 1
        if where == "runs":
            seq = _emit(run, number)
        else:
            seq = seqs[run]
            text = json.dumps({"seqs": [seq], "text": TEXT * 2})
            send(f".ws.bare.{run}", {"type": "bare.row", "text": text})
        written.append((run, seq, time.monotonic()))
    return {"written": written, "began": began, "cpu": cpu}


def big(run: int, count: int) -> dict[str, Any]:
    """A run with many events, inserted at once; one in a hundred failed, one in five is a thought."""
    from django.utils import timezone

    from projects.models import Event, Run

    now, zeros = timezone.now(), "0" * 64
    rows = (
        Event(
            run_id=run,
            seq=n,
            at=now,
            type="cmd" if n % 5 else "thought",
            role="coder",
            summary=f"row {n}",
            payload={} if n % 5 else {"text": TEXT},
            outcome="" if n % 100 else "fail",
            prev_hash=zeros,
            hash=zeros,
        )
        for n in range(1, count + 1)
    )
    Event.objects.bulk_create(rows, batch_size=2_000)
    Run.objects.filter(pk=run).update(last_seq=count)
    return {"count": count}


def _emit(run: int, number: int) -> int:
    from agents.events.reasoning import Thought
    from projects.services.audit import events

    thought = Thought(
        summary=f"thought {number}",
        role="coder",
        text=TEXT,
        step="",
        model="",
        truncated=False,
        steps=[],
        sources=[],
        untrusted=[],
    )
    return events.emit(run, thought).seq


def burst(run: int, count: int, writers: int) -> dict[str, Any]:
    """`writers` threads write `count` events as fast as they can; the moments of start and of the last commit."""
    from django.db import connection

    gate, problems = threading.Barrier(writers + 1), []

    def write(writer: int) -> None:
        gate.wait(30)
        try:
            for number in range(count // writers):
                _emit(run, writer * count + number)
        except Exception as problem:  # noqa: BLE001  told after the threads have ended
            problems.append(f"{type(problem).__name__}: {problem}")
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    gate.wait(30)
    began = time.monotonic()
    for thread in threads:
        thread.join()
    if problems:
        raise RuntimeError(problems[0])
    return {"began": began, "committed": time.monotonic(), "count": count // writers * writers}


def pace(run: int, count: int, rate: float, tokens: float = 0.0) -> dict[str, Any]:
    """`count` events, `rate` a second; the moment each was committed. Meanwhile a model writes `tokens` a second."""
    moments, over = [], threading.Event()
    model = threading.Thread(target=_words, args=(run, tokens, over))
    if tokens:
        model.start()
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        _emit(run, number)
        moments.append(time.monotonic())
    over.set()
    if tokens:
        model.join()
    return {"moments": moments}


def _words(run: int, rate: float, over: threading.Event) -> None:
    from projects.services.audit.notifications import announce_delta

    words, began, sent, offset = TEXT.split(), time.monotonic(), 0, 0
    while not over.wait(max(0.0, began + sent / rate - time.monotonic())):
        word = f"{words[sent % len(words)]} "
        announce_delta(run, lane="coder", id="m1", offset=offset, text=word)
        sent, offset = sent + 1, offset + len(word)


def create(run: int, count: int) -> dict[str, Any]:
    """Rows of the same table by Django's create(), a transaction each, with neither chain nor redaction."""
    from django.utils import timezone

    from projects.models import Event

    began = time.monotonic()
    for number in range(count):
        Event.objects.create(
            run_id=run,
            seq=number + 1,
            at=timezone.now(),
            type="thought",
            role="coder",
            summary=f"thought {number}",
            payload={"text": TEXT},
            prev_hash="0" * 64,
            hash="0" * 64,
        )
    return {"seconds": time.monotonic() - began}


def raw(count: int) -> dict[str, Any]:
    """The same bytes by sqlite3 into a table of a file beside the database, a transaction each, with its settings."""
    path = Path(os.environ["AISWE_HOME"]) / "raw.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, at TEXT, type TEXT, "
            "role TEXT, summary TEXT, payload TEXT, prev_hash TEXT, hash TEXT)"
        )
        payload, zeros = json.dumps({"text": TEXT}), "0" * 64
        began = time.monotonic()
        for number in range(count):
            connection.execute(
                "INSERT INTO event (run, seq, at, type, role, summary, payload, prev_hash, hash) VALUES "
                "(?,?,?,?,?,?,?,?,?)",
                (1, number, "2026-01-01 00:00:00", "thought", "coder", f"thought {number}", payload, zeros, zeros),
            )
        return {"seconds": time.monotonic() - began}
    finally:
        connection.close()


if __name__ == "__main__":
    main()
