"""The tools of TODO mode: a name and an input become a Command, so that leave, firewall and records are a chat's."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from agents.conversation.state import Command

_NAMES: dict[str, tuple[str, ...]] = {  # of a command's tool; the first one is the documented one
    "find": ("find_files", "find", "search_files", "file_search", "list_files", "list_dir", "list", "glob", "grep"),
    "read": ("read_file", "read", "open_file", "view_file", "cat"),
    "write": ("create_file", "write_file", "write", "create", "save_file", "new_file"),
    "edit": ("edit_file", "edit", "patch_file", "patch", "apply_patch", "modify_file", "update_file", "replace"),
    "delete": ("delete_file", "delete", "remove_file", "rm"),
    "exec": ("run_command", "run", "exec", "execute", "execute_command", "terminal", "run_terminal", "shell", "bash"),
    "search": ("search_web", "web_search", "search"),
    "confirm": ("ask_person", "ask", "confirm", "ask_user", "question"),
    "todo_add": ("todo_add", "add_todo", "create_todo", "todo_create"),
    "todo_update": ("todo_update", "update_todo", "change_todo", "todo_change"),
    "todo_done": ("todo_done", "complete_todo", "todo_complete", "done_todo", "finish_todo", "mark_done"),
    "todo_skip": ("todo_skip", "skip_todo"),
}
TOOL_NAMES = {tool: names[0] for tool, names in _NAMES.items()}
TODO_TOOLS = tuple(tool for tool in TOOL_NAMES if tool.startswith("todo_"))


def _bare(name: object) -> str:
    return re.sub(r"[\W_]", "", str(name)).lower()


_BY_NAME = {_bare(name): tool for tool, names in _NAMES.items() for name in names}
_NUMBER = ("number", "id", "todo", "todonumber", "todoid", "index", "n")
_MAIN = {  # what a tool is mainly about, by the names of that input
    **dict.fromkeys(("read", "write", "edit", "delete"), ("path", "file", "filename", "filepath", "name", "target")),
    "find": ("words", "query", "pattern", "name", "path", "text", "search", "glob"),
    "exec": ("command", "cmd", "commandline", "shell", "script", "code"),
    "search": ("query", "words", "q", "search", "text"),
    "confirm": ("question", "text", "message", "prompt"),
    "todo_add": ("description", "task", "todo", "title", "text"),
    **dict.fromkeys(("todo_update", "todo_done", "todo_skip"), _NUMBER),
}
_CONTENT = ("content", "contents", "text", "body", "code", "filecontent")
_OLD = ("search", "old", "oldstring", "oldtext", "find", "before", "original")
_NEW = ("replace", "new", "newstring", "newtext", "replacement", "after", "with")
_PATCH = ("patch", "diff", "changes")


def as_command(name: str, given: Any) -> Command:
    """The call as a command; what cannot be understood becomes one with a problem, which the model is told."""
    tool = _BY_NAME.get(_bare(name))
    if tool is None:
        known = ", ".join(TOOL_NAMES.values())
        return Command(name[:60] or "(no tool named)", problem=f"There is no tool of this name. The tools: {known}.")
    values = {_bare(key): one for key, one in given.items()} if isinstance(given, Mapping) else {}
    argument = _first(values, _MAIN[tool]) if values else _plain(given or "")
    if tool == "read" and (lines := _lines(values)):
        argument = f"{argument}:{lines}"
    command = Command(tool, argument.strip() if tool != "exec" else argument)
    if not argument.strip() and tool not in ("find", "todo_done"):
        command.problem = f"{TOOL_NAMES[tool]} names no {_MAIN[tool][0]}: put it into its input."
    elif tool == "write":
        command.body = _body(values)
        if not command.body:
            command.problem = _no_content("create_file", command, "WRITE", "content")
    elif tool == "edit":
        command.body = _edit(values)
        if not command.body:
            command.problem = _no_content("edit_file", command, "EDIT", "search and replace, or patch")
    elif tool in TODO_TOOLS:
        rest = {key: _first(values, (key, f"{key}result")) for key in ("description", "expected", "reason")}
        command.body = json.dumps({key: one for key, one in rest.items() if one}, ensure_ascii=False)
    return command


def _no_content(name: str, command: Command, word: str, wanted: str) -> str:
    path = command.argument
    return f"{name} of {path} has no {wanted}: put it below the JSON, in <<{word}: {path}>> … <</{word}>>."


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((_plain(values[name]) for name in names if values.get(name) not in (None, "", [], {})), "")


def _plain(value: Any) -> str:
    """A value as text; a list is a command line in parts."""
    if value is None:
        return ""
    if isinstance(value, list):
        return shlex.join(str(one) for one in value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


def _body(values: Mapping[str, Any]) -> str:
    """A file's content; a list is its lines."""
    value = next((values[name] for name in _CONTENT if values.get(name) not in (None, "", [], {})), "")
    text = "\n".join(map(str, value)) if isinstance(value, list) else value
    text = text if isinstance(text, str) else json.dumps(text, indent=2, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "replace").decode()
    return f"{text.rstrip()}\n" if text.strip() else ""


def _edit(values: Mapping[str, Any]) -> str:
    """An edit as SEARCH/REPLACE blocks, or the patch that was given."""
    blocks = []
    edits = values.get("edits") if isinstance(values.get("edits"), list) else [values]
    for one in edits or []:
        part = {_bare(key): value for key, value in one.items()} if isinstance(one, Mapping) else {}
        old, new = _first(part, _OLD), _first(part, _NEW)
        if old:
            lines = [
                "<<<<<<< SEARCH",
                old.strip("\n"),
                "=======",
                *([new.strip("\n")] if new else []),
                ">>>>>>> REPLACE",
            ]
            blocks.append("\n".join(lines))
    return "\n".join(blocks) or _first(values, _PATCH) or _body(values)


def _lines(values: Mapping[str, Any]) -> str:
    """The lines that are asked for, as `10-40`; "" for all."""
    if found := re.search(r"\d{1,9}(?:\s*-\s*\d{1,9})?", _first(values, ("lines", "range"))):
        return found[0].replace(" ", "")
    first, last = (
        _first(values, names) for names in (("first", "start", "startline", "from"), ("last", "end", "endline", "to"))
    )
    if not first.isdecimal():
        return ""
    return f"{first}-{last}" if last.isdecimal() else first
