"""How commands are written: as the prompt documents them, and as people see them."""

from __future__ import annotations

import re

from agents.conversation.state import Command
from agents.languages.registry import language_of
from agents.prompts.render import quoted

WITH_BODY = ("write", "edit")


def form(tool: str) -> str:
    """How the command is written."""
    forms = {
        "write": "<<WRITE: path>>, the whole file below it, and <</WRITE>>",
        "edit": "<<EDIT: path>>, a SEARCH/REPLACE block below it, and <</EDIT>>",
        "exec": "<<EXEC: command>>",
        "search": '<<SEARCH: "words">>',
        "confirm": '<<CONFIRM: "question">>',
    }
    return forms.get(tool, f"<<{tool.upper()}: path>>")


def as_documented(command: Command) -> str:
    """A command as the prompt shows it."""
    head = f"<<{command.tool.upper()}{f': {command.argument}' if command.argument else ''}>>"
    return f"{head}\n{command.body}<</{command.tool.upper()}>>" if command.tool in WITH_BODY else head


def as_heading(command: Command) -> str:
    """A command as people see it, in one line: without what it writes, and without the lines below its first."""
    first, _, more = command.argument.partition("\n")
    mark = "`" * (max((len(run) for run in re.findall(r"`+", first)), default=0) + 1)
    return f"**{command.tool}** {mark}{first}{mark}{' …' if more else ''}" if first else f"**{command.tool}**"


def as_markdown(command: Command) -> str:
    """A command as people see it among the model's words."""
    head = as_heading(command)
    body = command.body or (command.argument if "\n" in command.argument else "")
    if not body:
        return head
    language = language_of(command.argument)
    return f"{head}\n\n{quoted(body, language.name if language else '')}\n"


def in_paragraphs(words: list[str], commands: list[str]) -> str:
    """Each command is a paragraph, unless it stands inside of a sentence."""
    text = words[0]
    for command, after in zip(commands, words[1:], strict=True):
        text = f"{text.rstrip()}\n\n{command}" if text.rstrip(" \t").endswith("\n") else text + command
        text = text + after if re.match(r"[ \t]*\S", after) else f"{text.rstrip()}\n\n{after.lstrip()}"
    return text.strip()
