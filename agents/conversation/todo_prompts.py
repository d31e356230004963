"""What each call of TODO mode is shown: everything, each time, because no server keeps it (and none is trusted to)."""

from __future__ import annotations

from collections.abc import Iterable

from agents.conversation.contracts import NotText, TalkContext
from agents.conversation.display import todo_lines
from agents.conversation.execution import SECONDS
from agents.conversation.memory import history, tree
from agents.conversation.results import shown
from agents.conversation.state import ChatPlan, TodoWork, ToolResult, Turn
from agents.llm.base import Message
from agents.personas import CHAT
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.feedback import clip
from agents.secrets.redaction import redact

WINDOW = 16_384  # tokens; a smaller window of the model is shown as much less
DONE_CHARS = 8_000  # of what was done so far
RESULT_CHARS, FEWER_CHARS = 16_000, 6_000  # of the newest results; of them at least, beside the files
MOST_FILES, FILES_CHARS = 4, 12_000  # the characters of all of them


def todo_messages(ctx: TalkContext, turn: Turn, work: TodoWork, request: Material, files: str) -> list[Message]:
    """The whole of a call: rules, what was said before the task, the task and where it stands, what is asked for.

    The newest results have the room that the texts of `files` leave.
    """
    room = max(_fitting(ctx, FEWER_CHARS), _fitting(ctx, RESULT_CHARS) - len(files))
    system = render(
        "system.todo",
        persona=ctx.persona or render("chat.persona"),
        house_rules=ctx.house_rules,
        seconds=int(SECONDS),
    )
    again = render("todo.again", problem=work.problem) if work.problem else ""
    words = joined([_context(ctx, turn, work, room), files, request, again])
    return [
        as_turn("system", system, persona=CHAT.name),
        *history(ctx.conversation),
        as_turn("user", words, step="todo"),
    ]


def _context(ctx: TalkContext, turn: Turn, work: TodoWork, room: int) -> Material:
    opening, plan = turn.messages[0], ctx.conversation.plan
    return render(
        "todo.context",
        task=Material(opening["content"], map(Source, opening["sources"])),
        wishes=Material("\n".join(work.wishes), {Source.PERSON}),
        todos=Material(todos_text(plan), {Source.MODEL}),
        done=_last(turn.done, _fitting(ctx, DONE_CHARS)),
        files=label(tree(ctx.files.paths()), Source.REPOSITORY),
        results=_newest(_as_it_is(work.seen), room),
        message=work.message,
    )


def todos_text(plan: ChatPlan | None) -> str:
    """All TODOs with their states."""
    return "\n".join(line for step in plan.steps for line in todo_lines(step)) if plan is not None else ""


def _fitting(ctx: TalkContext, chars: int) -> int:
    return int(chars * min(1.0, ctx.provider(CHAT.role).window / WINDOW))


def _last(lines: list[str], room: int) -> str:
    text = "\n".join(lines)
    return text if len(text) <= room else "…\n" + text[-room:].partition("\n")[2]


def _newest(results: list[ToolResult], room: int) -> Material:
    """The newest results whole, as many as there is room for; of those before, the lines of what was done are left."""
    most, kept = room, list[Material]()
    for result in reversed(results):
        if kept and len(result.output) > room:
            break
        kept.insert(0, shown(result, most))
        room -= len(result.output)
    return joined(kept)


def _as_it_is(results: list[ToolResult]) -> list[ToolResult]:
    """Without what is no longer so: what was read of files that were changed since, what was run or read again."""
    changed, again, kept = set[str](), set[str](), list[ToolResult]()
    for result in reversed(results):
        path, colon, lines = result.title.removeprefix("read ").rpartition(":")
        if result.tool == "read" and (path if colon else lines).removeprefix("./") in changed:
            continue
        if result.tool in ("read", "exec"):
            if result.title in again:
                continue
            again.add(result.title)
        changed |= {change.path for change in result.changes}
        kept.insert(0, result)
    return kept


def files_shown(ctx: TalkContext, texts: Iterable[str], changed: Iterable[str]) -> Material:
    """The files that were changed, the newest first, and those that the texts name, as they are now."""
    words = " ".join(texts)
    named = [path for path in ctx.files.paths() if path in words or path.rsplit("/", 1)[-1] in words.split()]
    parts, found = [], list(dict.fromkeys([*reversed(list(changed)), *named]))[:MOST_FILES]
    for path in found:
        try:
            text = ctx.files.read(path)
        except NotText as what:
            text = f"[{what}]"
        said = (
            clip(str(redact(text)), _fitting(ctx, FILES_CHARS) // len(found))
            if text
            else "[not there]"
            if text is None
            else "[empty]"
        )
        parts.append(label(said, Source.REPOSITORY, f"path={path}"))
    return joined([Material("The files as they are now:", ()), *parts]) if parts else Material("", ())
