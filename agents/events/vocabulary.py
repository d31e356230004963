"""All kinds of event, and the questions asked about them by type: how one is shown, which of them a filter names."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from agents.events import effects, lifecycle, reasoning
from agents.events.base import COLUMNS, KINDS, EventKind, EventLook, Preset

MODULES = (lifecycle, reasoning, effects)  # importing them fills KINDS
_JSON = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "datetime": "string", "None": "null"}


def is_known(type_: str) -> bool:
    """Whether the vocabulary has this type."""
    return type_ in KINDS


def look_of(type_: str) -> EventLook:
    """How events of this type are shown; a type that is not in the vocabulary shows its name."""
    return KINDS[type_].look if type_ in KINDS else EventLook("system", type_)


def families() -> list[str]:
    """The first words of all types in alphabetical order: what a page offers as a filter."""
    return list(dict.fromkeys(type_.partition(".")[0] for type_ in sorted(KINDS)))


def types_in(preset: Preset) -> list[str]:
    """The types that a named filter shows."""
    return [type_ for type_, kind in KINDS.items() if preset in kind.look.presets]


def types_with_words() -> list[str]:
    """The types that a person reads as text instead of as one line."""
    return [type_ for type_, kind in KINDS.items() if kind.look.words]


def schema() -> list[dict[str, Any]]:
    """Every kind as plain data: type, meaning, JSON type of each payload field; `?` marks one that may be absent."""
    return [
        {"type": type_, "meaning": " ".join((kind.__doc__ or "").split()), "payload": _payload(kind)}
        for type_, kind in sorted(KINDS.items())
    ]


def _payload(kind: type[EventKind]) -> dict[str, str]:
    own = [each for each in fields(kind) if each.name not in COLUMNS]
    names = (each.name.rstrip("_") + "?" * (not _required(each)) for each in own)
    return {name: _json_type(str(each.type)) for name, each in zip(names, own, strict=True)}


def _required(each: Any) -> bool:
    return bool(each.default is each.default_factory)  # both are the same marker of a missing default


def _json_type(annotation: str) -> str:
    found = []
    for part in re.split(r" \| ", annotation):
        inner = re.fullmatch(r"Sequence\[(.+)\]", part)
        plain = "object" if part.startswith("Mapping") else "array of object" if part == "Rows" else part
        found.append(f"array of {_json_type(inner[1])}" if inner else _JSON.get(plain, plain))
    return " or ".join(found)
