"""A chat as people read it, made of its events: who said what, what was done, with which leave, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Q

from agents.conversation.parse import read_commands
from agents.conversation.state import Command
from agents.conversation.todo_json import NO_MESSAGE, read_todo_reply
from agents.events.effects import (
    CommitMade,
    ErrorRaised,
    FileChanged,
    GateJudged,
    GuardBlocked,
    MergeDone,
    PermissionDecided,
    SystemNotice,
    TestsRan,
    ToolUsed,
)
from agents.events.lifecycle import HumanMessage, RunResumed, RunStarted
from agents.events.reasoning import DecisionMade, Thought
from projects.models import Blob, Event, Run

NOTES = (ErrorRaised.type, SystemNotice.type, CommitMade.type, MergeDone.type, TestsRan.type, GateJudged.type)
SHOWN = (
    *(HumanMessage.type, Thought.type, ToolUsed.type, PermissionDecided.type, FileChanged.type, GuardBlocked.type),
    *(DecisionMade.type, *NOTES),
)
BEGINS = (RunStarted.type, RunResumed.type)
BLOBS = {Thought.type: "output", ToolUsed.type: "output", FileChanged.type: "diff"}
MOST_TURNS = 20  # on a page
MOST_FILES = 200


@dataclass
class TranscriptStep:
    """A command of a reply: what it is, the leave that was given, and what came of it; without a result it waits."""

    tool: str
    title: str
    body: str = ""
    state: str = "waiting"  # or running, asked (a person), passed, failed, skipped (it was not done)
    seq: int = 0  # of its event
    output: str = ""
    duration_ms: int = 0
    next_steps: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    diff: str = ""

    @property
    def argument(self) -> str:
        """What it is about: the title without the name of the tool."""
        return self.title.removeprefix(self.tool).strip()

    @property
    def first_line(self) -> str:
        """What it said first, of a failure."""
        lines = (self.output.removeprefix("ERROR: ").strip() or " ".join(self.blocked)).splitlines()
        return lines[0] if lines else ""


@dataclass
class TranscriptEntry:
    """A part of a turn, in order: words of the model, a step, or another event that is worth a line."""

    words: str = ""
    step: TranscriptStep | None = None
    event: Event | None = None


@dataclass
class TranscriptTurn:
    """A person's words and all that followed."""

    event: Event
    who: str
    entries: list[TranscriptEntry] = field(default_factory=list)
    end: int = 0  # the event that the next turn begins with
    full: bool = True  # whether its steps are shown with input and output

    @property
    def waiting(self) -> TranscriptStep | None:
        """The first step without a result."""
        found = (one.step for one in self.entries if one.step is not None and not one.step.seq)
        return next((step for step in found if step.state == "waiting"), None)


@dataclass(frozen=True)
class Transcript:
    """Turns of a chat in order; `earlier` is where those before them end, None when there are none."""

    turns: list[TranscriptTurn]
    earlier: int | None = None


def transcript(run: Run, *, since: int | None = None, before: int | None = None, most: int = MOST_TURNS) -> Transcript:
    """The newest turns, those that end before an event, or those from an event on; as of the run's `last_seq`."""
    end = min(run.last_seq + 1, before or run.last_seq + 1)
    said = Event.objects.filter(run=run, type=HumanMessage.type, seq__lt=end).order_by("-seq")
    if since is not None:
        said = said.filter(seq__gte=since)
    begins = list(said.values_list("seq", flat=True)[: most + 1])
    if not begins:
        return Transcript([])
    first = begins[:most][-1]
    events = Event.objects.filter(run=run, seq__gte=first, seq__lt=end, type__in=(*SHOWN, *BEGINS)).order_by("seq")
    at_work = before is None and run.status not in Run.OVER
    turns = _turns(events, _who_before(run, first))
    for number, turn in enumerate(turns, 1):
        _conclude(turn, run.status if at_work and number == len(turns) else "")
    return Transcript(turns, first if len(begins) > most else None)


def _who_before(run: Run, seq: int) -> str:
    found = Event.objects.filter(run=run, seq__lt=seq, type__in=BEGINS).order_by("-seq").first()
    return found.actor if found is not None else ""


