"""GitHub's documented shapes: the least of a schema, and whether what is asked, answered and sent keeps to them."""

from __future__ import annotations

import json
from functools import cache, reduce
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.forge_server.server import Answered

ROUTES, HOOKS = "github_shapes", "github_webhooks"
MOMENT = "2026-01-01T00:00:00Z"


@cache
def _document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name(f"{name}.json").read_text())
    return found


@cache
def _registry() -> Registry[Any]:
    every = [(f"urn:{name}", Resource.opaque(_document(name))) for name in (ROUTES, HOOKS)]
    return Registry().with_resources(every)


def smallest(schema: Any, document: str = ROUTES) -> Any:
    """The smallest value that fits a schema; a schema by its name, too."""
    if isinstance(schema, str):
        schema = _document(document)["components"]["schemas"][schema]
    if reference := schema.get("$ref"):
        return smallest(str(reference).rpartition("/")[2], document)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return smallest(schema[word][-1], document)  # null, where that is allowed
    if "allOf" in schema:
        return reduce(completed, [smallest(one, document) for one in schema["allOf"]])
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return None
    if kind == "object":
        known = schema.get("properties", {})
        return {name: smallest(known.get(name, {}), document) for name in schema.get("required", ())}
    if kind == "string":
        return {"uri": "https://example.org/", "date-time": MOMENT}.get(schema.get("format"), "")
    return {"integer": 1, "number": 1, "boolean": False, "array": []}[kind]


def problems(call: Answered) -> list[str]:
    """What of a call is not as documented."""
    name = f"{call.method.lower()} {call.route}"
    described = _document(ROUTES)["operations"].get(name)
    if described is None:
        return [f"{name} is not in the extract"]
    found = [f"{name}: no parameter {word}" for word in call.query if word not in described["query"]]
    found += [
        f"{name}: {word}={value} is not allowed"
        for word, value in call.query.items()
        if value not in described["query"].get(word, {}).get("enum", [value])
    ]
    if described["body"] is not None and call.body is not None:
        found += [f"{name} sends {one}" for one in _errors(described["body"], call.body)]
        unknown = call.body.keys() - described["body"].get("properties", {}).keys()
        found += [f"{name} sends {word}, which is not documented" for word in sorted(unknown)]
    if isinstance(call.answer, bytes):  # another kind than JSON was asked for
        return found
    refusals = {key: {"$ref": "#/components/schemas/basic-error"} for key in ("401", "403", "404")}  # any route's
    answers = refusals | described["answers"]
    if str(call.status) not in answers:
        return [*found, f"{name} answers {call.status}"]
    schema = answers[str(call.status)]
    return found + ([f"{name} answers {one}" for one in _errors(schema, call.answer)] if schema else [])


def smallest_hook(name: str) -> Any:
    """The smallest payload of a webhook, called like `pull-request-opened`; None for one not in the extract."""
    described = _document(HOOKS)["operations"].get(name)
    return smallest(described, HOOKS) if described is not None else None


def completed(value: Any, least: Any) -> Any:
    """A value with what it lacks of another one."""
    if not isinstance(value, dict) or not isinstance(least, dict):
        return value
    return {**least, **{name: completed(one, least.get(name)) for name, one in value.items()}}


def hook_problems(name: str, payload: Any) -> list[str]:
    """What of the payload of a webhook is not as documented."""
    return [f"{name} says {one}" for one in _errors(_document(HOOKS)["operations"][name], payload, HOOKS)]


def _errors(schema: Any, value: Any, document: str = ROUTES) -> list[str]:
    absolute = json.loads(json.dumps(schema).replace('"#/components', f'"urn:{document}#/components'))
    checker = Draft202012Validator(absolute, registry=_registry())
    return [f"{one.json_path}: {one.message[:200]}" for one in checker.iter_errors(value)]
