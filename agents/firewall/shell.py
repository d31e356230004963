"""Shell text to simple commands, with a real parser, and as far as can be known without running it: what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import bashlex
import bashlex.errors

from agents.firewall.expanding import Variables, braces, output
from agents.firewall.rewriting import prepare, simplify, substitutions

MAX_COMMAND = 20_000
_MAX_NODES = 5_000
_MANY = 1_000  # a loop that starts so many programs beside each other is a bomb
_ENDLESS = frozenset({"true", ":", "1"})
_PAUSES = frozenset(
    {
        "sleep",
        "wait",
        "read",
        "break",
        "exit",
        "return",
        "nc",
        "inotifywait",
        "timeout",
        "ping",
        "curl",
        "ssh",
        "usleep",
        "select",
        "date",
        "git",
        "make",
        "pytest",
        "npm",
    }
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ASSIGNING = frozenset({"export", "declare", "local", "readonly", "typeset"})


class Unparsable(ValueError):
    """The text is no shell command that we understand."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes are removed; `literal` is False when the shell would put something unknown in."""

    text: str
    literal: bool = True


@dataclass(slots=True)
class Simple:
    """One simple command: words, assignments before it, files it writes and reads, and its place in a pipe.

    `text_in` is the text given to it; `blind_in` says that text is given that only running would tell; `built` that the
    program's name was printed by another command.
    """

    words: list[Word] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    text_in: str | None = None
    blind_in: bool = False
    piped_from: Simple | None = None
    built: bool = False

    @property
    def name(self) -> str:
        """The program's base name; empty when the shell decides it."""
        return self.words[0].text.rpartition("/")[2] if self.words and self.words[0].literal else ""


@dataclass(slots=True)
class Script:
    """All simple commands of a text, in order, those inside substitutions and functions too."""

    commands: list[Simple] = field(default_factory=list)
    fork_bomb: bool = False
    endless: bool = False
    functions: set[str] = field(default_factory=set)
    nodes: int = 0


# "cat <file name> | wc": no shell runs it, a person means a word to fill in.
_PLACEHOLDER = re.compile(r"<(\w[\w.-]*)(?: [\w.-]+)*>(?=\s*\Z|\s+[|;)])")


def parse(text: str) -> Script:
    """Split a command line into what would be run. Raises `Unparsable`."""
    if len(text) > MAX_COMMAND or "\0" in text:
        raise Unparsable("too long" if len(text) > MAX_COMMAND else "contains NUL")
    text, literal_ends = prepare(text)
    for attempt in (text, simplify(text), _PLACEHOLDER.sub(r"\1", text)):
        try:
            trees = bashlex.parse(attempt)
        except (bashlex.errors.ParsingError, NotImplementedError):
            continue
        except Exception as error:
            raise Unparsable(type(error).__name__) from error
        walk = _Walk(attempt, literal_ends)
        try:
            for tree in trees:
                walk.node(tree, None)
        except (bashlex.errors.ParsingError, NotImplementedError) as error:
            raise Unparsable("a part of it is not understood") from error
        return walk.script
    raise Unparsable("not understood")


