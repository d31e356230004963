"""Documents drawn from Atlassian's published schema, every kind of node and mark that it knows."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("data").joinpath("adf-schema.json").read_text())
PATTERNS = {"color": "#0a1B2c", "^(neutral": "green", "#[0-9a-fA-F]{8}": "#0a1B2c3d"}
WORDS = st.text(st.sampled_from("ab <>!/[]()`~*_|#-+.\n\\&;@:\u202e\u200bé"), min_size=1, max_size=12)
WORDS |= st.sampled_from(
    [
        "<script>alert(1)</script>",
        "![x](https://e.example/?q=1)",
        "```",
        "<",
        "!",
        "[",
        "| --- |",
        "# x",
        "\\",
        "\\!",
        "--- ",
        "\x00\x1b[2J",
    ]
)


def _definition(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMA["definitions"][name] if name else schema


@cache
def _heights() -> dict[str, int]:
    """How deep the shallowest document of each definition is."""
    known: dict[str, int] = {}

    def height(schema: dict[str, Any]) -> int:
        if "$ref" in schema:
            return known.get(schema["$ref"].rpartition("/")[2], 99)
        if "anyOf" in schema:
            return min(map(height, schema["anyOf"]))
        if "allOf" in schema:
            return max(map(height, schema["allOf"]))
        needed = [
            schema["properties"][name] for name in schema.get("required", ()) if name in schema.get("properties", ())
        ]
        if schema.get("type") == "array" and schema.get("minItems"):
            items = schema.get("items", {})
            needed += items[:1] if isinstance(items, list) else [items]
        return 1 + max(map(height, needed), default=0)

    for _ in range(12):
        for name, schema in SCHEMA["definitions"].items():
            known[name] = min(known.get(name, 99), height(schema))
    return known


def _height(schema: dict[str, Any]) -> int:
    if "$ref" in schema:
        return _heights()[schema["$ref"].rpartition("/")[2]]
    return max((_height(one) for one in schema.get("allOf", ())), default=1)


def _draw(draw: Any, schema: dict[str, Any], room: int) -> Any:
    schema = _definition(schema)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        fitting = [one for one in schema["anyOf"] if _height(one) <= room] or [min(schema["anyOf"], key=_height)]
        return _draw(draw, draw(st.sampled_from(fitting)), room)
    if "allOf" in schema:
        parts = [_definition(part) for part in schema["allOf"]]
        closed = [part["properties"] for part in parts if part.get("additionalProperties") is False]
        told = {name: one for part in parts for name, one in part.get("properties", {}).items()}
        told = {name: one for name, one in told.items() if all(name in known for known in closed)}
        schema = {
            "type": "object",
            "properties": told,
            "required": [r for part in parts for r in part.get("required", ())],
        }
    kind = schema.get("type")
    if kind == "object":
        needed = schema.get("required", [])
        told = schema.get("properties", {})
        chosen = [name for name in told if name in needed or (room > 0 and draw(st.booleans()))]
        return {name: _draw(draw, told[name], room - 1) for name in chosen}
    if kind == "array":
        items, least = schema.get("items", {}), schema.get("minItems", 0)
        if isinstance(items, list):
            return [_draw(draw, one, room - 1) for one in items[: max(least, schema.get("maxItems", len(items)))]]
        most = min(schema.get("maxItems", 99), max(least, 3 if room > 2 else 0))
        return [_draw(draw, items, room - 1) for _ in range(draw(st.integers(least, most)))]
    if kind == "string":
        pattern = schema.get("pattern")
        return next(shown for part, shown in PATTERNS.items() if part in f"color{pattern}") if pattern else draw(WORDS)
    low, high = schema.get("minimum", 0), schema.get("maximum", 60)
    return {"number": draw(st.integers(low, high)), "integer": draw(st.integers(low, high)), "boolean": True}.get(
        kind, {}
    )


@st.composite
def documents(draw: Any, room: int = 9) -> dict[str, Any]:
    """A document that the schema calls valid."""
    return _draw(draw, SCHEMA, room)
