"""Shell text to simple commands, with a real parser; what that parser lacks is rewritten to something equal in effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import bashlex
import bashlex.errors

MAX_COMMAND = 20_000
_MAX_NODES = 5_000


class Unparsable(ValueError):
    """The text is no shell command that we understand."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes are removed; `literal` is False when the shell would put something in."""

    text: str
    literal: bool = True


@dataclass(slots=True)
class Simple:
    """One simple command: words, assignments before it, files it writes and reads, and its place in a pipe."""

    words: list[Word] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    text_in: str | None = None
    piped_from: Simple | None = None

    @property
    def name(self) -> str:
        """The program's base name; empty when the shell decides it."""
        return self.words[0].text.rpartition("/")[2] if self.words and self.words[0].literal else ""


@dataclass(slots=True)
class Script:
    """All simple commands of a text, in order, those inside substitutions and functions too."""

    commands: list[Simple] = field(default_factory=list)
    fork_bomb: bool = False
    nodes: int = 0


def parse(text: str) -> Script:
    """Split a command line into what would be run. Raises `Unparsable`."""
    if len(text) > MAX_COMMAND or "\0" in text:
        raise Unparsable("too long" if len(text) > MAX_COMMAND else "contains NUL")
    script = Script()
    for attempt in (text, _simplify(text)):
        try:
            trees = bashlex.parse(attempt)
        except (bashlex.errors.ParsingError, NotImplementedError):
            continue
        except Exception as error:
            raise Unparsable(type(error).__name__) from error
        for tree in trees:
            _walk(tree, script, None)
        return script
    raise Unparsable("not understood")


def _simplify(text: str) -> str:
    """Replace constructs that the parser lacks but that run nothing themselves."""
    for _ in range(5):
        text = re.sub(r"\$\(\(((?:[^()`$]|\$\w+|\$\{\w+\}|\([^()`$]*\))*)\)\)", "0", text)
    text = re.sub(r"\[\[((?:(?!\]\])[^`])*)\]\]", lambda m: "true" if "$(" not in m[1] else m[0], text)
    text = re.sub(r"(?<![$\w])\(\(([^()`$]|\$\w+)*\)\)", "true", text)
    text = re.sub(r"(?<=[\w\]])=\(([^()`$]*)\)", "=list", text)
    # find and test group with escaped parentheses; the parser takes some spellings for subshells.
    return re.sub(r"(?<=\s)\\?[()](?=\s)", "'&'", text) if re.search(r"\\[()]", text) else text


def _walk(node: Any, script: Script, piped_from: Simple | None) -> Simple | None:
    script.nodes += 1
    if script.nodes > _MAX_NODES:
        raise Unparsable("too many parts")
    kind = node.kind
    if kind == "command":
        return _command(node, script, piped_from)
    if kind == "pipeline":
        last = piped_from
        for part in node.parts:
            if part.kind not in ("pipe", "reservedword"):
                last = _walk(part, script, last)
        return last
    if kind == "function":
        name = node.name.word if hasattr(node.name, "word") else str(node.name)
        first = len(script.commands)
        _walk(node.body, script, None)
        own = [c for c in script.commands[first:] if c.name == name]
        if own and (any(c.piped_from in own for c in own) or "&" in _operators(node.body)):
            script.fork_bomb = True
        return None
    if kind == "redirect":
        carrier = Simple()
        _redirect(node, carrier, script)
        if carrier.writes or carrier.reads:
            script.commands.append(carrier)
        return None
    last = piped_from
    for part in [*getattr(node, "list", []), *getattr(node, "parts", []), *getattr(node, "redirects", [])]:
        if part.kind not in ("operator", "reservedword", "pipe"):
            result = _walk(part, script, piped_from)
            last = result or last
    return last


def _operators(node: Any) -> set[str]:
    found = {node.op} if node.kind == "operator" else set()
    for part in [*getattr(node, "list", []), *getattr(node, "parts", [])]:
        found |= _operators(part)
    return found


def _command(node: Any, script: Script, piped_from: Simple | None) -> Simple:
    simple = Simple(piped_from=piped_from)
    for part in node.parts:
        if part.kind == "assignment":
            simple.assigned.append(part.word)
        elif part.kind == "word":
            simple.words.append(_word(part))
        elif part.kind == "redirect":
            _redirect(part, simple, script)
        for inner in _substitutions(part):
            _walk(inner, script, None)
    script.commands.append(simple)
    return simple


def _redirect(node: Any, simple: Simple, script: Script) -> None:
    if node.heredoc is not None:
        simple.text_in = node.heredoc.value
    target = node.output
    if target is None or isinstance(target, int):
        return
    word = _word(target)
    if node.type == "<<<":
        simple.text_in = word.text if word.literal else None
    elif node.type in ("<", "<<", "<<-"):
        if node.heredoc is None:
            simple.reads.append(word)
    elif not (node.type == ">&" and word.text in ("-",)):
        simple.writes.append(word)
    for inner in _substitutions(target):
        _walk(inner, script, None)


def _word(node: Any) -> Word:
    changing = any(part.kind in ("parameter", "commandsubstitution", "processsubstitution") for part in node.parts)
    return Word(node.word, literal=not changing)


def _substitutions(node: Any) -> Iterator[Any]:
    for part in getattr(node, "parts", []):
        if part.kind in ("commandsubstitution", "processsubstitution"):
            yield part.command
        else:
            yield from _substitutions(part)
