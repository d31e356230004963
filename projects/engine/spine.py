"""The engine's writing end of a run's stream, fenced by the lease of the job that writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Sum

from agents.ports import Mark, Spent, Stopped
from agents.redaction import Stream
from projects.engine.budgets import seconds_at_work
from projects.errors import LeaseLost
from projects.models import Event, Run, Task, Usage
from projects.services import announcing, events, leases, usage
from projects.services.doorbell import announce_delta
from projects.services.locks import lock_run
from projects.services.replies import keep_reply, kept_reply

MOST_STREAMS = 16  # replies that may be written at the same time
LOOK_AGAIN = 0.4  # seconds between looks at the brake; five questions a second need not be five queries


class DatabaseSpine:
    """Implements agents.ports.Spine for one task of a run, or for the run's planning when there is no task."""

    def __init__(self, run: Run, *, actor: str, token: int, task: Task | None = None) -> None:
        self._run_id, self._actor, self._token = run.pk, actor, token
        self._task_id = task.pk if task else None
        self._prefix = f"{task.key}/" if task else "plan/"
        self._started = time.monotonic()
        self._looked, self._stop = 0.0, False
        self._lane = task.key if task else "plan"
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

    def emit(
        self,
        type: str,
        *,
        summary: str,
        role: str = "runtime",
        attempt: int = 0,
        payload: Mapping[str, Any] | None = None,
        blobs: Mapping[str, Any] | None = None,
        outcome: str = "",
        error_signature: str = "",
        tokens: int = 0,
        duration_ms: int = 0,
        key: str | None = None,
    ) -> Mark:
        def write() -> Event:
            if type == "thought" and key is not None and isinstance(output := (blobs or {}).get("output"), str):
                keep_reply(self._run_id, key, output)
            return events.emit(
                self._run_id, type, summary=summary, role=role, actor=self._actor, task_id=self._task_id, attempt=attempt,
                payload=payload, blobs=blobs, outcome=outcome, error_signature=error_signature, tokens=tokens,
                duration_ms=duration_ms, key=key,
            )  # fmt: skip

        event: Event = self.fenced(write)
        return Mark(event.seq, event.hash)

    def intend(
        self,
        effect: str,
        *,
        key: str,
        summary: str,
        role: str = "runtime",
        attempt: int = 0,
        payload: Mapping[str, Any] | None = None,
        type: str = "effect.intent",
    ) -> None:
        self.fenced(
            lambda: announcing.announce_effect(
                self._run_id, effect, key=key, summary=summary, type=type, payload=payload, role=role, actor=self._actor,
                task_id=self._task_id, attempt=attempt,
            )
        )  # fmt: skip

    def failed(self, *, key: str, words: str, role: str = "runtime", attempt: int = 0) -> None:
        self.fenced(
            lambda: announcing.effect_failed(
                self._run_id, key=key, words=words, role=role, actor=self._actor, task_id=self._task_id, attempt=attempt
            )
        )

    def remembered(self, key: str) -> tuple[str, bool] | None:
        event = Event.objects.filter(run_id=self._run_id, key=key, type="thought").first()
        if event is None:
            return None
        output: object = kept_reply(self._run_id, key)
        if output is None:  # a run from before replies were kept sealed
            output = events.event_blobs(event).get("output")
        return (output, bool(event.payload.get("truncated"))) if isinstance(output, str) else None

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

    def usage(
        self,
        *,
        key: str,
        role: str,
        model: str,
        prompt: int,
        reused: int,
        completion: int,
        seconds: float,
        speed: float,
    ) -> None:
        usage.record_usage(
            self._run_id, task_id=self._task_id, key=key, role=role, model=model, prompt_tokens=prompt, reused_tokens=reused,
            completion_tokens=completion, seconds=seconds, tokens_per_s=speed or None,
        )  # fmt: skip

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

    def head(self) -> Mark:
        row = Event.objects.filter(run_id=self._run_id).order_by("-seq").values_list("seq", "hash").first()
        return Mark(*row) if row else Mark(0, "")

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
