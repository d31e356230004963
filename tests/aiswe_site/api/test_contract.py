"""Whatever is sent to any operation of the API, the answer is one that its description names."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiswe_site.api.openapi import description
from dashboard.access import rate
from projects.services.accounts import api_tokens
from tests.dashboard.story import add_code, tell

OPERATIONS = [
    (path, method, operation)
    for path, methods in description()["paths"].items()
    for method, operation in methods.items()
]
JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.lists(st.text(max_size=5))


def _value(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A value that the schema allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "integer":
        low = schema.get("minimum", 0)
        return st.integers(low, low + 5) | st.integers(low, schema.get("maximum", 100))
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "array":
        return st.lists(_value(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].replace("$", r"\Z"), fullmatch=True)
    low = schema.get("minLength", 0)
    return st.text(min_size=low, max_size=max(low, min(30, schema.get("maxLength", 30))))


def _arguments(operation: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """What goes into the query or the body; most of it fits."""
    schemas = {one["name"]: one["schema"] for one in operation["parameters"] if one.get("in") == "query"}
    if body := operation.get("requestBody"):
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        schemas = description()["components"]["schemas"][name]["properties"]
    fitting = st.fixed_dictionaries({name: _value(schema) for name, schema in schemas.items()})
    wrong = st.fixed_dictionaries({}, optional=dict.fromkeys([*schemas, "other"], JUNK))
    return st.one_of(fitting, fitting, wrong)


def _schema(operation: dict[str, Any], status: int) -> tuple[str, dict[str, Any]]:
    """The media type and the schema that the description names for a status."""
    found = operation["responses"][str(status)]
    if "$ref" in found:
        found = description()["components"]["responses"][found["$ref"].rpartition("/")[2]]
    ((media, body),) = found["content"].items()
    return media, body.get("schema", {})


@pytest.mark.django_db
def test_every_answer_is_one_that_the_description_names(enqueued: list[Any]) -> None:
    story = tell()
    add_code(story)
    token = api_tokens.make_token(story.owner, name="CI", scopes=list(api_tokens.SCOPES), days=1)[1]
    client, done = Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False), set[str]()
    known: dict[str, list[Any]] = {
        "project": [story.project.slug, story.waiting_plan.project.slug],
        "run": [story.run.pk],
        "plan": [story.plan.pk, story.waiting_plan.pk],
        "document": [story.document.pk],
        "approval": [story.approval.pk],
        "task": [story.done.key, story.stuck.key],
    }

    def ask(one: tuple[str, str, dict[str, Any]], data: st.DataObject) -> None:
        path, method, operation = one
        rate._counts.clear()
        address = path
        for place in operation["parameters"]:
            if place.get("in") == "path":
                there = st.sampled_from(known[place["name"]])
                value = str(data.draw(st.one_of(there, there, _value(place["schema"])))).replace("/", "")
                address = address.replace(f"{{{place['name']}}}", quote(value or "-"))
        more = data.draw(_arguments(operation))
        if method == "get":
            answer = client.get(address, {name: str(value) for name, value in more.items()})
        else:
            answer = client.post(address, json.dumps(more), content_type="application/json")
        assert str(answer.status_code) in operation["responses"], (method, address, more, answer.status_code)
        media, schema = _schema(operation, answer.status_code)
        assert answer["Content-Type"] == media
        if media.endswith("json") and not answer.streaming:
            jsonschema.validate(answer.json(), {**schema, "components": description()["components"]})
        if answer.status_code < 300:
            done.add(operation["operationId"])

    few = settings(max_examples=4, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    for one in OPERATIONS:
        few(given(st.just(one), st.data())(ask))()
    assert len(done) > len(OPERATIONS) / 2, "most of what was sent was refused"
