"""A run's events as server-sent events: a stream of bounded length that a client goes on with where it was."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated

from django.db import connections
from pydantic import Field

from aiswe_site.verbs import facts
from aiswe_site.verbs.callers import Caller
from aiswe_site.verbs.insight import Streamed
from aiswe_site.verbs.lookup import Number, row_of
from aiswe_site.verbs.working import After
from dashboard.access import visibility
from projects.errors import TooManyTries
from projects.models import ApiToken, Run
from projects.services.audit.events import events_after

LOOK_S = 0.5
SILENCE_S = 15.0  # after so long a comment is sent, by which a client that is gone is noticed
MOST_EVENTS, MOST_SECONDS = 10_000, 300
MOST_STREAMS = 4  # of a token at a time
_open: Counter[int] = Counter()


def run_stream(
    caller: Caller,
    run: Number,
    after: After = 0,
    limit: Annotated[int, Field(ge=1, le=MOST_EVENTS)] = MOST_EVENTS,
    seconds: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = MOST_SECONDS,
) -> Streamed:
    """Follow a run's events as server-sent events, each with its number as `id`.

    The stream ends with an event named `end`, whose data says why: `over` (the run is), `limit`, `time`, or `closed`
    (the token ended). Go on with the header Last-Event-ID.
    """
    row = row_of(caller, Run, pk=run)
    key = caller.token.pk if caller.token else 0
    if _open[key] >= MOST_STREAMS:
        raise TooManyTries(f"This token follows {MOST_STREAMS} streams already; end one of them.", 5)
    return Streamed("text/event-stream", _follow(caller, key, row.pk, after, limit, time.monotonic() + seconds))


async def _follow(caller: Caller, key: int, run: int, after: int, left: int, until: float) -> AsyncIterator[str]:
    _open[key] += 1
    try:
        yield "retry: 2000\n\n"
        said = time.monotonic()
        while True:
            rows, why = await asyncio.to_thread(_look, caller, run, after, left)
            for seq, data in rows:
                after, left = seq, left - 1
                yield f"id: {seq}\ndata: {data}\n\n"
            why = why or ("limit" if left <= 0 else "time" if time.monotonic() >= until else "")
            if why:
                yield f'event: end\ndata: {{"why": "{why}", "after": {after}}}\n\n'
                return
            if rows:
                said = time.monotonic()
            elif time.monotonic() - said > SILENCE_S:
                said = time.monotonic()
                yield ": nothing new\n\n"
            await asyncio.sleep(LOOK_S)
    finally:
        _open[key] -= 1


def _look(caller: Caller, run: int, after: int, left: int) -> tuple[list[tuple[int, str]], str]:
    """The events that are new, and why the stream ends with them; "" when it goes on."""
    try:
        token = ApiToken.objects.select_related("user").filter(pk=caller.token.pk if caller.token else 0).first()
        row = visibility.visible(Run, caller.user).filter(pk=run).first()
        if token is None or not token.works or not token.user.is_active or row is None:
            return [], "closed"
        found = events_after(run, after, limit=min(left, 500))
        seen = found[-1].seq if found else after
        rows = [(one.seq, facts.event_of(one).model_dump_json()) for one in found]
        return rows, "over" if row.status in Run.OVER and seen >= row.last_seq else ""
    finally:
        connections.close_all()
