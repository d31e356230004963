"""Permission: what the firewall and a person say before something is done; the record of it; and writing files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import unified_diff

from agents.conversation.contracts import FilesRefused, PermissionRequest, TalkContext
from agents.conversation.state import FileChange
from agents.engine.effects import effect
from agents.engine.nodes.firewall_check import judged_file
from agents.events.effects import EffectAnnounced, FileChanged, GuardBlocked, PermissionDecided
from agents.firewall.base import FirewallJudgement
from agents.firewall.guard import Guard


@dataclass
class Screened:
    """Why a change may not be made at all, or what speaks against it; `each_time` is asked whatever was allowed."""

    denied: FirewallJudgement | None = None
    doubts: list[str] = field(default_factory=list)
    each_time: bool = False


def screen(ctx: TalkContext, change: FileChange, guard: Guard | None = None) -> Screened:
    """Judge a change by its path, its text and its code. Files that steer machinery and secrets are asked each time."""
    found, base = Screened(), {change.path: change.old or ""}
    for kind, judged in judged_file(change.path, change.new or "", base, canary=ctx.canary, guard=guard):
        if judged.verdict.decision == "deny":
            found.denied = judged
            return found
        found.doubts.append(judged.verdict.reason.rstrip("."))
        found.each_time = found.each_time or kind != "code"
    return found


def permitted(ctx: TalkContext, request: PermissionRequest) -> bool:
    """Whether a person lets it be done: now, before for the session, or with the plan that is being followed."""
    conversation = ctx.conversation
    planned = ctx.following and request.tool in ("write", "exec")
    if not request.each_time and (planned or request.tool in conversation.granted):
        return True
    began = time.monotonic()
    leave = ctx.surface.permit(request)
    ctx.waited += time.monotonic() - began
    if leave == "session" and not request.each_time:
        conversation.granted.append(request.tool)
    word = {"no": "no", "once": "yes", "session": "yes, for the session"}[leave]
    decided = PermissionDecided(
        summary=f"{request.title}: {word}",
        outcome="denied" if leave == "no" else "ok",
        what=request.title,
        answer=leave,
        reason=request.why,
    )
    ctx.event_log.emit(decided)
    return leave != "no"


def blocked(ctx: TalkContext, what: str, found: FirewallJudgement) -> None:
    """Put a refusal of the firewall on record."""
    verdict = found.verdict
    event = GuardBlocked(
        summary=f"Blocked: {what}: {verdict.reason}"[:300],
        role="coder",
        what=what[:200],
        reason=verdict.reason,
        rule=verdict.rule,
        decision=verdict.decision,
        layers=found.to_json(),
    )
    ctx.event_log.emit(event)


def apply_changes(ctx: TalkContext, changes: Sequence[FileChange]) -> str:
    """Make the files so and put it on record, before and after; why that was not possible, "" when it was."""
    turn, log = ctx.conversation.turn, ctx.event_log
    key = f"files/{ctx.conversation.number}/{log.head().seq}"
    names = ", ".join(change.path for change in changes[:5])
    said = EffectAnnounced(summary=f"writes {names} …"[:300], role="coder", effect="files.write")
    try:
        with effect(log, said, key=key):
            ctx.files.write(changes)
    except FilesRefused as problem:
        return str(problem)
    for number, change in enumerate(changes):
        diff = diff_of(change)
        added = sum(line.startswith("+") and not line.startswith("+++") for line in diff.split("\n"))
        removed = sum(line.startswith("-") and not line.startswith("---") for line in diff.split("\n"))
        event = FileChanged(
            summary=f"{change.path} +{added} −{removed}",
            blobs={"diff": diff},
            path=change.path,
            added=added,
            removed=removed,
        )
        log.emit(event, key=key if not number else None)
        if turn is not None:
            turn.changes.append(FileChange(change.path, None, None))  # their texts are in git
    return ""


def diff_of(change: FileChange) -> str:
    """The change as a unified diff."""
    old, new = (change.old or "").splitlines(keepends=True), (change.new or "").splitlines(keepends=True)
    names = (
        ("/dev/null" if change.old is None else f"a/{change.path}"),
        ("/dev/null" if change.new is None else f"b/{change.path}"),
    )
    lines = list(unified_diff(old, new, *names))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