def _turns(events: Iterable[Event], who: str) -> list[TranscriptTurn]:
    events = list(events)
    names = {event.seq: str(event.blobs.get(BLOBS[event.type], "")) for event in events if event.type in BLOBS}
    stored = Blob.objects.in_bulk([name for name in names.values() if name])
    texts = {seq: stored[name].content for seq, name in names.items() if name in stored}
    turns: list[TranscriptTurn] = []
    for event in events:
        if event.type in BEGINS:
            who = event.actor
        elif event.type == HumanMessage.type:
            if turns:
                turns[-1].end = event.seq
            turns.append(TranscriptTurn(event, who))
        elif turns:
            _add(turns[-1], event, texts.get(event.seq, ""))
    return turns


def _add(turn: TranscriptTurn, event: Event, text: str) -> None:
    step = turn.waiting
    if event.type == Thought.type:
        _give_up(turn)
        said = event.payload
        turn.entries += _read(text, truncated=bool(said.get("truncated")), step=str(said.get("step")))
    elif event.type == ToolUsed.type:
        if step is None:
            step = TranscriptStep(event.payload["tool"], event.payload["title"])
            turn.entries.append(TranscriptEntry(step=step))
        step.seq, step.output, step.duration_ms = event.seq, text, event.duration_ms
        step.state = "passed" if event.outcome == "ok" else "failed"
        step.next_steps = list(event.payload.get("next_steps", ()))
    elif step is not None and event.type == PermissionDecided.type:
        step.leaves.append(event.summary)
    elif step is not None and event.type == FileChanged.type:
        step.diff += text
    elif step is not None and event.type == GuardBlocked.type:
        step.blocked.append(event.payload["reason"])
    elif event.type in (*NOTES, DecisionMade.type):
        turn.entries.append(TranscriptEntry(event=event))


def _read(text: str, *, truncated: bool, step: str) -> list[TranscriptEntry]:
    """A reply as words and steps. One that makes a plan holds no commands; in TODO mode it is a message and calls."""
    parts: list[str | Command] = [text]
    if step.startswith("todo"):
        reply = read_todo_reply(text, truncated=truncated)
        parts = [reply.message if reply.message != NO_MESSAGE else "", *reply.commands]
        if not any(parts):
            return []
    elif step != "plan":
        parts = read_commands(text, truncated=truncated).parts
    entries = [
        TranscriptEntry(step=TranscriptStep(part.tool, part.title, part.body))
        if isinstance(part, Command)
        else TranscriptEntry(words=part.strip())
        for part in parts
    ]
    return [one for one in entries if one.step or one.words] or [
        TranscriptEntry(words="*(an empty reply, or one withheld)*")
    ]


def _give_up(turn: TranscriptTurn) -> None:
    while (step := turn.waiting) is not None:
        step.state = "skipped"


def _conclude(turn: TranscriptTurn, status: str) -> None:
    """What becomes of the steps without a result: the first one of a turn at work is being done, or asks."""
    step = turn.waiting
    if status == Run.Status.RUNNING and step is not None:
        step.state = "running"
    elif status == Run.Status.NEEDS_YOU and step is not None:
        step.state = "asked"
    elif status != Run.Status.PAUSED:
        _give_up(turn)


@dataclass
class ChangedFile:
    """A file that a chat changed: lines over all its changes, and the event of the newest."""

    path: str
    added: int = 0
    removed: int = 0
    seq: int = 0


def changed_files(run: Run) -> list[ChangedFile]:
    """What a chat changed so far, in the order of the paths."""
    found: dict[str, ChangedFile] = {}
    rows = Event.objects.filter(Q(run=run, type=FileChanged.type, seq__lte=run.last_seq)).order_by("seq")
    for seq, payload in rows.values_list("seq", "payload"):
        path = str(payload.get("path", ""))
        file = found.setdefault(path, ChangedFile(path))
        file.added += int(payload.get("added", 0))
        file.removed += int(payload.get("removed", 0))
        file.seq = seq
    return sorted(found.values(), key=lambda file: file.path)[:MOST_FILES]
