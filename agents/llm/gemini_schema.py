"""A JSON Schema in the words Gemini takes: a subset of OpenAPI's, without references."""

from __future__ import annotations

from typing import Any

_MAX_DEPTH = 40
_KEPT = tuple("title description enum format minItems maxItems minLength maxLength minimum maximum pattern".split())
_FORMATS = {"enum", "date-time", "float", "double", "int32", "int64"}


def gemini_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The nearest schema that Gemini takes; what it has no word for is left out. Raises ValueError when too deep."""
    return _convert(schema, schema, 0)


def _convert(part: Any, root: dict[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("The schema is nested too deeply.")
    part = _resolve(part, root)
    out: dict[str, Any] = {key: part[key] for key in _KEPT if key in part}
    if out.get("format") not in _FORMATS:
        out.pop("format", None)
    if "const" in part:
        out["enum"] = [part["const"]]
    if "enum" in out:
        out["enum"] = [str(value) for value in out["enum"] if value is not None]
    kind = part.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        out["nullable"] = "null" in kind
        kind = kinds[0] if kinds else "string"
    if "enum" in out:
        kind = "string"
    if isinstance(kind, str):
        out["type"] = kind.upper()
    choices = part.get("anyOf") or part.get("oneOf")
    if isinstance(choices, list):
        real = [each for each in choices if _resolve(each, root).get("type") != "null"]
        out["nullable"] = len(real) < len(choices)
        converted = [_convert(each, root, depth + 1) for each in real]
        out = {**out, **converted[0]} if len(converted) == 1 else {**out, "anyOf": converted}
    properties = part.get("properties")
    if isinstance(properties, dict):
        out["properties"] = {name: _convert(each, root, depth + 1) for name, each in properties.items()}
        out["propertyOrdering"] = list(properties)
        if required := [name for name in part.get("required") or () if name in properties]:
            out["required"] = required
        out.setdefault("type", "OBJECT")
    if isinstance(part.get("items"), dict):
        out["items"] = _convert(part["items"], root, depth + 1)
        out.setdefault("type", "ARRAY")
    return out


def _resolve(part: Any, root: dict[str, Any]) -> dict[str, Any]:
    for _ in range(_MAX_DEPTH):
        if not isinstance(part, dict):
            return {}
        target = part.get("$ref")
        if not isinstance(target, str) or not target.startswith("#/"):
            return part
        found: Any = root
        for name in target[2:].split("/"):
            found = found.get(name) if isinstance(found, dict) else None
        part = found
    return {}
