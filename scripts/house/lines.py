"""Lines of Python in each room and sub-room, against their ceilings; and of the five rooms together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.house.tree import Tree, numbers, set_number


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Rooms above their ceiling, folders without one, and the sum."""
    ceilings, most, rooms = numbers(house, "lines", "rooms"), house["lines"]["together"], house["rooms"]["product"]
    found = count(tree, [*ceilings, *rooms])
    problems = [
        f"{room} has {found[room]:,} lines, {found[room] - ceiling:,} over its ceiling of {ceiling:,} (house.toml): "
        "take out what the new code replaces"
        for room, ceiling in ceilings.items()
        if found[room] > ceiling
    ]
    together = sum(found[room] for room in rooms)
    if together > most:
        problems.append(f"the rooms {', '.join(rooms)} have {together:,} lines together; the ceiling is {most:,}")
    missing = sorted(sub_rooms(tree, rooms) - ceilings.keys())
    return problems + [f"{room} has no ceiling in [lines.rooms] of house.toml: add one" for room in missing]


def lower(text: str, tree: Tree, house: Mapping[str, Any]) -> str:
    """Ceilings down to what is there; a room that is gone loses its line."""
    ceilings = numbers(house, "lines", "rooms")
    for room, found in count(tree, list(ceilings)).items():
        if found < ceilings[room]:
            text = set_number(text, "lines.rooms", room, found or None)
    return text


def count(tree: Tree, rooms: list[str]) -> dict[str, int]:
    """Lines of all Python modules below each folder; a room counts its sub-rooms."""
    return {room: sum(tree.text(path).count("\n") for path in tree.python(room)) for room in rooms}


def sub_rooms(tree: Tree, rooms: list[str]) -> set[str]:
    """The rooms and the packages right below them that hold modules of their own."""
    parents = {path.rpartition("/")[0] for path in tree.own_python(*rooms)}
    return {"/".join(parent.split("/")[:2]) for parent in parents}
