"""The shell commands that stand in files of other tools, with their lines."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from agents.gates.kinds import Kind

Command = tuple[int, str]  # its first line, its text
# What reading a file that does not follow its format may raise.
UNREADABLE = (ValueError, yaml.YAMLError, RecursionError)
_INI = re.compile(r"\[(?P<section>[^\]]+)\]|(?P<name>[\w.-]+)\s*[=:](?P<value>.*)|[ \t]+(?P<more>.*)")
_MAKE = re.compile(r"\$\$|\$[({]\w+[)}]")


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
        for found in where.finditer(text):
            group = found.lastindex or 0
            yield text.count("\n", 0, found.start(group)) + 1, found[group]


def _in_yaml(node: yaml.Node, name: str, where: re.Pattern[str], seen: set[int]) -> Iterator[Command]:
    if id(node) in seen:  # an alias; nested ones multiply
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _in_yaml(value, f"{name}.{key.value}" if name else str(key.value), where, seen)
    elif isinstance(node, yaml.SequenceNode):
        words = [item.value for item in node.value if isinstance(item, yaml.ScalarNode)]
        if where.search(name) and words and not any(re.search(r"\s", word) for word in words):
            yield node.start_mark.line + 1, shlex.join(words)
        else:
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
    text = re.sub(r"\$?\{\{.*?\}\}", "FILLED", text)
    return _MAKE.sub(lambda found: "$" if found[0] == "$$" else "$FILLED", text)
