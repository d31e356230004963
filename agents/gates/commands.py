"""The shell commands that stand in files of other tools, with their lines."""

from __future__ import annotations

import re
import shlex
import tomllib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from agents.gates.kinds import Kind

Command = tuple[int, str]  # its first line, its text
# What reading a file that does not follow its format may raise.
UNREADABLE = (ValueError, yaml.YAMLError, RecursionError)
_INI = re.compile(r"\[(?P<section>[^\]]+)\]|(?P<name>[\w.-]+)\s*[=:](?P<value>.*)|[ \t]+(?P<more>.*)")
_MAKE = re.compile(r"\$\$|\$[({]\w+[)}]|\$[({]shell\s")
_MAKE_TOKEN = re.compile(r"\$[({]shell\s|[(){}]|(?<!\\)\n")
_HEREDOC = re.compile(r'<<-?~?"?(\w+)"?\r?\n')
_ALONE = re.compile(r"^[ \t]*(\w+)[ \t\r]*$", re.MULTILINE)
_FILLED_IN = re.compile(r"\$?\{\{(?:(?!\{\{).)*?\}\}")
_SPACE = re.compile(r"\s")
MOST_NODES = 300_000  # of a YAML document, each once under every name


def commands_of(kind: Kind, text: str) -> Iterator[Command]:
    """Every command of a file. Raises one of UNREADABLE where it does not follow its format."""
    where = re.compile(kind.where, re.MULTILINE)
    if kind.commands == "yaml":
        # JSON may be indented with tabs, YAML may not; between values both mean nothing.
        spaced = re.sub(r"^[ \t]+", lambda tabs: " " * len(tabs[0]), text, flags=re.MULTILINE)
        for document in yaml.compose_all(spaced, yaml.SafeLoader):
            if document is not None:
                yield from _in_yaml(document, "", where, set())
    elif kind.commands == "toml":
        for name, value in _in_toml(tomllib.loads(text), ""):
            if where.search(name):
                first = (value.strip().splitlines() or [""])[0]
                yield text.count("\n", 0, max(0, text.find(first))) + 1, value
    elif kind.commands == "ini":
        yield from _in_ini(text, where)
    else:
        more = {"make": _in_functions, "heredoc": _in_heredocs}.get(kind.commands)
        found = [(one.start(one.lastindex or 0), one[one.lastindex or 0]) for one in where.finditer(text)]
        line, at = 1, 0
        for start, command in sorted([*found, *(more(text) if more else ())]):
            line, at = line + text.count("\n", at, start), start
            yield line, command


def _in_functions(text: str) -> Iterator[tuple[int, str]]:
    """What a Makefile gives its function `shell`, the outermost calls."""
    starts: list[int] = []  # of every open parenthesis: where a command starts, or 0
    shells = 0
    for token in _MAKE_TOKEN.finditer(text):
        if token[0] == "\n":
            starts, shells = [], 0
        elif token[0] not in ")}":
            starts.append(0 if token[0] in "({" else token.end())
            shells += starts[-1] > 0
        elif starts and (start := starts.pop()):
            shells -= 1
            if not shells:
                yield start, text[start : token.start()]


def _in_heredocs(text: str) -> Iterator[tuple[int, str]]:
    ends = defaultdict[str, list[int]](list)
    for word in _ALONE.finditer(text):
        ends[word[1]].append(word.start())
    after = 0
    for opened in _HEREDOC.finditer(text):
        closing = ends.get(opened[1], [])
        at = bisect_left(closing, opened.end())
        if opened.start() >= after and at < len(closing):
            after = closing[at]
            yield opened.end(), text[opened.end() : after]


def _in_yaml(node: yaml.Node, name: str, where: re.Pattern[str], seen: set[tuple[int, str]]) -> Iterator[Command]:
    # An alias brings a node under a further name. Nested ones multiply.
    if (id(node), name) in seen:
        return
    seen.add((id(node), name))
    if len(seen) > MOST_NODES:
        raise ValueError("too many aliases")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            part = "" if key.value == "<<" else str(key.value)  # a merged mapping stands in this one's place
            yield from _in_yaml(value, ".".join(filter(None, (name, part))), where, seen)
    elif isinstance(node, yaml.SequenceNode):
        words = [item.value for item in node.value if isinstance(item, yaml.ScalarNode)]
        if where.search(name) and words and not _SPACE.search(words[0]):
            yield node.start_mark.line + 1, shlex.join(words)
            if not any(map(_SPACE.search, words)):
                return
        for item in node.value:
            yield from _in_yaml(item, name, where, seen)
    elif isinstance(node, yaml.ScalarNode) and where.search(name):
        yield node.start_mark.line + 1 + (node.style in ("|", ">")), node.value


def _in_toml(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _in_toml(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        if words and not any(re.search(r"\s", word) for word in words):
            yield name, shlex.join(words)
        else:
            for inner in value:
                yield from _in_toml(inner, name)
    elif isinstance(value, str):
        yield name, value


def _in_ini(text: str, where: re.Pattern[str]) -> Iterator[Command]:
    section = name = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _INI.match(line)
        if found is None:
            continue
        section, name = found["section"] or section, found["name"] or name
        value = (found["value"] or found["more"] or "").strip().lstrip("-@+!:")
        if value and where.search(f"{section}.{name}"):
            yield number, value


def as_shell(text: str) -> str:
    """A command without what its tool fills in before the shell sees it: `${{ … }}`, `{{ … }}`, `$$`, `$(NAME)`."""
    plain = {"$$": "$", "$(shell": "$(", "${shell": "$("}
    return _MAKE.sub(lambda found: plain.get(found[0].rstrip(), "$FILLED"), _FILLED_IN.sub("FILLED", text))
