"""Doing what a reply asks for, with permission: each command gives a result that the model and the person read.

`_TOOLS` has a function for each tool; that of EXEC is in execution.py. turn.py puts the results into the next question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatch

from agents.conversation.contracts import NotText, PermissionRequest, TalkContext
from agents.conversation.execution import execute
from agents.conversation.permission import apply_changes, blocked, diff_of, permitted, screen
from agents.conversation.results import SHOWN_LINES, done, failed, page, refused
from agents.conversation.spelling import form
from agents.conversation.state import Command, Excerpt, FileChange, ToolResult
from agents.conversation.web_search import NoSearch, SearchFailed, as_text
from agents.events.effects import PermissionDecided, ToolUsed
from agents.languages.registry import language_of
from agents.prompts.provenance import Source
from agents.replies.apply import apply_reply
from agents.replies.diffs import looks_like_diff
from agents.replies.parse import parse_reply
from agents.replies.paths import BadPath, check_path
from agents.replies.types import FileBlock, Reply

MOST_READ = 1_000_000  # bytes of a file
MOST_FOUND = 60
# In review mode files are read and nothing is changed or run; this holds whatever a person would allow.
NOT_IN_REVIEW = frozenset({"write", "edit", "delete", "exec"})
NEXT_AFTER_PATH = ["adjust: name a file of the workspace (FIND lists them)", "skip"]


def do(ctx: TalkContext, command: Command) -> ToolResult:
    """Do one command and show it; a failure is a result, never an exception.

    Raises Waiting while a person has not answered, and Stopped.
    """
    return do_with(ctx, command, _done)


def do_with(ctx: TalkContext, command: Command, tool: Callable[[TalkContext, Command], ToolResult]) -> ToolResult:
    """As `do`, with a tool of one's own."""
    began, waited = time.monotonic(), ctx.waited
    ctx.surface.started(command)
    if command.problem:
        result = failed(command, command.problem, "adjust: write the command as it is documented")
    else:
        result = tool(ctx, command)
    result.seconds = round(time.monotonic() - began - (ctx.waited - waited), 3)
    _record(ctx, command, result)
    ctx.surface.finished(command, result)
    return result


def _record(ctx: TalkContext, command: Command, result: ToolResult) -> None:
    turn = ctx.conversation.turn
    first = result.output.strip().split("\n")[0]
    used = ToolUsed(
        summary=f"{result.title}: {'ok' if result.ok else first}"[:300],
        outcome="ok" if result.ok else "fail",
        duration_ms=int(result.seconds * 1000),
        blobs={"input": f"{command.argument}\n{command.body}".strip(), "output": result.output},
        tool=command.tool,
        title=result.title,
        turn=turn.number if turn else 0,
        next_steps=result.next_steps,
    )
    ctx.event_log.emit(used)


def _done(ctx: TalkContext, command: Command) -> ToolResult:
    if ctx.conversation.mode == "review" and command.tool in NOT_IN_REVIEW:
        why = "This is review mode: files are read, nothing is written, deleted or run."
        return failed(command, why, "skip: say in words what should be changed, with path and line")
    return _TOOLS[command.tool](ctx, command)


def inside(ctx: TalkContext, raw: str) -> str:
    """The path as the workspace has it. Raises BadPath."""
    path = raw.strip()
    if path in ("/workspace", "workspace", "./workspace"):
        path = "."
    for start in ("/workspace/", "./workspace/", "workspace/"):
        if path.startswith(start) and (start[0] in "/." or not any(one.startswith(start) for one in ctx.files.paths())):
            path = path.removeprefix(start)
            break
    try:
        return check_path(path)
    except BadPath as bad:
        parts = path.replace("\\", "/").split("/")
        if path.startswith(("/", "~")) or ".." in parts:
            raise BadPath(f"Access denied: '{raw}' is outside of the workspace.") from None
        raise bad


def _read(ctx: TalkContext, command: Command) -> ToolResult:
    raw, first, last = _with_lines(command.argument)
    try:
        path = inside(ctx, raw)
        text = ctx.files.read(path)
    except (BadPath, NotText) as bad:
        return failed(command, str(bad), *NEXT_AFTER_PATH)
    if text is None:
        return _missing(ctx, command, path)
    if len(text.encode("utf-8", "replace")) > MOST_READ:
        return failed(command, f"'{path}' is larger than 1 MB.", "adjust: FIND words in it", "skip")
    if not text:
        return done(command, f"{path} is empty.")
    lines = text.splitlines()
    start = max(1, first or 1)
    rows = lines[start - 1 : last or None][:SHOWN_LINES]
    if not rows:
        return failed(command, f"'{path}' has {len(lines)} lines.", "adjust: name lines that it has", "skip")
    excerpt = Excerpt(path, start, len(lines), rows)
    result = done(command, page(excerpt), Source.REPOSITORY)
    result.excerpt = excerpt
    return result


