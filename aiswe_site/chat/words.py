"""A reply while it is written: finished paragraphs as Markdown, the newest lines below them as plain text."""

from __future__ import annotations

import re
import time

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

from agents.conversation.parse import read_commands
from aiswe_site.terminal.output import clean

EVERY_S = 0.12  # between two pictures
TAIL_LINES = 8
_UNFINISHED = re.compile(r"(?:<{1,3}|«)[^\n>»]*\Z")


class ReplyWriter:
    """Shows one reply after the other; commands in them are shown as what they do, never as they are spelt."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._text, self._printed, self._looked = "", 0, 0.0
        self._live: Live | None = None
        self.passing = False  # only the newest lines are shown while they are written: what is said is shown otherwise

    def feed(self, text: str) -> None:
        """Take what was written."""
        self._text += text
        if self._console.is_terminal and time.monotonic() - self._looked >= EVERY_S:
            self._look()

    def wait(self, what: str) -> None:
        """Say what is going on, until there is something to show."""
        if self._console.is_terminal and self._live is None:
            self._live = Live(Text(what, style="dim"), console=self._console, transient=True, auto_refresh=False)
            self._live.start(refresh=True)

    def close(self, shown: str = "") -> None:
        """The reply is complete; `shown` is all of it as people see it."""
        self._print(blocks(clean(shown or read_commands(self._text).outline)))
        self.drop()

    def drop(self) -> None:
        """Take the reply away again: what it says is shown otherwise."""
        if self._live is not None:
            self._live.update(Text(""), refresh=True)
            self._live.stop()
        self._text, self._printed, self._live = "", 0, None

    def _look(self) -> None:
        read = read_commands(_UNFINISHED.sub("", self._text))
        self._print(blocks(clean(read.outline))[:-1])
        tail = (blocks(clean(read.shown)) or [""])[-1]
        lines = [line for line in tail.splitlines() if not line.startswith("```")][-TAIL_LINES:]
        if self._live is None:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(Text("\n".join(lines), style="dim", overflow="fold"), refresh=True)
        self._looked = time.monotonic()

    def _print(self, found: list[str]) -> None:
        if self.passing:
            return
        for block in found[self._printed :]:
            self._console.print(Markdown(block, code_theme="ansi_dark", hyperlinks=False))
            self._console.print()
        self._printed = max(self._printed, len(found))


def blocks(text: str) -> list[str]:
    """The paragraphs of a Markdown text; a fence is one of them, with its empty lines."""
    found: list[list[str]] = [[]]
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"[ \t]*(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif mark:
            fence = mark[1]
        if not fence and not line.strip():
            found.append([])
        else:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found if any(line.strip() for line in lines)]
