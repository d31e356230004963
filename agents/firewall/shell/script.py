"""What a shell text is read into: the simple commands that it would run."""

from __future__ import annotations

from dataclasses import dataclass, field


class Unparsable(ValueError):
    """The text is not a command that can be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes are removed; `literal` is False when the shell would insert something unknown."""

    text: str
    literal: bool = True


@dataclass(slots=True)
class SimpleCommand:
    """One simple command: words, assignments before it, files it writes and reads, and its place in a pipe.

    `text_in` is the text on its input when known; `blind_in` says that text is given that only running would reveal;
    `built` that another command prints the program's name.
    """

    words: list[Word] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    text_in: str | None = None
    blind_in: bool = False
    piped_from: SimpleCommand | None = None
    built: bool = False

    @property
    def name(self) -> str:
        """The program's base name; empty when the shell decides it."""
        return self.words[0].text.rpartition("/")[2] if self.words and self.words[0].literal else ""


@dataclass(slots=True)
class Script:
    """All simple commands of a text in order, including those in substitutions and functions.

    `opaque` says that the grammar does not cover a part of the text.
    """

    commands: list[SimpleCommand] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    fork_bomb: bool = False
    endless: bool = False
    opaque: bool = False
    nodes: int = 0
