"""How plans, commands and questions look in the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp import helpers
from acp.schema import (
    AgentPlanUpdate,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    PermissionOption,
    SessionMode,
    SessionModeState,
    ToolCallLocation,
    ToolCallStart,
    UnstructuredCommandInput,
)

from agents.conversation.contracts import PermissionRequest
from agents.conversation.display import MARKS, TOOL_TITLES
from agents.conversation.state import ChatPlan, Command, FileChange, PlanStep
from agents.conversation.todo_calls import TODO_TOOLS
from agents.prompts.render import quoted
from agents.replies.paths import BadPath, check_path
from aiswe_site.acp.files import EditorFiles
from projects.services.work.transcripts import TranscriptStep

KINDS: dict[str, Any] = {
    "read": "read",
    "find": "search",
    "write": "edit",
    "edit": "edit",
    "delete": "delete",
    "exec": "execute",
    "search": "fetch",
}
PAST: dict[str, Any] = {"passed": "completed", "failed": "failed"}  # what waits is done when the turn goes on
# What is settled is completed; what failed is still open, because it is tried again or put to a person.
STATES: dict[str, Any] = {"pending": "pending", "in_progress": "in_progress", "failed": "pending"}
MODES = {
    "chat": ("Chat", "Reads, and writes and runs what you allow."),
    "todo": ("TODO", "A task becomes TODOs that are worked on and judged one by one."),
    "review": ("Review", "Reads only: nothing is written or run."),
}
COMMANDS = {
    "plan": ("Make a plan of a goal first, then follow it.", "goal"),
    "continue": ("Go on with a turn or a plan that was interrupted.", ""),
    "check": ("Run all tests and the review gates on what this chat changed, on a copy.", ""),
    "clear": ("Forget what was said; files stay.", ""),
}
SHOWN_CHARS = 20_000  # of a result
MOST_DIFFS = 20


def modes(current: str) -> SessionModeState:
    """The modes, and the one that is on."""
    known = [SessionMode(id=name, name=title, description=about) for name, (title, about) in MODES.items()]
    return SessionModeState(current_mode_id=current, available_modes=known)


def commands() -> AvailableCommandsUpdate:
    """What can be typed after a slash."""
    found = []
    for name, (about, hint) in COMMANDS.items():
        wanted = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
        found.append(AvailableCommand(name=name, description=about, input=wanted))
    return helpers.update_available_commands(found)


def plan(found: ChatPlan) -> AgentPlanUpdate:
    """A plan or the TODOs, each with its state; the protocol knows no failure, so words say it."""
    entries = [(step_words(step), STATES.get(step.state, "completed")) for step in found.steps]
    return helpers.update_plan([helpers.plan_entry(words, status=state) for words, state in entries])


def step_words(step: PlanStep) -> str:
    """A step or TODO in one line: what is expected of it, and how it failed."""
    word = f" ({MARKS[step.state][1]})" if step.state in ("failed", "skipped") else ""
    return f"{step.description}{f' → {step.expected}' if step.expected else ''}{word}"


def title(command: str) -> str:
    """A command in one line; a TODO operation by its words instead of its name."""
    name, _, rest = command.partition(" ")
    return f"{TOOL_TITLES[name]} {rest}".strip() if name in TODO_TOOLS else command


def past(call: str, step: TranscriptStep, files: EditorFiles) -> ToolCallStart:
    """A tool call of before, as the record has it."""
    parts = [part for part in (step.diff, step.output, *step.leaves, *step.blocked) if part]
    return helpers.start_tool_call(
        call,
        title(step.title),
        kind=KINDS.get(step.tool, "other"),
        status=PAST.get(step.state, "pending"),
        content=[output(part) for part in parts],
        locations=locations(Command(step.tool, step.title.removeprefix(f"{step.tool} ")), files),
    )


def locations(command: Command, files: EditorFiles) -> list[ToolCallLocation]:
    """The file that a command is about, and the line, as in `src/app:10-40`."""
    if command.tool not in ("read", "write", "edit", "delete"):
        return []
    path, _, lines = command.argument.partition(":")
    first = lines.partition("-")[0].strip()
    try:
        place = files.place(check_path(path.strip()))
    except BadPath:
        return []
    return [ToolCallLocation(path=place, line=int(first) if first.isdecimal() else None)]


def changed_at(changes: Sequence[FileChange], files: EditorFiles) -> list[ToolCallLocation]:
    """Where files were changed: the first line of each that is another."""
    found = []
    for change in changes[:MOST_DIFFS]:
        old, new = (change.old or "").splitlines(), (change.new or "").splitlines()
        same = next((row for row, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        found.append(ToolCallLocation(path=files.place(change.path), line=same + 1))
    return found


def diffs(changes: Sequence[FileChange], files: EditorFiles) -> list[Any]:
    """Files before and after; one that goes away as a sentence."""
    return [
        text(f"deletes {change.path}")
        if change.new is None
        else helpers.tool_diff_content(files.place(change.path), change.new, change.old)
        for change in changes[:MOST_DIFFS]
    ]


def text(words: str) -> Any:
    """Words as a part of a tool call."""
    return helpers.tool_content(helpers.text_block(words))


def output(words: str) -> Any:
    """What a tool gave, in a fence that it cannot close."""
    return text(quoted(words if len(words) <= SHOWN_CHARS else f"{words[:SHOWN_CHARS]}\n… cut off"))


def options(request: PermissionRequest, *, terminal: bool) -> list[PermissionOption]:
    """The answers to a question about leave; what is to be asked each time has none for the session."""
    found = [PermissionOption(option_id="once", name="Allow once", kind="allow_once")]
    if terminal:
        words = "Run it in my terminal, on my files"
        found.append(PermissionOption(option_id="terminal", name=words, kind="allow_once"))
    if not request.each_time:
        found.append(PermissionOption(option_id="session", name="Allow for this session", kind="allow_always"))
    return [*found, PermissionOption(option_id="no", name="No", kind="reject_once")]


def yes_or_no(yes: str, no: str) -> list[PermissionOption]:
    """The answers to a plain question."""
    return [
        PermissionOption(option_id="yes", name=yes, kind="allow_once"),
        PermissionOption(option_id="no", name=no, kind="reject_once"),
    ]


def about_a_plan(yes: str, no: str) -> list[PermissionOption]:
    """The answers to a question about a plan: those, and a no whose words are the next prompt."""
    words = "No, I write what is to be different"
    return [*yes_or_no(yes, no), PermissionOption(option_id="words", name=words, kind="reject_once")]
