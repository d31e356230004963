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
_QUOTED_END = re.compile(r"<<-?\s*(?:['\"](\w+)['\"]|\\(\w+))")


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
    literal_ends: frozenset[str] = frozenset()


def parse(text: str) -> Script:
    """Split a command line into what would be run. Raises `Unparsable`."""
    if len(text) > MAX_COMMAND or "\0" in text:
        raise Unparsable("too long" if len(text) > MAX_COMMAND else "contains NUL")
    # The parser takes the quotes around a here-document's end word for a part of it.
    bare = set(re.findall(r"<<-?\s*(\w+)", text))
    quoted = {match[1] or match[2] for match in _QUOTED_END.finditer(text)}
    text = _QUOTED_END.sub(
        lambda match: (
            match[0][: match[0].index("<<") + 2] + ("-" if "<<-" in match[0] else "") + (match[1] or match[2])
        ),
        text,
    )
    script = Script(literal_ends=frozenset(quoted - bare))
    for attempt in (text, _simplify(text)):
        try:
            trees = bashlex.parse(attempt)
        except (bashlex.errors.ParsingError, NotImplementedError):
            continue
        except Exception as error:
            raise Unparsable(type(error).__name__) from error
        try:
            for tree in trees:
                _walk(tree, script, None)
        except (bashlex.errors.ParsingError, NotImplementedError) as error:
            raise Unparsable("a here-document is not understood") from error
        return script
    raise Unparsable("not understood")


def _simplify(text: str) -> str:
    """Replace constructs that the parser lacks but that run nothing themselves."""
    # `time` is a keyword that only measures; a last backslash continues nothing.
    text = re.sub(r"(^|[|;&({]\s*)time\s+(?:-p\s+)?(?=\S)", r"\1", text.rstrip("\\ \t\n"))
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
        _here_document(node, simple, script)
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


def _here_document(node: Any, simple: Simple, script: Script) -> None:
    end = node.output.word
    lines = node.heredoc.value.split("\n")
    if lines and lines[-1].strip() == end:
        lines.pop()
    simple.text_in = "\n".join(lines)
    if end not in script.literal_ends and re.search(r"`|\$\(", simple.text_in):
        # The shell runs what stands in the text, as within double quotes.
        escaped = simple.text_in.replace('"', '\\"')
        for tree in bashlex.parse(f'echo "{escaped}"'):
            _walk(tree, script, None)


def _word(node: Any) -> Word:
    changing = any(part.kind in ("parameter", "commandsubstitution", "processsubstitution") for part in node.parts)
    return Word(node.word, literal=not changing)


def _substitutions(node: Any) -> Iterator[Any]:
    for part in getattr(node, "parts", []):
        if part.kind in ("commandsubstitution", "processsubstitution"):
            yield part.command
        else:
            yield from _substitutions(part)
