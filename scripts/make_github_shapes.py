"""Make tests/forge_server/github_{shapes,webhooks}.json anew: the documented shapes of GitHub's routes and webhooks.

    npm pack @octokit/openapi @octokit/openapi-webhooks
    mkdir api hooks && tar xzf octokit-openapi-2*.tgz -C api && tar xzf octokit-openapi-webhooks-*.tgz -C hooks
    python scripts/make_github_shapes.py api/package hooks/package

The packages (MIT) are GitHub's own OpenAPI descriptions; descriptions and examples are left out, and OpenAPI's
`nullable` becomes JSON Schema's null. Of what a webhook holds only what is always there is kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = "/repos/{owner}/{repo}"
USED = f"""
get /user
get /users/{{username}}
get {REPOSITORY}
get {REPOSITORY}/issues
get {REPOSITORY}/issues/{{issue_number}}
patch {REPOSITORY}/issues/{{issue_number}}
get {REPOSITORY}/issues/{{issue_number}}/comments
post {REPOSITORY}/issues/{{issue_number}}/comments
get {REPOSITORY}/pulls
post {REPOSITORY}/pulls
get {REPOSITORY}/pulls/{{pull_number}}
patch {REPOSITORY}/pulls/{{pull_number}}
get {REPOSITORY}/pulls/{{pull_number}}/comments
post {REPOSITORY}/pulls/{{pull_number}}/comments/{{comment_id}}/replies
get {REPOSITORY}/pulls/{{pull_number}}/reviews
post {REPOSITORY}/pulls/{{pull_number}}/reviews
post {REPOSITORY}/statuses/{{sha}}
get {REPOSITORY}/commits/{{ref}}/status
get {REPOSITORY}/actions/jobs/{{job_id}}/logs
"""
HOOKS = """
push
status
issues-opened
issue-comment-created
pull-request-opened
pull-request-closed
pull-request-synchronize
pull-request-review-submitted
pull-request-review-comment-created
workflow-job-completed
"""
WORDS = ("description", "example", "examples", "title", "externalDocs", "summary")
TARGET = Path(__file__).parent.parent / "tests" / "forge_server"
DOCUMENT = Path("generated") / "api.github.com.json"


def plain(schema: Any, *, names: bool = False) -> Any:
    """A schema without words for people; `names` says that the keys are names of properties."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: plain(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or (key not in WORDS and key != "nullable" and not key.startswith("x-"))
    }
    if not names and schema.get("nullable"):
        if "enum" in kept and None not in kept["enum"]:
            kept["enum"] = [*kept["enum"], None]
        if isinstance(kept.get("type"), str):
            kept["type"] = [kept["type"], "null"]
        else:
            kept = {"anyOf": [kept, {"type": "null"}]}
    return kept


def always(schema: Any) -> Any:
    """A schema without the properties that may be missing."""
    if isinstance(schema, list):
        return [always(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: always(value) for key, value in schema.items() if key != "properties"}
    if "properties" in schema:
        required = schema.get("required", ())
        kept["properties"] = {key: always(value) for key, value in schema["properties"].items() if key in required}
    return kept


def at(document: Any, reference: str) -> Any:
    """What a reference of a document names."""
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


def collected(document: Any, schema: Any, shape: Callable[[Any], Any]) -> dict[str, Any]:
    """The components that a schema needs, each in the shape that is kept of it."""
    needed: dict[str, Any] = {}

    def collect(one: Any) -> None:
        if isinstance(one, dict):
            name = str(one.get("$ref", "")).rpartition("/")[2]
            if name and name not in needed:
                needed[name] = None
                needed[name] = shape(at(document, one["$ref"]))
                collect(needed[name])
        for inner in one.values() if isinstance(one, dict) else one if isinstance(one, list) else ():
            collect(inner)

    collect(schema)
    return needed


def write(package: Path, target: str, operations: dict[str, Any], needed: dict[str, Any]) -> None:
    """Write an extract, with where it is from."""
    told = json.loads((package / "package.json").read_text())
    provenance = f"{told['name']} {told['version']} (MIT), {DOCUMENT}; see scripts/{Path(__file__).name}"
    rows = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in operations.items()]
    schemas = [f"{json.dumps(name)}: {json.dumps(needed[name])}" for name in sorted(needed)]
    (TARGET / target).write_text(
        f'{{"from": {json.dumps(provenance)},\n"operations": {{\n'
        + ",\n".join(rows)
        + '\n},\n"components": {"schemas": {\n'
        + ",\n".join(schemas)
        + "\n}}}\n"
    )


def routes(package: Path) -> None:
    """Write the extract of the routes."""
    document = json.loads((package / DOCUMENT).read_text())

    def resolved(one: Any) -> Any:
        return at(document, one["$ref"]) if "$ref" in one else one

    operations = {}
    for row in USED.split("\n"):
        method, _, path = row.partition(" ")
        if not path:
            continue
        described = document["paths"][path][method]
        query = [one for one in map(resolved, described.get("parameters", [])) if one["in"] == "query"]
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        answers = {}
        for status, answer in described["responses"].items():
            content = resolved(answer).get("content", {}).get("application/json", {})
            answers[status] = plain(content.get("schema"))
        operations[row] = {
            "query": {one["name"]: plain(one["schema"]) for one in query},
            "body": plain(body),
            "answers": answers,
        }
    write(package, "github_shapes.json", operations, collected(document, operations, plain))


def webhooks(package: Path) -> None:
    """Write the extract of the webhooks."""
    document = json.loads((package / DOCUMENT).read_text())
    operations = {}
    for name in HOOKS.split():
        sent = document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]
        operations[name] = always(plain(sent))
    needed = collected(document, operations, lambda schema: always(plain(schema)))
    write(package, "github_webhooks.json", operations, needed)


if __name__ == "__main__":
    routes(Path(sys.argv[1]))
    webhooks(Path(sys.argv[2]))
