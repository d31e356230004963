"""Leave and results: what a person is asked before something is done, and what is told of it afterwards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from difflib import unified_diff

from agents.conversation.contracts import FilesRefused, PermissionRequest, TalkContext
from agents.conversation.state import Command, FileChange, ToolResult
from agents.engine.effects import effect
from agents.events.effects import EffectAnnounced, FileChanged, GuardBlocked, PermissionDecided
from agents.firewall import FirewallJudgement
from agents.prompts.provenance import Source


def done(
    command: Command, output: str, source: Source = Source.PRODUCT, changes: Sequence[FileChange] = ()
) -> ToolResult:
    """A command that succeeded."""
    return ToolResult(command.tool, command.title, True, output, source.value, changes=list(changes))


def failed(command: Command, why: str, *next_steps: str) -> ToolResult:
    """A command that did not succeed, and what can be done next."""
    steps = list(next_steps) or ["retry", "adjust", "skip"]
    return ToolResult(command.tool, command.title, False, f"ERROR: {why}", next_steps=steps)


def refused(command: Command, why: str = "") -> ToolResult:
    """A command that a person did not allow; `why` it was asked about, so that the model can do it differently."""
    what = f"The person said no. They were warned: {why.rstrip('.')}." if why else "The person said no."
    result = failed(command, f"{what} Do not try it again; ask what is wanted, or go on without.", "skip")
    result.refused = True
    return result


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