def _with_lines(argument: str) -> tuple[str, int, int]:
    """A path and the lines asked for, as in `src/app:10-40`; 0 where none is named."""
    path, colon, lines = argument.rpartition(":")
    first, _, last = lines.strip().partition("-")
    if colon and first.strip().isdecimal() and (not last or last.strip().isdecimal()):
        return path, int(first), int(last) if last else int(first)
    return argument, 0, 0


def _missing(ctx: TalkContext, command: Command, path: str) -> ToolResult:
    paths = ctx.files.paths()
    near = get_close_matches(path, paths, n=2, cutoff=0.6)
    near += [one for one in paths if one.rsplit("/", 1)[-1] == path.rsplit("/", 1)[-1] and one not in near]
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return failed(command, f"File not found at '{path}'.{hint}", *NEXT_AFTER_PATH)


def _find(ctx: TalkContext, command: Command) -> ToolResult:
    """Files whose path fits a pattern or has the words in it; else lines that have them."""
    words = command.argument.strip() or "*"
    paths = list(ctx.files.paths())
    pattern = words if any(letter in words for letter in "*?[") else f"*{words}*"
    found = [path for path in paths if fnmatch(path, pattern) or fnmatch(path.rsplit("/", 1)[-1], pattern)]
    if not found:
        found = [line for path in paths for line in _lines_with(ctx, path, words.strip("*"))][: MOST_FOUND + 1]
    if not found:
        return failed(command, f"No file and no line has '{words}'.", "adjust: search for other words", "skip")
    more = f"\n[and {len(found) - MOST_FOUND} more]" if len(found) > MOST_FOUND else ""
    return done(command, "\n".join(found[:MOST_FOUND]) + more, Source.REPOSITORY)


def _lines_with(ctx: TalkContext, path: str, words: str) -> list[str]:
    try:
        text = ctx.files.glance(path) or ""
    except NotText:
        return []
    rows = enumerate(text.splitlines(), 1) if words.lower() in text.lower() else ()
    return [f"{path}:{row}: {line.strip()[:160]}" for row, line in rows if words.lower() in line.lower()][:10]


def _write(ctx: TalkContext, command: Command) -> ToolResult:
    """WRITE and EDIT: the same guards as for a coder's files, then a person's leave."""
    try:
        path = inside(ctx, command.argument)
        old = ctx.files.read(path)
    except (BadPath, NotText) as bad:
        return failed(command, str(bad), *NEXT_AFTER_PATH)
    if command.tool == "edit" and old is None:
        return _missing(ctx, command, path)
    reply = Reply(files=[FileBlock(path, command.body)]) if command.tool == "write" else _edits(path, command.body)
    if not reply.files and not reply.edits:
        return failed(command, f"EDIT {path} holds no SEARCH/REPLACE block: write {form('edit')}.", "adjust")
    there = dict.fromkeys(ctx.files.paths(), "")
    ctx.keeping.base = {path: old or ""}
    ctx.keeping.merged.clear()
    ctx.keeping.removed.clear()
    applied = apply_reply(reply, {**there, path: old} if old is not None else there, keeping=ctx.keeping)
    if applied.refused:
        return failed(command, applied.refused[0][1], "adjust: send what the message asks for", "skip")
    if path not in applied.files:
        return done(command, f"{path} is already so; nothing was changed.")
    new = applied.files[path]
    return _changed(ctx, command, FileChange(path, old, new))


def _edits(path: str, body: str) -> Reply:
    """The blocks of an EDIT, a diff too. A whole file is taken where its language tells that from a piece of one."""
    fence, lines = "`" * 8, body.rstrip().split("\n")
    if _bare_diff(lines):
        lines.insert(0, "@@")
    kind = "diff" if looks_like_diff(lines) else ""
    reply = parse_reply("\n".join([f"{fence}{kind} path={path}", *lines, fence, ""]))
    language = language_of(path)
    if reply.files and (language is None or any(language.syntax_error(path, one.content) for one in reply.files)):
        reply.files = []
    return reply


def _bare_diff(lines: Sequence[str]) -> bool:
    """Whether these are lines of a diff without a mark of their hunk."""
    marks = {line[:1] for line in lines if line.strip()}
    return marks <= {"+", "-", " "} and {"+", "-"} <= marks