class _Walk:
    """Goes through the tree in the order of running, remembering what variables hold."""

    def __init__(self, source: str, literal_ends: frozenset[str]) -> None:
        self.source, self.literal_ends = source, literal_ends
        self.script, self.variables = Script(), Variables()

    def node(self, node: Any, piped_from: Simple | None) -> Simple | None:
        self.script.nodes += 1
        if self.script.nodes > _MAX_NODES:
            raise Unparsable("too many parts")
        kind = node.kind
        if kind == "command":
            return self.command(node, piped_from)
        if kind == "pipeline":
            last = piped_from
            for part in node.parts:
                if part.kind not in ("pipe", "reservedword"):
                    last = self.node(part, last)
            return last
        if kind == "function":
            self.function(node)
            return None
        if kind == "redirect":
            carrier = Simple()
            self.redirect(node, carrier)
            if carrier.writes or carrier.reads:
                self.script.commands.append(carrier)
            return None
        if kind == "for":
            self.loop_over(node)
        if kind in ("while", "until", "for") and self.is_bomb(node):
            self.script.fork_bomb = True
        elif kind in ("while", "until") and _never_pauses(node):
            self.script.endless = True
        last = piped_from
        for part in [*getattr(node, "list", []), *getattr(node, "parts", []), *getattr(node, "redirects", [])]:
            if part.kind == "word":
                self.words(part)
            elif part.kind not in ("operator", "reservedword", "pipe"):
                last = self.node(part, piped_from) or last
        return last

    def function(self, node: Any) -> None:
        name = node.name.word if hasattr(node.name, "word") else str(node.name)
        self.script.functions.add(name)
        first = len(self.script.commands)
        self.node(node.body, None)
        own = [c for c in self.script.commands[first:] if c.name == name]
        if own and (any(c.piped_from in own for c in own) or "&" in _operators(node.body)):
            self.script.fork_bomb = True

    def loop_over(self, node: Any) -> None:
        words = [part for part in node.parts if part.kind == "word"]
        if len(words) < 2:
            return
        name, items = words[0].word, [item for word in words[1:] for item in self.words(word, quiet=True)]
        known = all(item.literal for item in items) and len(items) <= 20
        # All values at once: each is judged where the variable stands.
        self.variables.set(name, " ".join(item.text for item in items) if known else None)

    def is_bomb(self, node: Any) -> bool:
        if "&" not in _operators(node):
            return False
        inside = [part.word for part in _all(node) if part.kind == "word"]
        if node.kind == "for":
            text = self.source[node.pos[0] : node.pos[1]].partition(" do")[0]
            return any(int(number) >= _MANY for number in re.findall(r"(?:seq\D*?(?:\d+ )*|\.\.)(\d{1,9})", text))
        return bool(inside) and inside[0] in _ENDLESS and not {"sleep", "wait", "read", "nc"} & set(inside)

    def command(self, node: Any, piped_from: Simple | None) -> Simple:
        simple = Simple(piped_from=piped_from)
        pairs: list[tuple[str, str | None]] = []
        for part in node.parts:
            if part.kind == "assignment":
                simple.assigned.append(part.word)
                name = part.word.partition("=")[0]
                found = self.words(part)
                known = all(word.literal for word in found)
                pairs.append((name, " ".join(w.text for w in found).partition("=")[2] if known else None))
            elif part.kind == "word":
                simple.built |= not simple.words and any(one.kind == "commandsubstitution" for one in part.parts)
                simple.words += self.words(part)
            elif part.kind == "redirect":
                self.redirect(part, simple)
        self.remember(simple, pairs)
        self.script.commands.append(simple)
        return simple

    def remember(self, simple: Simple, pairs: list[tuple[str, str | None]]) -> None:
        if not simple.words:
            for name, value in pairs:
                self.variables.set(name, value)
        elif simple.name in _ASSIGNING:
            for word in simple.words[1:]:
                name, joint, value = word.text.partition("=")
                if joint:
                    self.variables.set(name, value if word.literal else None)
        elif simple.name in ("read", "mapfile", "readarray"):
            for word in simple.words[1:]:
                if not word.text.startswith("-"):
                    self.variables.set(word.text, simple.text_in)
        elif simple.name == "printf" and len(simple.words) > 3 and simple.words[1].text == "-v":
            rest = Simple(words=[simple.words[0], *simple.words[3:]])
            self.variables.set(simple.words[2].text, output(rest))

    def words(self, node: Any, *, quiet: bool = False) -> list[Word]:
        """The words that the shell makes of one written word, as far as can be known; runs the commands inside."""
        text, literal, changed = node.word, True, False
        raw = self.source[node.pos[0] : node.pos[1]]
        if _QUOTED.fullmatch(raw):
            # Within double quotes a backslash stays before most characters; the parser drops it.
            text = re.sub(r"\\([\"\\$`])", r"\1", raw[1:-1])
        if not node.parts:
            return [Word(one) for one in braces(text)] if "{" in text and raw == text else [Word(text)]
        for part in node.parts:
            if "'" in raw and _single_quoted(raw, part.pos[0] - node.pos[0]):
                continue  # the parser looks into single quotes when a word is only partly quoted
            if part.kind == "parameter":
                written, value = self.parameter(part, text)
            elif part.kind in ("commandsubstitution", "processsubstitution"):
                last = None if quiet else self.node(part.command, None)
                written = self.source[part.pos[0] : part.pos[1]]
                plain = part.kind == "commandsubstitution" and part.command.kind in ("command", "pipeline")
                value = output(last) if plain and last is not None else None
                value = value.rstrip("\n") if value is not None else None
            else:
                continue
            if value is None or written not in text:
                literal = False
            else:
                text, changed = text.replace(written, value, 1), True
        if changed and '"' not in raw:
            text = self.variables.separated(text)
        if changed and '"' not in raw and text.split() != [text]:
            return [Word(one, literal) for one in text.split()]
        if changed and "{" in text and '"' not in raw:
            return [Word(one, literal) for one in braces(text)]
        return [Word(text, literal)]

    def parameter(self, part: Any, text: str) -> tuple[str, str | None]:
        written = next((form for form in (f"${{{part.value}}}", f"${part.value}") if form in text), "")
        if inner := substitutions(part.value):
            # A default may hold commands, which the parser does not look at.
            for tree in bashlex.parse(f"echo {inner}"):
                _Walk.adopt(self, tree, f"echo {inner}")
        return written, self.variables.value(part.value, text, written)

    def adopt(self, tree: Any, source: str) -> None:
        """Walk a tree that was parsed from another text."""
        other = _Walk(source, self.literal_ends)
        other.variables, other.script = self.variables, self.script
        other.node(tree, None)

    def redirect(self, node: Any, simple: Simple) -> None:
        if node.heredoc is not None:
            self.here_document(node, simple)
        target = node.output
        if target is None or isinstance(target, int):
            return
        found = self.words(target)
        for word in found or [Word("")]:
            if node.type == "<<<":
                simple.text_in = word.text if word.literal and len(found) == 1 else None
                if len(found) > 1 and all(each.literal for each in found):
                    simple.text_in = " ".join(each.text for each in found)
                simple.blind_in = simple.text_in is None
            elif node.type in ("<", "<<", "<<-"):
                if node.heredoc is None:
                    simple.reads.append(word)
            elif not (node.type == ">&" and word.text == "-"):
                simple.writes.append(word)

    def here_document(self, node: Any, simple: Simple) -> None:
        end = node.output.word
        lines = node.heredoc.value.split("\n")
        if lines and lines[-1].strip() == end:
            lines.pop()
        simple.text_in = "\n".join(lines)
        if end not in self.literal_ends and re.search(r"`|\$\(", simple.text_in):
            # The shell runs what stands in the text, as within double quotes.
            escaped = f'echo "{simple.text_in.replace(chr(34), chr(92) + chr(34))}"'
            for tree in bashlex.parse(escaped):
                self.adopt(tree, escaped)


def _never_pauses(node: Any) -> bool:
    inside = [part.word for part in _all(node) if part.kind == "word"]
    endless = inside[:1] and (inside[0] in _ENDLESS if node.kind == "while" else inside[0] == "false")
    return bool(endless) and not _PAUSES & set(inside)


def _single_quoted(raw: str, place: int) -> bool:
    inside = double = False
    for index, char in enumerate(raw[:place]):
        if char == "'" and not double:
            inside = not inside
        elif char == '"' and not inside and raw[index - 1 : index] != "\\":
            double = not double
    return inside


def _all(node: Any) -> Iterator[Any]:
    yield node
    for part in [*getattr(node, "list", []), *getattr(node, "parts", [])]:
        yield from _all(part)


def _operators(node: Any) -> set[str]:
    return {part.op for part in _all(node) if part.kind == "operator"}
