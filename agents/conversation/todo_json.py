"""The JSON of TODO mode: one object per reply, read whatever a small model makes of it (docs/reference/todo-json.md).

Nothing is lost to fences, prose, comments, wrong quotes, a cut end, several objects, a list in an object's place or
other names for the same key. A value that is missing becomes a visible placeholder. Text commands beside the object
count too: a file's content needs no escaping there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agents.conversation.parse import commands_apart
from agents.conversation.spelling import WITH_BODY
from agents.conversation.state import Command
from agents.conversation.todo_calls import as_command
from agents.replies.jsonish import depth_of, parse_json

NO_DESCRIPTION, NO_EXPECTED = "(no description given)", "(no expected result given)"
NO_FEEDBACK, NO_MESSAGE = "(no feedback given)", "(no message given)"
MOST_CALLS, MOST_ITEMS, MOST_DEPTH = 10, 50, 40
MOST_CHARS, MOST_MESSAGE, MOST_READ = 1_000, 4_000, 200_000
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "expected": {"type": "string"},
                    "status": {"enum": ["pending", "done"]},
                },
                "required": ["description", "expected", "status"],
            },
        },
        "tool": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "input": {"type": "object"}},
            "required": ["name", "input"],
        },
        "judgement": {
            "type": "object",
            "properties": {"accepted": {"type": "boolean"}, "feedback": {"type": "string"}},
            "required": ["accepted", "feedback"],
        },
        "complete": {"type": "boolean"},
    },
    "required": ["message"],
}


def schema_with(*needed: str) -> dict[str, Any]:
    """The schema of a reply that must have these keys too."""
    return {**SCHEMA, "required": ["message", *needed]}


# Other names of the same, without case, spaces and marks; the first one is the documented one.
_KEYS = {
    "message": ("message", "msg", "text", "response", "thought", "explanation", "summary"),
    "todos": ("todos", "todo", "todolist", "tasks", "steps", "plan"),
    "tool": ("tool", "tools", "toolcall", "toolcalls", "action", "actions", "call", "functioncall"),
    "judgement": ("judgement", "judgment", "verdict", "evaluation", "assessment"),
    "complete": ("complete", "completed", "iscomplete", "taskcomplete", "finished", "done"),
}
_TODO = {
    "description": ("description", "task", "todo", "title", "name", "step", "content"),
    "expected": ("expected", "expectedresult", "expectedoutcome", "expectation", "goal", "result", "outcome"),
    "status": ("status", "state", "done", "completed"),
}
_CALL = {
    "name": ("name", "tool", "toolname", "function", "action"),
    "input": ("input", "inputs", "arguments", "args", "parameters", "params", "toolinput", "actioninput"),
}
_JUDGEMENT = {
    "accepted": ("accepted", "acceptable", "accept", "approved", "ok", "passed", "pass"),
    "feedback": ("feedback", "reason", "comment", "message", "explanation"),
}
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|(?<!:)//[^\n]*|/\*.*?\*/|(?<=[,{\[\n])[ \t]*#[^\n]*', re.DOTALL)
_LONG = re.compile(r"(?<=[:,\[])(\s*)(\"\"\"|'''|`{1,3})(.*?)\2(?=\s*[,}\]])", re.DOTALL)
_BELOW = re.compile(r"^[ \t]*<{2,3}[ \t]*[A-Z]{4,7}[ \t]*:", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: None)


@dataclass(frozen=True)
class TodoItem:
    """A TODO as a reply states it."""

    description: str = NO_DESCRIPTION
    expected: str = NO_EXPECTED
    done: bool = False


@dataclass(frozen=True)
class Judged:
    """Whether a result is accepted; what is not clearly a yes is a no."""

    accepted: bool
    feedback: str = NO_FEEDBACK


@dataclass
class TodoReply:
    """A reply with every value there; `found` says whether anything of the mode was in it, `words` are the others."""

    message: str = NO_MESSAGE
    todos: list[TodoItem] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    judgement: Judged | None = None
    complete: bool | None = None
    found: bool = False
    words: str = ""


def read_todo_reply(text: str, *, truncated: bool = False) -> TodoReply:
    """What a reply says; never raises."""
    reply, messages, words = TodoReply(), list[str](), list[str]()
    for part in _parts(text[:MOST_READ].replace("\r\n", "\n"), truncated):
        if isinstance(part, Command):
            reply.commands.append(part)
        elif isinstance(part, str):
            words.append(part)
        else:
            given = len(reply.commands)
            for value in part.value if isinstance(part.value, list) else [part.value]:
                _take(reply, value, messages)
            if part.cut:
                _not_half(reply.commands[given:])
    reply.words = re.sub(r"```\w*|~~~\w*", "", "".join(words)).strip()
    reply.message = "\n".join(messages) or reply.words or NO_MESSAGE
    reply.commands = _without_doubles(reply.commands)[:MOST_CALLS]
    del reply.todos[MOST_ITEMS:]
    reply.found = bool(reply.found or reply.commands)
    return reply


@dataclass(frozen=True)
class _Json:
    """An object or list in a reply; `cut` when its end is missing, and perhaps more."""

    value: Any
    cut: bool = False


def _parts(text: str, truncated: bool) -> Iterator[Command | str | _Json]:
    """The objects, text commands and other words of a reply in their order; an object's strings hold no command."""
    at = 0
    while brace := re.search(r"\[\s*\{|\{", text[at:]):
        start = at + brace.start()
        first = next(commands_apart(text[at:], truncated), None)
        if first is not None and at + first[1] < start:
            yield text[at : at + first[1]]
            yield first[0]
            at += first[2]
            continue
        found, end = _value(text, start, truncated)
        yield text[at:start]
        yield found if isinstance(found.value, dict | list) else text[start:end]
        at = end
    for command, start, end in commands_apart(text[at:], truncated):
        yield command
        text = f"{text[: at + start]}{' ' * (end - start)}{text[at + end :]}"
    yield text[at:]


