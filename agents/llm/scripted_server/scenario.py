"""Scenarios: a folder with `scenario.toml` and one Markdown file per reply.

The client names the reply it asks for (agents.llm.scripted.reply_name):

    <task>/<persona>-<step>[-a<approach>][-<n>].md      T-03/coder-repair-2.md, T-03/coder-code-a2.md
"""

from __future__ import annotations

import re
import tomllib
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

    def reply(self, name: str) -> tuple[str, str]:
        """The file of a reply and its text; raises `ScenarioError`."""
        folder, _, step = name.partition("/")
        if not all(_NAME.fullmatch(part) and ".." not in part for part in (folder, step)):
            raise ScenarioError(f"A recording is asked for a reply by its name; it found {name[:60]!r}.")
        file = f"{name}.md"
        path = self.folder / file
        if not path.is_file():
            raise ReplyMissing(file)
        text = path.read_text(encoding="utf-8")
        if len(text) > _MAX_REPLY_CHARS:
            raise ScenarioError(f"{file} is too long for a reply.")
        return file, text
