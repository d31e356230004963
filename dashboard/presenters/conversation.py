"""What the page of a chat shows: its turns, the question that waits, what may be said now, its plan and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.text import diffs
from projects.models import Approval, Chat, Run
from projects.services.work import chats, transcripts
from projects.services.work.transcripts import TranscriptStep, TranscriptTurn
from projects.storage.paths import repository_of

FULL = 4  # turns of a page whose steps come with input and output; those of the others when they are unfolded
MODES = {"chat": "Chat", "todo": "TODO", "review": "Review"}


@dataclass(frozen=True)
class ChatQuestion:
    """What the model asks, with the change it is about."""

    approval: Approval
    files: list[diffs.FileDiff] = field(default_factory=list)
    left_out: int = 0

    @property
    def title(self) -> str:
        """What is asked, as a question."""
        asked = self.approval
        return asked.title if asked.payload.get("tool") in ("plan", "confirm") else f"May it {asked.title}?"

    @property
    def of_plan(self) -> bool:
        """Whether words may go with a no."""
        return bool(self.approval.payload.get("tool") == "plan")

    @property
    def for_session(self) -> bool:
        """Whether a yes may hold for the session."""
        return not self.approval.payload.get("each_time", True)


def is_chat(run: Run) -> bool:
    """Whether a run is a conversation, or the replay of one."""
    return run.kind == Run.Kind.CHAT


def title_of(run: Run, turns: Sequence[TranscriptTurn]) -> str:
    """The first words that were said in it."""
    title = Chat.objects.filter(run=run.pk).values_list("title", flat=True).first()
    return title or (str(turns[0].event.payload.get("text", ""))[:200] if turns else "")


def context(
    run: Run, *, live: bool = True, since: int | None = None, before: int | None = None, typed: str = ""
) -> dict[str, Any]:
    """For the templates; a chat that is not `live` is looked at as it was, and nothing can be said in it."""
    chat = Chat.objects.filter(run=run.pk).first() if live else None
    if chat is not None:
        run.refresh_from_db(fields=["last_seq"])  # words that a turn takes up meanwhile are in its events by then
    found = transcripts.transcript(run, since=since, before=before)
    for turn in found.turns[:-FULL]:
        turn.full = False
    state = chats.state_of(chat) if chat is not None else None
    standing = chats.standing(run, chat, state) if chat is not None else None
    left = chat.words if chat is not None and standing is not None and not standing.busy else ""
    return {
        "talk": found,
        "chat": chat,
        "title": title_of(run, found.turns),
        "standing": standing,
        "waiting_words": chat.words if chat is not None and standing is not None and standing.busy else "",
        "typed": typed or left,
        "question": _question(run) if chat is not None else None,
        "modes": list(MODES.items()),
        "mode": state.mode if state is not None else "chat",
        "plan_of_chat": state.plan if state is not None else None,
        "changed": transcripts.changed_files(run),
        "branch": repository_of(run.project, run).line if run.kind == Run.Kind.CHAT and not run.replay_of else "",
    }


def _question(run: Run) -> ChatQuestion | None:
    asked = run.approvals.filter(kind=Approval.Kind.CHAT, status=Approval.Status.PENDING).order_by("pk").last()
    return ChatQuestion(asked, *diffs.parse(str(asked.payload.get("diff", "")))) if asked is not None else None


def files_of(step: TranscriptStep) -> list[diffs.FileDiff]:
    """What a step changed."""
    return diffs.parse(step.diff)[0] if step.diff else []