def _value(text: str, start: int, truncated: bool = False) -> tuple[_Json, int]:
    """The value that begins there and where it ends; None for what is not JSON."""
    with suppress(ValueError, RecursionError):
        value, end = _DECODER.raw_decode(text, start)
        return _Json(value if depth_of(text[start:end]) <= MOST_DEPTH else None), end
    end, closed, quoted = _end(text, start)
    cut = not closed and (truncated or quoted or text[start:end].rstrip()[-1:] not in ("'", '"', "}", "]", "`"))
    broken = _LONG.sub(lambda found: f"{found[1]}{json.dumps(found[3])}", text[start:end])
    broken = _COMMENT.sub(lambda found: found[1] or "", broken)
    value, _ = parse_json(broken)
    return _Json(value if _has_object(value) else None, cut), end


def _end(text: str, start: int) -> tuple[int, bool, bool]:
    """Where the brackets that open there are closed, strings aside; else where a text command follows, or the end.

    Also whether they are closed, and whether a string is open there.
    """
    below = _BELOW.search(text, start)
    limit = below.start() if below else len(text)
    depth, inside, escaped = 0, False, False
    for at in range(start, limit):
        char = text[at]
        if inside:
            inside = char != '"' or escaped
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside, escaped = True, False
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if not depth:
                return at + 1, True, False
    return limit, False, inside


def _has_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _take(reply: TodoReply, value: Any, messages: list[str]) -> None:
    """Add what one object says."""
    if not isinstance(value, dict):
        return
    part = _fields(value, _KEYS)
    if len(value) == 1 and part.keys() <= {"message"} and isinstance(inner := next(iter(value.values())), dict):
        value, part = inner, _fields(inner, _KEYS)  # {"response": {…}}
    if isinstance(part.get("tool"), str) or ("tool" not in part and _named(value, _CALL, 2)):
        part["tool"] = value  # a call without what should be around it
    elif "judgement" not in part and "accepted" in _fields(value, _JUDGEMENT):
        part["judgement"] = value
    elif part.keys() <= {"complete"} or (part.keys() <= {"complete", "todos"} and isinstance(part["todos"], str)):
        part = {"todos": [value]} if "description" in _fields(value, _TODO) else part
    if not part:
        return
    reply.found = True
    if message := _text(part.get("message"), MOST_MESSAGE):
        messages.append(message)
    reply.todos += [_item(one) for one in _listed(part.get("todos"))]
    reply.commands += [as_command(**_call(one)) for one in _listed(part.get("tool"))]
    if (judged := part.get("judgement")) is not None:
        reply.judgement = _judged(judged)
    if (complete := _truth(part.get("complete"))) is not None:
        reply.complete = complete