def _changed(ctx: TalkContext, command: Command, change: FileChange) -> ToolResult:
    path, new = change.path, change.new or ""
    gone = ctx.keeping.removed.get(path, [])
    doubts = [f"it takes out {', '.join(gone[:5])}"] if gone else []
    found = screen(ctx, change, ctx.guard)
    if found.denied is not None:
        blocked(ctx, path, found.denied)
        return failed(command, f"Refused by the firewall: {found.denied.verdict.reason}", "adjust", "skip")
    doubts += found.doubts
    if trouble := ctx.files.refusal([change]):
        return failed(command, trouble, "skip")
    found_so = ctx.doubts([change])
    doubts += found_so
    request = PermissionRequest(
        "write",
        f"{change.word[:-1]} {path}",
        "; ".join(doubts),
        diff_of(change),
        (change,),
        each_time=bool(gone or found_so or found.each_time),
    )
    if not permitted(ctx, request):
        return refused(command, request.why)
    if trouble := apply_changes(ctx, [change]):
        return failed(command, trouble)
    merged = ctx.keeping.merged.get(path, "")
    language = language_of(path)
    broken = language.syntax_error(path, new) if language is not None else ""
    notes = [merged, f"careful: {broken}" if broken else ""]
    told = "; ".join(note for note in notes if note)
    return done(
        command,
        f"OK: {change.word} {path}, {new.count(chr(10))} lines." + (f" ({told})" if told else ""),
        changes=[change],
    )


def _delete(ctx: TalkContext, command: Command) -> ToolResult:
    """A file, or all files below a folder; "." is everything. It is asked about each time."""
    try:
        path = (
            ""
            if command.argument.strip().rstrip("/") in (".", "./workspace", "workspace", "/workspace", "*")
            else inside(ctx, command.argument.rstrip("/"))
        )
        paths = [one for one in ctx.files.paths() if not path or one == path or one.startswith(f"{path}/")]
        changes = [FileChange(one, _text(ctx, one), None) for one in paths]
    except BadPath as bad:
        return failed(command, str(bad), *NEXT_AFTER_PATH)
    if not changes:
        return _missing(ctx, command, path or ".")
    if trouble := ctx.files.refusal(changes):
        return failed(command, trouble, "skip")
    title = f"delete {paths[0]}" if len(paths) == 1 else f"delete {len(paths)} files"
    if not permitted(
        ctx, PermissionRequest("delete", title, detail="\n".join(paths[:200]), changes=tuple(changes), each_time=True)
    ):
        return refused(command)
    if trouble := apply_changes(ctx, changes):
        return failed(command, trouble)
    return done(command, f"OK: {title}.".replace("delete", "deleted"), changes=changes)


def _text(ctx: TalkContext, path: str) -> str:
    try:
        return ctx.files.read(path) or ""
    except NotText as what:
        return f"[{what}]\n"


def _search(ctx: TalkContext, command: Command) -> ToolResult:
    request = PermissionRequest(
        "search", f"search the web for {command.argument!r}", f"the words go to {ctx.web.about}", command.argument
    )
    if isinstance(ctx.web, NoSearch):
        return failed(command, ctx.web.about, "skip")
    if not permitted(ctx, request):
        return refused(command, request.why)
    try:
        found = ctx.web.search(command.argument)
    except SearchFailed as problem:
        return failed(command, str(problem), "retry", "adjust: other words", "skip")
    ctx.conversation.search_tokens += found.tokens
    return done(command, as_text(found), Source.WEB)


def person_says(ctx: TalkContext, question: str) -> bool:
    """A person's answer to a question of the model, on record. Raises Waiting."""
    began = time.monotonic()
    yes = ctx.surface.confirm(question)
    ctx.waited += time.monotonic() - began
    decided = PermissionDecided(
        summary=f"{question[:200]}: {'yes' if yes else 'no'}",
        outcome="ok" if yes else "denied",
        what=question[:500],
        answer="once" if yes else "no",
        reason="the model asked",
    )
    ctx.event_log.emit(decided)
    return yes


def _confirm(ctx: TalkContext, command: Command) -> ToolResult:
    yes = person_says(ctx, command.argument)
    return done(command, f"The person answered: {'yes' if yes else 'no'}.")


_TOOLS: dict[str, Callable[[TalkContext, Command], ToolResult]] = {
    "read": _read,
    "find": _find,
    "write": _write,
    "edit": _write,
    "delete": _delete,
    "exec": execute,
    "search": _search,
    "confirm": _confirm,
}
