"""The token ledger: each model call of a task or a run, what filled its window, and what a prefix cache could reuse.

Read from the events that a call leaves (`llm.usage`, `thought`, `context.compacted`), which share the call's key.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from django.db.models import QuerySet

from agents.context.parts import parts_of
from agents.events.reasoning import ModelCalled, Thought
from agents.llm.base import Message
from projects.models import Blob, Event, Run, Task

MOST = 40  # calls of one page


@dataclass(frozen=True)
class Cut:
    """What was left out or summed up to make a call fit: `saved` tokens in all, and each part that got shorter.

    A part is (name, tokens before, tokens as sent); these are estimates.
    """

    saved: int
    parts: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class LedgerCall:
    """One model call. `reusable` tokens of the prompt are the server's figure or an estimate from stored prompts.

    `shared` is that estimate in any case: what the prompt has in common with the beginning of an earlier one.
    """

    usage: Event
    thought: Event | None = None
    cut: Cut | None = None
    reusable: int | None = None
    shared: int | None = None
    told: bool = False  # whether `reusable` is the server's own count
    prompt: tuple[str, ...] = field(default=(), repr=False)  # sha256 of each message

    @property
    def model(self) -> str:
        """The model that answered."""
        return str(self.usage.payload.get("model", ""))

    @property
    def step(self) -> str:
        """What was asked for: tests, code, repair, review, …"""
        return str(self.thought.payload.get("step", "")) if self.thought else ""

    @property
    def sent(self) -> int:
        """Tokens of the prompt, as the server counted them."""
        return _whole(self.usage.payload.get("prompt_tokens"))

    @property
    def written(self) -> int:
        """Tokens of the reply."""
        return _whole(self.usage.payload.get("completion_tokens"))

    @property
    def reading_s(self) -> float:
        """Seconds until the model began to write, as the server timed it; 0.0 when that is not on record."""
        return _whole(self.usage.payload.get("reading_ms")) / 1000

    @property
    def window(self) -> int:
        """Tokens the model can hold at once; 0 when that is not on record."""
        return _whole(self.usage.payload.get("window"))

    @property
    def parts(self) -> list[tuple[str, int]]:
        """What the prompt consisted of, in tokens, largest first."""
        found = self.usage.payload.get("filled_by")
        # Sorted here: PostgreSQL does not keep the order of an object's names.
        rows = [(str(name), _whole(tokens)) for name, tokens in found.items()] if isinstance(found, Mapping) else []
        return sorted(rows, key=lambda row: (-row[1], row[0]))


def calls_of(run: Run, task: Task | None, *, after: int = 0) -> list[LedgerCall]:
    """At most MOST calls of a task, or of a run outside of its tasks, oldest first, behind the event `after`.

    Each is compared with the calls before it, also with those on earlier pages.
    """
    usages = _usages(run).filter(task=task)
    page = list(usages.filter(seq__gt=after).order_by("seq")[:MOST])
    return _calls(usages.filter(seq__lte=page[-1].seq), wanted={one.pk for one in page}) if page else []


def call_at(run: Run, seq: int) -> LedgerCall | None:
    """The call that an `llm.usage` or `thought` event belongs to; None for any other event."""
    event = Event.objects.filter(run=run, seq=seq, type__in=(ModelCalled.type, Thought.type)).first()
    if event is None or event.key is None:
        return None
    key = event.key if event.type == ModelCalled.type else f"{event.key}:usage"
    usage = _usages(run).filter(key=key).first()
    if usage is None:
        return None
    before = _usages(run).filter(task=usage.task_id, role=usage.role, seq__lte=usage.seq)
    return next(iter(_calls(before, wanted={usage.pk})), None)


def sums_of(calls: Sequence[LedgerCall]) -> dict[str, int]:
    """Totals of the calls; `reusable` and `known` count only calls of which the reusable part is known."""
    known = [call for call in calls if call.reusable is not None]
    return {
        "calls": len(calls),
        "sent": sum(call.sent for call in calls),
        "reusable": sum(call.reusable or 0 for call in known),
        "known": sum(call.sent for call in known),
        "written": sum(call.written for call in calls),
        "cut": sum(call.cut.saved for call in calls if call.cut),
    }


def texts_of(call: LedgerCall) -> dict[str, str]:
    """The words of each part of a stored prompt, by name; parts that come again (a conversation's turns) are joined."""
    texts: dict[str, list[str]] = {}
    texts_sent = _texts(call.prompt, Blob.objects.in_bulk(list(call.prompt)))
    steps = call.thought.payload.get("steps", ()) if call.thought else ()
    for message in _messages(texts_sent, steps):
        for part in parts_of(message):
            texts.setdefault(part.name, []).append(part.text.strip("\n"))
    return {name: "\n\n".join(found) for name, found in texts.items()}


def _usages(run: Run) -> QuerySet[Event]:
    return Event.objects.filter(run=run, type=ModelCalled.type).select_related("task")


def _calls(usages: QuerySet[Event], *, wanted: set[int]) -> list[LedgerCall]:
    """The calls of these `llm.usage` rows that are `wanted`, each compared with those before it of the same persona."""
    rows = list(usages.order_by("seq"))
    keys = [stem + end for row in rows if (stem := _stem(row)) for end in ("", ":compacted")]
    beside = {row.key: row for row in Event.objects.filter(run_id=rows[0].run_id, key__in=keys)} if rows else {}
    made: list[tuple[LedgerCall, list[LedgerCall]]] = []
    earlier: dict[tuple[int | None, str], list[LedgerCall]] = {}
    for row in rows:
        thought, compacted = beside.get(_stem(row)), beside.get(f"{_stem(row)}:compacted")
        call = LedgerCall(row, thought if thought and thought.type == Thought.type else None)
        call = replace(call, prompt=_shas(call.thought))
        before = earlier.setdefault((row.task_id, row.role), [])
        if row.pk in wanted:
            made.append((replace(call, cut=_cut(compacted) if compacted else None), before[:]))
        before.append(call)
    blobs = Blob.objects.in_bulk(list({sha for call, before in made for one in (call, *before) for sha in one.prompt}))
    return [_with_reuse(call, before, blobs) for call, before in made]


def _stem(usage: Event) -> str:
    """The key of the call itself."""
    return (usage.key or "").removesuffix(":usage")


def _shas(thought: Event | None) -> tuple[str, ...]:
    found = thought.blobs.get("prompt") if thought else None
    return tuple(str(one) for one in found) if isinstance(found, list) else ()


def _cut(compacted: Event) -> Cut:
    parts = compacted.payload.get("parts")
    rows = parts.items() if isinstance(parts, Mapping) else ()
    told = [
        (str(name), _whole(row[0]), _whole(row[1])) for name, row in rows if isinstance(row, list) and len(row) == 2
    ]
    return Cut(_whole(compacted.payload.get("saved")), tuple(sorted(told, key=lambda row: (row[2] - row[1], row[0]))))


def _with_reuse(call: LedgerCall, before: Sequence[LedgerCall], blobs: Mapping[str, Blob]) -> LedgerCall:
    texts = _texts(call.prompt, blobs)
    whole = sum(map(len, texts))
    same = max((_common(texts, _texts(one.prompt, blobs)) for one in before if one.model == call.model), default=0)
    shared = call.sent * same // whole if whole else None
    told = call.usage.payload.get("reused_tokens")
    if isinstance(told, int) and not isinstance(told, bool):
        return replace(call, reusable=min(_whole(told), call.sent), shared=shared, told=True)
    return replace(call, reusable=shared, shared=shared)


def _texts(prompt: Sequence[str], blobs: Mapping[str, Blob]) -> list[str]:
    return [blobs[sha].content for sha in prompt if sha in blobs]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many characters two conversations begin with alike."""
    same = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            shorter = range(min(len(mine), len(its)))
            return same + bisect_left(shorter, True, key=lambda at: mine[: at + 1] != its[: at + 1])
        same += len(mine)
    return same


def _messages(texts: Sequence[str], steps: Sequence[str]) -> list[Message]:
    """A stored prompt as a conversation: system first, then question and answer in turn."""
    return [
        {
            "role": "system" if not number else "user" if number % 2 else "assistant",
            "content": text,
            "label": {"step": step},
        }
        for number, (text, step) in enumerate(zip_longest(texts, steps[: len(texts)], fillvalue=""))
    ]


def _whole(value: Any) -> int:
    """A count out of a payload; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, int(value))
