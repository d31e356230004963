"""The rows of the stream: which are read as text, which steps fold into one row, and how high each of them is.

There are two heights and nothing else, so that the page can reserve the space of rows that it has not loaded.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import Case, F, JSONField, QuerySet, Value, When
from django.utils.safestring import SafeString
from django.utils.text import slugify

from dashboard.text import markdown
from dashboard.text.safe import one_line
from projects.models import Event, Run
from projects.services.audit.vocabulary import CommandRan, EventLook, ModelCalled, look_of, types_with_words

CHUNK = 100  # rows; the unit the browser loads, drops and caches
ONE_LINE = 72  # characters that fit beside name and tags; longer words get a high row
MOST_WORDS = 700  # characters: more than three lines never show
FOLDED_WORDS = 3  # things a folded row names
RUNS_KEPT = 256
_CODE = re.compile(r"^(?:```|~~~|<{7}|<{2,3}[A-Z]{4,7}:|-{3} |\+{3} |diff --git )", re.MULTILINE)
_LINE_MARKS = re.compile(r"^(?:#{1,6}\s+(?P<head>.*)|[-*+]\s+(?P<item>.*))$")
_UNFOLDED = frozenset({"fail", "denied", "contained", "escalated", "conflict", "needs_you", "blocked", "cancelled"})


def chunk_of(seq: int) -> int:
    """The chunk an event is in."""
    return (seq - 1) // CHUNK


def with_words(events: QuerySet[Event]) -> QuerySet[Event]:
    """Events with the payload of those that are read as text as `told`; other payloads and all blobs stay behind."""
    return events.defer("payload", "blobs").annotate(told=_told())


def _told() -> Case:
    words = When(type__in=types_with_words(), then=F("payload"))
    return Case(words, default=Value(None), output_field=JSONField(null=True))


def words_of(type_: str, summary: str, payload: Mapping[str, Any] | None) -> str:
    """The words of an event that is read as text: prose without code, or its summary when there is none."""
    parts: list[str] = []
    for name in look_of(type_).words:
        text = summary if name == "summary" else _prose((payload or {}).get(name))
        if text and not any(text in part for part in parts):
            parts.append(text[:1].upper() + text[1:] if parts else text)
    joined = "".join(f"{part}{' ' if part[-1] in '.:;!?' else '. '}" for part in parts[:-1]) + "".join(parts[-1:])
    return joined[:MOST_WORDS] or summary


def _prose(text: object) -> str:
    """What stands before the first code; nothing of a reply that is data."""
    if not isinstance(text, str) or text.lstrip()[:1] in ("{", "["):
        return ""
    code = _CODE.search(text)
    return (text[: code.start()] if code else text).strip()


def is_tall(type_: str, summary: str, payload: Mapping[str, Any] | None) -> bool:
    """Whether the row needs the height for text: its words do not fit one line."""
    if not look_of(type_).words:
        return False
    words = words_of(type_, summary, payload)
    return len(words) > ONE_LINE or "\n" in words.strip()


def _fold_key(seq: int, type_: str, role: str, task: int | None, outcome: str) -> tuple[Any, ...]:
    """Equal for rows that may share a fold: steps of one author and task in one chunk; unique for all others."""
    if look_of(type_).steps and outcome not in _UNFOLDED:
        return (chunk_of(seq), role, task)
    return (seq,)


def fold_key(row: Event) -> tuple[Any, ...]:
    """The same of a row."""
    return _fold_key(row.seq, row.type, row.role, row.task_id, row.outcome)


def markup(words: str) -> SafeString:
    """Words as a few lines with emphasis and code; a heading is bold, an item begins with a dot."""
    lines = []
    for line in words.splitlines():
        if found := _LINE_MARKS.match(line.strip()):
            line = f"**{found['head'].strip('* ')}**" if found["head"] else f"• {found['item'] or ''}"
        if line.strip():
            lines.append(line.strip())
    return markdown.render_inline("\n".join(lines))


class Height(NamedTuple):
    """Rows of a chunk by height, its folds closed."""

    short: int
    tall: int


@dataclass
class Row:
    """One event as the stream shows it."""

    event: Event
    look: EventLook
    text: SafeString | None = None  # of a high row

    @property
    def tone(self) -> str:
        """The tone of its outcome."""
        return self.look.tone_of(self.event.outcome)

    @property
    def css(self) -> str:
        """Its classes: height, author and kind, whether it is read as text, and whether it only announces."""
        kind = f"{'tall' if self.text else 'line'} by-{slugify(self.author)} lane-{slugify(self.event.type)}"
        return kind + " told" * bool(self.look.words) + " intent" * (self.event.outcome == "intent")

    @property
    def author(self) -> str:
        """Who wrote it: a role, in the word a reader knows it by."""
        return {"user": "you", "": "runtime"}.get(self.event.role, self.event.role)

    @property
    def took_ms(self) -> int:
        """How long it took, unless its line says so itself."""
        return 0 if self.event.type in (CommandRan.type, ModelCalled.type) else self.event.duration_ms

    @property
    def requirement(self) -> str:
        """The first requirement a decision answers to."""
        keys = (getattr(self.event, "told", None) or {}).get("requirements")
        return one_line(keys[0], 24) if isinstance(keys, list) and keys else ""


@dataclass
class Line:
    """What takes one place in the stream: a row, or several steps behind one."""

    rows: list[Row] = field(default_factory=list)

    @property
    def folded(self) -> bool:
        """Whether its rows are behind one."""
        return len(self.rows) > 1

    @property
    def seqs(self) -> list[int]:
        """The events in it."""
        return [row.event.seq for row in self.rows]

    @property
    def duration_ms(self) -> int:
        """Of all its steps."""
        return sum(row.event.duration_ms for row in self.rows)

    @property
    def label(self) -> str:
        """What the steps did, in a few words: what was announced and then done counts once."""
        done = [row for row in self.rows if row.event.outcome != "intent"] or self.rows
        kinds: dict[str, list[Row]] = {}
        for row in done:
            kinds.setdefault(row.event.type, []).append(row)
        parts = [_counted(rows) for rows in kinds.values()]
        return ", ".join(parts[:FOLDED_WORDS]) + (" …" if len(parts) > FOLDED_WORDS else "")


def _counted(rows: Sequence[Row]) -> str:
    said = {row.event.summary for row in rows}
    times = f" ×{len(rows)}" if len(rows) > 1 else ""
    if len(said) == 1:
        return f"{one_line(said.pop(), 120)}{times}"
    return f"{len(rows)} {rows[0].look.steps}"


def lines(events: Iterable[Event], *, fold: bool = True) -> Iterator[Line]:
    """Events in their places; without `fold`, each in its own."""
    for _, group in groupby(events, key=fold_key if fold else lambda event: event.seq):
        yield Line([_row(event) for event in group])


def _row(event: Event) -> Row:
    look, told = look_of(event.type), getattr(event, "told", None)
    tall = is_tall(event.type, event.summary, told)
    return Row(event, look, markup(words_of(event.type, event.summary, told)) if tall else None)


_heights: OrderedDict[tuple[Any, ...], list[Height]] = OrderedDict()


def heights(run: Run) -> list[Height]:
    """The height of each chunk of a run in one query; those of full chunks are kept, as they never change."""
    key = (run.pk, run.created_at)
    full = run.last_seq // CHUNK
    known = _heights.get(key, [])[:full]
    found = list(known)
    rows = Event.objects.filter(run=run, seq__gt=len(known) * CHUNK, seq__lte=run.last_seq).order_by("seq")
    columns = rows.values_list("seq", "type", "role", "task_id", "outcome", "summary", _told())
    for _, chunk in groupby(columns.iterator(chunk_size=2_000), key=lambda row: chunk_of(row[0])):
        short = tall = 0
        for _, group in groupby(chunk, key=lambda row: _fold_key(*row[:5])):
            _, type_, _, _, _, summary, told = next(group)
            if is_tall(type_, summary, told):
                tall += 1
            else:
                short += 1
        found.append(Height(short, tall))
    if full >= len(_heights.get(key, [])):  # less of a run is asked for when it is shown as it was
        _heights[key] = found[:full]
    _heights.move_to_end(key)
    while len(_heights) > RUNS_KEPT:
        _heights.popitem(last=False)
    return found
