"""Scenarios: a folder with `scenario.toml` and one Markdown file per reply, chosen from the conversation alone.

Nothing is remembered between calls, so a restart, a retry or a second worker gets the same reply. The parts of a
file's name come from the messages: `Persona:` in the first line of the system message; `Task:` in the first user
message's opening lines (no task: "plan"), `Approach:` there or in the last such line; `Step:` in the last user message;
and how many user messages have that step.

    <task>/<persona>-<step>[-a<approach>][-<n>].md      T-03/coder-repair-2.md, T-03/coder-code-a2.md
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_REPLY_CHARS = 4_000_000


class ScenarioError(Exception):
    """A scenario folder or a conversation with it is not as it should be; the text is safe to show."""


class ReplyMissing(ScenarioError):
    """The scenario has no reply for this point of the conversation."""

    def __init__(self, file: str) -> None:
        super().__init__(f"The scenario has no reply for this step: {file} is missing.")
        self.file = file


@dataclass(frozen=True)
class Scenario:
    """What `scenario.toml` says of a recording."""

    folder: Path
    name: str
    title: str
    description: str
    model: str
    note: str

    @classmethod
    def load(cls, folder: Path) -> Scenario:
        """Read a scenario folder; raises `ScenarioError` naming what is wrong with it."""
        source = folder / "scenario.toml"
        try:
            data = tomllib.loads(source.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ScenarioError(f"{folder} is not a scenario: it has no scenario.toml.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise ScenarioError(f"{source} cannot be read: {error}") from None
        texts: dict[str, str] = {}
        for key in ("name", "title", "description", "model", "note"):
            value = data.get(key, "" if key == "note" else None)
            if not isinstance(value, str) or (key != "note" and not value.strip()):
                raise ScenarioError(f"{source} needs a text called {key!r}.")
            texts[key] = value
        if not _NAME.fullmatch(texts["name"]):
            raise ScenarioError(f"{source}: the name {texts['name']!r} may hold letters, digits, dots, dashes only.")
        return cls(folder=folder, **texts)

    def reply(self, messages: Sequence[Mapping[str, object]]) -> tuple[str, str]:
        """The file for this point of the conversation and its text; raises `ScenarioError`."""
        file = reply_file(messages)
        path = self.folder / file
        if not path.is_file():
            raise ReplyMissing(file)
        text = path.read_text(encoding="utf-8")
        if len(text) > _MAX_REPLY_CHARS:
            raise ScenarioError(f"{file} is too long for a reply.")
        return file, text


def reply_file(messages: Sequence[Mapping[str, object]]) -> str:
    """The name of the reply file that a conversation asks for, relative to the scenario's folder."""
    system = next((_content(m) for m in messages if m.get("role") == "system"), "")
    users = [_content(m) for m in messages if m.get("role") == "user"]
    if not users:
        raise ScenarioError("The conversation has no user message, so there is nothing to reply to.")
    lines = system.splitlines()
    persona = _slug(
        _header(lines[0] if lines else "", "Persona"), "the line `Persona: <name>` at the top of the system message"
    )
    step = _slug(_header(users[-1], "Step"), "a line `Step: <step>` in the last user message")
    task = _slug(_header(_top(users[0]), "Task") or "plan", "a task id")
    # What changes from one approach to the next stands last, so that a server's prefix cache can keep the rest.
    approach = _header(_top(users[0]), "Approach") or (_last(users[0], "Approach") if task != "plan" else "") or "1"
    if not approach.isdigit() or len(approach) > 3:
        raise ScenarioError(f"`Approach: {approach[:40]}` is not a number.")
    count = sum(1 for text in users if _header(text, "Step") == step)
    name = f"{persona}-{step}"
    if int(approach) > 1:
        name += f"-a{int(approach)}"
    if count > 1:
        name += f"-{count}"
    return f"{task}/{name}.md"


def _content(message: Mapping[str, object]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _top(text: str) -> str:
    """The `Key: value` lines a message opens with; what follows (a PRD, say) may hold such lines of its own."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() and not re.match(r"[A-Z][A-Za-z ]{0,30}:", line):
            break
        lines.append(line)
    return "\n".join(lines)


def _last(text: str, key: str) -> str:
    """The first word of the last `Key: value` line; empty when there is none."""
    found = re.findall(rf"^{key}:[ \t]*(\S+)", text, re.M)
    return str(found[-1]) if found else ""


def _header(text: str, key: str) -> str:
    """The first word of a `Key: value` line; empty when there is none."""
    found = re.search(rf"^{key}:[ \t]*(\S+)", text, re.M)
    return found[1] if found else ""


def _slug(value: str, what: str) -> str:
    if not _NAME.fullmatch(value) or ".." in value:
        raise ScenarioError(f"A recording needs {what}; it found {value[:60]!r}.")
    return value