def _fields(value: Any, names: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """The values of an object by their documented names; the first of several names that is there counts."""
    if not isinstance(value, dict):
        return {}
    plain = {re.sub(r"[\W_]", "", str(key)).lower(): one for key, one in value.items()}
    found = {
        key: next((plain[one] for one in known if plain.get(one) is not None), None) for key, known in names.items()
    }
    return {key: one for key, one in found.items() if one is not None}


def _named(value: Any, names: dict[str, tuple[str, ...]], least: int = 1) -> bool:
    return len(_fields(value, names)) >= least


def _listed(value: Any) -> list[Any]:
    """A list, or the one thing that stands in its place; of an object of objects, these."""
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return list(value.values())
    many = value if isinstance(value, list) else [value]
    return [one for one in many if one not in (None, "", {}, [], "none", "None", "null")]


def _item(value: Any) -> TodoItem:
    part = _fields(value, _TODO) if isinstance(value, dict) else {"description": value}
    status = part.get("status")
    done = _truth(status) is True
    return TodoItem(_text(part.get("description")) or NO_DESCRIPTION, _text(part.get("expected")) or NO_EXPECTED, done)


def _call(value: Any) -> dict[str, Any]:
    part = _fields(value, _CALL) if isinstance(value, dict) else {"name": value}
    name = part.get("name")
    if isinstance(name, dict):  # {"function": {"name": …, "arguments": …}}
        return _call(name)
    given = part.get("input")
    if given is None and isinstance(value, dict):  # its inputs beside its name
        given = {key: one for key, one in value.items() if one is not name}
    if isinstance(given, str) and given.lstrip().startswith("{"):
        decoded = _value(given, given.index("{"))[0].value
        given = decoded if isinstance(decoded, dict) else given
    return {"name": _text(name), "given": given}


def _judged(value: Any) -> Judged:
    if isinstance(value, dict):
        part = _fields(value, _JUDGEMENT)
        return Judged(_truth(part.get("accepted")) is True, _text(part.get("feedback")) or NO_FEEDBACK)
    truth = _truth(value)
    return Judged(truth is True, NO_FEEDBACK if truth is not None else _text(value) or NO_FEEDBACK)


def _truth(value: Any) -> bool | None:
    """What a value says; None when it says neither."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word in ("true", "yes", "y", "1", "done", "complete", "completed", "accepted", "approved", "ok", "finished"):
        return True
    return False if word in ("false", "no", "n", "0", "pending", "rejected", "incomplete", "not accepted") else None


def _text(value: Any, most: int = MOST_CHARS) -> str:
    """A value as words; an object or list as the JSON it is."""
    if value is None or value == "":
        return ""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return words.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode().strip()[:most]


def _not_half(commands: list[Command]) -> None:
    """Of a reply that was cut off no content is taken: half a file would look like a whole one."""
    for one in commands:
        if one.body and one.tool in WITH_BODY:
            one.body = ""
            one.problem = (
                f"Your reply was cut off in the content of {one.argument}, so it was not written. Give it below the "
                "JSON, and shorter: first a short version, then an edit."
            )


def _without_doubles(commands: list[Command]) -> list[Command]:
    """A file that is announced in the JSON and given below it is one command: the content, where it is announced."""
    given = [one for one in commands if one.tool in WITH_BODY and one.body]
    kept: list[Command] = []
    placed = set[int]()
    for one in commands:
        bodiless = one.tool in WITH_BODY and not one.body
        if bodiless and (named := [other for other in given if one.argument in ("", other.argument)]):
            one = next((other for other in named if id(other) not in placed), named[0])
        if id(one) not in placed and (not kept or one != kept[-1]):
            kept.append(one)
        placed.add(id(one))
    return kept
