"""The API's description for generators of clients, made from the table of verbs."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from aiswe_site.api.http import JSON, KEY, LAST_EVENT
from aiswe_site.api.problems import MEDIA, STATUSES, ProblemDetails, RequestRefused, answer_of
from aiswe_site.verbs.table import VERBS, Verb
from projects.services.accounts.idempotency import KEPT, PATTERN

ROOT = "/api/v1"
ABOUT = """\
Everything that a program may do with projects, documents, plans, runs and approvals. Send `Authorization: Bearer` with
a token that you make under Account or with `aiswe config token`. Texts of documents, repositories, tests and models are
data: `source` says whose words they may be.
"""


@login_not_required
@csrf_exempt
def document(request: HttpRequest) -> HttpResponse:
    """The description, for everybody: it is the same on each server and says nothing of its data."""
    if request.method != "GET":
        return answer_of(RequestRefused(405, "This address accepts GET.", headers={"Allow": "GET"}))
    return JsonResponse(description())


@cache
def description() -> dict[str, Any]:
    """The API as an OpenAPI 3.1 document."""
    models: list[tuple[Any, JsonSchemaMode]] = [(ProblemDetails, "serialization")]
    models += [(verb.answer, "serialization") for verb in VERBS if not verb.media]
    models += [(verb.inputs, "validation") for verb in VERBS if verb.method == "POST" and verb.inputs.model_fields]
    _, found = models_json_schema(list(dict(models).items()), ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for verb in VERBS:
        paths.setdefault(f"{ROOT}{verb.path}", {})[verb.method.lower()] = _operation(verb)
    hours = round(KEPT.total_seconds() / 3600)
    key = {
        "name": KEY,
        "in": "header",
        "description": f"A request with the same key and body is done once; its answer is kept for {hours} hours.",
        "schema": {"type": "string", "pattern": PATTERN},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "AI SWE", "version": "1", "description": ABOUT, "license": {"name": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {"IdempotencyKey": key},
            "responses": {f"ProblemDetails{status}": _problem(words) for status, words in STATUSES.items()},
            "schemas": found["$defs"],
        },
    }


def _problem(words: str) -> dict[str, Any]:
    return {"description": words, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}}


def _operation(verb: Verb) -> dict[str, Any]:
    about, _, more = verb.about.partition("\n\n")
    parameters = [*_parameters(verb, "path"), *(_parameters(verb, "query") if verb.method == "GET" else [])]
    events = verb.media == "text/event-stream"
    schema = {"type": "string"} if verb.media else {"$ref": f"#/components/schemas/{verb.answer.__name__}"}
    body: dict[str, Any] = {} if events else {"schema": schema}  # what a schema means for a stream is not agreed on
    status = "201" if "new" in verb.marks.split() else "200"
    found: dict[str, Any] = {
        "operationId": verb.name,
        "tags": [verb.path.split("/")[1]],
        "summary": " ".join(about.split()),
        "description": "\n\n".join(filter(None, [more, f"Needs the scope `{verb.scope}`."])),
        "parameters": parameters,
        "responses": {status: {"description": "Done.", "content": {verb.media or JSON: body}}},
    }
    takes_body = verb.method == "POST" and bool(verb.inputs.model_fields)
    if "after" in verb.inputs.model_fields:
        schema = {"type": "string", "pattern": "^[0-9]{1,15}$"}
        parameters.append({"name": LAST_EVENT, "in": "header", "description": "Go on after it.", "schema": schema})
    if verb.method == "POST":
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if takes_body:
        schema = {"$ref": f"#/components/schemas/{verb.inputs.__name__}"}
        required = any(field.is_required() for field in verb.inputs.model_fields.values())
        found["requestBody"] = {"required": required, "content": {JSON: {"schema": schema}}}
    left_out = () if verb.method == "POST" else (413, 415)
    refused = {
        str(one): {"$ref": f"#/components/responses/ProblemDetails{one}"} for one in STATUSES if one not in left_out
    }
    found["responses"] |= refused
    return found


def _parameters(verb: Verb, place: str) -> list[dict[str, Any]]:
    model = verb.places if place == "path" else verb.inputs
    schema = model.model_json_schema()
    order = re.findall(r"\{(\w+)\}", verb.path) if place == "path" else list(schema.get("properties", {}))
    found = []
    for name in order:
        one = dict(schema["properties"][name])
        words = one.pop("description", "")
        one.pop("title", None)
        parameter = {"name": name, "in": place, "required": name in schema.get("required", ()), "schema": one}
        found.append(parameter | ({"description": words} if words else {}))
    return found
