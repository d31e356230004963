"""Bringing a JSON value nearer to its schema: filling what is missing, wrapping a bare list."""

from __future__ import annotations

from typing import Any

_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "null": None}
_MAX_DEPTH = 40
_MAX_FILLED = 500


class Shaper:
    """Fill in missing required values of a schema; each is reported as a problem, none is guessed from choices."""

    def __init__(self, schema: dict[str, Any], problems: list[str]) -> None:
        self._root, self._problems, self._filled = schema, problems, 0

    def shape(self, value: Any) -> Any:
        """The value with its gaps filled; what cannot be filled stays a gap for the validation to name."""
        wrapped = self._wrap(value)
        return self._fill(wrapped, self._root, "", 0)

    def _wrap(self, value: Any) -> Any:
        """A bare list where an object with one list is wanted: the commonest slip of small models."""
        schema = self._resolve(self._root)
        properties = schema.get("properties")
        if not isinstance(value, list) or not isinstance(properties, dict):
            return value
        lists = [key for key, part in properties.items() if self._resolve(part).get("type") == "array"]
        if len(lists) != 1:
            return value
        self._problems.append(f"The list belongs under the key {lists[0]!r}.")
        return {lists[0]: value}

    def _fill(self, value: Any, schema: Any, where: str, depth: int) -> Any:
        schema = self._resolve(schema)
        if depth > _MAX_DEPTH:
            return value
        properties = schema.get("properties")
        if isinstance(value, dict) and isinstance(properties, dict):
            out = dict(value)
            for key in schema.get("required") or ():
                if key not in out and key in properties and self._filled < _MAX_FILLED:
                    filled, empty = self._empty(properties[key])
                    if filled:
                        self._filled += 1
                        self._problems.append(f"{where}{key} is missing.")
                        out[key] = empty
            return {
                key: self._fill(part, properties[key], f"{where}{key}.", depth + 1) if key in properties else part
                for key, part in out.items()
            }
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            stem = where.rstrip(".")
            return [self._fill(part, schema["items"], f"{stem}[{row}].", depth + 1) for row, part in enumerate(value)]
        return value

    def _empty(self, schema: Any) -> tuple[bool, Any]:
        """An empty value of the schema's type; none where the value must be one of a few (that would be a guess)."""
        schema = self._resolve(schema)
        if "enum" in schema or "const" in schema:
            return False, None
        kind = schema.get("type")
        if kind == "object":
            return True, {}
        if isinstance(kind, str) and kind in _EMPTY:
            empty = _EMPTY[kind]
            return True, list(empty) if isinstance(empty, list) else empty
        return False, None

    def _resolve(self, schema: Any) -> dict[str, Any]:
        """Follow `$ref`s inside the document; anything else than an object counts as "no rules"."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, dict):
                return {}
            target = schema.get("$ref")
            if not isinstance(target, str) or not target.startswith("#/"):
                return schema
            found: Any = self._root
            for part in target[2:].split("/"):
                found = found.get(part) if isinstance(found, dict) else None
            schema = found
        return {}
