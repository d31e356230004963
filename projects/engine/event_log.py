"""The engine's writing end of a run's stream, fenced by the lease of the job that writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from agents.engine.contracts import Stopped
from agents.engine.waiting import Waiting
from agents.events.base import EventKind
from agents.events.effects import Announcement, EffectFailed
from agents.events.log import EventPosition, Spent
from agents.events.reasoning import ModelCalled, Thought
from agents.secrets.redaction import Stream
from projects.engine import energy
from projects.engine.budgets import seconds_at_work
from projects.errors import LeaseLost
from projects.models import Event, Run, Task, Usage
from projects.services.audit import events
from projects.services.audit.intents import announce_effect, effect_failed
from projects.services.audit.notifications import announce_delta
from projects.services.audit.sealing import keep_reply, kept_reply
from projects.services.backlog import hours
from projects.services.work import leases, usage
from projects.services.work.locks import lock_run

MOST_STREAMS = 16  # replies that may be written at the same time
LOOK_AGAIN = 0.4  # seconds between looks at the run's state; five questions a second need not be five queries


class DatabaseEventLog:
    """Implements agents.events.log.EventLog for one task of a run, or for the run's planning when there is no task."""

    def __init__(self, run: Run, *, actor: str, token: int, task: Task | None = None) -> None:
        self._run_id, self._token = run.pk, token
        self._task_id = task.pk if task else None
        self._writer: dict[str, Any] = {"actor": actor, "task_id": self._task_id}
        self._prefix = f"{task.key}/" if task else "plan/"
        self._started = time.monotonic()
        self._looked, self._stop = 0.0, False
        self._lane = task.key if task else "chat" if run.kind == Run.Kind.CHAT else "plan"
        self._streams: dict[str, Stream] = {}

    def _guard(self) -> None:
        try:
            if self._task_id is None:
                leases.guard(Run, self._run_id, self._token)
            else:
                leases.guard(Task, self._task_id, self._token)
        except LeaseLost as lost:
            raise Stopped(str(lost)) from lost

    def fenced(self, write: Callable[[], Any]) -> Any:
        """Run a write in one transaction with the check that the lease is still ours."""
        with transaction.atomic():
            lock_run(self._run_id)
            self._guard()
            return write()

    def emit(self, event: EventKind, *, attempt: int = 0, key: str | None = None) -> EventPosition:
        joules = energy.joules_of(event.duration_ms / 1000) if isinstance(event, ModelCalled) and key else None
        energy.note_reading()

        def count() -> None:
            if isinstance(event, ModelCalled) and key is not None:
                self._count(event, key, joules)

        def write() -> Event:
            count()  # in the same transaction, so that the totals are never ahead of the stream
            if isinstance(event, Thought) and key is not None and isinstance(output := event.blobs.get("output"), str):
                keep_reply(self._run_id, key, output)
            return events.emit(self._run_id, event, attempt=attempt, key=key, **self._writer)

        try:
            row: Event = self.fenced(write)
        except Stopped:
            count()  # although the lease is lost: it was paid for
            raise
        return EventPosition(row.seq, row.hash)

    def _count(self, call: ModelCalled, key: str, joules: float | None) -> None:
        usage.record_usage(
            self._run_id,
            task_id=self._task_id,
            key=key,
            role=call.role,
            model=call.model,
            prompt_tokens=call.prompt_tokens,
            reused_tokens=call.reused_tokens or 0,
            completion_tokens=call.completion_tokens,
            seconds=call.duration_ms / 1000,
            tokens_per_s=call.tokens_per_s or None,
            joules=joules,
        )

    def announce(self, event: Announcement, *, key: str, attempt: int = 0) -> None:
        self.fenced(lambda: announce_effect(self._run_id, event, key=key, attempt=attempt, **self._writer))

    def failed(self, event: EffectFailed, *, attempt: int = 0) -> None:
        self.fenced(lambda: effect_failed(self._run_id, event, attempt=attempt, **self._writer))

    def remembered(self, key: str) -> tuple[str, bool] | None:
        event = Event.objects.filter(run_id=self._run_id, key=key, type=Thought.type).first()
        output = kept_reply(self._run_id, key) if event is not None else None
        return (output, bool(event.payload["truncated"])) if event is not None and output is not None else None

    def delta(self, *, lane: str, id: str, offset: int, text: str) -> None:
        if offset == 0 or id not in self._streams:
            self._streams[id] = Stream()
            while len(self._streams) > MOST_STREAMS:
                self._streams.pop(next(iter(self._streams)))
        stream = self._streams[id]
        sent = stream.sent
        # What may be the beginning of a secret is kept back; the final row holds all of it.
        if safe := stream.feed(text):
            announce_delta(self._run_id, lane=f"{self._lane} {lane}", id=id, offset=sent, text=safe)

    def spent(self) -> Spent:
        rows = Usage.objects.filter(run_id=self._run_id).order_by()
        total = F("prompt_tokens") + F("completion_tokens")
        run = rows.aggregate(tokens=Sum(total, default=0))["tokens"]
        task = rows.filter(task=self._task_id).aggregate(
            tokens=Sum(total, default=0), seconds=Sum("seconds", default=0.0)
        )
        return Spent(
            task_tokens=task["tokens"],
            run_tokens=run,
            # Model time over all workers that ever had the task: what a crash or a wait took is not the task's fault.
            task_seconds=float(task["seconds"]),
            run_seconds=seconds_at_work(self._run_id),
        )

    def head(self) -> EventPosition:
        row = Event.objects.filter(run_id=self._run_id).order_by("-seq").values_list("seq", "hash").first()
        return EventPosition(*row) if row else EventPosition(0, "")

    def rest(self) -> None:
        if (why := hours.rests(self._run_id, timezone.now())) is not None:
            raise Waiting(*why)

    def stopped(self) -> bool:
        now = time.monotonic()
        if not self._stop and now - self._looked >= LOOK_AGAIN:
            self._looked = now
            status = Run.objects.filter(pk=self._run_id).values_list("status", flat=True).first()
            live = (Run.Status.RUNNING, Run.Status.NEEDS_YOU, Run.Status.QUEUED)
            try:
                self._guard()
            except Stopped:
                self._stop = True
            self._stop = self._stop or status not in live
        return self._stop
